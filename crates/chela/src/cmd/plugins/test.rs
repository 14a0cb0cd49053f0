//! `chela plugins test` and `logs`: a plugin is started and asked, and what it says is shown.

use std::sync::Arc;
use std::time::Instant;

use chela_core::Host;
use chela_mcp::{SecretDesk, log_path, read_log};
use chela_plugins::{HookName, HookQuestion, InstalledPlugin, PluginHost, log_prefix};
use serde_json::{Map, Value};

use super::KnownPlugins;
use crate::chat::clean_line;
use crate::cmd::mcp::wait_for;
use crate::cmd::{CommandOutcome, time};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(
    host: &Host,
    screen: &mut Screen,
    id: &str,
    (hook, told): (Option<&str>, &str),
) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    let plugin = known.plugin(id)?;
    let told: Map<String, Value> = serde_json::from_str(told)
        .map_err(|error| CommandError::usage(format!("--told is no JSON object: {error}")))?;
    if !plugin.is_ready() {
        return Err(CommandError::new(format!(
            "{id} is not used: {}",
            clean_line(&plugin.standing.in_words())
        ))
        .hint(format!("chela plugins doctor {id}")));
    }
    let hooks: Vec<HookName> = match hook {
        Some(name) => vec![HookName::parse(name).ok_or_else(|| {
            CommandError::usage(format!("there is no hook `{}`", clean_line(name)))
                .hint("`chela plugins hooks` lists them")
        })?],
        None => HookName::ALL
            .into_iter()
            .filter(|hook| plugin.answers(*hook))
            .collect(),
    };
    if hooks.is_empty() {
        screen.line(format!("{id} answers no hook it was granted."))?;
        return Ok(CommandExit::Fine);
    }
    if let Some(hook) = hooks.iter().find(|hook| !plugin.answers(**hook)) {
        return Err(CommandError::new(format!(
            "{id} does not answer {hook}, or was not granted it"
        ))
        .hint(format!("chela plugins info {id}")));
    }
    let mut all = sample(&known, id);
    all.extend(told);
    let desk = SecretDesk::new(Arc::default());
    let loaded = Arc::new(known.setup.loaded.clone());
    let asked = PluginHost::new(&known.setup.host, &loaded, desk);
    let mut failed = false;
    for (hook, outcome, took) in wait_for(ask_all(&asked, plugin, &hooks, &all))? {
        let told = match outcome {
            Ok(answers) if answers.is_empty() => "nothing".to_owned(),
            Ok(answers) => Value::Array(answers).to_string(),
            Err(why) => {
                failed = true;
                why
            }
        };
        let short: String = told.chars().take(2_000).collect();
        screen.line(format!("{hook}: {} ({took} ms)", clean_line(&short)))?;
    }
    match failed {
        false => Ok(CommandExit::Fine),
        true => Err(CommandError::new(format!("{id} failed"))
            .hint(format!("`chela plugins logs {id}` shows what it printed"))),
    }
}

type HookTest = (HookName, Result<Vec<Value>, String>, u128);

async fn ask_all(
    asked: &PluginHost,
    plugin: &InstalledPlugin,
    hooks: &[HookName],
    told: &Map<String, Value>,
) -> Vec<HookTest> {
    let tool = told.get("toolName").and_then(Value::as_str);
    let arguments = told.get("params").and_then(Value::as_object);
    let mut tests = Vec::new();
    for hook in hooks {
        let question = HookQuestion {
            hook: *hook,
            told: told.clone(),
            tool,
            arguments,
        };
        let begun = Instant::now();
        let outcome = asked.ask(plugin, &question).await;
        let took = begun.elapsed().as_millis();
        tests.push((*hook, outcome.map_err(|fault| fault.to_string()), took));
    }
    tests
}

/// What a hook is told of a turn there never was.
fn sample(known: &KnownPlugins, id: &str) -> Map<String, Value> {
    let agent = known.setup.loaded.default_agent();
    let workspace = known
        .setup
        .loaded
        .agent(&agent)
        .map(|view| view.workspace.value);
    let mut told = Map::new();
    let mut put = |name: &str, value: Value| {
        told.insert(name.to_owned(), value);
    };
    put("agentId", agent.as_str().into());
    put("sessionKey", format!("agent:{agent}:main").into());
    put("sessionId", format!("test-of-{id}").into());
    put(
        "workspaceDir",
        workspace.unwrap_or_default().display().to_string().into(),
    );
    told
}

pub fn logs(host: &Host, screen: &mut Screen, id: &str, lines: usize) -> CommandOutcome {
    let known = KnownPlugins::open(host)?;
    known.plugin(id)?;
    let told = read_log(&log_path(host, &log_prefix(id)))?;
    if told.is_empty() {
        screen.line(format!("{id} printed nothing yet."))?;
        return Ok(CommandExit::Fine);
    }
    for (at, line) in told.iter().skip(told.len().saturating_sub(lines)) {
        screen.line(format!("{} {}", time::utc(*at), clean_line(line)))?;
    }
    Ok(CommandExit::Fine)
}
