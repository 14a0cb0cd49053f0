//! A conversation as a file: to be read, to be brought in again, or for a program.

use std::path::Path;

use chela_session::{OpenSession, SessionError, Sessions};
use serde_json::{Value, json};

use super::as_markdown;

/// What an export is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Every entry on a line, branches that were left included; `sessions import` reads it.
    JsonLines,
    /// One object: the session and the entries of its branch.
    Json,
    /// Who said what.
    Markdown,
}

impl ExportFormat {
    /// By the ending of a file; one that says nothing gets what can be brought in again.
    pub fn of_file(path: &Path) -> Self {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
        match ending.as_deref().and_then(|ending| ending.to_str()) {
            Some("md" | "markdown" | "txt") => Self::Markdown,
            Some("json") => Self::Json,
            _ => Self::JsonLines,
        }
    }
}

/// The text of a conversation in a format.
pub async fn export_session(
    sessions: &Sessions,
    session: &OpenSession,
    format: ExportFormat,
) -> Result<Vec<u8>, SessionError> {
    let mut text = Vec::new();
    match format {
        ExportFormat::JsonLines => sessions.export_jsonl(session, &mut text).await?,
        ExportFormat::Json => {
            let info = sessions.info(session).await?;
            let branch = sessions.branch(session).await?;
            let entries: Vec<Value> = branch.iter().map(|entry| entry.to_json()).collect();
            let whole = json!({ "session": info, "entries": entries });
            text = format!("{whole:#}\n").into_bytes();
        }
        ExportFormat::Markdown => {
            let info = sessions.info(session).await?;
            let branch = sessions.branch(session).await?;
            let title = info
                .name()
                .map_or_else(|| info.key.to_string(), str::to_owned);
            text = as_markdown(&title, &branch).into_bytes();
        }
    }
    Ok(text)
}
