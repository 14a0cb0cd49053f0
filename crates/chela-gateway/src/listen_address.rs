//! Where a gateway listens: as the config says, and not where it must not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use chela_agent::prelude::LoadedConfig;
use chela_config::model::GatewayBind;

use crate::tls::is_encrypted;

/// Why it does not listen where the config says.
#[derive(Debug, thiserror::Error)]
pub enum ListenAddressError {
    #[error("gateway.bind `{0}` is not offered: use `loopback`, `lan` or `custom`")]
    Bind(&'static str),
    #[error("gateway.bind is `custom`, and gateway.customBindHost is no address")]
    BindHost,
    #[error(
        "beyond this machine the gateway listens only with TLS: set gateway.tls.certPath and gateway.tls.keyPath; where a reverse proxy or a tunnel encrypts in front of it, set gateway.tls.behindProxy and gateway.auth.token"
    )]
    Plain,
    #[error(
        "beyond this machine, behind a proxy, the gateway listens only with a token you set: gateway.auth.token (`chela gateway token` makes one)"
    )]
    NoToken,
}

/// Where it listens: as the config says, or on the port named on the command line.
pub(crate) fn listen_address(
    loaded: &LoadedConfig,
    port: Option<u16>,
) -> Result<SocketAddr, ListenAddressError> {
    let ip = bind_address(loaded)?;
    Ok(SocketAddr::new(
        ip,
        port.unwrap_or(loaded.config.gateway.port),
    ))
}

/// Which address it listens on. Beyond this machine only encrypted, or with a token the owner chose
/// to set where they say that something in front of it encrypts.
fn bind_address(loaded: &LoadedConfig) -> Result<IpAddr, ListenAddressError> {
    let gateway = &loaded.config.gateway;
    let ip: IpAddr = match gateway.bind {
        GatewayBind::Loopback | GatewayBind::Auto => return Ok(Ipv4Addr::LOCALHOST.into()),
        GatewayBind::Lan => Ipv4Addr::UNSPECIFIED.into(),
        GatewayBind::Custom => gateway
            .custom_bind_host
            .as_deref()
            .and_then(|host| host.trim().parse().ok())
            .ok_or(ListenAddressError::BindHost)?,
        GatewayBind::Tailnet => return Err(ListenAddressError::Bind("tailnet")),
    };
    if ip.is_loopback() || is_encrypted(loaded) {
        return Ok(ip);
    }
    let has_secret = gateway.auth.token.is_some() || gateway.auth.password.is_some();
    match (gateway.tls.behind_proxy, has_secret) {
        (true, true) => Ok(ip),
        (true, false) => Err(ListenAddressError::NoToken),
        (false, _) => Err(ListenAddressError::Plain),
    }
}
