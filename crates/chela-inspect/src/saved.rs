//! A prompt as it is compared and reported: rendered just now, or saved earlier as JSON.

use std::ops::Range;

use chela_core::Zone;
use chela_prompt::Prompt;
use serde::Deserialize;

/// The text of a prompt and what each stretch of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPrompt {
    pub text: String,
    pub boundary: usize,
    pub sections: Vec<Stretch>,
    /// Files, tools and skills inside the sections; a document may have been saved without.
    pub parts: Vec<Stretch>,
}

/// A named stretch of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The id of a section; for a part what it is, such as `file SOUL.md`.
    pub name: String,
    pub range: Range<usize>,
    pub zone: Zone,
    pub origin: String,
}

/// Why a document is no saved prompt.
#[derive(Debug, thiserror::Error)]
pub enum SavedPromptError {
    #[error("not a prompt saved by `chela prompt --json`: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "the sections of this saved prompt do not cover its text (at byte {at}); save it again with `chela prompt --json`"
    )]
    Gap { at: usize },
}

impl SavedPrompt {
    pub fn from_json(document: &str) -> Result<Self, SavedPromptError> {
        let raw: Document = serde_json::from_str(document)?;
        let sections: Vec<Stretch> = raw.sections.into_iter().map(Stretch::from).collect();
        let mut at = 0;
        for section in &sections {
            if section.range.start != at || raw.text.get(section.range.clone()).is_none() {
                return Err(SavedPromptError::Gap { at });
            }
            at = section.range.end;
        }
        if at != raw.text.len() || !raw.text.is_char_boundary(raw.boundary) {
            return Err(SavedPromptError::Gap { at });
        }
        let inside = |part: &Stretch| raw.text.get(part.range.clone()).is_some();
        let parts = raw
            .parts
            .into_iter()
            .map(Stretch::from)
            .filter(inside)
            .collect();
        Ok(Self {
            boundary: raw.boundary,
            sections,
            parts,
            text: raw.text,
        })
    }

    pub fn section_at(&self, offset: usize) -> Option<&Stretch> {
        self.sections
            .iter()
            .find(|section| section.range.contains(&offset))
    }
}

impl From<&Prompt> for SavedPrompt {
    fn from(prompt: &Prompt) -> Self {
        let zone_at = |offset: usize| {
            if offset < prompt.boundary {
                Zone::Stable
            } else {
                Zone::Volatile
            }
        };
        let sections = prompt.sections.iter().map(|section| Stretch {
            name: section.id.as_str().to_owned(),
            range: section.range.clone(),
            zone: section.zone,
            origin: section.origin.to_string(),
        });
        let parts = prompt.parts.iter().map(|part| Stretch {
            name: match part.kind.name() {
                Some(name) => format!("{} {name}", part.kind.as_str()),
                None => part.kind.as_str().to_owned(),
            },
            range: part.range.clone(),
            zone: zone_at(part.range.start),
            origin: part.origin.to_string(),
        });
        Self {
            text: prompt.text.clone(),
            boundary: prompt.boundary,
            sections: sections.collect(),
            parts: parts.collect(),
        }
    }
}

#[derive(Deserialize)]
struct Document {
    text: String,
    boundary: usize,
    sections: Vec<RawStretch>,
    #[serde(default)]
    parts: Vec<RawStretch>,
}

#[derive(Deserialize)]
struct RawStretch {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    zone: Option<Zone>,
    start: usize,
    end: usize,
    #[serde(default)]
    origin: String,
}

impl From<RawStretch> for Stretch {
    fn from(raw: RawStretch) -> Self {
        let named = raw.kind.map(|kind| match raw.name {
            Some(name) => format!("{kind} {name}"),
            None => kind,
        });
        Self {
            name: raw.id.or(named).unwrap_or_default(),
            range: raw.start..raw.end,
            zone: raw.zone.unwrap_or(Zone::Stable),
            origin: raw.origin,
        }
    }
}
