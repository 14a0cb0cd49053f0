//! The chain as lines of JSON that can be checked without the ledger.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use super::head::Found;
use super::verify::ChainCheck;
use super::{AuditEntry, AuditFilter, Damage, Head, Seq};
use crate::store::{Ledger, LedgerError};

/// Why an export fails.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the export cannot be written")]
    Write(#[from] std::io::Error),
    #[error("line {line} is no audit entry: {source}")]
    Line {
        line: usize,
        source: serde_json::Error,
    },
}

/// The last line: without it nobody would miss the entries before it.
#[derive(Serialize, Deserialize)]
struct End {
    end: Option<(Seq, chela_core::ContentHash)>,
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

/// Checks an export: the same damage is found as in the ledger itself.
pub fn verify_export(input: &mut dyn BufRead) -> Result<Vec<Damage>, ExportError> {
    let mut entries = Vec::new();
    let mut head = Found::Missing;
    for (at, line) in input.lines().enumerate() {
        let line = line?;
        let read = serde_json::from_str(&line).map_err(|source| ExportError::Line {
            line: at + 1,
            source,
        })?;
        match read {
            Line::Entry(entry) => entries.push(entry),
            Line::End(End { end }) => {
                head = end.map_or(Found::Missing, |(seq, hash)| {
                    Found::Head(Head { seq, hash })
                });
            }
        }
    }
    let mut check = ChainCheck::new(head);
    entries.into_iter().for_each(|entry| check.take(entry));
    Ok(check.finish())
}
