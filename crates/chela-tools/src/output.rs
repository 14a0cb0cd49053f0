//! What a tool gives back.

use chela_guard::Labelled;
use serde_json::Value;

/// The result of a call: `content` for the model, `details` for people (never sent to a model).
#[derive(Debug, Clone)]
pub struct Output {
    pub content: Vec<Piece>,
    pub details: Value,
    pub success: Success,
}

/// A piece of a result.
#[derive(Debug, Clone)]
pub enum Piece {
    Text(Labelled),
    Image {
        mime: String,
        /// Base64.
        data: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    Done,
    /// It did not work; the content says why and what the model can try.
    Failed,
}

impl Output {
    /// The runtime's own words about something that worked.
    pub fn said(text: impl Into<String>) -> Self {
        Self::of(Labelled::runtime(text))
    }

    pub fn of(text: Labelled) -> Self {
        Self {
            content: vec![Piece::Text(text)],
            details: Value::Null,
            success: Success::Done,
        }
    }

    /// The runtime's own words about something that did not work, written for a model to act on.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            success: Success::Failed,
            ..Self::said(text)
        }
    }

    /// Adds details to those that are there already.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        match (&mut self.details, details) {
            (Value::Object(old), Value::Object(new)) => old.extend(new),
            (old, new) => *old = new,
        }
        self
    }

    /// All text of the result.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.text()),
                Piece::Image { .. } => None,
            })
            .collect::<Vec<_>>()
            .join("\n")
    }
}
