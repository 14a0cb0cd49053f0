//! Signatures of skills: who stands behind every file of a folder.
//!
//! A publisher lists all files of a skill in `SKILL.manifest`: for each one its hash, whether it
//! is a program, and its path. The signature of that list lies beside it, in `SKILL.manifest.sig`,
//! in the format of `ssh-keygen -Y sign -n chela-skill`, so that any ssh key of the kind
//! `ssh-ed25519` will do and anyone can check it without Chela.
//!
//! A signature holds only if the list and the folder say the same: nothing changed, nothing more,
//! nothing less, no link.

mod manifest;
mod ssh;

use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use chela_core::Host;
use chela_files::{restrict_to_owner, set_permission_bits};
use serde::Serialize;

pub use manifest::{ManifestDifference, ManifestError, SkillManifest};
pub use ssh::{KeyError, PublicKey, SecretKey, VerifyError, verify as verify_signature};

use crate::disk;
use crate::name;
use crate::tree::{self, SkillFile};

/// The list of all files.
pub(crate) const MANIFEST_FILE: &str = "SKILL.manifest";
/// The signature of that list.
pub(crate) const SIGNATURE_FILE: &str = "SKILL.manifest.sig";
/// What our signatures are for; one made for something else does not count.
const NAMESPACE: &str = "chela-skill";
/// A list of the most files a skill may have is smaller.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// What the signature of a skill says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillSignature {
    /// There is none.
    Unsigned,
    /// Every file is as this key signed it.
    Valid(PublicKey),
    /// There is one, and it does not hold.
    Broken(BrokenSignature),
}

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenSignature {
    #[error("both {MANIFEST_FILE} and {SIGNATURE_FILE} are required")]
    Half,
    #[error("{file} cannot be read: {why}")]
    Unreadable { file: &'static str, why: String },
    #[error("{SIGNATURE_FILE}: {0}")]
    Signature(String),
    #[error("{MANIFEST_FILE} is not the list that was signed")]
    OtherList,
    #[error("{MANIFEST_FILE}: {0}")]
    Manifest(String),
    #[error("the list is for the skill `{signed}`, not for `{name}`")]
    OtherSkill { signed: String, name: String },
    #[error("{}", differences(.0))]
    Differs(Vec<ManifestDifference>),
}

fn differences(all: &[ManifestDifference]) -> String {
    const SHOWN: usize = 4;
    let mut words: Vec<String> = all.iter().take(SHOWN).map(ToString::to_string).collect();
    if all.len() > SHOWN {
        words.push(format!("{} more", all.len() - SHOWN));
    }
    words.join(", ")
}

/// Why a skill was not signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("{} has no usable SKILL.md: {why}", folder.display())]
    NoSkill { folder: PathBuf, why: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The signature of a skill whose files are known by hash. `name` is what the skill calls itself.
pub(crate) fn read(folder: &Path, name: &str, files: &[SkillFile]) -> SkillSignature {
    let has = |wanted: &str| files.iter().any(|file| file.path == wanted);
    match (has(MANIFEST_FILE), has(SIGNATURE_FILE)) {
        (false, false) => return SkillSignature::Unsigned,
        (true, true) => {}
        _ => return SkillSignature::Broken(BrokenSignature::Half),
    }
    let signed = match signed_list(folder) {
        Ok(signed) => signed,
        Err(broken) => return SkillSignature::Broken(broken),
    };
    settle(signed, name, &SkillManifest::of(name, files))
}

/// Checks a folder by itself: reads every file in it, also those that discovery passes over.
pub fn verify(folder: &Path) -> SkillSignature {
    let there = |file: &str| std::fs::symlink_metadata(folder.join(file)).is_ok();
    match (there(MANIFEST_FILE), there(SIGNATURE_FILE)) {
        (false, false) => return SkillSignature::Unsigned,
        (true, true) => {}
        _ => return SkillSignature::Broken(BrokenSignature::Half),
    }
    let signed = match signed_list(folder) {
        Ok(signed) => signed,
        Err(broken) => return SkillSignature::Broken(broken),
    };
    let name = match name_of(folder) {
        Ok(name) => name,
        Err(why) => {
            return SkillSignature::Broken(BrokenSignature::Unreadable {
                file: crate::SKILL_FILE,
                why,
            });
        }
    };
    match SkillManifest::read_folder(folder, &name) {
        Ok(found) => settle(signed, &name, &found),
        Err(error) => SkillSignature::Broken(BrokenSignature::Manifest(error.to_string())),
    }
}

/// Signs the skill in a folder, as it lies there. Returns the number of files that were signed.
pub fn sign(folder: &Path, key: &SecretKey) -> Result<usize, SignError> {
    let name = name_of(folder).map_err(|why| SignError::NoSkill {
        folder: folder.to_owned(),
        why,
    })?;
    let manifest = SkillManifest::read_folder(folder, &name)?;
    let text = manifest.to_string();
    let write = |file: &str, text: &str| {
        let path = folder.join(file);
        disk::replace(&path, text.as_bytes()).map_err(|source| SignError::Write { path, source })
    };
    write(MANIFEST_FILE, &text)?;
    write(SIGNATURE_FILE, &key.sign(NAMESPACE, text.as_bytes()))?;
    Ok(manifest.len())
}

/// A new key in a file of its own, readable by its owner alone, with the public half beside it.
/// Nothing is ever written over.
pub fn new_key(path: &Path, comment: &str, host: &Host) -> io::Result<PublicKey> {
    use std::io::Write;
    let mut seed = [0; 32];
    for (byte, pair) in seed
        .iter_mut()
        .zip(host.random_hex(32).as_bytes().chunks_exact(2))
    {
        let digits = std::str::from_utf8(pair).map_err(io::Error::other)?;
        *byte = u8::from_str_radix(digits, 16).map_err(io::Error::other)?;
    }
    let key = SecretKey::from_seed(&seed).map_err(io::Error::other)?;
    let create = |path: &Path, options: &mut OpenOptions, text: &str| {
        let mut file = options.write(true).create_new(true).open(path)?;
        file.write_all(text.as_bytes())
    };
    create(
        path,
        restrict_to_owner(&mut OpenOptions::new()),
        &key.to_openssh(comment, host.random_hex(4).as_bytes()),
    )?;
    let public = key.public().with_comment(comment);
    let mut beside = path.as_os_str().to_owned();
    beside.push(".pub");
    let beside = PathBuf::from(beside);
    create(&beside, &mut OpenOptions::new(), &format!("{public}\n"))?;
    set_permission_bits(&beside, 0o644)?;
    Ok(public)
}

/// The signed list of a folder and who signed it.
fn signed_list(folder: &Path) -> Result<(SkillManifest, PublicKey), BrokenSignature> {
    let read = |file: &'static str| {
        let unreadable = |why: String| BrokenSignature::Unreadable { file, why };
        let content = tree::read_file(&folder.join(file), MAX_MANIFEST_BYTES)
            .map_err(|error| unreadable(error.to_string()))?;
        String::from_utf8(content.bytes).map_err(|_| unreadable("it is not text".to_owned()))
    };
    verify_list(&read(MANIFEST_FILE)?, &read(SIGNATURE_FILE)?)
}

/// What a signed list says and who signed it, if the signature holds.
pub fn verify_list(
    list: &str,
    signature: &str,
) -> Result<(SkillManifest, PublicKey), BrokenSignature> {
    let signer =
        ssh::verify(signature, NAMESPACE, list.as_bytes()).map_err(|error| match error {
            ssh::VerifyError::DoesNotHold => BrokenSignature::OtherList,
            other => BrokenSignature::Signature(other.to_string()),
        })?;
    let manifest =
        SkillManifest::parse(list).map_err(|error| BrokenSignature::Manifest(error.to_string()))?;
    Ok((manifest, signer))
}

fn settle(signed: (SkillManifest, PublicKey), name: &str, found: &SkillManifest) -> SkillSignature {
    let (manifest, signer) = signed;
    if manifest.name != name {
        return SkillSignature::Broken(BrokenSignature::OtherSkill {
            signed: manifest.name,
            name: name.to_owned(),
        });
    }
    let differs = manifest.differences(found);
    if differs.is_empty() {
        SkillSignature::Valid(signer)
    } else {
        SkillSignature::Broken(BrokenSignature::Differs(differs))
    }
}

/// What the skill in a folder calls itself.
fn name_of(folder: &Path) -> Result<String, String> {
    let path = folder.join(crate::SKILL_FILE);
    let content = tree::read_file(&path, MAX_MANIFEST_BYTES).map_err(|error| error.to_string())?;
    let text = crate::front_matter::read(&content.bytes).map_err(|error| error.to_string())?;
    let written = text.front.name.as_deref();
    Ok(name::settle(written, name::of_folder(folder)).0)
}

/// The publishers whose signatures count, as `skills.trust.publishers` lists them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedPublishers {
    keys: Vec<PublicKey>,
    /// Entries that are no key, and why.
    pub unusable: Vec<UnusablePublisher>,
}

/// An entry of `skills.trust.publishers` that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnusablePublisher {
    pub at: usize,
    pub why: String,
}

impl fmt::Display for UnusablePublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "skills.trust.publishers[{}] is ignored: {}; use a line from a .pub file: \
                `ssh-ed25519 AAAA… name`",
            self.at, self.why
        )
    }
}

impl TrustedPublishers {
    pub fn parse(lines: &[String]) -> Self {
        let mut publishers = Self::default();
        for (at, line) in lines.iter().enumerate() {
            match PublicKey::parse(line) {
                Ok(key) => publishers.keys.push(key),
                Err(error) => publishers.unusable.push(UnusablePublisher {
                    at,
                    why: error.to_string(),
                }),
            }
        }
        publishers
    }

    /// The publisher with this key, with the name the owner gave it.
    pub fn find(&self, key: &PublicKey) -> Option<&PublicKey> {
        self.keys.iter().find(|known| known.is_same(key))
    }
}

#[cfg(test)]
mod tests;
