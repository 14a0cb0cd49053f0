//! Telling the model and the owner what was cut or skipped. The owner is told once per change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chela_core::{ContentHash, Host, grouped, ok_or_warn};
use chela_files::read_if_there;
use serde::{Deserialize, Serialize};

use crate::disk::{DiskError, write_document};
use crate::report::{FileReport, FileStatus};

/// A sentence for the prompt about files that are not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptNotice {
    /// Changes with the files and the limits.
    pub key: ContentHash,
    pub text: String,
}

/// A sentence for the owner about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnerNotice {
    /// Changes with the content of the file and with what happened to it.
    pub key: ContentHash,
    pub path: PathBuf,
    pub text: String,
}

/// The notice under the context files, when any was shortened or found no room.
pub fn prompt_notice(report: &[FileReport]) -> Option<PromptNotice> {
    let mut files = Vec::new();
    let mut key = String::new();
    for file in report {
        let how = match &file.status {
            FileStatus::Truncated { .. } => format!(
                "{} ({} of {} characters shown)",
                file.shown_path,
                grouped(file.injected_chars),
                grouped(file.raw_chars)
            ),
            FileStatus::OverTotalBudget { .. } => format!("{} (left out)", file.shown_path),
            _ => continue,
        };
        key.push_str(&format!("{how}\0{:?}\0", file.hash));
        files.push(how);
    }
    (!files.is_empty()).then(|| PromptNotice {
        key: ContentHash::of(key),
        text: include_str!("../text/truncated.txt")
            .trim()
            .replace("{files}", &files.join(", ")),
    })
}

/// What the owner has not been told yet about these files.
pub fn owner_notices(seen: &BTreeSet<ContentHash>, report: &[FileReport]) -> Vec<OwnerNotice> {
    let notices = report
        .iter()
        .filter(|file| file.wants_attention())
        .map(owner_notice);
    notices
        .filter(|notice| !seen.contains(&notice.key))
        .collect()
}

fn owner_notice(file: &FileReport) -> OwnerNotice {
    let mut findings = Vec::new();
    if !matches!(file.status, FileStatus::Injected) {
        findings.push(file.status.to_string());
    }
    findings.extend(file.remarks.iter().map(ToString::to_string));
    let mut text = format!("{} {}.", file.shown_path, findings.join("; it "));
    if matches!(
        file.status,
        FileStatus::Truncated { .. } | FileStatus::OverTotalBudget { .. }
    ) {
        text.push_str(
            " Shorten it, raise the limit, or put what matters between <!-- keep --> and <!-- /keep -->.",
        );
    }
    let key = format!(
        "{}\0{:?}\0{text}",
        file.path.display(),
        file.hash.map(|h| h.to_string())
    );
    OwnerNotice {
        key: ContentHash::of(key),
        path: file.path.clone(),
        text,
    }
}

/// Remembers in the state folder which notices were given.
#[derive(Debug, Clone)]
pub struct NoticeStore {
    file: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Given {
    version: u32,
    /// When each notice was given, in seconds since 1970.
    seen: BTreeMap<ContentHash, u64>,
}

impl NoticeStore {
    /// More are not kept; the oldest go first.
    const MOST: usize = 2000;

    pub fn of(host: &Host) -> Self {
        Self {
            file: host.state_dir().join("state").join("notices.json"),
        }
    }

    /// The notices given so far. A file that is missing or broken counts as none: then the owner
    /// hears something twice, which is better than never.
    pub fn seen(&self) -> BTreeSet<ContentHash> {
        self.read().seen.into_keys().collect()
    }

    pub fn remember(
        &self,
        host: &Host,
        keys: impl IntoIterator<Item = ContentHash>,
    ) -> Result<(), DiskError> {
        let mut given = self.read();
        let before = given.seen.len();
        for key in keys {
            given.seen.entry(key).or_insert_with(|| host.unix_time());
        }
        if given.seen.len() == before {
            return Ok(());
        }
        let mut times: Vec<u64> = given.seen.values().copied().collect();
        times.sort_unstable();
        if let Some(oldest_kept) = times.iter().rev().nth(Self::MOST - 1) {
            given.seen.retain(|_, at| *at >= *oldest_kept);
        }
        given.version = 1;
        write_document(&self.file, &given)
    }

    fn read(&self) -> Given {
        let text = ok_or_warn!(
            read_if_there(&self.file),
            "notices are given once more: their record is not readable"
        );
        text.flatten()
            .and_then(|text| {
                let given = serde_json::from_str(&text);
                ok_or_warn!(
                    given,
                    "notices are given once more: their record is damaged"
                )
            })
            .unwrap_or_default()
    }
}
