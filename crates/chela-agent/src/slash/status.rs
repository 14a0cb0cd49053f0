//! `/status` and `/usage`.

use chela_core::grouped;
use chela_model::Usage;

use super::talk::{Setting, Status, Talk};
use crate::turn::ContextMeter;

/// Model, context, cost and settings at a glance.
pub fn card(talk: &dyn Talk) -> String {
    let status = talk.status();
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
            (Setting::Thinking, "think"),
            (Setting::Reasoning, "reasoning"),
            (Setting::Verbose, "verbose"),
            (Setting::Usage, "usage"),
        ]
        .map(|(which, word)| format!("{word} {}", value(talk, which)))
        .join(" · "),
    ));
    if !status.guard.is_empty() {
        let mut guard = status.guard.clone();
        guard.push_str(match status.tainted_by {
            Some(_) => ", tainted",
            None => ", nothing from outside was read",
        });
        if let Some(by) = &status.tainted_by {
            guard.push_str(&format!(" by `{by}`; `/release` lifts it"));
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

fn model(talk: &dyn Talk) -> String {
    let state = talk.model();
    match (state.selected, state.fallback) {
        (None, _) => "none; `/model` says how to get one".to_owned(),
        (Some(selected), None) => format!("`{selected}`"),
        (Some(selected), Some((active, why))) => {
            format!("`{selected}`; `{active}` answered last ({why})")
        }
    }
}

fn session(talk: &dyn Talk, status: &Status) -> String {
    let mut text = format!("`{}`", talk.session());
    if let Some(title) = talk.setting(Setting::Title) {
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
pub fn cost(talk: &dyn Talk) -> String {
    let status = talk.status();
    if status.total == Usage::default() {
        return "Nothing was sent yet.".to_owned();
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
pub fn value(talk: &dyn Talk, which: Setting) -> String {
    talk.setting(which)
        .or_else(|| {
            let defaults = talk.status().defaults;
            defaults
                .into_iter()
                .find(|(setting, _)| *setting == which)
                .map(|(_, value)| value)
        })
        .unwrap_or_else(|| "off".to_owned())
}

pub fn title(which: Setting) -> &'static str {
    match which {
        Setting::Model => "Model",
        Setting::Thinking => "Thinking",
        Setting::Reasoning => "Reasoning shown",
        Setting::Verbose => "Tool calls shown",
        Setting::Elevated => "Leaving the sandbox",
        Setting::Usage => "Usage under each reply",
        Setting::Title => "Title",
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
