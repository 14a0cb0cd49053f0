//! The secrets an installation holds, so that no record keeps them and no model reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use chela_config::model::{NamedSecret, SecretSetting as Written};
use chela_config::{KeyPath, LoadedConfig, is_secret_key, secrets_in};
use chela_core::secret::{CANARY, KnownSecret, Redactor, SecretPattern, is_guessable};
use chela_core::{AgentId, Host, ok_or_warn};
use chela_files::read_if_there;
use chela_model::KeySource;
use chela_tools::handles::{SecretDestination, SecretFuture, SecretHandles, SecretUse, unknown};
use futures_util::FutureExt;
use serde_json::Value;

use crate::canary;
use crate::installation_secret::installation_secret;

/// Words in names of variables whose values are credentials.
const TELLING: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
/// Words between underscores that say so too, and would be found in too many names otherwise.
const TELLING_WORDS: [&str; 7] = [
    "AUTH",
    "CREDENTIAL",
    "CREDENTIALS",
    "DSN",
    "PASS",
    "PASSWD",
    "PWD",
];
/// The folder one stands in.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// What takes secrets out of everything an agent keeps, shows or sends.
pub(crate) fn redactor(host: &Host, loaded: &LoadedConfig) -> Arc<Redactor> {
    let key = ok_or_warn!(
        installation_secret(host),
        "stand-ins for secrets have no digits"
    );
    let redactor = Redactor::new(key, known(host, loaded));
    Arc::new(redactor.with_patterns(patterns(loaded)))
}

/// The same for prompts that are made without touching anything: its stand-ins have no digits.
pub(crate) fn redactor_for_prompts(host: &Host, loaded: &LoadedConfig) -> Redactor {
    Redactor::new(None, known(host, loaded)).with_patterns(patterns(loaded))
}

/// What the owner wants hidden besides. One that cannot be read is told of with the config.
fn patterns(loaded: &LoadedConfig) -> Vec<SecretPattern> {
    let patterns = loaded.config.logging.redact_patterns.iter();
    patterns
        .filter_map(|text| SecretPattern::parse(text).ok())
        .collect()
}

/// Every secret that is written in the config, kept where the config says, or lies in the
/// environment; and the canary. What a command would have to be run for is learned when it is.
pub fn known(host: &Host, loaded: &LoadedConfig) -> Vec<KnownSecret> {
    let written = secrets_in(&loaded.tree)
        .into_iter()
        .filter_map(|(path, value)| {
            let value = value_of(host, loaded, &value)?;
            let name = name_of(&path);
            (!is_guessable(&value)).then_some(KnownSecret { name, value })
        });
    let env = loaded
        .env()
        .iter()
        .filter(|(name, value)| is_telling(name) && !is_guessable(value))
        .map(|(name, value)| KnownSecret {
            name: format!("env:{name}"),
            value: value.clone(),
        });
    let canary = ok_or_warn!(canary::planted(host), "the canary cannot be read").flatten();
    let canary = canary.map(|canary| KnownSecret {
        name: CANARY.to_owned(),
        value: canary.value().to_owned(),
    });
    // What callers of the gateway show; whoever reads it speaks as the owner.
    let gateway = host.state_dir().join("state").join("gateway.token");
    let gateway = ok_or_warn!(
        read_if_there(&gateway),
        "the gateway's token cannot be read"
    );
    let gateway = gateway.flatten().map(|token| KnownSecret {
        name: "gateway.token".to_owned(),
        value: token.trim().to_owned(),
    });
    let gateway = gateway.filter(|secret| !is_guessable(&secret.value));
    let files = canary.into_iter().chain(gateway);
    written.chain(env).chain(files).collect()
}

fn is_telling(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let word_tells = upper
        .split(['_', '-'])
        .any(|word| TELLING_WORDS.contains(&word) || word.ends_with("PASS"));
    !FOLDERS.contains(&upper.as_str())
        && (is_secret_key(name) || word_tells || TELLING.iter().any(|word| upper.contains(word)))
}

/// The path of its key; a secret that has a name of its own goes by that.
fn name_of(path: &KeyPath) -> String {
    let path = path.to_string();
    match path
        .strip_prefix("secrets.named.")
        .and_then(|rest| rest.strip_suffix(".value"))
    {
        Some(name) => name.to_owned(),
        None => path,
    }
}

/// The value, as far as it is to be had without running anything.
fn value_of(host: &Host, loaded: &LoadedConfig, written: &Value) -> Option<String> {
    let secret = match written {
        Value::String(text) => Written::Text(text.clone()),
        Value::Number(number) => return Some(number.to_string()),
        Value::Object(_) => Written::Reference(chela_config::read_json(written).ok()?),
        _ => return None,
    };
    let source = KeySource::of(&secret, &loaded.config.secrets, host, loaded.env(), "");
    match source {
        KeySource::Command(_) => None,
        source => {
            let key = source.fetch().now_or_never()?;
            let key = ok_or_warn!(key, "a secret is not known and so not hidden").flatten()?;
            Some(key.expose().to_owned())
        }
    }
}

/// The secrets that have a name, for the tools of one agent.
pub(crate) struct SecretVault {
    /// By name: what may be done with it, and where it is.
    named: BTreeMap<String, (NamedSecret, KeySource)>,
    /// Learns what is fetched.
    redactor: Arc<Redactor>,
}

impl SecretVault {
    pub fn open(
        host: &Host,
        loaded: &LoadedConfig,
        agent: &AgentId,
        redactor: Arc<Redactor>,
    ) -> Arc<dyn SecretHandles> {
        let secrets = &loaded.config.secrets;
        let named = secrets.named.iter().filter_map(|(name, secret)| {
            let agents = secret.agents.as_deref();
            let may = agents.is_none_or(|agents| agents.iter().any(|id| id == agent.as_str()));
            let value = secret.value.as_ref().filter(|_| may)?;
            let at = format!("secrets.named.{name}.value");
            let source = KeySource::of(value, secrets, host, loaded.env(), &at);
            Some((name.clone(), (secret.clone(), source)))
        });
        Arc::new(Self {
            named: named.collect(),
            redactor,
        })
    }

    async fn fetch(&self, name: &str, to: SecretDestination<'_>) -> Result<String, String> {
        let kind = match to {
            SecretDestination::Environment => SecretUse::Commands,
            SecretDestination::Header { .. } => SecretUse::Requests,
        };
        let allowed = |secret: &NamedSecret| match to {
            SecretDestination::Environment => secret.exec,
            SecretDestination::Header { .. } => !secret.hosts.is_empty(),
        };
        let Some((secret, source)) = self.named.get(name).filter(|(one, _)| allowed(one)) else {
            return Err(unknown(name, &self.names(kind)));
        };
        if let SecretDestination::Header { host } = to
            && !secret.hosts.iter().any(|pattern| is_host(pattern, host))
        {
            return Err(format!(
                "the secret `{name}` is not for {host}; it is for {}",
                secret.hosts.join(", ")
            ));
        }
        match source.fetch().await {
            Ok(Some(key)) => {
                let value = key.expose().to_owned();
                // From here on it may turn up in what the tool brings back.
                self.redactor.learn(KnownSecret {
                    name: name.to_owned(),
                    value: value.clone(),
                });
                Ok(value)
            }
            Ok(None) => Err(format!("the secret `{name}` has no value")),
            Err(why) => Err(format!("the secret `{name}` is not available: {why}")),
        }
    }
}

impl SecretHandles for SecretVault {
    fn names(&self, kind: SecretUse) -> Vec<(String, Option<String>)> {
        let fitting = self.named.iter().filter(|(_, (secret, _))| match kind {
            SecretUse::Commands => secret.exec,
            SecretUse::Requests => !secret.hosts.is_empty(),
        });
        fitting
            .map(|(name, (secret, _))| (name.clone(), secret.description.clone()))
            .collect()
    }

    fn value<'a>(&'a self, name: &'a str, to: SecretDestination<'a>) -> SecretFuture<'a> {
        Box::pin(self.fetch(name, to))
    }
}

/// A host by its name, or every host below `*.name`.
fn is_host(pattern: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    match pattern.strip_prefix("*.") {
        Some(parent) => host
            .strip_suffix(parent)
            .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => host == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::{SecretVault, is_host, known};
    use chela_core::secret::Redactor;
    use chela_core::{AgentId, Host};
    use chela_tools::handles::{SecretDestination, SecretUse};
    use std::sync::Arc;

    #[tokio::test]
    async fn a_named_secret_goes_where_it_may_and_nowhere_else() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let config = serde_json::json!({ "secrets": { "named": {
            "forge": { "value": "value-of-forge-1", "exec": true, "hosts": ["api.forge.example", "*.cdn.example"] },
            "mail": { "value": "value-of-mail-1", "exec": true, "agents": ["post"] },
        } } });
        let loaded = chela_config::load_text(&host, &config.to_string());
        let redactor = Arc::new(Redactor::default());
        let vault = SecretVault::open(&host, &loaded, &AgentId::main(), Arc::clone(&redactor));
        assert_eq!(vault.names(SecretUse::Commands).len(), 1);
        assert_eq!(redactor.redact("value-of-forge-1"), "value-of-forge-1");
        let got = vault.value("forge", SecretDestination::Environment).await;
        assert_eq!(got.unwrap(), "value-of-forge-1");
        assert_eq!(redactor.redact("value-of-forge-1"), "[secret:forge]");
        for host in ["api.forge.example", "a.cdn.example", "API.Forge.Example"] {
            let got = vault
                .value("forge", SecretDestination::Header { host })
                .await;
            assert!(got.is_ok(), "{host}");
        }
        for host in [
            "evil.example",
            "cdn.example",
            "evilcdn.example",
            "api.forge.example.evil.example",
        ] {
            let why = vault
                .value("forge", SecretDestination::Header { host })
                .await;
            assert!(why.unwrap_err().contains("is not for"), "{host}");
        }
        let why = vault
            .value("mail", SecretDestination::Environment)
            .await
            .unwrap_err();
        assert!(why.contains("there is no secret `mail`"), "{why}");
        assert!(!is_host("*.x", ".x"));
    }

    #[test]
    fn what_the_config_knows_is_known() {
        let home = tempfile::tempdir().unwrap();
        let mut host = Host::fixed(home.path());
        let vault = home.path().join("vault.json");
        std::fs::write(&vault, r#"{"mail": "from-the-vault-1"}"#).unwrap();
        for (name, value) in [
            ("SOME_TOKEN", "in-the-environment-1"),
            ("KEY_FILE", "/home/me/.ssh/id"),
            ("TOKEN_KIND", "bearer"),
            ("LANG", "not-a-secret-at-all-1"),
        ] {
            host.env.insert(name.into(), value.into());
        }
        let config = serde_json::json!({
            "models": { "providers": { "x": { "apiKey": "written-out-1", "headers": { "X-Any": "in-a-header-1" } } } },
            "gateway": { "auth": { "token": { "source": "env", "id": "SOME_TOKEN" } } },
            "channels": { "telegram": { "botToken": "of-a-channel-1" } },
            "secrets": {
                "providers": { "vault": { "source": "file", "path": vault } },
                "named": { "mail": { "value": { "source": "file", "provider": "vault", "id": "/mail" } } },
            },
        });
        let loaded = chela_config::load_text(&host, &config.to_string());
        let mut found: Vec<(String, String)> = known(&host, &loaded)
            .into_iter()
            .map(|secret| (secret.name, secret.value))
            .collect();
        found.sort();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("channels.telegram.botToken", "of-a-channel-1"),
                ("env:SOME_TOKEN", "in-the-environment-1"),
                ("gateway.auth.token", "in-the-environment-1"),
                ("mail", "from-the-vault-1"),
                ("models.providers.x.apiKey", "written-out-1"),
                ("models.providers.x.headers.X-Any", "in-a-header-1"),
            ]
        );
    }
}
