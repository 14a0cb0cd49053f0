//! Noting who wrote what.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Trust, ok_or_warn};

use super::{Custody, text_of};
use crate::trust::{
    DeletedFile, HeldVersion, RootEntry, TrustError, TrustRecords, VersionCopies, VersionWriter,
    WrittenVersion, key,
};

/// The agent's hand: in which turn, with what, and what the owner was asked.
#[derive(Debug, Clone, Copy)]
pub struct WritingTurn<'a> {
    pub turn: &'a str,
    pub tool: &'a str,
    pub question: Option<&'a str>,
}

impl Custody {
    /// Notes versions whose writer is known.
    pub fn record(&self, wrote: &[WrittenVersion<'_>]) -> Result<(), TrustError> {
        let scan = |bytes: &[u8]| self.scanner.scan(&text_of(bytes.to_vec()));
        TrustRecords::record(&self.host, wrote, scan)
    }

    /// Notes files of the workspace, as they are on disk, as written by somebody known.
    pub fn record_files<'f>(
        &self,
        files: impl IntoIterator<Item = &'f str>,
        writer: &VersionWriter,
        how: &str,
    ) -> Result<(), TrustError> {
        let present: Vec<(PathBuf, Vec<u8>)> = files
            .into_iter()
            .filter_map(|file| {
                let (bytes, resolved) = self.present(&self.root().join(file))?;
                Some((resolved, bytes.bytes))
            })
            .collect();
        let wrote: Vec<WrittenVersion<'_>> = present
            .iter()
            .map(|(path, bytes)| WrittenVersion {
                path,
                bytes,
                writer,
                how,
                trust: Trust::Owner,
            })
            .collect();
        self.record(&wrote)
    }

    /// The policy lets somebody else's version pass: it is on record as such. A record that cannot
    /// be written changes nothing about that.
    pub(super) fn let_pass(&self, resolved: &Path) {
        if let Some((bytes, path)) = self.present(resolved) {
            let recorded = self.record(&[WrittenVersion {
                path: &path,
                bytes: &bytes.bytes,
                writer: &VersionWriter::Someone,
                how: "guard.trust lets it pass",
                trust: Trust::Agent,
            }]);
            ok_or_warn!(
                recorded,
                "a file changed by someone else is accepted without a record"
            );
        }
    }

    /// The policy lets somebody else's deletion pass.
    pub(super) fn let_go(&self, path: &Path) {
        let how = "guard.trust lets it pass";
        let recorded = self.record_gone(path, &VersionWriter::Someone, how);
        ok_or_warn!(
            recorded,
            "a file deleted by someone else is accepted without a record"
        );
    }

    /// A file that was on record was deleted by somebody known.
    pub fn record_gone(
        &self,
        path: &Path,
        writer: &VersionWriter,
        how: &str,
    ) -> Result<(), TrustError> {
        let gone = DeletedFile {
            writer: writer.clone(),
            at: self.host.unix_time(),
            how: how.to_owned(),
        };
        TrustRecords::change(&self.host, |records| {
            if let Some(entry) = records.files.get_mut(&key(path)) {
                entry.delete(gone);
            }
        })
    }

    /// A version, or a deletion, waits for the owner: it came about while foreign text was being
    /// read. The text is kept, so that it can be shown whatever becomes of the file.
    pub fn hold(&self, path: &Path, hand: &WritingTurn<'_>) -> Result<(), TrustError> {
        let present = self.present(path);
        let resolved = present.as_ref().map_or(path, |(_, resolved)| resolved);
        let bytes = present.as_ref().map(|(bytes, _)| bytes.bytes.as_slice());
        let held = self.held_by(bytes, hand);
        TrustRecords::change(&self.host, |records| {
            let entry = records.files.entry(key(resolved)).or_default();
            let known = entry.trusted.as_ref().map(|known| known.hash);
            // Back as it was, or never there: nothing waits.
            if known == held.hash {
                entry.held = None;
            } else {
                entry.held = Some(held);
            }
        })
    }

    /// The same for a text of the config, known by its key.
    pub fn hold_setting(
        &self,
        name: &str,
        text: &str,
        hand: &WritingTurn<'_>,
    ) -> Result<(), TrustError> {
        let held = self.held_by(Some(text.as_bytes()), hand);
        TrustRecords::change(&self.host, |records| {
            let entry = records.files.entry(name.to_owned()).or_default();
            if entry.trusted.as_ref().map(|known| known.hash) != held.hash {
                entry.held = Some(held);
            }
        })
    }

    /// What the agent wanted to write waits for the owner; the file is as it was. `None` is a
    /// deletion.
    pub fn propose(
        &self,
        path: &Path,
        bytes: Option<&[u8]>,
        hand: &WritingTurn<'_>,
    ) -> Result<(), TrustError> {
        let proposed = self.held_by(bytes, hand);
        TrustRecords::change(&self.host, |records| {
            let entry = records.files.entry(key(path)).or_default();
            entry.proposed = Some(proposed);
        })
    }

    /// A version is there that is not the owner's, and that nobody settled yet.
    pub fn doubt(&self, path: &Path) -> Result<(), TrustError> {
        let resolved = self.resolved(path);
        TrustRecords::change(&self.host, |records| {
            records.files.entry(key(&resolved)).or_default().doubted = true;
        })
    }

    /// What was held is settled: the former text is there again, or nothing.
    pub fn settle_held(&self, path: &Path) -> Result<(), TrustError> {
        TrustRecords::change(&self.host, |records| {
            if let Some(entry) = records.files.get_mut(&key(path)) {
                entry.held = None;
            }
        })
    }

    /// What was proposed is settled, one way or the other.
    pub fn drop_proposal(&self, path: &Path) -> Result<Option<HeldVersion>, TrustError> {
        TrustRecords::change(&self.host, |records| {
            let entry = records.files.get_mut(&key(path))?;
            entry.proposed.take()
        })
    }

    fn held_by(&self, bytes: Option<&[u8]>, hand: &WritingTurn<'_>) -> HeldVersion {
        if let Some(bytes) = bytes {
            VersionCopies::of(&self.host).keep(bytes);
        }
        HeldVersion {
            hash: bytes.map(ContentHash::of),
            turn: hand.turn.to_owned(),
            at: self.host.unix_time(),
            how: hand.tool.to_owned(),
            question: hand.question.map(str::to_owned),
        }
    }

    /// The owner withdraws trust: the file is not used before it is approved again.
    pub fn revoke(&self, path: &Path) -> Result<(), TrustError> {
        let resolved = self.resolved(path);
        let at = self.host.unix_time();
        TrustRecords::change(&self.host, |records| {
            records.files.entry(key(&resolved)).or_default().revoke(at);
        })
    }

    /// The owner takes a folder for their own: changes in it are told, not set aside.
    pub fn take_for_own(&self, dir: &Path) -> Result<(), TrustError> {
        let since = self.host.unix_time();
        let head = crate::git::head_of(dir);
        TrustRecords::change(&self.host, |records| {
            records.roots.insert(key(dir), RootEntry { since, head });
        })
    }

    pub fn give_up(&self, dir: &Path) -> Result<(), TrustError> {
        TrustRecords::change(&self.host, |records| {
            records.roots.remove(&key(dir));
        })
    }
}
