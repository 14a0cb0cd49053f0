//! Secrets: known by their value or by their shape, and never passed on.
//!
//! One [`Redactor`] stands before everything that keeps or shows text: transcripts, ledger, tool
//! results, errors. It knows the values the installation holds, also when they are written in
//! another way (JSON, base64, hex …), and the shapes in which services hand out their keys. What
//! it takes out leaves a stand-in such as `[secret:github-token:1a2b]`: the kind, and four digits
//! that are the same for the same value, so that two places can be seen to hold one secret.

mod assigned;
mod disguise;
mod form;
mod json;
mod known_secrets;
mod mask;
mod pattern;
mod shape;
mod special;
mod stream;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use hmac::{Hmac, Mac};
use sha2::Sha256;

use known_secrets::KnownSecrets;

pub use assigned::is_guessable;
pub use form::SecretForm;
pub use mask::{MaskedText, RestoredText};
pub use pattern::{BadPattern, SecretPattern};
pub use shape::starts_like_one;
pub use stream::{SecretLines, SecretStream};

/// A value nobody is to see, and the name that stands for it.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    pub name: String,
    pub value: String,
}

impl std::fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHit {
    pub range: Range<usize>,
    /// The name of a known secret, or the kind its shape tells.
    pub name: Arc<str>,
    pub by: KnownBy,
}

/// How a secret was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// It is a value the installation holds, written in this form.
    Value(SecretForm),
    Shape,
}

/// The kind of a canary, which is a secret that opens nothing.
pub const CANARY: &str = "canary";

/// Finds secrets in text and takes them out. What it has learned it does not forget.
#[derive(Default)]
pub struct Redactor {
    /// Keys the digits of a stand-in, so that they say nothing about the value.
    key: Option<String>,
    known: RwLock<Arc<KnownSecrets>>,
    /// What the owner wants hidden besides.
    patterns: Vec<SecretPattern>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// `key` is a secret of the installation, for the digits of stand-ins.
    pub fn new(key: Option<String>, secrets: Vec<KnownSecret>) -> Self {
        Self {
            key,
            known: RwLock::new(Arc::new(KnownSecrets::of(secrets))),
            patterns: Vec::new(),
        }
    }

    /// Hides what these find, too.
    #[must_use]
    pub fn with_patterns(self, patterns: Vec<SecretPattern>) -> Self {
        Self { patterns, ..self }
    }

    /// Knows one more value from now on.
    pub fn learn(&self, secret: KnownSecret) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.secrets().contains(&secret) {
            let all = known.secrets().iter().cloned().chain([secret]).collect();
            *known = Arc::new(KnownSecrets::of(all));
        }
    }

    /// How many values it knows: what was looked through when it knew fewer has to be looked
    /// through again.
    pub fn known_values(&self) -> usize {
        self.known().secrets().len()
    }

    /// The value of a known secret.
    pub fn value_of(&self, name: &str) -> Option<String> {
        let known = self.known();
        let found = known.secrets().iter().find(|secret| secret.name == name);
        found.map(|secret| secret.value.clone())
    }

    /// The secrets in a text, in order, none overlapping another.
    pub fn find(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = self.known().find(text);
        let mut shapes = shape::find(text);
        for pattern in &self.patterns {
            pattern.find(text, &mut shapes);
        }
        if shapes.is_empty() {
            return hits;
        }
        let by_value = hits.len();
        for hit in shapes {
            // What a known value covers has its name already; the rest is as secret.
            for range in outside(hit.range, &hits[..by_value]) {
                hits.push(SecretHit {
                    range,
                    name: hit.kind.into(),
                    by: KnownBy::Shape,
                });
            }
        }
        hits.sort_by_key(|hit| hit.range.start);
        without_overlaps(hits)
    }

    /// The same in JSON: only inside of strings, so that what is left is JSON still.
    pub fn find_in_json(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = self.find(text);
        if !hits.is_empty() {
            json::clip(text, &mut hits);
        }
        hits
    }

    /// JSON without the secrets in its strings.
    pub fn redact_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let hits = self.find_in_json(text.as_bytes());
        self.replaced(text, &hits)
    }

    /// The text without its secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_noting(text).0
    }

    /// The text without the values the installation holds and without canaries. What only looks
    /// like a secret stays: a model may be asked to make one up.
    pub fn redact_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut hits = self.find(text.as_bytes());
        hits.retain(|hit| matches!(hit.by, KnownBy::Value(_)) || &*hit.name == CANARY);
        self.replaced(text, &hits)
    }

    /// The text without its secrets, and what they were.
    pub fn redact_noting<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<Arc<str>>) {
        let hits = self.find(text.as_bytes());
        let clean = self.replaced(text, &hits);
        (clean, hits.into_iter().map(|hit| hit.name).collect())
    }

    /// The names of known values a text carries, also disguised: encoded twice, spelled with
    /// blanks, or of a canary only a part.
    pub fn carried(&self, text: &str) -> Vec<String> {
        disguise::carried(self, text)
    }

    /// How many bytes at the end of a text may be the beginning of a known value: what follows
    /// decides.
    pub fn begun(&self, text: &str) -> usize {
        self.known().begun(text.as_bytes())
    }

    fn replaced<'t>(&self, text: &'t str, hits: &[SecretHit]) -> Cow<'t, str> {
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut end = 0;
        for hit in hits {
            clean.push_str(text.get(end..hit.range.start).unwrap_or_default());
            clean += &self.stand_in(hit, text.as_bytes());
            end = hit.range.end;
        }
        clean.push_str(text.get(end..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// What stands where a secret was; fits into a JSON string.
    pub fn stand_in(&self, hit: &SecretHit, text: &[u8]) -> String {
        let name: String = hit
            .name
            .chars()
            .map(|c| match c {
                '"' | '\\' | '[' | ']' => '_',
                c if c.is_control() => '_',
                c => c,
            })
            .collect();
        let value = match hit.by {
            KnownBy::Value(_) => self.value_of(&hit.name),
            KnownBy::Shape => None,
        };
        let found = text.get(hit.range.clone()).unwrap_or_default();
        match self.digits(value.as_ref().map_or(found, |value| value.as_bytes())) {
            Some(digits) => format!("[secret:{name}:{digits}]"),
            None => format!("[secret:{name}]"),
        }
    }

    fn digits(&self, value: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?.as_bytes()).ok()?;
        mac.update(b"chela stand-in");
        mac.update(value);
        let sum = mac.finalize().into_bytes();
        Some(format!("{:02x}{:02x}", sum[0], sum[1]))
    }

    fn known(&self) -> Arc<KnownSecrets> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The parts of a range that no hit covers.
fn outside(range: Range<usize>, hits: &[SecretHit]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for hit in hits {
        if hit.range.end <= start || hit.range.start >= range.end {
            continue;
        }
        if hit.range.start > start {
            parts.push(start..hit.range.start);
        }
        start = hit.range.end;
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

/// Of two hits that overlap the first stays, and reaches as far as both do.
fn without_overlaps(hits: Vec<SecretHit>) -> Vec<SecretHit> {
    let mut kept: Vec<SecretHit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                // Of two shapes that begin alike the one with the longer beginning, found later,
                // knows more.
                let alike = last.range.start == hit.range.start && last.by == KnownBy::Shape;
                if alike && hit.by == KnownBy::Shape {
                    last.name = hit.name;
                }
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => kept.push(hit),
        }
    }
    kept
}

#[cfg(test)]
mod tests;
