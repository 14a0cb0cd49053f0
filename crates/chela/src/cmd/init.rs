//! `chela init`, and bare `chela`: from nothing to a workspace that says what it is.

use std::io::IsTerminal;

use chela_agent::knobs::Knobs;
use chela_core::{Host, ok_or_warn};
use chela_workspace::{
    Author, CoreFile, History, Repository, RepositoryWish, SeedMode, SeedOptions, SeedReport, seed,
};

use super::{Outcome, Setup, chat, status};
use crate::cli::{ChatArgs, InitArgs};
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

/// Why a change is recorded that no command of Chela made.
pub const OUTSIDE_CHANGE: &str = "Changed outside of Chela";

pub fn run(host: &Host, screen: &mut Screen, args: &InitArgs) -> Outcome {
    let mut setup = Setup::load(host);
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
        return Ok(Exit::Fine);
    }
    print(screen, &setup, &report)?;
    next_steps(screen)?;
    Ok(Exit::Fine)
}

/// Bare `chela`: sets up on first use, and talks. Where nobody can talk - in a pipe - it tells how
/// things stand.
pub fn home(host: &Host, screen: &mut Screen) -> Outcome {
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    let report = seed_agent(&setup, None, SeedMode::IfNew)?;
    let somebody = screen.is_terminal && std::io::stdin().is_terminal();
    if report.created.is_empty() {
        record_changes(&setup);
        if somebody {
            return chat::run(host, screen, &ChatArgs::default());
        }
        status::print(screen, &status::Status::of(&setup))?;
        screen.blank()?;
        screen.line(
            screen
                .paint
                .dim("chela --help lists the commands; chela doctor looks for problems."),
        )?;
        return Ok(Exit::Fine);
    }
    screen.line(screen.paint.bold("Welcome to Chela."))?;
    screen.blank()?;
    print(screen, &setup, &report)?;
    next_steps(screen)?;
    if somebody {
        screen.blank()?;
        screen.flush()?;
        return chat::run(host, screen, &ChatArgs::default());
    }
    Ok(Exit::Fine)
}

/// Records what changed in the core files of every agent since the last look. Whoever changed them
/// did so outside of Chela; without git or in the middle of a merge nothing is recorded.
fn record_changes(setup: &Setup) {
    for agent in setup.loaded.agents() {
        if let Ok(past) = History::open(&setup.host, &setup.workspace_dir(&agent)) {
            let kept = past.snapshot(&Author::Runtime, OUTSIDE_CHANGE);
            ok_or_warn!(kept, "the history of the workspace has a gap");
        }
    }
}

/// Makes the workspace of an agent, as far as `mode` allows.
pub fn seed_agent(setup: &Setup, agent: Option<&str>, mode: SeedMode) -> Result<SeedReport, Fail> {
    let agent = setup.agent(agent)?;
    let settings = Knobs::of(&setup.loaded, &setup.view(&agent)?).bootstrap;
    let dir = setup.workspace_dir(&agent);
    if settings.skip {
        return Err(Fail::new(format!(
            "agents.defaults.skipBootstrap is set, so no files are made in {}",
            setup.host.compact(&dir)
        ))
        .hint("chela config unset agents.defaults.skipBootstrap"));
    }
    let options = SeedOptions {
        mode,
        skip_optional: settings.skip_optional,
        repository: RepositoryWish::Create,
    };
    seed(&setup.host, &dir, &options).map_err(|error| {
        Fail::new(error).hint("choose another folder with CHELA_HOME, CHELA_WORKSPACE or `chela init --workspace DIR`")
    })
}

fn print(screen: &mut Screen, setup: &Setup, report: &SeedReport) -> std::io::Result<()> {
    let paint = screen.paint;
    let dir = setup.host.compact(&report.dir);
    if report.created.is_empty() {
        screen.line(format!("{dir} is complete; nothing was changed."))?;
    } else {
        screen.line(format!(
            "Made the files your agent is made of, in {}:",
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
        screen.paragraph("", &format!("Left as they were: {}.", kept.join(", ")))?;
    }
    if is_foreign(setup, report) {
        let kept: Vec<&str> = report.kept.iter().map(|file| file.name()).collect();
        screen.paragraph(
            "",
            &format!(
                "{} came with the folder. Read them; until `chela trust approve --folder` they are set aside.",
                kept.join(", ")
            ),
        )?;
    }
    match &report.repository {
        Repository::Created { .. } => screen.paragraph(
            "",
            "Every change of these files is kept in git: `chela workspace history SOUL.md`, `chela workspace restore SOUL.md`.",
        ),
        Repository::InsideOther { root } => screen.paragraph(
            "",
            &format!("The folder belongs to the repository {}, so Chela keeps no history of its own there.", setup.host.compact(root)),
        ),
        Repository::NoGit => screen.paragraph("", "git was not found, so changes of these files cannot be undone; everything else works."),
        Repository::Failed { why } => screen.paragraph("", &format!("No history is kept: {why}")),
        Repository::Present { .. } | Repository::NotAsked => Ok(()),
    }
}

/// Whether the folder was there with files of its own, and nobody vouched for it.
fn is_foreign(setup: &Setup, report: &SeedReport) -> bool {
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
    custody.foreign_root(&custody.book(), &path).is_some()
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
        CoreFile::Heartbeat => "what to look after by itself; empty costs nothing",
    }
}

fn next_steps(screen: &mut Screen) -> std::io::Result<()> {
    let soul = format!("chela workspace edit {}", CoreFile::Soul.name());
    let steps = [
        ("chela chat".to_owned(), "talk to it"),
        (soul, "make it yours"),
        ("chela prompt".to_owned(), "read what a model would read"),
        ("chela context map".to_owned(), "see where the tokens go"),
        ("chela doctor".to_owned(), "check everything"),
    ];
    screen.blank()?;
    screen.line(screen.paint.bold("Next:"))?;
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|(command, what)| vec![command.clone(), screen.paint.dim(what)])
        .collect();
    screen.table("  ", &rows)
}

/// Writes the folder into the config, where every later command finds it.
fn remember_workspace(
    host: &Host,
    setup: Setup,
    agent: Option<&str>,
    folder: &str,
) -> Result<Setup, Fail> {
    let agent = setup.agent(agent)?;
    super::agents::set_workspace(&setup, &agent, folder)?;
    Ok(Setup::load(host))
}
