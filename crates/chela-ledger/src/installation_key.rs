//! Who wrote an entry: a proof under a key that only this installation has.
//!
//! Hashes show that an entry fits those before and after it; whoever can write the file can make
//! them fit anew. The proof cannot be made without the key, which lies apart from the ledger and is
//! never exported. It holds against everyone who may change the records but not read the key: a
//! command in the sandbox, a backup, another machine.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, ok_or_warn};
use chela_files::{FileMode, create_file, open_plain};
use chela_store::{AuditEntry, ChainEnd, ChainId};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

const FIRST_LINE: &str = "chela installation key 1";

/// The secret of an installation, and which entries were written before it was made.
#[derive(Clone, PartialEq, Eq)]
pub struct InstallationKey {
    secret: [u8; 32],
    /// The newest entry of each chain at that time.
    unproven: BTreeMap<ChainId, u64>,
}

impl std::fmt::Debug for InstallationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstallationKey")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

/// The key lies in the folder of the ledger.
pub(crate) fn key_file(ledger: &Path) -> PathBuf {
    ledger.with_file_name("installation.key")
}

impl InstallationKey {
    /// The key of this installation, if it has one that can be read.
    pub fn beside(ledger: &Path) -> Option<Self> {
        let path = key_file(ledger);
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the installation's key cannot be read");
                return None;
            }
        };
        let key = Self::parse(&text);
        if key.is_none() {
            tracing::warn!(path = %path.display(), "the installation's key is not one");
        }
        key
    }

    /// The same, made if there is none. `ends` are the chains as they are by then: what they hold
    /// already was written without a proof.
    pub(crate) fn made_beside(
        ledger: &Path,
        host: &Host,
        ends: impl FnOnce() -> Option<Vec<ChainEnd>>,
    ) -> Option<Self> {
        let path = key_file(ledger);
        if std::fs::symlink_metadata(&path).is_err() {
            let mut secret = [0; 32];
            host.entropy.fill(&mut secret);
            let newest = ends()?
                .into_iter()
                .filter_map(|end| Some((end.chain, end.newest?.seq)));
            let key = Self {
                secret,
                unproven: newest.collect(),
            };
            let made = create_file(&path, key.text().as_bytes(), FileMode::Private);
            ok_or_warn!(
                made,
                "the installation has no key: audit entries carry no proof"
            );
        }
        // Another process may have made it first.
        Self::beside(ledger)
    }

    /// Which key it is, without telling it.
    pub fn id(&self) -> String {
        self.authenticate(b"chela installation key id").short()
    }

    /// The proof that this installation made something, for one purpose.
    pub fn prove_own(&self, purpose: &str, what: &ContentHash) -> ContentHash {
        let mut bytes = format!("chela {purpose} proof 1\0").into_bytes();
        bytes.extend(what.as_bytes());
        self.authenticate(&bytes)
    }

    /// The proof of an entry. It covers the chain and, by the entry's hash, everything before.
    pub(crate) fn prove(&self, chain: &ChainId, entry: &AuditEntry) -> ContentHash {
        let mut bytes = b"chela audit proof 1".to_vec();
        bytes.extend((chain.as_str().len() as u64).to_be_bytes());
        bytes.extend(chain.as_str().as_bytes());
        bytes.extend(entry.seq.to_be_bytes());
        bytes.extend(entry.hash.as_bytes());
        self.authenticate(&bytes)
    }

    /// Whether an entry was to be written with a proof.
    pub(crate) fn covers(&self, chain: &ChainId, seq: u64) -> bool {
        self.unproven.get(chain).is_none_or(|last| seq > *last)
    }

    fn authenticate(&self, bytes: &[u8]) -> ContentHash {
        // HMAC takes keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.secret) else {
            return ContentHash::of(self.secret);
        };
        mac.update(bytes);
        ContentHash::from_bytes(mac.finalize().into_bytes().into())
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{FIRST_LINE}\nkey {}\n",
            ContentHash::from_bytes(self.secret)
        );
        for (chain, seq) in &self.unproven {
            text.push_str(&format!("unproven {seq} {}\n", chain.as_str()));
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let secret = ContentHash::from_hex(lines.next()?.strip_prefix("key ")?)?;
        let unproven = lines.map(|line| {
            let (seq, chain) = line.strip_prefix("unproven ")?.split_once(' ')?;
            Some((ChainId::named(chain)?, seq.parse().ok()?))
        });
        Some(Self {
            secret: *secret.as_bytes(),
            unproven: unproven.collect::<Option<_>>()?,
        })
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    open_plain(path, std::fs::OpenOptions::new().read(true))?
        .take(MOST)
        .read_to_string(&mut text)?;
    Ok(text)
}
