//! A file on its way to being shown.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};

use chela_files::ReadVersion;

use super::MOST_FILE_BYTES;

/// Enough of a file to tell what it is.
const SAMPLE: usize = 64 * 1024;

/// A file that is shown. All but very large ones are held as a whole, so that what is shown is the
/// version that is judged, whatever happens to the file meanwhile.
pub(super) struct ShownFile {
    file: File,
    /// As it was before anything was read.
    facts: Metadata,
    pub(super) size: u64,
    /// `None` of one that is read in pieces.
    pub(super) whole: Option<Vec<u8>>,
}

impl ShownFile {
    pub(super) fn take(file: File) -> std::io::Result<Self> {
        let facts = file.metadata()?;
        let mut bytes = Vec::new();
        if facts.len() <= MOST_FILE_BYTES {
            (&file).take(MOST_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        }
        // Some files have no size, and some grow.
        let is_whole = facts.len().max(bytes.len() as u64) <= MOST_FILE_BYTES;
        Ok(Self {
            size: facts.len().max(bytes.len() as u64),
            whole: is_whole.then_some(bytes),
            file,
            facts,
        })
    }

    /// Its text behind so many bytes.
    pub(super) fn reader(&self, skip: u64) -> std::io::Result<Box<dyn Read + '_>> {
        match &self.whole {
            Some(bytes) => {
                let rest = usize::try_from(skip)
                    .ok()
                    .and_then(|skip| bytes.get(skip..));
                Ok(Box::new(rest.unwrap_or_default()))
            }
            None => {
                (&self.file).seek(SeekFrom::Start(skip))?;
                Ok(Box::new(&self.file))
            }
        }
    }

    pub(super) fn sample(&self) -> std::io::Result<Vec<u8>> {
        let mut sample = Vec::with_capacity(SAMPLE);
        self.reader(0)?
            .take(SAMPLE as u64)
            .read_to_end(&mut sample)?;
        Ok(sample)
    }

    /// Which version of it was read.
    pub(super) fn version(&self) -> ReadVersion {
        ReadVersion::of_read(&self.file, self.facts.clone(), self.whole.as_deref())
    }
}
