//! `chela prompt`: the system prompt, byte for byte.

use std::path::{Path, PathBuf};

use chela_agent::assemble::{Ask, Assembled, assemble};
use chela_core::{AgentId, Host, SessionKey};
use chela_prompt::{Prompt, PromptMode, TokenCount};

use super::{Outcome, Setup, input};
use crate::cli::{ModeName, PromptArgs, PromptChoice, PromptCommand};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted};

pub fn run(host: &Host, screen: &mut Screen, args: PromptArgs) -> Outcome {
    if let Some(facts) = &args.facts {
        let prompt = from_facts(facts)?;
        return print(screen, &prompt, args.json);
    }
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    match args.command {
        None => print(screen, &assembled(&setup, &args.choice)?.prompt, args.json),
        Some(PromptCommand::Snapshot { dir }) => snapshot(&setup, screen, &dir),
        Some(PromptCommand::Check { dir }) => check(&setup, screen, &dir),
    }
}

/// The prompt a person asked for, from the live setup. What was cut or skipped on the way is told
/// on standard error, once per change.
pub fn assembled(setup: &Setup, choice: &PromptChoice) -> Result<Assembled, Fail> {
    let ask = ask(choice)?;
    let assembled = assemble(&setup.host, &setup.loaded, &ask).map_err(|error| {
        Fail::new(error).hint("`chela agents list` shows the agents, `chela doctor` what is wrong")
    })?;
    super::notices::tell_once(&setup.host, &assembled);
    Ok(assembled)
}

fn ask(choice: &PromptChoice) -> Result<Ask, Fail> {
    let agent = choice
        .agent
        .as_deref()
        .map(AgentId::parse)
        .transpose()
        .map_err(Fail::usage)?;
    let session = choice
        .session
        .as_deref()
        .map(SessionKey::parse)
        .transpose()
        .map_err(Fail::usage)?;
    let mode = choice.mode.map(|mode| match mode {
        ModeName::Full => PromptMode::Full,
        ModeName::Minimal => PromptMode::Minimal,
        ModeName::None => PromptMode::None,
    });
    Ok(Ask {
        agent,
        session,
        mode,
        channel: choice.channel.clone(),
        ..Ask::default()
    })
}

fn from_facts(path: &Path) -> Result<Prompt, Fail> {
    let document = input::read(path)?;
    let facts = chela_prompt::PromptInput::from_facts(&document)
        .map_err(|error| Fail::new(format!("{}: {error}", path.display())))?;
    chela_prompt::render(&facts).map_err(Fail::new)
}

fn print(screen: &mut Screen, prompt: &Prompt, json: bool) -> Outcome {
    if json {
        screen.json(&prompt.to_json(TokenCount::With))?;
    } else {
        screen.raw(&prompt.text)?;
        if !prompt.text.ends_with('\n') && screen.is_terminal {
            screen.blank()?;
        }
    }
    Ok(Exit::Fine)
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
fn golden(setup: &Setup) -> Result<Vec<(PathBuf, String)>, Fail> {
    let mut all = Vec::new();
    for agent in setup.loaded.agents() {
        for (name, rest) in SCENARIOS {
            let key = format!("agent:{agent}:{rest}");
            let session = SessionKey::parse(&key).map_err(Fail::new)?;
            let ask = Ask {
                agent: Some(agent.clone()),
                session: Some(session),
                machine: chela_agent::assemble::Machine::Anywhere,
                ..Ask::default()
            };
            let assembled = assemble(&setup.host, &setup.loaded, &ask).map_err(Fail::new)?;
            all.push((
                PathBuf::from(format!("{agent}.{name}.md")),
                assembled.prompt.text,
            ));
        }
    }
    Ok(all)
}

fn snapshot(setup: &Setup, screen: &mut Screen, dir: &Path) -> Outcome {
    std::fs::create_dir_all(dir)
        .map_err(|error| Fail::new(format!("cannot make {}: {error}", dir.display())))?;
    let golden = golden(setup)?;
    for (name, text) in &golden {
        let path = dir.join(name);
        std::fs::write(&path, text)
            .map_err(|error| Fail::new(format!("cannot write {}: {error}", path.display())))?;
    }
    screen.line(format!(
        "Wrote {} to {}",
        counted(golden.len(), "prompt"),
        dir.display()
    ))?;
    screen.line(format!(
        "Check them with: chela prompt check {}",
        dir.display()
    ))?;
    Ok(Exit::Fine)
}

fn check(setup: &Setup, screen: &mut Screen, dir: &Path) -> Outcome {
    let golden = golden(setup)?;
    let mut drifted = 0;
    for (name, text) in &golden {
        let path = dir.join(name);
        let told = match std::fs::read_to_string(&path) {
            Ok(kept) if kept == *text => continue,
            Ok(kept) => first_difference(&kept, text),
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
                .good(format!("{} as they were", counted(golden.len(), "prompt"))),
        )?;
        return Ok(Exit::Fine);
    }
    screen.line(format!(
        "{drifted} of {} differ; if that is right: chela prompt snapshot {}",
        counted(golden.len(), "prompt"),
        dir.display()
    ))?;
    Ok(Exit::Findings)
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
