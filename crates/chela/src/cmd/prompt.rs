//! `chela prompt`: the system prompt, byte for byte.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::assemble::{
    AssembleError, AssembledPrompt, ChosenLevels, HookPrompt, PromptRequest, assemble,
};
use chela_agent::turn::preview_hooks;
use chela_core::{AgentId, Host, SessionKey, ok_or_warn};
use chela_plugins::PluginLock;
use chela_prompt::{Prompt, PromptMode, TokenCount};
use chela_session::{SessionError, SessionSettings, Sessions};
use chela_store::block_on;

use super::{CommandOutcome, CommandSetup, input};
use crate::cli::{ModeName, PromptArgs, PromptChoice, PromptCommand};
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::unwritable;
use crate::screen::{Screen, count_noun};

pub fn run(host: &Host, screen: &mut Screen, args: PromptArgs) -> CommandOutcome {
    if let Some(facts) = &args.facts {
        let prompt = from_facts(facts)?;
        return print(screen, &prompt, args.json);
    }
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match args.command {
        None => print(
            screen,
            &assemble_prompt(&setup, &args.choice)?.prompt,
            args.json,
        ),
        Some(PromptCommand::Snapshot { dir }) => snapshot(&setup, screen, &dir),
        Some(PromptCommand::Check { dir }) => check(&setup, screen, &dir),
    }
}

const NO_PROMPT: &str = "`chela agents list` shows the agents, `chela doctor` finds problems";

/// The prompt a person asked for, from the live setup. What was cut or skipped on the way is told
/// on standard error, once per change.
pub fn assemble_prompt(
    setup: &CommandSetup,
    choice: &PromptChoice,
) -> Result<AssembledPrompt, CommandError> {
    let mut ask = ask(choice)?;
    ask.levels = chosen_levels(setup, &ask);
    ask.hooks = hooks_now(setup, &ask)?;
    let assembled = assemble(&setup.host, &setup.loaded, &ask).map_err(|error| {
        let hint = match &error {
            AssembleError::NoSkill { skill, .. } => {
                return CommandError::new(&error).hint(format!("chela skills why {skill}"));
            }
            AssembleError::NoAgent { agent, .. } => match setup.agent(Some(agent)) {
                Err(told) => return told,
                Ok(_) => NO_PROMPT,
            },
            _ => NO_PROMPT,
        };
        CommandError::new(error).hint(hint)
    })?;
    super::notices::tell_once(&setup.host, &assembled);
    Ok(assembled)
}

/// What plugins want of it. They are asked, as for a turn, but nothing of it goes on record.
fn hooks_now(setup: &CommandSetup, ask: &PromptRequest) -> Result<HookPrompt, CommandError> {
    let is_there = PluginLock::path(&setup.host).exists();
    if !is_there || super::owner::is_agent(&setup.host) {
        return Ok(HookPrompt::default());
    }
    let of_session = ask.session.as_ref().and_then(|key| key.agent.as_deref());
    let agent = ask.agent.clone().or(of_session.map(AgentId::normalize));
    let agent = agent.unwrap_or_else(|| setup.loaded.default_agent());
    let session = ask.session.clone();
    let session = session.unwrap_or_else(|| SessionKey::main(&agent));
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded.clone()));
    super::mcp::wait_for(preview_hooks(&agents, &agent, &session))
}

/// What was chosen for the session that is meant, where there is one.
fn chosen_levels(setup: &CommandSetup, ask: &PromptRequest) -> ChosenLevels {
    let Some(key) = &ask.session else {
        return ChosenLevels::default();
    };
    let owner = key.agent.as_deref().map(AgentId::normalize);
    let agent = ask.agent.clone().or(owner);
    let agent = agent.unwrap_or_else(|| setup.loaded.default_agent());
    let known = block_on(known_settings(&setup.host, &agent, key));
    let known = ok_or_warn!(known, "what was chosen for the session cannot be read");
    known
        .flatten()
        .as_ref()
        .map_or_else(ChosenLevels::default, ChosenLevels::from)
}

async fn known_settings(
    host: &Host,
    agent: &AgentId,
    key: &SessionKey,
) -> Result<Option<SessionSettings>, SessionError> {
    let Some(sessions) = Sessions::open_existing(host, agent)? else {
        return Ok(None);
    };
    let Some(session) = sessions.look_up(key).await? else {
        return Ok(None);
    };
    Ok(Some(sessions.info(&session).await?.settings))
}

/// How the key of a session is written.
pub const SESSION_HINT: &str = "such as main, or agent:main:telegram:group:99";

fn ask(choice: &PromptChoice) -> Result<PromptRequest, CommandError> {
    let agent = choice
        .agent
        .as_deref()
        .map(AgentId::parse)
        .transpose()
        .map_err(CommandError::usage)?;
    let session = choice
        .session
        .as_deref()
        .map(SessionKey::parse)
        .transpose()
        .map_err(|error| CommandError::usage(error).hint(SESSION_HINT))?;
    let mode = choice.mode.map(|mode| match mode {
        ModeName::Full => PromptMode::Full,
        ModeName::Minimal => PromptMode::Minimal,
        ModeName::None => PromptMode::None,
    });
    Ok(PromptRequest {
        agent,
        session,
        mode,
        channel: choice.channel.clone(),
        skill: choice.skill.clone(),
        ..PromptRequest::default()
    })
}

fn from_facts(path: &Path) -> Result<Prompt, CommandError> {
    let document = input::read(path)?;
    let facts = chela_prompt::PromptInput::from_facts(&document).map_err(|error| {
        CommandError::new(format!("{}: {error}", path.display()))
            .hint("`chela docs embedding` shows what facts look like")
    })?;
    chela_prompt::render(&facts).map_err(CommandError::new)
}

fn print(screen: &mut Screen, prompt: &Prompt, json: bool) -> CommandOutcome {
    if json {
        screen.json(&prompt.to_json(TokenCount::With))?;
    } else {
        screen.raw(&prompt.text)?;
        if !prompt.text.ends_with('\n') && screen.is_terminal {
            screen.blank()?;
        }
    }
    Ok(CommandExit::Fine)
}

/// The kinds of session a golden prompt is kept of, and the key of each.
const SCENARIOS: &[(&str, &str)] = &[
    ("main", "main"),
    ("telegram-direct", "telegram:direct:owner"),
    ("discord-group", "discord:group:1"),
    ("webchat", "webchat:direct:owner"),
    ("heartbeat", "main:heartbeat"),
    ("cron", "cron:job"),
    ("sub-agent", "subagent:1"),
];

/// Golden prompts of every agent: name of the file, and the text.
fn golden(setup: &CommandSetup) -> Result<Vec<(PathBuf, String)>, CommandError> {
    let mut all = Vec::new();
    for agent in setup.loaded.agents() {
        for (name, rest) in SCENARIOS {
            let key = format!("agent:{agent}:{rest}");
            let session = SessionKey::parse(&key).map_err(CommandError::new)?;
            let ask = PromptRequest {
                agent: Some(agent.clone()),
                session: Some(session),
                machine: chela_agent::assemble::MachineMention::Anywhere,
                ..PromptRequest::default()
            };
            let assembled =
                assemble(&setup.host, &setup.loaded, &ask).map_err(CommandError::new)?;
            all.push((
                PathBuf::from(format!("{agent}.{name}.md")),
                assembled.prompt.text,
            ));
        }
    }
    Ok(all)
}

fn snapshot(setup: &CommandSetup, screen: &mut Screen, dir: &Path) -> CommandOutcome {
    std::fs::create_dir_all(dir).map_err(|error| unwritable(dir.display(), &error))?;
    let golden = golden(setup)?;
    for (name, text) in &golden {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|error| unwritable(path.display(), &error))?;
    }
    screen.line(format!(
        "Wrote {} to {}",
        count_noun(golden.len(), "prompt"),
        dir.display()
    ))?;
    screen.line(format!(
        "Check them with: chela prompt check {}",
        dir.display()
    ))?;
    Ok(CommandExit::Fine)
}

fn check(setup: &CommandSetup, screen: &mut Screen, dir: &Path) -> CommandOutcome {
    if !dir.is_dir() {
        let told = format!("{} is not a folder", dir.display());
        let made = format!("`chela prompt snapshot {}` writes one", dir.display());
        return Err(CommandError::new(told).hint(made));
    }
    let golden = golden(setup)?;
    let mut drifted = 0;
    for (name, text) in &golden {
        let path = dir.join(name);
        let told = match std::fs::read_to_string(&path) {
            Ok(kept) if kept == *text => continue,
            Ok(kept) => first_difference(&kept, text),
            Err(error) if error.kind() == ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        drifted += 1;
        screen.line(format!(
            "{} {} {told}",
            screen.paint.bad("drift"),
            name.display()
        ))?;
    }
    if drifted == 0 {
        screen.line(
            screen
                .paint
                .good(format!("{} unchanged", count_noun(golden.len(), "prompt"))),
        )?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "{drifted} of {} differ; if that is right: chela prompt snapshot {}",
        count_noun(golden.len(), "prompt"),
        dir.display()
    ))?;
    Ok(CommandExit::Findings)
}

fn first_difference(kept: &str, now: &str) -> String {
    let line = kept
        .lines()
        .zip(now.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let shown = |text: &str| {
        text.lines().nth(line).map_or_else(
            || "(end)".to_owned(),
            |text| crate::screen::shorten(text, 60),
        )
    };
    format!(
        "line {}: “{}” is now “{}”",
        line + 1,
        shown(kept),
        shown(now)
    )
}
