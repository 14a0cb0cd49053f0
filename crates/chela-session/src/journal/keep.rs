//! Keeping what a change replaces, for as long as there is room.

use std::path::Path;

use chela_core::ContentHash;
use chela_store::{ForgetLimit, KeptFile, NewChange, TextMark, TrustChange};
use chela_tools::{ChangeId, FileChange};

use super::foreign::{SHORTEST, text_on_disk};
use super::{FileJournal, JournalChange, JournalError};

/// On whose behalf a file is changed.
#[derive(Debug, Clone, Copy)]
pub struct ChangeAuthor<'a> {
    /// Its key.
    pub session: &'a str,
    pub session_id: &'a str,
    pub turn: &'a str,
    /// The turn has read text from outside.
    pub tainted: bool,
    /// Somebody answers for the text that lives on in the file.
    pub keeps_own: bool,
}

/// What becomes of the trust in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustAfter {
    /// It follows from who writes, and what of the old text lives on.
    Follows,
    /// What was there is there again, with the trust it had.
    Restored { foreign: bool },
}

/// How often what is too old is looked for: with the first change, and every so many.
const TIDY_EVERY: i64 = 64;
const LEVEL: i32 = 3;
/// What a row takes besides the text.
const ROW: u64 = 400;

impl FileJournal {
    /// On the disk when this returns.
    pub fn keep(
        &self,
        change: &FileChange<'_>,
        author: &ChangeAuthor<'_>,
        trust: TrustAfter,
    ) -> Result<ChangeId, JournalError> {
        let path = self.name_of(change.path)?;
        let keeps = change.keeps.map(|kept| self.kept_file(kept, &path));
        let packed = change.before.map(|text| zstd::bulk::compress(text, LEVEL));
        let packed = packed
            .transpose()
            .map_err(|source| JournalError::NotPacked {
                path: change.path.to_owned(),
                source,
            })?;
        let room = packed.as_ref().map_or(0, |packed| packed.len() as u64) + ROW;
        if room > self.retention.bytes {
            return Err(JournalError::TooLarge {
                path: change.path.to_owned(),
                most: self.retention.bytes,
            });
        }
        let change = NewChange {
            at: self.host.unix_millis(),
            session: author.session.to_owned(),
            session_id: author.session_id.to_owned(),
            turn: author.turn.to_owned(),
            call: change.call.to_owned(),
            tool: change.tool.to_owned(),
            path,
            keeps: keeps.transpose()?,
            home: self.home().to_str().map(str::to_owned),
            what: change.in_words(),
            before: change.before.map(text_mark),
            packed_before: packed,
            after: change.after.map(text_mark),
            shortest_known: SHORTEST,
            tainted: author.tainted,
            keeps_own: author.keeps_own,
            trust: match trust {
                TrustAfter::Follows => TrustChange::Follows,
                TrustAfter::Restored { foreign } => TrustChange::Restored { foreign },
            },
        };
        let id = self.write(|journal| journal.keep(change))?;
        if id % TIDY_EVERY == 1 {
            // Best effort: what is too much now is too much the next time as well.
            if let Err(error) = self.tidy() {
                tracing::debug!(%error, "old changes stay in the journal for now");
            }
        }
        Ok(ChangeId(id))
    }

    /// A file whose text lives on in the one that is called `path`.
    fn kept_file(&self, kept: &Path, path: &str) -> Result<KeptFile, JournalError> {
        let name = self.name_of(kept)?;
        // A file that is written over is judged by what it was before.
        let text = match name == path {
            true => None,
            false => text_on_disk(kept),
        };
        Ok(KeptFile { path: name, text })
    }

    /// A change that was kept came to nothing: it and what it did to the trust are forgotten.
    pub fn take_out(&self, change: ChangeId) -> Result<(), JournalError> {
        self.write(|journal| journal.take_out(change.0))
    }

    /// Forgets what is too old or too much. Gives how many changes went.
    pub fn tidy(&self) -> Result<usize, JournalError> {
        let age = u64::try_from(self.retention.age.as_millis()).unwrap_or(u64::MAX);
        let oldest = self.host.unix_millis().saturating_sub(age);
        let limit = ForgetLimit {
            oldest,
            most_bytes: self.retention.bytes,
            bytes_per_change: ROW,
        };
        self.write(|journal| journal.forget(limit))
    }

    /// What stood in a file before a change; `None`: no file.
    pub(super) fn kept(&self, change: &JournalChange) -> Result<Option<Vec<u8>>, JournalError> {
        let found = self.look(|journal| journal.text_before(change.id))?;
        let failed = |why: String| JournalError::Unpacked {
            path: change.path.clone(),
            change: change.id,
            why,
        };
        match found.flatten() {
            Some(None) => Ok(None),
            Some(Some(text)) => {
                let size = usize::try_from(text.size).unwrap_or(usize::MAX);
                zstd::bulk::decompress(&text.packed, size)
                    .map(Some)
                    .map_err(|error| failed(error.to_string()))
            }
            None => Err(failed("it is no longer on record".to_owned())),
        }
    }
}

pub(super) fn text_mark(content: &[u8]) -> TextMark {
    TextMark {
        hash: *ContentHash::of(content).as_bytes(),
        size: content.len() as u64,
    }
}
