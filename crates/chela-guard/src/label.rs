//! Text with its label.

use std::borrow::Cow;
use std::sync::Arc;

use chela_core::secret::Redactor;
use chela_core::{Entropy, Origin, Trust};

use crate::external::{ExternalSource, wrap};

/// Text for a model to read, and where it came from.
///
/// There is no way to build one of foreign text without wrapping it: what forgets to wrap does
/// not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledText {
    text: String,
    trust: Trust,
    origin: Origin,
}

impl LabelledText {
    /// The runtime's own words: confirmations, errors, listings it computed.
    pub fn runtime(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            trust: Trust::Operator,
            origin: Origin::Runtime,
        }
    }

    /// Text of the agent's own workspace or memory, with the trust it was written with.
    /// External text does not get in this way: it is wrapped.
    pub fn local(text: impl Into<String>, trust: Trust, origin: Origin) -> Self {
        Self {
            text: text.into(),
            trust: trust.max(Trust::Plugin),
            origin,
        }
    }

    /// Text from outside, wrapped as such.
    pub fn external(
        text: &str,
        source: &ExternalSource,
        origin: Origin,
        entropy: &dyn Entropy,
    ) -> Self {
        Self {
            text: wrap(text, source, entropy),
            trust: Trust::External,
            origin,
        }
    }

    /// Takes the secrets out of the text; says what they were.
    pub fn hide_secrets(&mut self, redactor: &Redactor) -> Vec<Arc<str>> {
        let (clean, found) = redactor.redact_noting(&self.text);
        if let Cow::Owned(clean) = clean {
            self.text = clean;
        }
        found
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text without the lines that wrap it: the same whenever the same text comes.
    pub fn body(&self) -> &str {
        if self.trust != Trust::External {
            return &self.text;
        }
        let inner = self
            .text
            .split_once("\n---\n")
            .map_or(self.text.as_str(), |(_, rest)| rest);
        inner.rsplit_once('\n').map_or(inner, |(inner, _)| inner)
    }

    pub fn trust(&self) -> Trust {
        self.trust
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}
