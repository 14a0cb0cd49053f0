//! Golden prompts: what the model reads in each kind of session, byte for byte.
//!
//! Each scenario is a facts document in `scenarios/`; `cargo insta` or `INSTA_UPDATE=always`
//! refreshes the snapshots after a wanted change.

use std::fmt::Write;

use chela_prompt::{FamilyPersonality, Prompt, PromptInput, contribution_for, render};

use super::spans;

macro_rules! scenarios {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            golden(stringify!($name), include_str!(concat!("scenarios/", stringify!($name), ".json")));
        })*

        #[test]
        fn every_scenario_file_is_used() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/scenarios");
            let files = std::fs::read_dir(folder).unwrap();
            assert_eq!(files.count(), [$(stringify!($name)),*].len());
        }
    };
}

scenarios! {
    bare
    cron
    discord_group
    everything_named_by_plugins
    family_anthropic
    family_google
    family_openai_gpt5
    family_own_contribution
    family_tagged_reasoning
    heartbeat
    minimal
    none
    sandbox_minimal
    sandbox_none_elevated_denied
    sandbox_ro_elevated_ask
    sandbox_rw_elevated_full
    sub_agent
    telegram_direct
    webchat
}

fn golden(name: &str, facts: &str) {
    let mut input = PromptInput::from_facts(facts).unwrap();
    if input.contribution.is_none() {
        let model = input.runtime.model.as_deref().unwrap_or_default();
        input.contribution = contribution_for(model, FamilyPersonality::Friendly);
    }
    let prompt = render(&input).unwrap();
    spans::assert_sound(&prompt);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, shown(&prompt));
    });
}

/// The text with its boundary drawn in, and the sources under it.
fn shown(prompt: &Prompt) -> String {
    let mut shown = format!(
        "{}{:~^100}\n{}\n{:~^100}\n",
        prompt.stable(),
        "",
        prompt.volatile(),
        ""
    );
    for section in &prompt.sections {
        let (start, end) = (section.range.start, section.range.end);
        let _ = writeln!(
            shown,
            "{start:>5}..{end:<5} {:<18} {:<8} {} {}",
            section.id.as_str(),
            section.zone.as_str(),
            section.origin,
            section.trust.as_str(),
        );
        for part in prompt.parts_of(section.id) {
            let (start, end) = (part.range.start, part.range.end);
            let _ = writeln!(
                shown,
                "{start:>5}..{end:<5}   {} {} {} {} {}",
                part.kind.as_str(),
                part.kind.name().unwrap_or("-"),
                part.origin,
                part.trust.as_str(),
                part.audience.as_str(),
            );
        }
    }
    shown
}
