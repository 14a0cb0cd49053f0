//! Keys and signatures as ssh writes them, for keys of the kind `ssh-ed25519`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

const KIND: &str = "ssh-ed25519";
const MAGIC: &[u8] = b"SSHSIG";
const KEY_MAGIC: &[u8] = b"openssh-key-v1\0";
const LINE: usize = 70;

/// A public key, with the name its owner or ours gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    bytes: [u8; 32],
    pub comment: String,
}

/// Why a text is no key we can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("it is not an {KIND} key")]
    Kind,
    #[error("it is cut off or damaged")]
    Damaged,
    #[error(
        "it has a passphrase; sign with `ssh-keygen -Y sign` instead, or create a key with \
            `chela skills keygen`"
    )]
    Locked,
}

/// Why a signature is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    #[error("it is not an ssh signature, or it is damaged")]
    Damaged,
    #[error("it was made for `{made_for}`, not for `{wanted}`")]
    Namespace { made_for: String, wanted: String },
    #[error("it was not made with {KIND} and sha512")]
    Kind,
    #[error("it does not match the signed text")]
    DoesNotHold,
}

impl PublicKey {
    /// `ssh-ed25519 AAAA… name`, as in a `.pub` file.
    pub fn parse(line: &str) -> Result<Self, KeyError> {
        let mut words = line.split_whitespace();
        if words.next() != Some(KIND) {
            return Err(KeyError::Kind);
        }
        let blob = words
            .next()
            .and_then(|text| STANDARD.decode(text).ok())
            .ok_or(KeyError::Damaged)?;
        let mut key = Self::from_blob(&blob).ok_or(KeyError::Damaged)?;
        key.comment = crate::one_line::one_line(&words.collect::<Vec<_>>().join(" "), 80);
        Ok(key)
    }

    pub(super) fn with_comment(mut self, comment: &str) -> Self {
        self.comment = crate::one_line::one_line(comment, 80);
        self
    }

    /// Whether two lines name the same key, whatever they call it.
    pub fn is_same(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }

    /// `SHA256:…`, as `ssh-keygen -l` shows it.
    pub fn fingerprint(&self) -> String {
        let hash = digest::digest(&digest::SHA256, &self.blob());
        format!(
            "SHA256:{}",
            STANDARD.encode(hash.as_ref()).trim_end_matches('=')
        )
    }

    /// What to call the publisher: the name, else the fingerprint.
    pub fn label(&self) -> String {
        if self.comment.is_empty() {
            self.fingerprint()
        } else {
            self.comment.clone()
        }
    }

    fn blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        put(&mut blob, KIND.as_bytes());
        put(&mut blob, &self.bytes);
        blob
    }

    fn from_blob(blob: &[u8]) -> Option<Self> {
        let mut rest = blob;
        let kind = take(&mut rest)?;
        let bytes = take(&mut rest)?.try_into().ok()?;
        (kind == KIND.as_bytes() && rest.is_empty()).then_some(Self {
            bytes,
            comment: String::new(),
        })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND} {}", STANDARD.encode(self.blob()))?;
        match self.comment.as_str() {
            "" => Ok(()),
            comment => write!(f, " {comment}"),
        }
    }
}

/// A key that signs.
pub struct SecretKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for SecretKey {
    /// Never shows the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public().fingerprint())
    }
}

impl SecretKey {
    pub(super) fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| KeyError::Damaged)?;
        Ok(Self { seed: *seed, pair })
    }

    /// Reads a private key file of ssh that has no passphrase.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = unarmor(text, "OPENSSH PRIVATE KEY").ok_or(KeyError::Damaged)?;
        let mut rest = bytes.strip_prefix(KEY_MAGIC).ok_or(KeyError::Damaged)?;
        let mut field = || take(&mut rest).ok_or(KeyError::Damaged);
        let cipher = field()?;
        if cipher != b"none" {
            return Err(KeyError::Locked);
        }
        let (_kdf, _options) = (field()?, field()?);
        if take_u32(&mut rest) != Some(1) {
            return Err(KeyError::Damaged);
        }
        let public = take(&mut rest).ok_or(KeyError::Damaged)?;
        let public = PublicKey::from_blob(public).ok_or(KeyError::Kind)?;
        let mut inner = take(&mut rest).ok_or(KeyError::Damaged)?;
        let checks = (take_u32(&mut inner), take_u32(&mut inner));
        let kind = take(&mut inner);
        let _public = take(&mut inner);
        let secret = take(&mut inner).ok_or(KeyError::Damaged)?;
        let seed: [u8; 32] = secret
            .get(..32)
            .and_then(|seed| seed.try_into().ok())
            .ok_or(KeyError::Damaged)?;
        let key = Self::from_seed(&seed)?;
        let whole =
            checks.0 == checks.1 && kind == Some(KIND.as_bytes()) && key.public().is_same(&public);
        if whole {
            Ok(key)
        } else {
            Err(KeyError::Damaged)
        }
    }

    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey {
            bytes,
            comment: String::new(),
        }
    }

    /// The file ssh would write for this key. `salt` fills the two equal check numbers.
    pub(super) fn to_openssh(&self, comment: &str, salt: &[u8]) -> String {
        let public = self.public();
        let mut inner = Vec::new();
        let mut check = [0; 4];
        for (to, from) in check.iter_mut().zip(salt) {
            *to = *from;
        }
        inner.extend(check);
        inner.extend(check);
        put(&mut inner, KIND.as_bytes());
        put(&mut inner, &public.bytes);
        put(&mut inner, &[self.seed, public.bytes].concat());
        put(&mut inner, comment.as_bytes());
        let padding = (8 - inner.len() % 8) % 8;
        inner.extend((1..=padding).filter_map(|byte| u8::try_from(byte).ok()));
        let mut blob = KEY_MAGIC.to_vec();
        put(&mut blob, b"none");
        put(&mut blob, b"none");
        put(&mut blob, b"");
        blob.extend(1u32.to_be_bytes());
        put(&mut blob, &public.blob());
        put(&mut blob, &inner);
        armor(&blob, "OPENSSH PRIVATE KEY")
    }

    /// A detached signature of a text, as `ssh-keygen -Y sign -n NAMESPACE` makes it.
    pub fn sign(&self, namespace: &str, message: &[u8]) -> String {
        let signature = self.pair.sign(&to_be_signed(namespace, message));
        let mut wrapped = Vec::new();
        put(&mut wrapped, KIND.as_bytes());
        put(&mut wrapped, signature.as_ref());
        let mut blob = MAGIC.to_vec();
        blob.extend(1u32.to_be_bytes());
        put(&mut blob, &self.public().blob());
        put(&mut blob, namespace.as_bytes());
        put(&mut blob, b"");
        put(&mut blob, b"sha512");
        put(&mut blob, &wrapped);
        armor(&blob, "SSH SIGNATURE")
    }
}

/// Who signed a text, if the signature holds and was made for `namespace`.
pub fn verify(armored: &str, namespace: &str, message: &[u8]) -> Result<PublicKey, VerifyError> {
    let blob = unarmor(armored, "SSH SIGNATURE").ok_or(VerifyError::Damaged)?;
    // Written in one way only: every byte of the file counts.
    if armor(&blob, "SSH SIGNATURE") != armored {
        return Err(VerifyError::Damaged);
    }
    let mut rest = blob.strip_prefix(MAGIC).ok_or(VerifyError::Damaged)?;
    if take_u32(&mut rest) != Some(1) {
        return Err(VerifyError::Damaged);
    }
    let mut field = || take(&mut rest).ok_or(VerifyError::Damaged);
    let key = PublicKey::from_blob(field()?).ok_or(VerifyError::Kind)?;
    let made_for = field()?;
    if made_for != namespace.as_bytes() {
        return Err(VerifyError::Namespace {
            made_for: crate::one_line::one_line(&String::from_utf8_lossy(made_for), 40),
            wanted: namespace.to_owned(),
        });
    }
    let (_reserved, hash, mut wrapped) = (field()?, field()?, field()?);
    if hash != b"sha512" {
        return Err(VerifyError::Kind);
    }
    let kind = take(&mut wrapped).ok_or(VerifyError::Damaged)?;
    let signature = take(&mut wrapped).ok_or(VerifyError::Damaged)?;
    if kind != KIND.as_bytes() || !wrapped.is_empty() || !rest.is_empty() {
        return Err(VerifyError::Damaged);
    }
    UnparsedPublicKey::new(&ED25519, &key.bytes)
        .verify(&to_be_signed(namespace, message), signature)
        .map_err(|_| VerifyError::DoesNotHold)?;
    Ok(key)
}

fn to_be_signed(namespace: &str, message: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    put(&mut bytes, namespace.as_bytes());
    put(&mut bytes, b"");
    put(&mut bytes, b"sha512");
    put(
        &mut bytes,
        digest::digest(&digest::SHA512, message).as_ref(),
    );
    bytes
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    bytes.extend(length.to_be_bytes());
    bytes.extend(field);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_u32(rest)?).ok()?;
    let (field, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(field)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (head, tail) = rest.split_at_checked(4)?;
    *rest = tail;
    head.try_into().ok().map(u32::from_be_bytes)
}

fn armor(blob: &[u8], what: &str) -> String {
    let mut text = format!("-----BEGIN {what}-----\n");
    let encoded = STANDARD.encode(blob);
    for line in encoded.as_bytes().chunks(LINE) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text.push_str(&format!("-----END {what}-----\n"));
    text
}

fn unarmor(text: &str, what: &str) -> Option<Vec<u8>> {
    let inner = text
        .trim()
        .strip_prefix(&format!("-----BEGIN {what}-----"))?;
    let inner = inner.strip_suffix(&format!("-----END {what}-----"))?;
    let encoded: String = inner.split_whitespace().collect();
    STANDARD.decode(encoded).ok()
}
