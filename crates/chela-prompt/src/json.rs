//! A prompt as JSON, for scripts, saved prompts and reports.

use chela_core::{ContentHash, tokens};
use serde_json::{Value, json};

use crate::{PartSpan, Prompt, SectionSpan};

/// Whether tokens are counted. Counting loads the vocabulary; not every caller wants to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCount {
    With,
    /// `tokens` is null.
    Without,
}

impl Prompt {
    /// The text, the boundary, the sections with their cost and hash, and the parts in them.
    /// Ranges are byte offsets.
    pub fn to_json(&self, tokens: TokenCount) -> Value {
        json!({
            "text": self.text,
            "boundary": self.boundary,
            "sections": self.sections.iter().map(|span| self.section_json(span, tokens)).collect::<Vec<_>>(),
            "parts": self.parts.iter().map(part_json).collect::<Vec<_>>(),
        })
    }

    fn section_json(&self, span: &SectionSpan, count: TokenCount) -> Value {
        let text = self.slice(&span.range);
        json!({
            "id": span.id.as_str(),
            "heading": span.heading,
            "zone": span.zone.as_str(),
            "start": span.range.start,
            "end": span.range.end,
            "origin": span.origin.to_string(),
            "trust": span.trust.as_str(),
            "chars": text.chars().count(),
            "tokens": match count {
                TokenCount::With => Some(tokens::count(text)),
                TokenCount::Without => None,
            },
            "sha256": ContentHash::of(text),
            "audience": span.audience.as_str(),
        })
    }
}

fn part_json(part: &PartSpan) -> Value {
    json!({
        "section": part.section.as_str(),
        "kind": part.kind.as_str(),
        "name": part.kind.name(),
        "start": part.range.start,
        "end": part.range.end,
        "origin": part.origin.to_string(),
        "trust": part.trust.as_str(),
        "audience": part.audience.as_str(),
    })
}
