//! Keys: where they come from, and that nobody sees them.

mod command;
mod file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chela_config::model::{SecretReference, SecretSetting, SecretSource, Secrets};
use chela_core::{Host, HostEnv};
use serde_json::Value;

/// A credential. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelKey(Arc<str>);

impl ModelKey {
    /// `None` for blank text. Blanks and line ends around it are not part of it.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The credential itself, for the header it goes into.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of the key blotted out: endpoints repeat what they were sent.
    pub fn scrub(&self, text: &str) -> String {
        /// Shorter ones would blot out ordinary words; no real key is that short.
        const SHORTEST: usize = 6;
        if self.0.len() < SHORTEST || !text.contains(&*self.0) {
            return text.to_owned();
        }
        text.replace(&*self.0, "[key]")
    }
}

impl std::fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

impl std::fmt::Display for ModelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[key]")
    }
}

/// Who is told of every credential at the moment it is known, and what it is for. What it hears it
/// can keep out of everything that is written or sent.
#[derive(Clone)]
pub struct KeyWitness(Arc<Telling>);

type Telling = dyn Fn(&str, &ModelKey) + Send + Sync;

impl KeyWitness {
    pub fn new(told: impl Fn(&str, &ModelKey) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }

    /// `at` is where the config has it, such as `models.providers.x.apiKey`.
    pub fn tell(&self, at: &str, key: &ModelKey) {
        (self.0)(at, key);
    }
}

impl std::fmt::Debug for KeyWitness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyWitness")
    }
}

/// Where a credential is to be had. Files and commands are not touched before a call needs them.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// None is needed, or none is known.
    None,
    Ready {
        key: ModelKey,
        /// Such as `OPENAI_API_KEY` or `models.providers.x.apiKey`, for people.
        from: String,
    },
    File(SecretFile),
    Command(SecretCommand),
    /// It is said where it is, and it is not there.
    Missing {
        why: String,
    },
}

/// A file that holds credentials.
#[derive(Debug, Clone)]
pub struct SecretFile {
    pub path: PathBuf,
    /// JSON pointer, or none when the whole file is the secret.
    pub pointer: Option<String>,
}

/// What a file of credentials was when it was looked at; another one after it was written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretStamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl SecretStamp {
    fn of(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self {
            modified: found.modified().ok(),
            length: found.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&found),
        })
    }
}

/// A command that prints credentials.
#[derive(Debug, Clone)]
pub struct SecretCommand {
    /// Name of the entry in `secrets.providers`.
    pub provider: String,
    pub id: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
    pub form: CommandForm,
}

/// What the command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandForm {
    /// JSON with the values by id.
    Json,
    /// JSON if it is such, else the secret itself.
    Either,
}

/// Why a credential could not be had. Never contains one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(pub String);

impl KeySource {
    /// What its file is now; `None` where it has none.
    pub fn stamp(&self) -> Option<SecretStamp> {
        match self {
            Self::File(file) => SecretStamp::of(&file.path),
            _ => None,
        }
    }

    /// Reads a secret of the config. `at` names it for people.
    pub fn of(
        secret: &SecretSetting,
        secrets: &Secrets,
        host: &Host,
        env: &HostEnv,
        at: &str,
    ) -> Self {
        match secret {
            SecretSetting::Text(text) => Self::of_text(text, env, at),
            SecretSetting::Reference(reference) => {
                Self::of_reference(reference, secrets, host, env)
            }
        }
    }

    /// A text that is the name of a set variable means the variable.
    fn of_text(text: &str, env: &HostEnv, at: &str) -> Self {
        let name = text.trim();
        let is_name = name.contains('_')
            && name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if is_name {
            return Self::of_variable(name, env).unwrap_or_else(|| Self::Missing {
                why: format!("{at} uses the variable {name}, which is not set"),
            });
        }
        match ModelKey::new(text) {
            Some(key) => Self::Ready {
                key,
                from: at.to_owned(),
            },
            None => Self::Missing {
                why: format!("{at} is empty"),
            },
        }
    }

    /// The first of these variables that is set.
    pub fn of_variables(names: &[&str], env: &HostEnv) -> Self {
        names
            .iter()
            .find_map(|name| Self::of_variable(name, env))
            .unwrap_or(Self::None)
    }

    fn of_variable(name: &str, env: &HostEnv) -> Option<Self> {
        let key = ModelKey::new(env.get(name)?)?;
        Some(Self::Ready {
            key,
            from: name.to_owned(),
        })
    }

    fn of_reference(
        reference: &SecretReference,
        secrets: &Secrets,
        host: &Host,
        env: &HostEnv,
    ) -> Self {
        let kind = reference.source;
        let id = &reference.id;
        let place = reference
            .provider
            .clone()
            .or_else(|| secrets.defaults.get(kind_name(kind)).cloned())
            .unwrap_or_else(|| "default".to_owned());
        let entry = secrets.providers.get(&place);
        let other = |key: &str| entry.and_then(|entry| entry.other.get(key));
        match kind {
            SecretSource::Env => Self::of_variable(id, env).unwrap_or_else(|| Self::Missing {
                why: format!("the variable {id} is not set"),
            }),
            SecretSource::File => match other("path").and_then(Value::as_str) {
                Some(path) => Self::File(SecretFile {
                    path: host.expand_from(path, &host.state_dir()),
                    pointer: (other("mode").and_then(Value::as_str) != Some("singleValue"))
                        .then(|| id.clone()),
                }),
                None => Self::Missing {
                    why: format!("secrets.providers.{place} has no path"),
                },
            },
            SecretSource::Exec => match other("command").and_then(Value::as_str) {
                Some(program) => Self::Command(SecretCommand {
                    program: host.expand_from(program, &host.state_dir()),
                    args: strings(other("args")),
                    env: command::environment(env, &strings(other("passEnv")), other("env")),
                    timeout: Duration::from_millis(
                        other("timeoutMs").and_then(Value::as_u64).unwrap_or(5_000),
                    ),
                    form: match other("jsonOnly").and_then(Value::as_bool) {
                        Some(false) => CommandForm::Either,
                        _ => CommandForm::Json,
                    },
                    id: id.clone(),
                    provider: place,
                }),
                None => Self::Missing {
                    why: format!("secrets.providers.{place} has no command"),
                },
            },
            SecretSource::Store => Self::Missing {
                why: format!(
                    "the secret `{id}` is in another program's store; use a variable, a file or \
                        a command"
                ),
            },
        }
    }

    /// The credential, if there is one.
    pub async fn fetch(&self) -> Result<Option<ModelKey>, KeyError> {
        match self {
            Self::None => Ok(None),
            Self::Ready { key, .. } => Ok(Some(key.clone())),
            Self::File(file) => file::read(file).map(Some),
            Self::Command(command) => command::run(command).await.map(Some),
            Self::Missing { why } => Err(KeyError(why.clone())),
        }
    }

    /// Where it comes from, in a few words.
    pub fn describe(&self) -> Option<String> {
        match self {
            Self::None | Self::Missing { .. } => None,
            Self::Ready { from, .. } => Some(from.clone()),
            Self::File(file) => Some(format!("file {}", file.path.display())),
            Self::Command(command) => Some(format!("command {}", command.provider)),
        }
    }
}

fn kind_name(kind: SecretSource) -> &'static str {
    match kind {
        SecretSource::Env => "env",
        SecretSource::File => "file",
        SecretSource::Exec => "exec",
        SecretSource::Store => "store",
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests;
