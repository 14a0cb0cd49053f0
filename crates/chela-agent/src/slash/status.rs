//! `/status`, `/usage` and `/cost`.

use chela_core::grouped;
use chela_ledger::{UsageSum, dollars};
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
    if let Some(spent) = &status.spent
        && spent.session.requests > spent.session.unpriced
    {
        rows.push(("💵 Cost", money(&spent.session)));
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

/// What the conversation and this day have cost so far: the sums of `chela usage`.
pub async fn cost(talk: &impl CommandContext) -> String {
    let status = talk.status().await;
    let Some(spent) = status.spent else {
        return "What was spent is not on record: the ledger cannot be opened.".to_owned();
    };
    let line = |what: &str, sum: &UsageSum| {
        let mut text = format!("{what}: nothing was sent.");
        if sum.requests > 0 {
            text = format!(
                "{what}: {} in, {} out, in {}: {}.",
                thousands(sum.input),
                thousands(sum.output),
                counted(sum.requests, "request"),
                money(sum)
            );
        }
        text
    };
    format!(
        "{}\n\n{} `chela usage` shows more.",
        line("This conversation", &spent.session),
        line("Today, all agents", &spent.today)
    )
}

fn money(sum: &UsageSum) -> String {
    match (sum.cost, sum.unpriced) {
        (_, none) if none == sum.requests => "the price of the model is not known".to_owned(),
        (cost, 0) => dollars(cost),
        (cost, some) => format!(
            "{} and {} without a known price",
            dollars(cost),
            counted(some, "request")
        ),
    }
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

fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

fn as_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
