//! Tokens of callers of `/mcp`: who is who, and what is open to them. The tokens themselves are kept nowhere.

mod scopes;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{ContentHash, Host};
use chela_files::{FileMode, LockFile, announce_write, read_if_there, write_file};
use serde::{Deserialize, Serialize};

pub use scopes::{ScopeFault, ServedScope, ServedScopes};

const PATIENCE: Duration = Duration::from_secs(20);
/// What tokens begin with, so that they are known for what they are.
const START: &str = "chela-mcp-";

/// All callers, by the names the owner gave them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallerTokens {
    #[serde(default)]
    pub callers: BTreeMap<String, CallerToken>,
    /// What another version of the program keeps here.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

/// What a token opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerToken {
    hash: ContentHash,
    pub scopes: ServedScopes,
    /// The agent it is about; `None`: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Seconds since 1970.
    pub made: u64,
}

/// Why tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is damaged ({why}); move it away and make new tokens", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} cannot be written: {why}", path.display())]
    Write { path: PathBuf, why: String },
    #[error("there is a token for `{0}` already; delete it first")]
    Taken(String),
}

impl CallerTokens {
    pub fn path(host: &Host) -> PathBuf {
        host.state_dir().join("state").join("mcp-callers.json")
    }

    pub fn load(host: &Host) -> Result<Self, TokenError> {
        Self::read(&Self::path(host))
    }

    fn read(path: &Path) -> Result<Self, TokenError> {
        let text = read_if_there(path).map_err(|source| TokenError::Read {
            path: path.to_owned(),
            source,
        })?;
        let Some(text) = text else {
            return Ok(Self::default());
        };
        serde_json::from_str(&text).map_err(|error| TokenError::Damaged {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// Makes a token for a caller. It is given back once and kept nowhere.
    pub fn create(
        host: &Host,
        name: &str,
        scopes: ServedScopes,
        agent: Option<String>,
    ) -> Result<String, TokenError> {
        let token = format!("{START}{}", host.random_hex(32));
        let made = CallerToken {
            hash: ContentHash::of(&token),
            scopes,
            agent,
            made: host.unix_time(),
        };
        Self::change(host, |tokens| match tokens.callers.contains_key(name) {
            true => Err(TokenError::Taken(name.to_owned())),
            false => {
                tokens.callers.insert(name.to_owned(), made);
                Ok(())
            }
        })??;
        Ok(token)
    }

    /// Says whether there was one.
    pub fn delete(host: &Host, name: &str) -> Result<bool, TokenError> {
        Self::change(host, |tokens| tokens.callers.remove(name).is_some())
    }

    /// Whose a token is. Tokens are long and random: which one is shown is told by its hash.
    pub fn find(&self, token: &str) -> Option<(&str, &CallerToken)> {
        if !token.starts_with(START) {
            return None;
        }
        let hash = ContentHash::of(token);
        let mut callers = self.callers.iter();
        callers
            .find(|(_, caller)| caller.hash == hash)
            .map(|(name, caller)| (name.as_str(), caller))
    }

    fn change<T>(host: &Host, change: impl FnOnce(&mut Self) -> T) -> Result<T, TokenError> {
        let path = Self::path(host);
        let failed = |why: String| TokenError::Write {
            path: path.clone(),
            why,
        };
        let lock = path.with_extension("json.lock");
        let _lock = LockFile::take(&lock, PATIENCE).map_err(|error| failed(error.to_string()))?;
        let mut tokens = Self::read(&path)?;
        let outcome = change(&mut tokens);
        let text = serde_json::to_string_pretty(&tokens);
        let bytes = text
            .map_err(|error| failed(error.to_string()))?
            .into_bytes();
        let announced = announce_write(&host.state_dir(), &path);
        write_file(&path, &bytes, FileMode::Private).map_err(|error| failed(error.to_string()))?;
        announced.finish(&bytes);
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use chela_core::Host;

    use super::{CallerTokens, ServedScope, ServedScopes};

    #[test]
    fn a_token_is_known_by_its_hash_and_kept_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let scopes = ServedScopes::parse(["memory"]).unwrap();
        let token = CallerTokens::create(&host, "desk", scopes.clone(), None).unwrap();
        assert!(CallerTokens::create(&host, "desk", scopes, None).is_err());
        let file = std::fs::read_to_string(CallerTokens::path(&host)).unwrap();
        assert!(!file.contains(&token));
        let tokens = CallerTokens::load(&host).unwrap();
        let (name, caller) = tokens.find(&token).unwrap();
        assert_eq!(name, "desk");
        assert!(caller.scopes.has(ServedScope::Memory) && !caller.scopes.has(ServedScope::Ask));
        for wrong in ["", "chela-mcp-", "chela-mcp-0000", &token[..20]] {
            assert!(tokens.find(wrong).is_none(), "{wrong}");
        }
        assert!(CallerTokens::delete(&host, "desk").unwrap());
        assert!(CallerTokens::load(&host).unwrap().find(&token).is_none());
    }
}
