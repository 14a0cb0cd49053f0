//! `chela init`, and bare `chela`: from nothing to a workspace that says what it is.

use std::io::IsTerminal;

use chela_agent::prompt_knobs::PromptKnobs;
use chela_core::{Host, ok_or_warn};
use chela_workspace::{
    CommitAuthor, CoreFile, RepositoryMode, RepositoryOutcome, SeedMode, SeedOptions, SeedReport,
    WorkspaceCondition, WorkspaceHistory, seed, seed_folder,
};

use super::{CommandOutcome, CommandSetup, chat, status};
use crate::cli::{ChatArgs, InitArgs};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Why a change is recorded that no command of Chela made.
pub const OUTSIDE_CHANGE: &str = "Changed outside of Chela";

pub fn run(host: &Host, screen: &mut Screen, args: &InitArgs) -> CommandOutcome {
    let mut setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    if let Some(folder) = &args.workspace {
        setup = remember_workspace(host, setup, args.agent.as_deref(), folder)?;
    }
    let mode = if args.reseed {
        SeedMode::Reseed
    } else {
        SeedMode::Fill
    };
    let report = seed_agent(&setup, args.agent.as_deref(), mode)?;
    if args.json {
        screen.json(&report)?;
        return Ok(CommandExit::Fine);
    }
    print(screen, &setup, &report)?;
    next_steps(screen, WhatFollows::Nothing)?;
    Ok(CommandExit::Fine)
}

/// Bare `chela`: sets up on first use, and talks. What is piped in is answered; where nobody says
/// anything it tells how things stand.
pub fn init_home(host: &Host, screen: &mut Screen) -> CommandOutcome {
    if let Some(answered) = chat::answer_piped(host, screen) {
        return answered;
    }
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    let report = seed_agent(&setup, None, SeedMode::IfNew)?;
    let somebody = screen.is_terminal && std::io::stdin().is_terminal();
    if report.created.is_empty() {
        record_changes(&setup);
        if somebody {
            return chat::run(host, screen, &ChatArgs::default());
        }
        status::print(screen, &status::report(&setup))?;
        screen.blank()?;
        screen.line(
            screen
                .paint
                .dim("`chela --help` lists the commands; `chela doctor` looks for problems."),
        )?;
        return Ok(CommandExit::Fine);
    }
    screen.line(screen.paint.bold("Welcome to Chela."))?;
    screen.blank()?;
    print(screen, &setup, &report)?;
    let follows = match somebody {
        true => WhatFollows::Chat,
        false => WhatFollows::Nothing,
    };
    next_steps(screen, follows)?;
    if somebody {
        screen.blank()?;
        screen.flush()?;
        return chat::run(host, screen, &ChatArgs::default());
    }
    Ok(CommandExit::Fine)
}

/// Records what changed in the core files of every agent since the last look. Whoever changed them
/// did so outside of Chela; without git or in the middle of a merge nothing is recorded.
fn record_changes(setup: &CommandSetup) {
    for agent in setup.loaded.agents() {
        if let Ok(past) = WorkspaceHistory::open(&setup.host, &setup.workspace_dir(&agent)) {
            let kept = past.snapshot(&CommitAuthor::Runtime, OUTSIDE_CHANGE);
            ok_or_warn!(kept, "the workspace history has a gap");
        }
    }
}

/// Makes the workspace of an agent, as far as `mode` allows.
pub fn seed_agent(
    setup: &CommandSetup,
    agent: Option<&str>,
    mode: SeedMode,
) -> Result<SeedReport, CommandError> {
    let agent = setup.agent(agent)?;
    let settings = PromptKnobs::of(&setup.loaded, &setup.view(&agent)?).bootstrap;
    let dir = setup.workspace_dir(&agent);
    let seeded = match settings.skip {
        true => seed_folder(&setup.host, &dir, mode),
        false => {
            let options = SeedOptions {
                mode,
                skip_optional: settings.skip_optional,
                repository: RepositoryMode::Create,
            };
            seed(&setup.host, &dir, &options)
        }
    };
    seeded.map_err(|error| {
        CommandError::new(error).hint("choose another folder with CHELA_HOME, CHELA_WORKSPACE or `chela init --workspace DIR`")
    })
}

fn print(screen: &mut Screen, setup: &CommandSetup, report: &SeedReport) -> std::io::Result<()> {
    let paint = screen.paint;
    let dir = setup.host.compact(&report.dir);
    if report.created.is_empty() && report.before == WorkspaceCondition::New {
        let told =
            format!("{dir} is there; no files were created in it (agents.defaults.skipBootstrap).");
        return screen.paragraph("", &told);
    }
    if report.created.is_empty() {
        screen.line(format!("{dir} is complete; nothing was changed."))?;
    } else {
        screen.line(format!(
            "Created your agent's files in {}:",
            paint.bold(&dir)
        ))?;
        let rows: Vec<Vec<String>> = report
            .created
            .iter()
            .map(|file| vec![paint.accent(file.name()), purpose(*file).to_owned()])
            .collect();
        screen.table("  ", &rows)?;
    }
    if !report.kept.is_empty() && !report.created.is_empty() {
        let kept: Vec<&str> = report.kept.iter().map(|file| file.name()).collect();
        screen.paragraph("", &format!("Left unchanged: {}.", kept.join(", ")))?;
    }
    if is_foreign(setup, report) {
        let kept: Vec<&str> = report.kept.iter().map(|file| file.name()).collect();
        screen.paragraph(
            "",
            &format!(
                "{} came with the folder: quarantined until you read them and run `chela trust \
                 approve --folder`.",
                kept.join(", ")
            ),
        )?;
    }
    match &report.repository {
        RepositoryOutcome::Created { .. } => screen.paragraph(
            "",
            "Every change to these files is kept in git: `chela workspace history SOUL.md`, \
                `chela workspace restore SOUL.md`.",
        ),
        RepositoryOutcome::InsideOther { root } => screen.paragraph(
            "",
            &format!("The folder belongs to the repository {}, so Chela keeps no history of its own there.", setup.host.compact(root)),
        ),
        RepositoryOutcome::NoGit => screen.paragraph("", "git was not found, so changes to these \
            files cannot be undone; everything else works."),
        RepositoryOutcome::Failed { why } => screen.paragraph("", &format!("No history is kept: {why}")),
        RepositoryOutcome::Present { .. } | RepositoryOutcome::NotAsked => Ok(()),
    }
}

/// Whether the folder was there with files of its own, and nobody vouched for it.
fn is_foreign(setup: &CommandSetup, report: &SeedReport) -> bool {
    let Some(kept) = report.kept.first() else {
        return false;
    };
    let agents = setup.loaded.agents();
    let owner = agents
        .iter()
        .find(|agent| setup.workspace_dir(agent) == report.dir);
    let Some(view) = owner.and_then(|agent| setup.loaded.agent(agent)) else {
        return false;
    };
    let custody = chela_agent::trust::custody_of(&setup.host, &setup.loaded, &view);
    let path = custody.root().join(kept.name());
    custody.foreign_root(&custody.records(), &path).is_some()
}

fn purpose(file: CoreFile) -> &'static str {
    match file {
        CoreFile::Agents => "how it works: rules, memory, manners",
        CoreFile::Soul => "who it is: character and tone",
        CoreFile::Identity => "its name and look",
        CoreFile::User => "who you are (never shown in group chats)",
        CoreFile::Tools => "notes on your own tools and machines",
        CoreFile::Bootstrap => "the first conversation; removed afterwards",
        CoreFile::Memory => "what it remembers (never shown in group chats)",
        CoreFile::Heartbeat => "what to check on by itself; empty costs nothing",
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WhatFollows {
    /// It opens below.
    Chat,
    Nothing,
}

fn next_steps(screen: &mut Screen, follows: WhatFollows) -> std::io::Result<()> {
    let soul = format!("chela workspace edit {}", CoreFile::Soul.name());
    let talk = ("chela chat".to_owned(), "talk to it");
    let steps = [
        (soul, "make it yours"),
        ("chela prompt".to_owned(), "see what a model reads"),
        ("chela context map".to_owned(), "see where the tokens go"),
        ("chela doctor".to_owned(), "check everything"),
    ];
    screen.blank()?;
    screen.line(screen.paint.bold(match follows {
        WhatFollows::Chat => "Later:",
        WhatFollows::Nothing => "Next:",
    }))?;
    let rows: Vec<Vec<String>> = Some(talk)
        .filter(|_| follows == WhatFollows::Nothing)
        .iter()
        .chain(&steps)
        .map(|(command, what)| vec![command.clone(), screen.paint.dim(what)])
        .collect();
    screen.table("  ", &rows)
}

/// Writes the folder into the config, where every later command finds it.
fn remember_workspace(
    host: &Host,
    setup: CommandSetup,
    agent: Option<&str>,
    folder: &str,
) -> Result<CommandSetup, CommandError> {
    let agent = setup.agent(agent)?;
    super::agents::set_workspace(&setup, &agent, folder)?;
    Ok(CommandSetup::load(host))
}
