//! Copies of the versions on record, by hash, for the owner's eyes alone: what is set aside is
//! stood in for, compared, and put back, from here. A history inside the workspace would not do: who can change the file can change it.

use std::path::PathBuf;

use chela_core::{ContentHash, Host, ok_or_debug, ok_or_warn};

use crate::disk::write_privately;

/// Larger files have no copy; they can be approved, but not put back.
const LARGEST: usize = 1 << 20;

/// The folder of copies.
#[derive(Debug, Clone)]
pub struct VersionCopies {
    dir: PathBuf,
}

impl VersionCopies {
    pub fn of(host: &Host) -> Self {
        Self {
            dir: host.state_dir().join("state").join("file-versions"),
        }
    }

    /// The bytes of a version. A copy that is not what its name says does not count.
    pub fn bytes(&self, hash: ContentHash) -> Option<Vec<u8>> {
        let read = std::fs::read(self.dir.join(hash.to_string()));
        let bytes = ok_or_debug!(read, "there is no copy of a version", %hash)?;
        let is_it = ContentHash::of(&bytes) == hash;
        if !is_it {
            tracing::warn!(%hash, "the copy of a version was changed and does not count");
        }
        is_it.then_some(bytes)
    }

    /// Keeps a copy. Failing to is no failure: the file is trusted all the same.
    pub(crate) fn keep(&self, bytes: &[u8]) {
        let path = self.dir.join(ContentHash::of(bytes).to_string());
        if bytes.len() <= LARGEST && !path.exists() {
            let kept = write_privately(&path, bytes);
            ok_or_warn!(kept, "no copy of a trusted file is kept");
        }
    }

    pub(crate) fn forget(&self, hash: ContentHash) {
        let removed = std::fs::remove_file(self.dir.join(hash.to_string()));
        ok_or_debug!(removed, "an old copy of a file stays");
    }
}
