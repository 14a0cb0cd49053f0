//! `chela memory model`: the whole model behind the built-in table.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{explained, open, vectors_of};
use crate::cli::{AgentArg, MemoryModelCommand};
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::screen::Screen;

/// Whether this program can run the model.
const BUILT_IN: bool = cfg!(feature = "minilm");
const HOW_TO_BUILD: &str = "cargo build --release -p chela --features minilm";

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    command: MemoryModelCommand,
) -> CommandOutcome {
    match command {
        MemoryModelCommand::Install { path, json } => install(setup, screen, &path, json),
        MemoryModelCommand::Status { agent, json } => status(setup, screen, &agent, json),
    }
}

#[cfg(not(feature = "minilm"))]
fn install(_: &CommandSetup, _: &mut Screen, _: &Path, _: bool) -> CommandOutcome {
    let why = "this build cannot run the model";
    Err(crate::fail::CommandError::new(why).hint(HOW_TO_BUILD))
}

#[cfg(feature = "minilm")]
fn install(
    setup: &CommandSetup,
    screen: &mut Screen,
    path: &Path,
    as_json: bool,
) -> CommandOutcome {
    use chela_config::KeyPath;
    use chela_config::store::ConfigChanged;
    use chela_memory::embed::minilm::{self, ModelPlacement};

    let host = &setup.host;
    let folder = host.state_dir().join("state").join("models");
    let installed = minilm::install(path, &folder).map_err(explained)?;
    let kept = host.compact(&installed.path);
    let key = SEARCH
        .iter()
        .fold(KeyPath::root(), |path, key| path.key(*key));
    let value = json!(kept);
    let outcome = crate::cmd::config::change(host, |source| {
        chela_config::text::edit::set(source, &key, &value)
    })?;
    let set = outcome.changed == ConfigChanged::Yes;
    if as_json {
        screen.json(&json!({
            "path": kept, "model": installed.id.to_string(),
            "new": installed.placed == ModelPlacement::New, "configChanged": set,
        }))?;
        return Ok(CommandExit::Fine);
    }
    let was = match installed.placed {
        ModelPlacement::New => "is installed",
        ModelPlacement::AlreadyThere => "was already installed",
    };
    screen.line(format!("{} {was}: {kept}", installed.id))?;
    match set {
        true => screen.line(format!("{key} is set."))?,
        false => screen.line(format!("{key} is already set."))?,
    }
    screen.line(
        "The built-in table answers until its vectors are ready; `chela memory index` \
        makes them now.",
    )?;
    Ok(CommandExit::Fine)
}

#[cfg(feature = "minilm")]
const SEARCH: [&str; 5] = ["agents", "defaults", "memorySearch", "local", "modelPath"];

fn status(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    as_json: bool,
) -> CommandOutcome {
    let opened = open(setup, agent)?;
    let provider_problem = opened.provider_problem();
    let status = opened.memory()?.status().map_err(explained)?;
    let configured = opened.view.memory_search.value.local.model_path.as_deref();
    let file: Option<PathBuf> = configured.map(|path| setup.host.expand(path));
    let present = file.as_ref().is_some_and(|file| file.is_file());
    if as_json {
        screen.json(&json!({
            "model": status.model, "embedded": status.embedded, "chunks": status.chunks,
            "modelPath": configured, "present": present, "canRun": BUILT_IN,
            "problem": provider_problem,
        }))?;
        return Ok(CommandExit::Fine);
    }
    let rows = vec![
        vec!["vectors".to_owned(), vectors_of(&status)],
        vec![
            "model file".to_owned(),
            match (configured, present) {
                (None, _) => "none: the built-in table is used".to_owned(),
                (Some(path), true) => path.to_owned(),
                (Some(path), false) => format!("{path} (no such file)"),
            },
        ],
        vec![
            "this program".to_owned(),
            match BUILT_IN {
                true => "can run it".to_owned(),
                false => format!("cannot run it; build with `{HOW_TO_BUILD}`"),
            },
        ],
    ];
    screen.table("", &rows)?;
    if let Some(problem) = provider_problem {
        screen.line(format!("{} {problem}", screen.paint.warn("warning:")))?;
    }
    Ok(CommandExit::Fine)
}
