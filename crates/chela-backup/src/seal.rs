//! The end of an archive: a second member of the gzip file that holds the hash of everything before
//! it. Between files, in padding and in the headers of the packer there are bits that no hash of a
//! file covers; this one covers them all.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

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

/// Says who made an archive: a keyed hash of its hash, under a key only the installation has.
#[derive(Clone)]
pub struct ArchiveProver(Arc<dyn Fn(&ContentHash) -> ContentHash + Send + Sync>);

impl ArchiveProver {
    pub fn new(prove: impl Fn(&ContentHash) -> ContentHash + Send + Sync + 'static) -> Self {
        Self(Arc::new(prove))
    }

    fn prove(&self, hash: &ContentHash) -> ContentHash {
        (self.0)(hash)
    }
}

impl std::fmt::Debug for ArchiveProver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ArchiveProver")
    }
}

/// What stands where nobody proves anything.
const NO_PROOF: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The last bytes of an archive whose other bytes have this hash. The same hash gives the same bytes,
/// for the same installation.
pub(crate) fn seal_of(hash: &ContentHash, prover: Option<&ArchiveProver>) -> io::Result<Vec<u8>> {
    let proof = prover.map(|prover| prover.prove(hash).to_string());
    let proof = proof.as_deref().unwrap_or(NO_PROOF);
    member_of(&format!("chela-backup sha256 {hash} proof {proof}\n"))
}

/// As it was before archives said who made them.
fn plain_seal_of(hash: &ContentHash) -> io::Result<Vec<u8>> {
    member_of(&format!("chela-backup sha256 {hash}\n"))
}

fn member_of(text: &str) -> io::Result<Vec<u8>> {
    let mut member = GzBuilder::new().write(Vec::new(), Compression::none());
    member.write_all(text.as_bytes())?;
    member.finish()
}

/// What the end of an archive says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SealCheck {
    /// It fits what is before it.
    pub is_sealed: bool,
    /// This installation made it.
    pub is_own: bool,
}

/// Looks at the end of an archive.
pub(crate) fn check_seal(file: &mut File, prover: Option<&ArchiveProver>) -> io::Result<SealCheck> {
    let none = ContentHash::of("");
    let whole = file.metadata()?.len();
    for seal in [seal_of(&none, None)?, plain_seal_of(&none)?] {
        let Some(front) = whole.checked_sub(seal.len() as u64) else {
            continue;
        };
        file.seek(SeekFrom::Start(0))?;
        let mut hashing = HashWriter::new(io::sink());
        io::copy(&mut Read::by_ref(file).take(front), &mut hashing)?;
        let (_, hash) = hashing.finish();
        let mut end = Vec::new();
        file.read_to_end(&mut end)?;
        let begins = format!("chela-backup sha256 {hash}");
        let mut text = String::new();
        let read = flate2::read::GzDecoder::new(end.as_slice()).read_to_string(&mut text);
        if read.is_ok() && text.starts_with(&begins) && member_of(&text)? == end {
            let own = prover.map(|_| seal_of(&hash, prover)).transpose()?;
            return Ok(SealCheck {
                is_sealed: true,
                is_own: own.is_some_and(|own| own == end),
            });
        }
    }
    Ok(SealCheck {
        is_sealed: false,
        is_own: false,
    })
}
