//! The secrets an installation holds, so that no record keeps them and no model reads them.

use std::sync::Arc;

use chela_config::model::{Secret as Written, SecretReference};
use chela_config::{KeyPath, Loaded, is_secret_key, secrets_in};
use chela_core::Host;
use chela_core::secret::{CANARY, Redactor, Secret, is_guessable};
use chela_model::KeySource;
use futures_util::FutureExt;
use serde_json::Value;

use crate::canary;
use crate::secret::installation_secret;

/// Words in names of variables whose values are credentials.
const TELLING: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// What takes secrets out of everything an agent keeps, shows or sends.
pub(crate) fn redactor(host: &Host, loaded: &Loaded) -> Arc<Redactor> {
    let key = installation_secret(host).ok();
    Arc::new(Redactor::new(key, known(host, loaded)))
}

/// The same for prompts that are made without touching anything: its stand-ins have no digits.
pub(crate) fn redactor_for_prompts(host: &Host, loaded: &Loaded) -> Redactor {
    Redactor::new(None, known(host, loaded))
}

/// Every secret that is written in the config, kept where the config says, or lies in the
/// environment; and the canary. What a command would have to be run for is learned when it is.
pub fn known(host: &Host, loaded: &Loaded) -> Vec<Secret> {
    let written = secrets_in(&loaded.tree)
        .into_iter()
        .filter_map(|(path, value)| {
            let value = value_of(host, loaded, &value)?;
            let name = name_of(&path);
            (!is_guessable(&value)).then_some(Secret { name, value })
        });
    let env = loaded
        .env()
        .iter()
        .filter(|(name, value)| is_telling(name) && !is_guessable(value))
        .map(|(name, value)| Secret {
            name: format!("env:{name}"),
            value: value.clone(),
        });
    let canary = canary::planted(host).ok().flatten();
    let canary = canary.map(|canary| Secret {
        name: CANARY.to_owned(),
        value: canary.value().to_owned(),
    });
    written.chain(env).chain(canary).collect()
}

fn is_telling(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    is_secret_key(name) || TELLING.iter().any(|word| upper.contains(word))
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
fn value_of(host: &Host, loaded: &Loaded, written: &Value) -> Option<String> {
    let secret = match written {
        Value::String(text) => Written::Text(text.clone()),
        Value::Number(number) => return Some(number.to_string()),
        Value::Object(_) => {
            let reference: SecretReference = serde_json::from_value(written.clone()).ok()?;
            Written::Reference(reference)
        }
        _ => return None,
    };
    let source = KeySource::of(&secret, &loaded.config.secrets, host, loaded.env(), "");
    match source {
        KeySource::Command(_) => None,
        source => {
            let key = source.fetch().now_or_never()?.ok().flatten()?;
            Some(key.expose().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::known;
    use chela_core::Host;

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
