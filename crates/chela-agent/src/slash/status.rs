//! `/status` and `/usage`.

use chela_core::grouped;
use chela_model::Usage;

use super::command_context::{CommandContext, SessionSetting, SessionStatus};
use crate::surface::ContextMeter;

/// Model, context, cost and settings at a glance.
pub async fn card(talk: &impl CommandContext) -> String {
    let status = talk.status().await;
    let mut rows = vec![("🧠 Model", model(talk))];
    rows.push(("📚 Context", meter(status.context)));
    if status.last != Usage::default() {
        rows.push(("🧮 Last turn", tokens(&status.last)));
    }
    if let Some(price) = status.price
        && status.total != Usage::default()
    {
        rows.push(("💵 Cost", dollars(price.dollars(&status.total))));
    }
    rows.push(("🧵 Session", session(talk, &status)));
    rows.push((
        "⚙️ Settings",
        [
            (SessionSetting::Thinking, "think"),
            (SessionSetting::Reasoning, "reasoning"),
            (SessionSetting::Verbose, "verbose"),
            (SessionSetting::Usage, "usage"),
        ]
        .map(|(which, word)| format!("{word} {}", value(talk, which)))
        .join(" · "),
    ));
    if !status.guard.is_empty() {
        let mut guard = status.guard.clone();
        guard.push_str(match status.tainted_by {
            Some(_) => ", untrusted content in context",
            None => ", no untrusted content",
        });
        if let Some(by) = &status.tainted_by {
            guard.push_str(&format!(" from `{by}`; `/release` lifts it"));
        }
        if status.waiting > 0 {
            guard.push_str(&format!(
                ", {} waiting for you",
                counted(status.waiting as u64, "question")
            ));
        }
        rows.push(("🛡️ Guard", guard));
    }
    if !status.execution.is_empty() {
        rows.push(("🛠️ Commands", format!("run {}", status.execution)));
    }
    rows.iter()
        .map(|(title, text)| format!("- {title}: {text}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn model(talk: &impl CommandContext) -> String {
    let state = talk.model();
    match (state.selected, state.fallback) {
        (None, _) => "none; `/model` shows how to get one".to_owned(),
        (Some(selected), None) => format!("`{selected}`"),
        (Some(selected), Some((active, why))) => {
            format!("`{selected}`; `{active}` answered last ({why})")
        }
    }
}

fn session(talk: &impl CommandContext, status: &SessionStatus) -> String {
    let mut text = format!("`{}`", talk.session());
    if let Some(title) = talk.setting(SessionSetting::Title) {
        text.push_str(&format!(" “{title}”"));
    }
    text.push_str(&format!(", {}", counted(status.turns, "turn")));
    text.push_str(&format!(", Compactions: {}", status.compactions));
    text
}

fn meter(context: ContextMeter) -> String {
    match context.window {
        Some(window) if window > 0 => format!(
            "{} of {} tokens ({} %)",
            grouped(as_size(context.used)),
            grouped(as_size(window)),
            context.used * 100 / window
        ),
        _ if context.used > 0 => format!("{} tokens", grouped(as_size(context.used))),
        _ => "nothing sent yet".to_owned(),
    }
}

fn tokens(usage: &Usage) -> String {
    let mut text = format!(
        "{} in, {} out",
        grouped(as_size(usage.input)),
        grouped(as_size(usage.output))
    );
    if usage.cache_read > 0 && usage.input > 0 {
        text.push_str(&format!(
            ", {} % from the cache",
            usage.cache_read * 100 / usage.input
        ));
    }
    if usage.estimated {
        text.push_str(" (estimated)");
    }
    text
}

/// What the conversation has cost so far.
pub async fn cost(talk: &impl CommandContext) -> String {
    let status = talk.status().await;
    if status.total == Usage::default() {
        return "Nothing sent yet.".to_owned();
    }
    let mut text = format!(
        "This conversation: {}, in {}.",
        tokens(&status.total),
        counted(status.turns, "turn")
    );
    match status.price {
        Some(price) => text.push_str(&format!(" {}.", dollars(price.dollars(&status.total)))),
        None => text.push_str(" The model has no price in the config, so no cost is shown."),
    }
    text
}

/// The value that counts now, from the session or else the config.
pub fn value(talk: &impl CommandContext, which: SessionSetting) -> String {
    talk.setting(which)
        .or_else(|| talk.default_of(which))
        .unwrap_or_else(|| "off".to_owned())
}

pub fn title(which: SessionSetting) -> &'static str {
    match which {
        SessionSetting::Model => "Model",
        SessionSetting::Thinking => "Thinking",
        SessionSetting::Reasoning => "Reasoning shown",
        SessionSetting::Verbose => "Tool calls shown",
        SessionSetting::Elevated => "Leaving the sandbox",
        SessionSetting::Usage => "Usage under each reply",
        SessionSetting::Title => "Title",
    }
}

pub fn thousands(number: u64) -> String {
    grouped(as_size(number))
}

fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        format!("about ${amount:.4}")
    } else {
        format!("about ${amount:.2}")
    }
}

fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

fn as_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
