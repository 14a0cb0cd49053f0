//! The end of an archive: a second member of the gzip file that holds the hash of everything before
//! it. Between files, in padding and in the headers of the packer there are bits that no hash of a
//! file covers; this one covers them all.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use chela_core::ContentHash;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// Writes on, and hashes what goes by.
pub(crate) struct HashWriter<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> HashWriter<W> {
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    pub fn finish(self) -> (W, ContentHash) {
        let hash = ContentHash::from_bytes(self.hash.finalize().into());
        (self.inner, hash)
    }
}

impl<W: Write> Write for HashWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Reads on, and hashes what goes by.
pub(crate) struct HashReader<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> HashReader<R> {
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    pub fn finish(self) -> ContentHash {
        ContentHash::from_bytes(self.hash.finalize().into())
    }
}

impl<R: Read> Read for HashReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hash.update(bytes.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// The last bytes of an archive whose other bytes have this hash. The same hash gives the same bytes.
pub(crate) fn seal_of(hash: &ContentHash) -> io::Result<Vec<u8>> {
    let mut member = GzBuilder::new().write(Vec::new(), Compression::none());
    member.write_all(format!("chela-backup sha256 {hash}\n").as_bytes())?;
    member.finish()
}

/// Whether an archive ends with the seal over what is before it, and how long that is.
pub(crate) fn check_seal(file: &mut File) -> io::Result<(bool, u64)> {
    let seal_length = seal_of(&ContentHash::of(""))?.len() as u64;
    let whole = file.metadata()?.len();
    let Some(front) = whole.checked_sub(seal_length) else {
        return Ok((false, whole));
    };
    file.seek(SeekFrom::Start(0))?;
    let mut hashing = HashWriter::new(io::sink());
    io::copy(&mut Read::by_ref(file).take(front), &mut hashing)?;
    let (_, hash) = hashing.finish();
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok((end == seal_of(&hash)?, front))
}
