//! What a model family or a plugin adds to the prompt.

use chela_core::{ContentHash, Origin, Trust};

use super::SourcedValue;
use crate::CleanText;

/// What the family of the model in use contributes. Only these places are open to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FamilyContribution {
    /// Stands in `interaction_style`, which has no text of ours.
    pub interaction_style: Option<SourcedValue<CleanText>>,
    /// Replaces our text on how to call tools.
    pub tool_call_style: Option<SourcedValue<CleanText>>,
    /// Replaces our text on getting things done; also shown in minimal prompts.
    pub execution_bias: Option<SourcedValue<CleanText>>,
    /// Stable text above the boundary; must be the same on every turn.
    pub stable_prefix: Option<SourcedValue<CleanText>>,
    /// Text below the boundary.
    pub dynamic_suffix: Option<SourcedValue<CleanText>>,
}

impl SourcedValue<CleanText> {
    /// A text from the provider family `id`; `None` when it is blank.
    pub fn provider(id: &str, text: &str, trust: Trust) -> Option<Self> {
        let text = CleanText::new(text);
        let hash = ContentHash::of(text.as_str());
        let origin = Origin::Provider {
            id: id.to_owned(),
            hash,
        };
        (!text.is_empty()).then(|| Self::new(text, origin, trust))
    }

    /// A text from the plugin `id`; `None` when it is blank.
    pub fn plugin(id: &str, text: &str) -> Option<Self> {
        let text = CleanText::new(text);
        let hash = ContentHash::of(text.as_str());
        let origin = Origin::Plugin {
            id: id.to_owned(),
            hash,
        };
        (!text.is_empty()).then(|| Self::new(text, origin, Trust::Plugin))
    }
}

/// A prompt that stands in for ours. Safety, sandbox and authorized senders stay in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptReplacement {
    pub text: SourcedValue<CleanText>,
}
