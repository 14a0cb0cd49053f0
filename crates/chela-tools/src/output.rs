//! What a tool gives back.

use std::sync::Arc;

use chela_guard::LabelledText;
use chela_sandbox::WriteRecord;
use serde_json::Value;

/// Where the details of a result say that it was not allowed, and why.
pub const REFUSED: &str = "refused";

/// The result of a call: `content` for the model, `details` for people (never sent to a model).
#[derive(Debug, Clone)]
pub struct ToolOutput {
    pub content: Vec<OutputPiece>,
    pub details: Value,
    pub success: CallSuccess,
    /// Of a sandboxed command: the notes on what it wrote.
    pub written: Option<Arc<WriteRecord>>,
}

/// The detail that holds the names of tools a result tells of.
const OFFERS: &str = "offers";

/// The tools a result told a model of, by its details.
pub fn offered_tools(details: &Value) -> impl Iterator<Item = &str> {
    let names = details.get(OFFERS).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// A piece of a result.
#[derive(Debug, Clone)]
pub enum OutputPiece {
    Text(LabelledText),
    Image {
        mime: String,
        /// Base64.
        data: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSuccess {
    Done,
    /// It did not work; the content says why and what the model can try.
    Failed,
}

impl CallSuccess {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

impl ToolOutput {
    /// The runtime's own words about something that worked.
    pub fn said(text: impl Into<String>) -> Self {
        Self::of(LabelledText::runtime(text))
    }

    pub fn of(text: LabelledText) -> Self {
        Self {
            content: vec![OutputPiece::Text(text)],
            details: Value::Null,
            success: CallSuccess::Done,
            written: None,
        }
    }

    /// The runtime's own words about something that did not work, written for a model to act on.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            success: CallSuccess::Failed,
            ..Self::said(text)
        }
    }

    /// The same about something that was not allowed: nothing was done.
    pub fn refused(text: impl Into<String>) -> Self {
        let text = text.into();
        let details = serde_json::json!({ REFUSED: text });
        Self::failed(text).with_details(details)
    }

    /// Why it was not allowed, where it was not.
    pub fn refusal(&self) -> Option<&str> {
        self.details.get(REFUSED).and_then(Value::as_str)
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

    /// Tells a model of tools by this result: from now on they stand beside those of the list.
    #[must_use]
    pub fn offering(self, names: impl IntoIterator<Item = String>) -> Self {
        let names: Vec<String> = names.into_iter().collect();
        self.with_details(serde_json::json!({ OFFERS: names }))
    }

    /// All text of the result.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|piece| match piece {
                OutputPiece::Text(text) => Some(text.text()),
                OutputPiece::Image { .. } => None,
            })
            .collect::<Vec<_>>()
            .join("\n")
    }
}
