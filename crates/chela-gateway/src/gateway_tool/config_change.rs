//! A change of the config file, as an agent asks for it: worked out, judged, shown, written.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use chela_agent::prelude::Host;
use chela_config::store::ConfigStore;
use chela_config::text::edit::{merge_patch, replace_all};
use chela_config::{KeyPath, Severity, load_text, validate_source};
use chela_core::ContentHash;
use chela_tools::FilePreview;
use serde_json::Value;

use super::changeable::may_change;

/// A change that is allowed and valid.
#[derive(Debug)]
pub(super) struct ConfigChange {
    file: PathBuf,
    before: String,
    after: String,
    /// The keys it changes.
    keys: Vec<String>,
}

/// The config file; links are followed, as whoever writes it does.
pub(super) fn file_of(host: &Host) -> PathBuf {
    let file = host.config_file();
    file.canonicalize().unwrap_or(file)
}

/// Its text; empty where there is none.
pub(super) fn read_file(host: &Host) -> Result<String, String> {
    match std::fs::read_to_string(file_of(host)) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("the config cannot be read: {error}")),
    }
}

impl ConfigChange {
    pub fn merging(host: &Host, patch: &Value, base: &str) -> Result<Self, String> {
        Self::of(host, base, |text| {
            merge_patch(text, &KeyPath::root(), patch).map_err(|error| error.to_string())
        })
    }

    pub fn replacing(host: &Host, whole: &Value, base: &str) -> Result<Self, String> {
        Self::of(host, base, |text| {
            replace_all(text, whole).map_err(|error| error.to_string())
        })
    }

    fn of(
        host: &Host,
        base: &str,
        change: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let before = read_file(host)?;
        if ContentHash::of(&before).short() != base {
            return Err(
                "the config has changed since `baseHash`: read it again with config.get".to_owned(),
            );
        }
        let after = change(&before)?;
        let keys = judged_keys(host, &before, &after)?;
        let errors: Vec<String> = validate_source(host, &after)
            .iter()
            .filter(|found| found.severity >= Severity::Error)
            .map(ToString::to_string)
            .collect();
        if !errors.is_empty() {
            return Err(format!("it would not be valid: {}", errors.join("; ")));
        }
        Ok(Self {
            file: file_of(host),
            before,
            after,
            keys,
        })
    }

    pub fn preview(self) -> FilePreview {
        FilePreview {
            path: self.file,
            before: Some(self.before.into_bytes()),
            after: Some(self.after.into_bytes()),
        }
    }

    /// Writes it, unless somebody else was faster. Says what was changed.
    pub fn write(&self, host: &Host) -> Result<String, String> {
        let is_late = AtomicBool::new(false);
        let written = ConfigStore::new(host).edit(
            |now| {
                is_late.store(now != self.before, Ordering::Relaxed);
                Ok(match now == self.before {
                    true => self.after.clone(),
                    false => now.to_owned(),
                })
            },
            |text| validate_source(host, text),
        );
        written.map_err(|error| error.to_string())?;
        if is_late.load(Ordering::Relaxed) {
            return Err(
                "the config was changed by someone else meanwhile; nothing was written: read it again with config.get"
                    .to_owned(),
            );
        }
        tracing::info!(
            keys = self.keys.join(", "),
            "an agent changed the config with the owner's approval"
        );
        Ok(format!(
            "Saved: {}. It applies from the next turn; what needs a restart is in `chela gateway status`.",
            self.keys.join(", ")
        ))
    }
}

/// The keys that differ, if all of them are the agent's to change. Both the file as it is written
/// and what it means are compared: a key has more than one spelling, and an include brings others.
fn judged_keys(host: &Host, before: &str, after: &str) -> Result<Vec<String>, String> {
    let (before, after) = (load_text(host, before), load_text(host, after));
    let mut keys = differing(&before.tree.to_json(), &after.tree.to_json());
    keys.extend(differing(
        &before.written().root.to_json(),
        &after.written().root.to_json(),
    ));
    keys.sort();
    keys.dedup();
    let refused: Vec<String> = keys
        .iter()
        .filter(|key| !may_change(key))
        .map(|key| key.join("."))
        .collect();
    if !refused.is_empty() {
        return Err(format!(
            "{} is the owner's alone to change, whatever the spelling; nothing was written. Tell them: `chela config set …`",
            refused.join(", ")
        ));
    }
    if keys.is_empty() {
        return Err("that changes nothing".to_owned());
    }
    Ok(keys.into_iter().map(|key| key.join(".")).collect())
}

/// A key by its parts: a part may hold dots itself.
type KeyParts = Vec<String>;

/// Keys whose value differs, to the last leaf.
fn differing(before: &Value, after: &Value) -> Vec<KeyParts> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten(&[], before, &mut old);
    flatten(&[], after, &mut new);
    let mut keys: Vec<KeyParts> = old
        .iter()
        .filter(|(key, value)| new.get(*key) != Some(*value))
        .map(|(key, _)| key.clone())
        .collect();
    keys.extend(new.keys().filter(|key| !old.contains_key(*key)).cloned());
    keys
}

/// Every leaf by its path. Members of a list that have an id stand by it.
fn flatten<'v>(path: &[String], value: &'v Value, leaves: &mut BTreeMap<KeyParts, &'v Value>) {
    let below = |name: &str| {
        let mut path = path.to_vec();
        path.push(name.to_owned());
        path
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                flatten(&below(name), value, leaves);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, item) in items.iter().enumerate() {
                let id = item.get("id").and_then(Value::as_str);
                let name = id.map_or_else(|| at.to_string(), str::to_owned);
                flatten(&below(&name), item, leaves);
            }
        }
        // A config that says nothing yet.
        _ if path.is_empty() => {}
        leaf => {
            leaves.insert(path.to_vec(), leaf);
        }
    }
}

#[cfg(test)]
mod tests {
    use chela_agent::prelude::Host;

    use super::judged_keys;

    /// A name with a dot in it does not lend its rights to what stands below it.
    #[test]
    fn a_dot_in_a_name_opens_nothing() {
        let host = Host::fixed("/nowhere");
        let judged = |after: &str| judged_keys(&host, "{}", after);
        assert!(judged(r#"{ agents: { defaults: { thinkingDefault: "low" } } }"#).is_ok());
        for after in [
            r#"{ agents: { list: [{ id: "x.model", tools: { exec: { mode: "full" } } }] } }"#,
            r#"{ agents: { list: [{ id: "main" }, { id: "main.model", sandbox: { mode: "off" } }] } }"#,
            r#"{ agents: { list: [{ id: "x", tools: { exec: { mode: "full" } } }] } }"#,
            r#"{ "cron.x": { a: 1 }, tools: { exec: { mode: "full" } } }"#,
        ] {
            assert!(judged(after).is_err(), "{after}");
        }
    }
}
