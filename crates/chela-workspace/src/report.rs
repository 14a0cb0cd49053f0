//! What happened to each context file, in words that commands can show and scripts can read.

use std::path::PathBuf;

use chela_core::cut::{CutLimit, DroppedPart};
use chela_core::{AgentId, Audience, ContentHash, Trust, Zone, grouped};
use serde::Serialize;

use crate::core_file::FileNeed;
use crate::trust::{
    AbsentFile, FolderGround, HeldVersion, JudgedVersion, SuspicionLevel, TrustAct, TrustStanding,
};

/// One file that is, or might have been, in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// Base name, such as `SOUL.md`.
    pub name: String,
    pub path: PathBuf,
    /// As in the prompt: relative to the workspace where it is the working folder.
    pub shown_path: String,
    #[serde(flatten)]
    pub status: FileStatus,
    /// Hash of the file as it is on disk; `None` when it was not read.
    pub hash: Option<ContentHash>,
    /// Length of the file on disk in characters.
    pub raw_chars: usize,
    /// Length of what stands in the prompt.
    pub injected_chars: usize,
    pub trust: Trust,
    pub audience: Audience,
    pub zone: Zone,
    pub remarks: Vec<FileRemark>,
    /// What extensions did to it.
    pub changes: Vec<ExtensionChange>,
}

/// Whether a file is in the prompt, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "status",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FileStatus {
    Injected,
    Truncated {
        by: CutBudget,
        #[serde(serialize_with = "limit_with_unit")]
        limit: CutLimit,
        dropped: Vec<DroppedLines>,
    },
    Missing {
        need: FileNeed,
    },
    Blank,
    /// Sub-agents, cron runs and light heartbeats get fewer files.
    FilteredBySession,
    /// Private, in a session that others read.
    FilteredByAudience,
    /// BOOTSTRAP.md after the first conversation.
    NotBrandNew,
    DisabledByConfig {
        key: &'static str,
    },
    /// HEARTBEAT.md, where there are no heartbeats.
    HeartbeatsOff,
    OverTotalBudget {
        #[serde(serialize_with = "limit_with_unit")]
        limit: CutLimit,
    },
    Unreadable {
        why: String,
    },
    OutsideWorkspace {
        target: PathBuf,
    },
    NotAFile {
        kind: &'static str,
    },
    /// Matched by a glob, but not one of the names that context files have.
    UnknownName,
    /// Another name of a file that is already there.
    SameFile {
        name: String,
    },
    RemovedByExtension {
        id: String,
    },
    /// Somebody wrote it whom the owner has not confirmed, and there is no version to stand in.
    SetAside,
}

/// Which of the two limits cut a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CutBudget {
    PerFile,
    Total,
}

/// A part of a file that is not in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DroppedLines {
    pub first_line: u32,
    pub last_line: u32,
    pub chars: usize,
    pub headings: Vec<String>,
}

/// Something the owner should know about a file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "remark",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FileRemark {
    InvalidUtf8 {
        offset: usize,
        line: usize,
    },
    Utf16,
    /// Invisible characters that can hide instructions were removed.
    Invisible {
        removed: usize,
        /// The first few lines they were in.
        lines: Vec<u32>,
    },
    /// Too large to be read whole: this many bytes in the middle were left out.
    PartlyRead {
        left_out: u64,
    },
    /// The pinned parts alone are larger than what the file may have.
    PinsOverLimit {
        needed: usize,
    },
    /// It is not the version on record.
    Unconfirmed {
        state: TrustStanding,
        /// What is used in its place.
        act: TrustAct,
        ground: FolderGround,
        /// How the owner names it in a command.
        name: String,
    },
    /// The agent wanted to change it when nobody could be asked.
    Proposed {
        /// `None`: it wanted to delete it.
        hash: Option<ContentHash>,
        /// How the owner names it in a command.
        name: String,
    },
    /// It reads like an instruction that somebody slipped in.
    Suspicious {
        severity: SuspicionLevel,
        what: String,
    },
}

/// What an extension did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionChange {
    pub extension: String,
    pub action: ExtensionAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ExtensionAction {
    Added,
    Changed,
    Removed,
    /// It wanted to take out text that the owner pinned; the file is as it was.
    Refused,
}

impl FileStatus {
    /// Whether there is no text that could have been kept out.
    pub(crate) fn is_nothing_there(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Blank)
    }

    /// Whether any of the file is in the prompt.
    pub fn is_in_prompt(&self) -> bool {
        matches!(
            self,
            Self::Injected
                | Self::Truncated { .. }
                | Self::SetAside
                | Self::Missing {
                    need: FileNeed::Required
                }
        )
    }
}

impl FileReport {
    /// Whether the owner should look at this file.
    pub fn wants_attention(&self) -> bool {
        !self.remarks.is_empty()
            || matches!(
                self.status,
                FileStatus::Truncated { .. }
                    | FileStatus::OverTotalBudget { .. }
                    | FileStatus::Missing {
                        need: FileNeed::Required
                    }
                    | FileStatus::Unreadable { .. }
                    | FileStatus::OutsideWorkspace { .. }
                    | FileStatus::NotAFile { .. }
                    | FileStatus::SetAside
            )
    }
}

impl FileRemark {
    /// What the agent wanted to write, for the owner to decide about.
    pub(crate) fn of_proposal(proposed: &HeldVersion, shown: &str, agent: &AgentId) -> Self {
        Self::Proposed {
            hash: proposed.hash,
            name: format!("{shown}{}", whose(agent)),
        }
    }

    /// What the owner should know about a file that is no longer there.
    pub(crate) fn of_absence(absent: &AbsentFile, shown: &str, agent: &AgentId) -> Option<Self> {
        let told = absent.judgement.waits() && !absent.is_allowed;
        told.then(|| Self::Unconfirmed {
            state: match absent.judgement.state {
                TrustStanding::Held => TrustStanding::Deleted,
                state => state,
            },
            act: absent.judgement.act,
            ground: absent.ground,
            name: format!("{shown}{}", whose(agent)),
        })
    }

    /// What the owner should know about who wrote a file. What the policy lets pass is no news,
    /// and a weak suspicion about a version that is known is none either.
    pub fn of_trust(judged: &JudgedVersion, shown: &str, agent: &AgentId) -> Vec<Self> {
        let judgement = &judged.judgement;
        let allowed = judged.is_allowed;
        let unconfirmed = (judgement.waits() && !allowed).then(|| Self::Unconfirmed {
            state: judgement.state,
            act: judgement.act,
            ground: judged.ground,
            name: format!("{shown}{}", whose(agent)),
        });
        let least = match judgement.waits() {
            true => SuspicionLevel::Medium,
            false => SuspicionLevel::High,
        };
        let found = judged.found.as_ref();
        let suspicious =
            found
                .filter(|found| found.severity >= least)
                .map(|found| Self::Suspicious {
                    severity: found.severity,
                    what: found.what.clone(),
                });
        unconfirmed.into_iter().chain(suspicious).collect()
    }
}

/// What a command needs to know besides the file.
fn whose(agent: &AgentId) -> String {
    match *agent == AgentId::main() {
        true => String::new(),
        false => format!(" --agent {agent}"),
    }
}

impl From<&DroppedPart> for DroppedLines {
    fn from(part: &DroppedPart) -> Self {
        Self {
            first_line: *part.lines.start(),
            last_line: *part.lines.end(),
            chars: part.chars,
            headings: part.headings.clone(),
        }
    }
}

/// A limit as people say it: `20,000 characters`.
pub fn limit_in_words(limit: CutLimit) -> String {
    match limit {
        CutLimit::Chars(chars) => format!("{} characters", grouped(chars)),
        CutLimit::Tokens(tokens) => format!("{} tokens", grouped(tokens)),
    }
}

/// `{"chars": 20000}` or `{"tokens": 5000}`.
fn limit_with_unit<S: serde::Serializer>(
    limit: &CutLimit,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (unit, amount) = match limit {
        CutLimit::Chars(amount) => ("chars", amount),
        CutLimit::Tokens(amount) => ("tokens", amount),
    };
    serializer.collect_map([(unit, amount)])
}

impl std::fmt::Display for FileStatus {
    /// The rest of a sentence that begins with the file's name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Injected => f.write_str("is in the prompt, whole"),
            Self::Truncated { by, limit, dropped } => {
                let key = by.key(*limit);
                write!(f, "was cut to fit {} ({key})", limit_in_words(*limit))?;
                let lines: Vec<_> = dropped.iter().map(DroppedLines::lines).collect();
                if !lines.is_empty() {
                    write!(f, "; left out: lines {}", lines.join(", "))?;
                }
                let headings: Vec<_> = dropped
                    .iter()
                    .flat_map(|part| &part.headings)
                    .map(String::as_str)
                    .collect();
                if !headings.is_empty() {
                    write!(f, " ({})", headings.join("; "))?;
                }
                Ok(())
            }
            Self::Missing {
                need: FileNeed::Required,
            } => f.write_str("is missing; `chela init` creates it"),
            Self::Missing {
                need: FileNeed::Optional,
            } => f.write_str("does not exist"),
            Self::Blank => f.write_str("has nothing in it"),
            Self::FilteredBySession => f.write_str(
                "is not included in this kind of session; list it under `inherit` to include it",
            ),
            Self::FilteredByAudience => f.write_str("is private, and others can read this session"),
            Self::NotBrandNew => f.write_str("is only read in a brand-new workspace"),
            Self::DisabledByConfig { key } => write!(f, "is left out by `{key}`"),
            Self::HeartbeatsOff => f.write_str(
                "is left out: heartbeats are off (`agents.defaults.heartbeat` turns them on)",
            ),
            Self::OverTotalBudget { limit } => write!(
                f,
                "did not fit: earlier files use up {} ({})",
                limit_in_words(*limit),
                CutBudget::Total.key(*limit)
            ),
            Self::Unreadable { why } => write!(f, "cannot be read: {why}"),
            Self::OutsideWorkspace { target } => write!(
                f,
                "is a symlink out of its folder, to {}; it is not followed",
                target.display()
            ),
            Self::NotAFile { kind } => write!(f, "is {kind}, not a file"),
            Self::UnknownName => f.write_str("is not named like a context file, such as AGENTS.md"),
            Self::SameFile { name } => write!(f, "is the same file as {name}"),
            Self::RemovedByExtension { id } => write!(f, "was removed by extension `{id}`"),
            Self::SetAside => f.write_str("is quarantined: one line takes its place"),
        }
    }
}

impl CutBudget {
    /// The config key that sets this limit.
    pub fn key(self, limit: CutLimit) -> &'static str {
        match (self, limit) {
            (Self::PerFile, CutLimit::Chars(_)) => "bootstrapMaxChars",
            (Self::PerFile, CutLimit::Tokens(_)) => "bootstrapMaxTokens",
            (Self::Total, CutLimit::Chars(_)) => "bootstrapTotalMaxChars",
            (Self::Total, CutLimit::Tokens(_)) => "bootstrapTotalMaxTokens",
        }
    }
}

impl DroppedLines {
    fn lines(&self) -> String {
        if self.first_line == self.last_line {
            self.first_line.to_string()
        } else {
            format!("{}-{}", self.first_line, self.last_line)
        }
    }
}

impl std::fmt::Display for FileRemark {
    /// The rest of a sentence that begins with the file's name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidUtf8 { offset, line } => write!(
                f,
                "is not valid UTF-8 from byte {offset} (line {line}) on; bad bytes show as \u{FFFD}"
            ),
            Self::Utf16 => f.write_str("is UTF-16; save it as UTF-8"),
            Self::Invisible { removed, lines } => {
                let lines: Vec<_> = lines.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "had {removed} invisible characters that can hide instructions (first in line {}); they were left out",
                    lines.join(", ")
                )
            }
            Self::PartlyRead { left_out } => {
                write!(
                    f,
                    "is too large: {left_out} bytes in the middle were not read"
                )
            }
            Self::PinsOverLimit { needed } => write!(
                f,
                "pins more text than its limit allows: it needs {}",
                grouped(*needed)
            ),
            Self::Unconfirmed {
                state,
                act,
                ground,
                name,
            } => {
                if let TrustStanding::Gone | TrustStanding::Deleted = state {
                    f.write_str(match state {
                        TrustStanding::Gone => "was deleted by someone else",
                        _ => {
                            "was deleted without your approval, by a command or with untrusted \
                            content in context"
                        }
                    })?;
                    if let TrustAct::UseTrusted(_) = act {
                        f.write_str("; the last trusted version is used")?;
                    }
                    return write!(
                        f,
                        " (restore it: chela trust restore {name}; accept: chela trust approve \
                            {name})"
                    );
                }
                f.write_str(match (state, ground) {
                    (TrustStanding::Held, _) => {
                        "was written without your approval, by a command or with untrusted \
                            content in context"
                    }
                    (TrustStanding::Revoked, _) => "is no longer trusted",
                    (_, FolderGround::Foreign) => "came with the folder",
                    (TrustStanding::Unknown, _) => "was written by someone else",
                    (_, _) => "was changed by someone else",
                })?;
                f.write_str(match act {
                    TrustAct::Use => " and is used as it is, as untrusted content",
                    TrustAct::UseTrusted(_) => "; the last trusted version is used instead",
                    TrustAct::Withhold => "; it is not used",
                })?;
                write!(
                    f,
                    " (review: chela trust diff {name}; approve: chela trust approve {name})"
                )
            }
            Self::Proposed { hash, name } => {
                match hash {
                    Some(hash) => write!(f, "has a change waiting for you ({})", hash.short())?,
                    None => f.write_str("has a deletion waiting for you")?,
                }
                write!(
                    f,
                    ": chela trust diff {name}, then chela trust approve {name} or chela trust \
                        refuse {name}"
                )
            }
            Self::Suspicious { severity, what } => match severity {
                SuspicionLevel::High => write!(f, "looks like an injected instruction: {what}"),
                _ => write!(f, "may contain an injected instruction: {what}"),
            },
        }
    }
}
