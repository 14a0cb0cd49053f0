//! What model families are told besides, as data: one row and its text files per family.

use chela_core::Trust;

use crate::{FamilyContribution, SourcedValue};

/// Whether a family's friendly layer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyPersonality {
    Friendly,
    Off,
}

/// A family of models, by the beginning of the model's name, and its texts.
struct Family {
    id: &'static str,
    name_begins: &'static str,
    interaction_style: &'static str,
    tool_call_style: &'static str,
    execution_bias: &'static str,
    stable_prefix: &'static str,
    dynamic_suffix: &'static str,
}

static FAMILIES: [Family; 1] = [Family {
    id: "gpt-5",
    name_begins: "gpt-5",
    interaction_style: include_str!("../text/providers/gpt5/interaction_style.md"),
    tool_call_style: "",
    execution_bias: "",
    stable_prefix: include_str!("../text/providers/gpt5/stable_prefix.md"),
    dynamic_suffix: "",
}];

/// What the family of a model contributes, if Chela knows one. `model` is `provider/model` or
/// the model's name alone.
pub fn contribution_for(model: &str, personality: FamilyPersonality) -> Option<FamilyContribution> {
    let name = model.trim().rsplit('/').next()?.to_lowercase();
    let family = FAMILIES.iter().find(|family| {
        // `gpt-5.1` and `gpt-5-mini` belong to the family, a `gpt-50` would not.
        name.strip_prefix(family.name_begins)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    })?;
    let text = |text| SourcedValue::provider(family.id, text, Trust::Operator);
    Some(FamilyContribution {
        interaction_style: match personality {
            FamilyPersonality::Friendly => text(family.interaction_style),
            FamilyPersonality::Off => None,
        },
        tool_call_style: text(family.tool_call_style),
        execution_bias: text(family.execution_bias),
        stable_prefix: text(family.stable_prefix),
        dynamic_suffix: text(family.dynamic_suffix),
    })
}

#[cfg(test)]
mod tests {
    use super::{FamilyPersonality, contribution_for};

    #[test]
    fn families_are_known_by_the_name_of_the_model() {
        for model in ["gpt-5", "openai/gpt-5.1", "openrouter/openai/GPT-5-mini"] {
            let given = contribution_for(model, FamilyPersonality::Friendly).unwrap();
            assert!(
                given.stable_prefix.is_some() && given.interaction_style.is_some(),
                "{model}"
            );
        }
        for model in [
            "gpt-50",
            "openai/gpt-4.1",
            "anthropic/claude-opus-4-6",
            "",
            "gpt-5/other",
        ] {
            assert_eq!(
                contribution_for(model, FamilyPersonality::Friendly),
                None,
                "{model}"
            );
        }
    }

    #[test]
    fn personality_off_removes_only_the_friendly_layer() {
        let friendly = contribution_for("gpt-5", FamilyPersonality::Friendly).unwrap();
        let plain = contribution_for("gpt-5", FamilyPersonality::Off).unwrap();
        assert_eq!(plain.interaction_style, None);
        assert_eq!(plain.stable_prefix, friendly.stable_prefix);
    }
}
