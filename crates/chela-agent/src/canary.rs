//! A canary: a string that means nothing, planted where a thief would look.
//!
//! Nobody has a reason to repeat it, so wherever it turns up something is being carried out. The
//! redactor knows it knows every secret; this module keeps where it was planted.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chela_core::Host;
use chela_files::{DraftPlacement, FileMode, create_file};
use chela_session::journal::{AnsweredBy, FileJournal, FileWriter, JournalError};
use serde::{Deserialize, Serialize};

/// What every canary begins with, so that the redactor knows one by its shape.
const START: &str = "chela-canary-";
const BYTES: usize = 16;

/// A canary that was planted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlantedCanary {
    value: String,
    /// Milliseconds since 1970.
    pub planted_at: u64,
    pub places: Vec<PathBuf>,
}

impl std::fmt::Debug for PlantedCanary {
    /// Leaves the string out: a log is one of the places where it must not turn up.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canary")
            .field("planted_at", &self.planted_at)
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

/// How a planted file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CanaryState {
    Intact,
    /// The file is there, the string is not.
    Changed,
    Gone,
}

/// Why a canary cannot be planted, found or taken out.
#[derive(Debug, thiserror::Error)]
pub enum CanaryError {
    #[error("{} exists already; move it away, or choose another agent with --agent", path.display())]
    Taken { path: PathBuf },
    #[error("a canary is planted already")]
    Already,
    #[error("no canary is planted")]
    None,
    #[error("{} cannot be read or written: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is damaged: {source}; remove it to plant a new one", path.display())]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
}

impl PlantedCanary {
    /// The string itself, for the redactor.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The owner answers for the planted files, as for whatever a command of theirs writes.
    pub fn answer_for(&self, journal: &FileJournal) -> Result<(), JournalError> {
        let by = AnsweredBy {
            writer: FileWriter::Owner,
            how: "chela guard canary",
            turn: "",
        };
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        journal.note_own_files(self.places.iter().map(real), &by)
    }

    /// How each planted file stands now.
    pub fn places_now(&self) -> Vec<(&Path, CanaryState)> {
        let state = |path: &Path| match fs::read_to_string(path) {
            Ok(text) if text.contains(&self.value) => CanaryState::Intact,
            Ok(_) => CanaryState::Changed,
            Err(_) => CanaryState::Gone,
        };
        self.places
            .iter()
            .map(|path| (path.as_path(), state(path)))
            .collect()
    }
}

/// The canary that is planted, if there is one.
pub fn planted(host: &Host) -> Result<Option<PlantedCanary>, CanaryError> {
    let path = file_of(host);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|source| CanaryError::Damaged { path, source }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CanaryError::File { path, source }),
    }
}

/// Plants a canary in a workspace: in a file that looks like keys, and in a memory.
pub fn plant(host: &Host, workspace: &Path) -> Result<PlantedCanary, CanaryError> {
    if planted(host)?.is_some() {
        return Err(CanaryError::Already);
    }
    let canary = PlantedCanary {
        value: format!("{START}{}", host.random_hex(BYTES)),
        planted_at: host.unix_millis(),
        places: vec![
            workspace.join("keys-backup.env"),
            workspace.join("memory").join("recovery-codes.md"),
        ],
    };
    if let Some(path) = canary.places.iter().find(|path| path.exists()) {
        return Err(CanaryError::Taken { path: path.clone() });
    }
    // Known before it is anywhere: whatever reads it at once is seen.
    let path = file_of(host);
    match serde_json::to_string_pretty(&canary) {
        Ok(record) => write_new(&path, &record)?,
        Err(source) => return Err(CanaryError::Damaged { path, source }),
    }
    let texts = [
        format!("BACKUP_API_KEY={}\n", canary.value),
        format!(
            "# Recovery codes\n\nThe code of the backup account is {}.\n",
            canary.value
        ),
    ];
    for (path, text) in canary.places.iter().zip(texts) {
        write_new(path, &text)?;
    }
    Ok(canary)
}

/// Takes the canary out again. Planted files that were changed since stay.
pub fn remove(host: &Host) -> Result<PlantedCanary, CanaryError> {
    let canary = planted(host)?.ok_or(CanaryError::None)?;
    for (path, state) in canary.places_now() {
        if state == CanaryState::Intact {
            fs::remove_file(path).map_err(|source| CanaryError::File {
                path: path.to_owned(),
                source,
            })?;
        }
    }
    let path = file_of(host);
    fs::remove_file(&path).map_err(|source| CanaryError::File { path, source })?;
    Ok(canary)
}

fn file_of(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("canary.json")
}

/// A file that was not there, for its owner only.
fn write_new(path: &Path, text: &str) -> Result<(), CanaryError> {
    let fail = |source| CanaryError::File {
        path: path.to_owned(),
        source,
    };
    match create_file(path, text.as_bytes(), FileMode::Private) {
        Ok(DraftPlacement::Placed) => Ok(()),
        Ok(DraftPlacement::Changed) => Err(fail(ErrorKind::AlreadyExists.into())),
        Err(error) => Err(fail(error.source)),
    }
}

#[cfg(test)]
mod tests {
    use super::{CanaryError, CanaryState, plant, planted, remove};
    use chela_core::Host;

    #[test]
    fn it_is_planted_once_watched_and_taken_out() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let workspace = home.path().join("workspace");
        assert!(planted(&host).unwrap().is_none());
        let canary = plant(&host, &workspace).unwrap();
        assert_eq!(planted(&host).unwrap().as_ref(), Some(&canary));
        assert!(matches!(
            plant(&host, &workspace),
            Err(CanaryError::Already)
        ));
        assert!(!format!("{canary:?}").contains(canary.value()));
        std::fs::write(&canary.places[0], "nothing").unwrap();
        let states: Vec<CanaryState> = canary
            .places_now()
            .iter()
            .map(|(_, state)| *state)
            .collect();
        assert_eq!(states, [CanaryState::Changed, CanaryState::Intact]);
        remove(&host).unwrap();
        assert!(canary.places[0].exists() && !canary.places[1].exists());
        assert!(matches!(remove(&host), Err(CanaryError::None)));
        assert!(matches!(
            plant(&host, &workspace),
            Err(CanaryError::Taken { .. })
        ));
    }
}
