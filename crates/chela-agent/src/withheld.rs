//! Text from outside that was held back, until the owner releases it.
//!
//! One file per text, in the state folder, where no tool reads.

use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_warn};
use chela_files::{FileMode, write_file};
use serde::{Deserialize, Serialize};

/// A text that was held back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WithheldText {
    pub id: String,
    pub agent: String,
    pub session: String,
    pub tool: String,
    /// What was found, for people.
    pub why: String,
    /// The text as the model would have read it: wrapped.
    pub text: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The owner let it through: then, and whenever the same text comes again.
    #[serde(default)]
    pub released: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum WithheldError {
    #[error("nothing is withheld as `{0}`; `chela guard withheld` lists what is")]
    None(String),
    #[error("{} cannot be {what}: {error}", path.display())]
    File {
        path: PathBuf,
        what: &'static str,
        error: std::io::Error,
    },
}

impl WithheldText {
    fn folder(host: &Host) -> PathBuf {
        host.state_dir().join("withheld")
    }

    fn path(host: &Host, id: &str) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_id = !id.is_empty() && id.chars().all(plain);
        is_id.then(|| Self::folder(host).join(format!("{id}.json")))
    }

    pub fn find(host: &Host, id: &str) -> Result<Self, WithheldError> {
        let unknown = || WithheldError::None(chela_guard::approval::shown(id));
        let path = Self::path(host, id).ok_or_else(unknown)?;
        match Self::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(unknown()),
            read => read.map_err(|error| WithheldError::File {
                path,
                what: "read",
                error,
            }),
        }
    }

    fn read(path: &Path) -> std::io::Result<Self> {
        Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
    }

    pub fn is_released(host: &Host, id: &str) -> bool {
        Self::find(host, id).is_ok_and(|text| text.released)
    }

    /// All of them, the newest first.
    pub fn list(host: &Host) -> Vec<Self> {
        let files = std::fs::read_dir(Self::folder(host)).into_iter().flatten();
        let mut all: Vec<Self> = files
            .flatten()
            .map(|file| file.path())
            .filter_map(|path| {
                let read = Self::read(&path);
                ok_or_warn!(read, "a withheld text cannot be read", path = %path.display())
            })
            .collect();
        all.sort_by_key(|text| std::cmp::Reverse(text.at));
        all
    }

    pub fn save(&self, host: &Host) -> Result<(), WithheldError> {
        let Some(path) = Self::path(host, &self.id) else {
            return Err(WithheldError::None(self.id.clone()));
        };
        let written = serde_json::to_string_pretty(self)
            .map_err(std::io::Error::from)
            .and_then(|text| Ok(write_file(&path, text.as_bytes(), FileMode::Private)?));
        written.map_err(|error| WithheldError::File {
            path,
            what: "written",
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{WithheldError, WithheldText};
    use chela_core::Host;

    #[test]
    fn one_that_cannot_be_read_is_not_said_to_be_none() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let none = WithheldText::find(&host, "abc").unwrap_err();
        assert!(matches!(none, WithheldError::None(_)), "{none}");
        let path = WithheldText::path(&host, "abc").unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "{").unwrap();
        let broken = WithheldText::find(&host, "abc").unwrap_err().to_string();
        assert!(
            broken.contains("abc.json cannot be read: EOF while parsing"),
            "{broken}"
        );
        assert!(WithheldText::list(&host).is_empty());
    }
}
