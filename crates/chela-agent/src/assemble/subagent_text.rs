//! What a sub-agent is told about being one.

use chela_core::{Origin, SessionForm, SessionKey};
use chela_prompt::{CleanText, SourcedValue};

const TEXT: &str = include_str!("../../text/subagent.md");

/// What a sub-agent was given, as far as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentShare {
    /// The agent it works for.
    pub agent: String,
    /// Model calls in one turn.
    pub steps: Option<u64>,
    /// Length of the whole run.
    pub seconds: Option<u64>,
    /// How many levels may be below it.
    pub levels: u32,
}

/// The lines under Subagent Context, before what the operator has to say there. `share` is not
/// known where nothing is running.
pub(super) fn with_subagent_text(
    session: &SessionKey,
    share: Option<&SubagentShare>,
    extra: Option<SourcedValue<CleanText>>,
) -> Option<SourcedValue<CleanText>> {
    if !matches!(session.form, SessionForm::Subagent { .. }) {
        return extra;
    }
    let agent = share.map_or(session.agent.as_deref(), |share| Some(&share.agent));
    let limits = [
        share
            .and_then(|share| share.steps)
            .map(|steps| format!("{steps} model calls")),
        share
            .and_then(|share| share.seconds)
            .map(|seconds| format!("{seconds} seconds")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let budget = match limits.is_empty() {
        true => "that of the session you work for".to_owned(),
        false => limits.join(", "),
    };
    let children = match share.map(|share| share.levels) {
        Some(0) => "You start no sub-agents.",
        Some(_) => "You may start sub-agents; theirs comes out of yours.",
        None => "",
    };
    let text = TEXT
        .trim()
        .replace("{agent}", agent.unwrap_or("main"))
        .replace("{level}", &session.subagent_depth().to_string())
        .replace("{budget}", &budget)
        .replace("{children}", children);
    let own = SourcedValue::new(
        CleanText::new(text.trim_end()),
        Origin::Runtime,
        chela_core::Trust::Operator,
    );
    Some(match extra {
        None => own,
        Some(extra) => {
            let text = format!("{}\n\n{}", own.value.as_str(), extra.value.as_str());
            SourcedValue {
                value: CleanText::new(&text),
                ..extra
            }
        }
    })
}
