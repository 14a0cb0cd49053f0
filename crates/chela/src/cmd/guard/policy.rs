//! `chela guard policy`: what may happen without asking, and what asks.

use std::sync::Arc;

use chela_agent::agent::{Agents, ToolEffect};
use chela_config::model::GuardPolicy;
use chela_core::Host;
use chela_tools::{Effect, SinkKind};
use serde_json::json;

use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, agent: &AgentArg, as_json: bool) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    let agent = setup.agent(agent.agent.as_deref())?;
    let view = setup.view(&agent)?;
    let guard = setup.loaded.config.guard.clone();
    let agents = Agents::open(host, Arc::new(setup.loaded));
    let effects = agents.effects(&agent).map_err(CommandError::new)?;
    let policy = view.guard_policy.value;
    if as_json {
        screen.json(&json!({
            "agent": agent,
            "policy": policy,
            "policyFrom": view.guard_policy.from.to_string(),
            "byChannel": guard.by_channel,
            "egress": view.guard_egress.value,
            "confirm": view.guard_confirm.value,
            "detection": {
                "low": guard.detection.low,
                "medium": guard.detection.medium,
                "high": guard.detection.high,
            },
            "headless": guard.approvals.headless,
            "notice": guard.external.notice,
            "tools": effects,
        }))?;
        return Ok(CommandExit::Fine);
    }
    let list = |items: &[String]| match items {
        [] => "none".to_owned(),
        items => items.join(", "),
    };
    let channels: Vec<String> = guard
        .by_channel
        .iter()
        .map(|(channel, policy)| format!("{channel} {}", policy.as_str()))
        .collect();
    let confirm: Vec<String> = view
        .guard_confirm
        .value
        .iter()
        .map(|effect| effect.as_str().to_owned())
        .collect();
    screen.table(
        "",
        &[
            vec!["agent".into(), agent.to_string()],
            vec![
                "policy".into(),
                format!("{} ({})", policy.as_str(), meaning(policy)),
            ],
            vec!["by channel".into(), list(&channels)],
            vec!["always asks".into(), list(&confirm)],
            vec![
                "hosts that never ask".into(),
                list(&view.guard_egress.value),
            ],
            vec![
                "nobody there".into(),
                guard.approvals.headless.as_str().into(),
            ],
            vec![
                "injected instructions".into(),
                format!(
                    "weak {}, medium {}, strong {}",
                    guard.detection.low.as_str(),
                    guard.detection.medium.as_str(),
                    guard.detection.high.as_str()
                ),
            ],
        ],
    )?;
    screen.blank()?;
    screen.line(screen.paint.bold("Once untrusted content was read"))?;
    let rows: Vec<Vec<String>> = effects
        .iter()
        .map(|tool| {
            vec![
                tool.tool.to_owned(),
                tool.effect.as_str().to_owned(),
                then(policy, tool).to_owned(),
            ]
        })
        .collect();
    screen.table("  ", &rows)?;
    screen.blank()?;
    screen.paragraph("", "`chela guard explain` shows how the rules were applied to a turn; `chela config set guard.policy strict` changes them.")?;
    Ok(CommandExit::Fine)
}

fn meaning(policy: GuardPolicy) -> &'static str {
    match policy {
        GuardPolicy::Open => "asks only about what always asks",
        GuardPolicy::Standard => {
            "once untrusted content was read, asks about what you did not \
            name yourself"
        }
        GuardPolicy::Strict => "asks about every lasting effect, and refuses config changes",
    }
}

/// What becomes of a call, in words.
fn then(policy: GuardPolicy, tool: &ToolEffect) -> &'static str {
    let has = |kind| tool.sinks.iter().any(|sink| sink.kind == kind);
    match (policy, tool.effect) {
        (_, Effect::Config | Effect::RunsOnOpen) => "always asks",
        (_, Effect::RunsOnBuild) => "asks",
        (_, Effect::Persona) => "asks",
        (_, Effect::Irreversible) if has(SinkKind::Command) => {
            "asks unless pre-approved and it names only what you named"
        }
        (_, Effect::Irreversible) => "asks",
        (GuardPolicy::Open, _) => "allowed",
        (_, Effect::Read | Effect::ReadUntrusted)
            if has(SinkKind::Url) || has(SinkKind::Recipient) =>
        {
            "reads URLs you wrote, asks about others"
        }
        (_, Effect::Read | Effect::ReadUntrusted) => "allowed",
        (GuardPolicy::Standard, Effect::WriteReversible) => {
            "allowed and can be undone; asks for files that shape the agent"
        }
        (_, Effect::WriteReversible | Effect::WriteOutward | Effect::Egress) => {
            "allowed if everything it names is in your own words, else asks"
        }
    }
}
