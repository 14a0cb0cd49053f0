//! The chain as lines of JSON that can be checked without the ledger.

use std::io::{BufRead, Write};

use chela_store::{AuditEntry, ChainHead, ChainId, NotedHead};
use serde::{Deserialize, Serialize};

use super::{AuditFilter, ChainCheck, EntrySeq, LedgerDamage};
use crate::installation_key::InstallationKey;
use crate::ledger::{Ledger, LedgerError};

/// Why an export fails.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the export cannot be written")]
    Write(#[from] std::io::Error),
    #[error("line {line} is not an audit entry: {source}")]
    Line {
        line: usize,
        source: serde_json::Error,
    },
}

/// The last line: without it nobody would miss the entries before it.
#[derive(Serialize, Deserialize)]
struct End {
    end: Option<(EntrySeq, chela_core::ContentHash)>,
    /// Of which chain, where it is not that of a home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain: Option<String>,
    /// Under which key the proofs are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// What is known of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportReport {
    pub damage: Vec<LedgerDamage>,
    /// Whether this installation wrote the entries; elsewhere only their hashes can be checked.
    pub proofs_checked: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Entry(AuditEntry),
    End(End),
}

impl Ledger {
    /// Writes every entry, and at the end which was the last. Returns how many there were.
    pub async fn export_audit(&self, out: &mut dyn Write) -> Result<u64, ExportError> {
        let entries = self.audit(&AuditFilter::default()).await?;
        for entry in &entries {
            write_line(out, entry)?;
        }
        write_line(
            out,
            &End {
                end: entries.last().map(|entry| (entry.seq, entry.hash)),
                chain: (!self.chain.is_default()).then(|| self.chain.to_string()),
                key: InstallationKey::beside(self.path()).map(|key| key.id()),
            },
        )?;
        Ok(entries.len() as u64)
    }
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> Result<(), ExportError> {
    let text = serde_json::to_string(line).map_err(LedgerError::from)?;
    writeln!(out, "{text}")?;
    Ok(())
}

/// Checks an export: the same damage is found as in the ledger itself, and where the key is the
/// one it was written with, who wrote it.
pub fn verify_export(
    input: &mut dyn BufRead,
    key: Option<InstallationKey>,
) -> Result<ExportReport, ExportError> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    let mut written_with = None;
    let (mut head, mut chain) = (NotedHead::Missing, ChainId::default());
    for (at, line) in input.lines().enumerate() {
        let line = line?;
        let read = serde_json::from_str(&line).map_err(|source| ExportError::Line {
            line: at + 1,
            source,
        })?;
        match read {
            Line::Entry(entry) => entries.push(entry),
            Line::End(ended) => {
                head = ended.end.map_or(NotedHead::Missing, |(seq, hash)| {
                    NotedHead::Head(ChainHead { seq, hash })
                });
                chain = ended
                    .chain
                    .and_then(|name| ChainId::named(&name))
                    .unwrap_or_default();
                written_with = ended.key;
            }
        }
    }
    let key = key.filter(|key| Some(key.id()) == written_with);
    let proofs_checked = key.is_some();
    let mut check = ChainCheck::new(&chain, head, key);
    for entry in entries {
        check.take(match proofs_checked {
            true => entry,
            // Another installation's proofs say nothing here.
            false => AuditEntry {
                proof: None,
                ..entry
            },
        });
    }
    Ok(ExportReport {
        damage: check.finish(),
        proofs_checked,
    })
}
