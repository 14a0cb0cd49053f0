//! The variables a server gets: what programs look for anywhere, and what its owner named.

use std::collections::BTreeMap;

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_sandbox::SandboxPlan;

use crate::spec::{McpServerSpec, SpecValue};

/// Who, where, how it looks: nothing that opens anything.
const USUAL: &[&str] = &[
    "COLORTERM",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// The variables of a server, before it is known where it runs.
pub(super) struct GivenVariables {
    /// Of the owner's environment.
    usual: BTreeMap<String, String>,
    /// Named for this server.
    own: BTreeMap<String, String>,
}

/// Fetches them. The error says which one is missing.
pub(super) async fn given(
    host: &Host,
    loaded: &LoadedConfig,
    spec: &McpServerSpec,
    env: &[(String, SpecValue)],
) -> Result<GivenVariables, String> {
    let known = loaded.env();
    let is_usual = |name: &str| USUAL.contains(&name) || name.starts_with("LC_");
    let usual = known
        .iter()
        .chain(&host.env)
        .filter(|(name, _)| is_usual(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut own = BTreeMap::new();
    for name in &spec.grants.pass_env {
        let value = known.get(name).or_else(|| host.env.get(name));
        let value = value.ok_or_else(|| {
            format!(
                "the variable {} of {}.passEnv is not set",
                chela_core::sanitize::literal(name),
                spec.set_up_by
            )
        })?;
        own.insert(name.clone(), value.clone());
    }
    for (name, value) in env {
        own.insert(name.clone(), value.fetch().await?);
    }
    Ok(GivenVariables { usual, own })
}

impl GivenVariables {
    /// One that was named for this server.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.own.get(name).map(String::as_str)
    }

    /// Inside a sandbox: home and temporary folders are its own.
    pub fn inside(&self, plan: &SandboxPlan) -> BTreeMap<String, String> {
        let mut env = plan.variables(&self.usual);
        env.extend(self.own.clone());
        env
    }

    pub fn outside(&self) -> BTreeMap<String, String> {
        let mut env = self.usual.clone();
        env.extend(self.own.clone());
        env
    }
}
