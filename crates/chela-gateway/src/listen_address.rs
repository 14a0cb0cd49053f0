//! Where a gateway listens: as the config says, and not where it must not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use chela_agent::prelude::LoadedConfig;
use chela_config::model::GatewayBind;

/// Why it does not listen where the config says.
#[derive(Debug, thiserror::Error)]
pub enum ListenAddressError {
    #[error("gateway.bind `{0}` is not offered: use `loopback`, `lan` or `custom`")]
    Bind(&'static str),
    #[error("gateway.bind is `custom`, and gateway.customBindHost is no address")]
    BindHost,
    #[error(
        "beyond this machine the gateway listens only with a token of its own: set gateway.auth.token (`chela gateway token` makes one) and put TLS in front of it, such as a reverse proxy or an SSH tunnel"
    )]
    Exposed,
    #[error(
        "gateway.tls.enabled is set, and the gateway does not encrypt by itself: leave it out and put a reverse proxy or an SSH tunnel in front of it"
    )]
    Tls,
}

/// Where it listens: as the config says, or on the port named on the command line.
pub(crate) fn listen_address(
    loaded: &LoadedConfig,
    port: Option<u16>,
) -> Result<SocketAddr, ListenAddressError> {
    let ip = bind_address(loaded)?;
    if loaded.config.gateway.tls.enabled == Some(true) {
        return Err(ListenAddressError::Tls);
    }
    Ok(SocketAddr::new(
        ip,
        port.unwrap_or(loaded.config.gateway.port),
    ))
}

/// Which address it listens on. Beyond this machine only with a token the owner chose to set.
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
    let has_secret = gateway.auth.token.is_some() || gateway.auth.password.is_some();
    match ip.is_loopback() || has_secret {
        true => Ok(ip),
        false => Err(ListenAddressError::Exposed),
    }
}
