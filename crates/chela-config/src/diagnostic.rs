//! What is worth telling the operator about the config: what, where, what next.

use std::path::PathBuf;

use serde::Serialize;

pub use chela_core::Severity;

use crate::key_path::KeyPath;

/// A place in a file, as people count: from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct SourcePlace {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
}

/// One finding about the config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigDiagnostic {
    pub severity: Severity,
    /// A short stable name, such as `unknown-key`.
    pub code: &'static str,
    /// The key concerned; empty for the file as a whole.
    #[serde(serialize_with = "as_text")]
    pub path: KeyPath,
    pub place: Option<SourcePlace>,
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigDiagnostic {
    /// About the config as a whole.
    pub(crate) fn whole(
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
        hint: &str,
    ) -> Self {
        Self {
            severity,
            code,
            path: KeyPath::root(),
            place: None,
            message: message.into(),
            hint: Some(hint.to_owned()),
        }
    }
}

fn as_text<S: serde::Serializer>(path: &KeyPath, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(path)
}

impl std::fmt::Display for ConfigDiagnostic {
    /// `chela.json:3:5: agents.lst: unknown key (did you mean `agents.list`?)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.place {
            write!(
                f,
                "{}:{}:{}: ",
                place.file.display(),
                place.line,
                place.column
            )?;
        }
        if !self.path.is_root() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
