//! Registries: where skills are found by name. One with ClawHub's HTTP API, or a plain index file.

mod clawhub;
mod index_file;

use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_model::{DownloadError, DownloadLimit, ModelHttp};
use chela_skills::{AddSource, RegistryName};
use serde::Serialize;

use crate::fail::CommandError;

/// Where people publish skills for agents like this one.
const USUAL: &str = "https://clawhub.ai";
/// Larger than any skill may be.
const ARCHIVE: DownloadLimit = DownloadLimit {
    bytes: 64 * 1024 * 1024,
    patience: Duration::from_secs(300),
};
const ANSWER: DownloadLimit = DownloadLimit {
    bytes: 8 * 1024 * 1024,
    patience: Duration::from_secs(30),
};

/// The registries of a config, in its order.
pub struct SkillRegistries {
    http: ModelHttp,
    addresses: Vec<String>,
}

/// A skill as a registry lists it.
#[derive(Debug, Clone, Serialize)]
pub struct RegistryRow {
    pub name: String,
    pub owner: Option<String>,
    pub version: Option<String>,
    pub summary: String,
    pub registry: String,
}

/// What a registry says of one skill.
#[derive(Debug, Clone)]
pub struct RegistryEntry {
    pub registry: String,
    pub version: String,
    /// What the registry itself warns of.
    pub warning: Option<String>,
}

impl SkillRegistries {
    pub fn of(host: &Host, loaded: &LoadedConfig, only: Option<&str>) -> Self {
        let usual = || vec![USUAL.to_owned()];
        let addresses = match only {
            Some(address) => vec![address.to_owned()],
            None => loaded
                .config
                .skills
                .registries
                .clone()
                .unwrap_or_else(usual),
        };
        Self {
            http: ModelHttp::new(host, loaded),
            addresses,
        }
    }

    fn check(&self) -> Result<(), CommandError> {
        match self.addresses.is_empty() {
            false => Ok(()),
            true => Err(CommandError::new("no registry is configured").hint(format!(
                "chela config set skills.registries '[\"{USUAL}\"]'"
            ))),
        }
    }

    /// What fits some words, of all registries. One that does not answer is told beside the others.
    pub async fn search(
        &self,
        words: &str,
        most: usize,
    ) -> Result<(Vec<RegistryRow>, Vec<CommandError>), CommandError> {
        self.check()?;
        let (mut rows, mut failed) = (Vec::new(), Vec::new());
        for address in &self.addresses {
            let found = match index_file::is_index(address) {
                true => index_file::search(self, address, words, most).await,
                false => clawhub::search(self, address, words, most).await,
            };
            match found {
                Ok(found) => rows.extend(found),
                Err(error) => failed.push(error),
            }
        }
        match (rows.is_empty(), failed.is_empty()) {
            (true, false) => Err(failed.remove(0)),
            _ => Ok((rows, failed)),
        }
    }

    /// What is known of a name; the first registry that has it counts.
    pub async fn look_up(&self, name: &RegistryName) -> Result<RegistryEntry, CommandError> {
        self.check()?;
        let mut first = None;
        for address in &self.addresses {
            let found = match index_file::is_index(address) {
                true => index_file::look_up(self, address, name).await,
                false => clawhub::look_up(self, address, name).await,
            };
            match found {
                Ok(found) => return Ok(found),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| CommandError::new(format!("no registry has `{name}`"))))
    }

    /// The files of a skill, as they can be added.
    pub async fn fetch(
        &self,
        entry: &RegistryEntry,
        name: &RegistryName,
    ) -> Result<AddSource, CommandError> {
        match index_file::is_index(&entry.registry) {
            true => index_file::fetch(self, entry, name).await,
            false => clawhub::fetch(self, entry, name).await,
        }
    }

    /// An archive at an address.
    pub async fn archive(&self, address: &str) -> Result<Vec<u8>, CommandError> {
        self.download(address, ARCHIVE).await
    }

    pub async fn answer(&self, address: &str) -> Result<serde_json::Value, CommandError> {
        let bytes = self.download(address, ANSWER).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            CommandError::new(format!("{address} did not answer with JSON: {error}"))
        })
    }

    async fn download(&self, address: &str, limit: DownloadLimit) -> Result<Vec<u8>, CommandError> {
        let fetched = self.http.download(address, limit, &mut |_| ()).await;
        fetched.map_err(|error| match error {
            DownloadError::Failed { .. } => CommandError::new(error).hint(
                "check the network; a folder or an archive that is here can be added without one",
            ),
            DownloadError::Address { .. } => CommandError::new(error).hint(
                "`chela config get skills.registries` shows where skills are looked for; --registry \
                 URL names another place",
            ),
            other => CommandError::new(other),
        })
    }
}

/// A text as it stands in the query of a URL.
fn in_query(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A text of a registry, fit for a terminal.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    chela_core::sanitize::literal(&line).into_owned()
}
