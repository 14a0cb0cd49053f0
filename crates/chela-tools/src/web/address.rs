//! Which addresses may be reached.

use std::net::IpAddr;

use chela_config::model::OpenMap;
use chela_sandbox::is_public;
use globset::Glob;
use serde_json::Value;

/// What `tools.web.fetch.ssrfPolicy` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Addresses of the own machine and network may be reached.
    pub private: PrivateAddresses,
    /// Hosts whose address is not looked at.
    pub trusted_hosts: Vec<String>,
    /// Only these hosts, as globs; empty: all.
    pub only_hosts: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PrivateAddresses {
    #[default]
    Refused,
    Allowed,
}

impl AddressPolicy {
    pub fn of(settings: &OpenMap) -> Self {
        let is_on = |key: &str| settings.get(key) == Some(&Value::Bool(true));
        let list = |key: &str| {
            let items = settings.get(key).and_then(Value::as_array);
            let items = items.into_iter().flatten().filter_map(Value::as_str);
            items.map(str::to_ascii_lowercase).collect()
        };
        let private = is_on("allowPrivateNetwork") || is_on("dangerouslyAllowPrivateNetwork");
        Self {
            private: match private {
                true => PrivateAddresses::Allowed,
                false => PrivateAddresses::Refused,
            },
            trusted_hosts: list("allowedHostnames"),
            only_hosts: list("hostnameAllowlist"),
        }
    }

    /// Why a host may not be asked for at all.
    pub fn refuses_host(&self, host: &str) -> Option<String> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let listed = self.only_hosts.is_empty()
            || self.only_hosts.iter().any(|pattern| {
                Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(&host))
            });
        (!listed).then(|| format!("{host} is not among the hosts that may be read"))
    }

    /// Why an address of a host may not be reached.
    pub fn refuses(&self, host: &str, address: IpAddr) -> Option<String> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let free = self.private == PrivateAddresses::Allowed || self.trusted_hosts.contains(&host);
        (!free && !is_public(address)).then(|| {
            format!("{host} leads to {address}, an address of this machine or a private network")
        })
    }
}
