//! The values an installation holds, found in one pass.

use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::{KnownBy, KnownSecret, SecretForm, SecretHit};

/// Shorter values hide nothing and would be found everywhere.
const SHORTEST: usize = 6;
/// Shorter ones are not looked for in other forms.
const SHORTEST_IN_FORM: usize = 8;

#[derive(Default)]
pub struct KnownSecrets {
    secrets: Vec<KnownSecret>,
    /// Made on first use: most processes never look.
    search: OnceLock<Option<Search>>,
}

struct Search {
    automaton: AhoCorasick,
    /// What each needle stands for.
    needles: Vec<(Arc<str>, SecretForm)>,
    /// The needles themselves.
    texts: Vec<String>,
}

impl KnownSecrets {
    pub fn of(secrets: Vec<KnownSecret>) -> Self {
        Self {
            secrets,
            search: OnceLock::new(),
        }
    }

    pub fn secrets(&self) -> &[KnownSecret] {
        &self.secrets
    }

    /// Where they stand, in order; of two that overlap the earlier and longer one.
    pub fn find(&self, text: &[u8]) -> Vec<SecretHit> {
        let search = self.search.get_or_init(|| Search::of(&self.secrets));
        let Some(search) = search else {
            return Vec::new();
        };
        search
            .automaton
            .find_iter(text)
            .map(|found| {
                let (name, form) = &search.needles[found.pattern().as_usize()];
                SecretHit {
                    range: found.range(),
                    name: Arc::clone(name),
                    by: KnownBy::Value(*form),
                }
            })
            .collect()
    }

    /// How many bytes at the end of a text may be the beginning of one.
    pub fn begun(&self, text: &[u8]) -> usize {
        let search = self.search.get_or_init(|| Search::of(&self.secrets));
        let needles = search.iter().flat_map(|search| &search.texts);
        let begun = needles.map(|needle| {
            let needle = needle.as_bytes();
            let longest = needle.len().saturating_sub(1).min(text.len());
            let mut lengths = (1..=longest).rev();
            lengths.find(|length| text.ends_with(&needle[..*length]))
        });
        begun.flatten().max().unwrap_or(0)
    }
}

impl Search {
    /// `None` when there is nothing to look for.
    fn of(secrets: &[KnownSecret]) -> Option<Self> {
        let mut texts: Vec<String> = Vec::new();
        let mut needles = Vec::new();
        for secret in secrets {
            if secret.value.trim().len() < SHORTEST {
                continue;
            }
            let name: Arc<str> = secret.name.as_str().into();
            for form in SecretForm::ALL {
                let text = form.write(&secret.value);
                let usual = matches!(
                    form,
                    SecretForm::Plain | SecretForm::Json | SecretForm::JsonAscii
                );
                let looked_for = usual || secret.value.len() >= SHORTEST_IN_FORM;
                if looked_for && !texts.contains(&text) {
                    texts.push(text);
                    needles.push((Arc::clone(&name), form));
                }
            }
        }
        if texts.is_empty() {
            return None;
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&texts)
            .ok()?;
        Some(Self {
            automaton,
            needles,
            texts,
        })
    }
}
