//! Noting who wrote what.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, Trust, ok_or_warn};

use super::book::{TrustBook, TrustError, key};
use super::custody::{Custody, text_of};
use super::entry::{Gone, Held, RootEntry, Version, Writer};
use super::versions::Versions;
use crate::core_file::CoreFile;
use crate::seed::template;

/// A version that somebody Chela knows wrote.
#[derive(Debug, Clone, Copy)]
pub struct Wrote<'a> {
    /// Where it lies, links resolved.
    pub path: &'a Path,
    pub bytes: &'a [u8],
    pub writer: &'a Writer,
    pub how: &'a str,
    pub trust: Trust,
}

/// The agent's hand: in which turn, with what, and what the owner was asked.
#[derive(Debug, Clone, Copy)]
pub struct Hand<'a> {
    pub turn: &'a str,
    pub tool: &'a str,
    pub question: Option<&'a str>,
}

impl Custody {
    /// Notes versions whose writer is known.
    pub fn record(&self, wrote: &[Wrote<'_>]) -> Result<(), TrustError> {
        let versions: Vec<(String, Version)> = wrote
            .iter()
            .map(|wrote| {
                let version = Version {
                    hash: ContentHash::of(wrote.bytes),
                    writer: wrote.writer.clone(),
                    at: self.host.unix_time(),
                    how: wrote.how.to_owned(),
                    trust: wrote.trust,
                    found: self.scanner.scan(&text_of(wrote.bytes.to_vec())),
                };
                (key(wrote.path), version)
            })
            .collect();
        let copies = Versions::of(&self.host);
        for wrote in wrote {
            copies.keep(wrote.bytes);
        }
        TrustBook::change(&self.host, |book| {
            for (path, version) in versions {
                book.files.entry(path).or_default().trust(version);
            }
        })
    }

    /// Notes files of the workspace, as they are on disk, as written by somebody known.
    pub fn record_files<'f>(
        &self,
        files: impl IntoIterator<Item = &'f str>,
        writer: &Writer,
        how: &str,
    ) -> Result<(), TrustError> {
        let present: Vec<(PathBuf, Vec<u8>)> = files
            .into_iter()
            .filter_map(|file| {
                let (bytes, resolved) = self.present(&self.root().join(file))?;
                Some((resolved, bytes.bytes))
            })
            .collect();
        let wrote: Vec<Wrote<'_>> = present
            .iter()
            .map(|(path, bytes)| Wrote {
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
            let recorded = self.record(&[Wrote {
                path: &path,
                bytes: &bytes.bytes,
                writer: &Writer::Someone,
                how: "guard.trust lets it pass",
                trust: Trust::Agent,
            }]);
            ok_or_warn!(
                recorded,
                "a file somebody changed is let pass without a record"
            );
        }
    }

    /// The policy lets somebody else's deletion pass.
    pub(super) fn let_go(&self, path: &Path) {
        let how = "guard.trust lets it pass";
        let recorded = self.record_gone(path, &Writer::Someone, how);
        ok_or_warn!(
            recorded,
            "a file somebody deleted is let go without a record"
        );
    }

    /// A file that was on record was deleted by somebody known.
    pub fn record_gone(&self, path: &Path, writer: &Writer, how: &str) -> Result<(), TrustError> {
        let gone = Gone {
            writer: writer.clone(),
            at: self.host.unix_time(),
            how: how.to_owned(),
        };
        TrustBook::change(&self.host, |book| {
            if let Some(entry) = book.files.get_mut(&key(path)) {
                entry.delete(gone);
            }
        })
    }

    /// A version, or a deletion, waits for the owner: it came about while foreign text was being
    /// read. The text is kept, so that it can be shown whatever becomes of the file.
    pub fn hold(&self, path: &Path, hand: &Hand<'_>) -> Result<(), TrustError> {
        let present = self.present(path);
        let resolved = present.as_ref().map_or(path, |(_, resolved)| resolved);
        let bytes = present.as_ref().map(|(bytes, _)| bytes.bytes.as_slice());
        let held = self.held_by(bytes, hand);
        TrustBook::change(&self.host, |book| {
            let entry = book.files.entry(key(resolved)).or_default();
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
    pub fn hold_setting(&self, name: &str, text: &str, hand: &Hand<'_>) -> Result<(), TrustError> {
        let held = self.held_by(Some(text.as_bytes()), hand);
        TrustBook::change(&self.host, |book| {
            let entry = book.files.entry(name.to_owned()).or_default();
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
        hand: &Hand<'_>,
    ) -> Result<(), TrustError> {
        let proposed = self.held_by(bytes, hand);
        TrustBook::change(&self.host, |book| {
            let entry = book.files.entry(key(path)).or_default();
            entry.proposed = Some(proposed);
        })
    }

    /// What was held is settled: the former text is there again, or nothing.
    pub fn settle_held(&self, path: &Path) -> Result<(), TrustError> {
        TrustBook::change(&self.host, |book| {
            if let Some(entry) = book.files.get_mut(&key(path)) {
                entry.held = None;
            }
        })
    }

    /// What was proposed is settled, one way or the other.
    pub fn drop_proposal(&self, path: &Path) -> Result<Option<Held>, TrustError> {
        TrustBook::change(&self.host, |book| {
            let entry = book.files.get_mut(&key(path))?;
            entry.proposed.take()
        })
    }

    fn held_by(&self, bytes: Option<&[u8]>, hand: &Hand<'_>) -> Held {
        if let Some(bytes) = bytes {
            Versions::of(&self.host).keep(bytes);
        }
        Held {
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
        TrustBook::change(&self.host, |book| {
            book.files.entry(key(&resolved)).or_default().revoke(at);
        })
    }

    /// The owner takes a folder for their own: changes in it are told, not set aside.
    pub fn take_for_own(&self, dir: &Path) -> Result<(), TrustError> {
        let since = self.host.unix_time();
        TrustBook::change(&self.host, |book| {
            book.roots.insert(key(dir), RootEntry { since });
        })
    }

    pub fn give_up(&self, dir: &Path) -> Result<(), TrustError> {
        TrustBook::change(&self.host, |book| {
            book.roots.remove(&key(dir));
        })
    }
}

/// What Chela wrote when it set a workspace up is on record from the start. Failing to note it is
/// no failure: the text is known from the build.
pub(crate) fn record_seeded(host: &Host, dir: &Path, files: &[CoreFile]) {
    let Ok(root) = std::fs::canonicalize(dir) else {
        return;
    };
    let copies = Versions::of(host);
    let texts = files
        .iter()
        .filter_map(|file| Some((*file, template(*file)?)));
    let versions: Vec<(String, Version)> = texts
        .map(|(file, text)| {
            copies.keep(text.as_bytes());
            let version = Version {
                hash: ContentHash::of(text),
                writer: Writer::Chela,
                at: host.unix_time(),
                how: "set up the workspace".to_owned(),
                trust: Trust::Owner,
                found: None,
            };
            (key(&root.join(file.name())), version)
        })
        .collect();
    let noted = TrustBook::change(host, |book| {
        for (path, version) in versions {
            book.files.entry(path).or_default().trust(version);
        }
    });
    ok_or_warn!(noted, "the files of a new workspace are not on record");
}
