//! A prompt as it is compared and reported: rendered just now, or saved earlier as JSON.

use std::ops::Range;

use chela_core::Zone;
use chela_prompt::Prompt;
use serde::Deserialize;

use crate::assembled::AssembledPrompt;

/// The text of a prompt and what each stretch of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPrompt {
    pub text: String,
    pub boundary: usize,
    pub sections: Vec<NamedStretch>,
    /// Files, tools and skills inside the sections; a document may have been saved without.
    pub parts: Vec<NamedStretch>,
    /// The tools that go with it, each as it is sent; a document is saved without.
    pub tools: Option<Vec<SavedTool>>,
}

/// A tool that goes with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedTool {
    pub name: String,
    pub text: String,
}

/// A named stretch of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedStretch {
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
        let sections: Vec<NamedStretch> =
            raw.sections.into_iter().map(NamedStretch::from).collect();
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
        let inside = |part: &NamedStretch| raw.text.get(part.range.clone()).is_some();
        let parts = raw
            .parts
            .into_iter()
            .map(NamedStretch::from)
            .filter(inside)
            .collect();
        Ok(Self {
            boundary: raw.boundary,
            sections,
            parts,
            tools: None,
            text: raw.text,
        })
    }

    pub fn section_at(&self, offset: usize) -> Option<&NamedStretch> {
        self.sections
            .iter()
            .find(|section| section.range.contains(&offset))
    }
}

impl From<&AssembledPrompt> for SavedPrompt {
    fn from(assembled: &AssembledPrompt) -> Self {
        let texts = assembled.shape.tool_texts.iter();
        let tools = assembled
            .tools
            .iter()
            .zip(texts)
            .map(|(tool, text)| SavedTool {
                name: tool.name.clone(),
                text: text.clone(),
            });
        Self {
            tools: Some(tools.collect()),
            ..Self::from(&assembled.prompt)
        }
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
        let sections = prompt.sections.iter().map(|section| NamedStretch {
            name: section.id.as_str().to_owned(),
            range: section.range.clone(),
            zone: section.zone,
            origin: section.origin.to_string(),
        });
        let parts = prompt.parts.iter().map(|part| NamedStretch {
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
            tools: None,
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

impl From<RawStretch> for NamedStretch {
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
