//! `chela config …`: read, explain and change what the operator wants.

use std::path::Path;

use chela_config::store::{ConfigChanged, ConfigStore, EditOutcome, StoreError};
use chela_config::text::edit::{self, EditError};
use chela_config::{ConfigDiagnostic, KeyPath, Severity};
use chela_core::Host;
use chela_ledger::AuditKind;
use chela_model::Models;
use serde_json::{Value, json};

use super::update::read_update_key;
use super::{CommandOutcome, CommandSetup, input};
use crate::cli::{ConfigCommand, PatchArgs};
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::unreadable;
use crate::screen::{Screen, count_noun};

pub fn run(host: &Host, screen: &mut Screen, command: ConfigCommand) -> CommandOutcome {
    match command {
        ConfigCommand::Get { path, json } => get(host, screen, path.as_deref(), json),
        ConfigCommand::Set { path, value, text } => {
            let path = key_path(&path)?;
            let value = typed_value(&value, text)?;
            check_time_zone(&path, &value)?;
            check_update_key(&path, &value)?;
            let outcome = change(host, |source| edit::set(source, &path, &value))?;
            tell(screen, host, &outcome, &format!("{path} is set"))?;
            let notes = [
                chela_config::kept_unused(&path),
                unknown_model(host, &path, &value),
            ];
            for note in notes.into_iter().flatten() {
                screen.line(screen.paint.dim(format!("note: {note}")))?;
            }
            Ok(CommandExit::Fine)
        }
        ConfigCommand::Unset { path } => unset(host, screen, &path),
        ConfigCommand::Patch(args) => patch(host, screen, &args),
        ConfigCommand::Apply(args) => apply(host, screen, &args),
        ConfigCommand::Schema { path } => schema(screen, path.as_deref()),
        ConfigCommand::Validate { file, json } => validate(host, screen, file.as_deref(), json),
        ConfigCommand::Explain { path, json } => super::explain::run(host, screen, &path, json),
        ConfigCommand::File { json } => {
            let file = host.config_file();
            if json {
                screen.json(&json!({ "path": file, "exists": file.exists() }))?;
            } else {
                screen.line(file.display())?;
            }
            Ok(CommandExit::Fine)
        }
    }
}

pub fn key_path(text: &str) -> Result<KeyPath, CommandError> {
    KeyPath::parse(text).map_err(CommandError::usage)
}

/// A time zone nobody knows would count as UTC, and every time of day would be wrong.
fn check_time_zone(path: &KeyPath, value: &Value) -> Result<(), CommandError> {
    match value.as_str() {
        Some(zone)
            if path.to_string().ends_with(".userTimezone") && !chela_agent::is_time_zone(zone) =>
        {
            Err(CommandError::usage(format!("`{zone}` is not a time zone"))
                .hint("write it as Europe/Berlin, America/New_York or UTC"))
        }
        _ => Ok(()),
    }
}

/// A key that cannot be read would only be missed at the next update.
fn check_update_key(path: &KeyPath, value: &Value) -> Result<(), CommandError> {
    match value.as_str() {
        Some(key) if path.to_string() == "update.key" => read_update_key(key).map(drop),
        _ => Ok(()),
    }
}

/// Whether a model was set that nobody provides. It may be set up later, so it is said and kept.
fn unknown_model(host: &Host, path: &KeyPath, value: &Value) -> Option<String> {
    let typed = path.to_string();
    let is_default = typed == "agents.defaults.model";
    let is_of_agent = typed.starts_with("agents.list[") && typed.ends_with("].model");
    let name = value.as_str().filter(|_| is_default || is_of_agent)?;
    let setup = CommandSetup::load(host);
    let error = Models::of(host, &setup.loaded).resolve(name).err()?;
    Some(format!("{error}; `chela models list` shows the models"))
}

/// JSON5 where it reads as such, text otherwise. What begins like an object or a list and is none
/// is a slip of the pen.
fn typed_value(typed: &str, as_text: bool) -> Result<Value, CommandError> {
    let parsed = chela_config::text::parse(typed, chela_config::FileId::default());
    match parsed.root.filter(|_| !as_text) {
        Some(node) => Ok(node.to_json()),
        None if !as_text && typed.trim_start().starts_with(['{', '[']) => {
            let why = parse_problem(typed, &parsed.problems);
            let fail = CommandError::usage(format!("the value is not JSON5: {why}"));
            Err(fail.hint("--text stores it as plain text"))
        }
        None => Ok(Value::String(typed.to_owned())),
    }
}

/// The first problem of a text, with its place.
fn parse_problem(text: &str, problems: &[chela_config::text::SyntaxProblem]) -> String {
    let lines = chela_config::text::LineIndex::new(text);
    problems.first().map_or_else(String::new, |problem| {
        let (line, column) = lines.position(text, problem.at);
        format!("line {line}, column {column}: {}", problem.message)
    })
}

fn get(host: &Host, screen: &mut Screen, path: Option<&str>, json: bool) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    let path = key_path(path.unwrap_or_default())?;
    let Some(value) = setup
        .loaded
        .get(&path)
        .map(|node| chela_config::redacted(node, &path))
    else {
        let known = chela_config::schema_at(&path).is_some();
        let message = if known {
            format!("{path} is not set")
        } else {
            format!("there is no key {path}")
        };
        let hint = if known {
            format!("chela config explain {path} shows its default")
        } else {
            unknown_hint(&path)
        };
        return Err(CommandError::new(message).hint(hint));
    };
    match &value {
        Value::String(text) if !json => screen.line(text)?,
        value => screen.json(value)?,
    }
    Ok(CommandExit::Fine)
}

pub fn unknown_hint(path: &KeyPath) -> String {
    match nearest_key(path) {
        Some(near) => format!("did you mean {near}?"),
        None => "`chela config schema` lists the keys".to_owned(),
    }
}

/// The known key nearest to a path that is none.
fn nearest_key(path: &KeyPath) -> Option<KeyPath> {
    let mut known = KeyPath::root();
    for segment in path.segments() {
        let next = known.with(segment.clone());
        if chela_config::schema_at(&next).is_some() {
            known = next;
            continue;
        }
        let chela_config::PathSegment::Key(key) = segment else {
            return None;
        };
        let schema = chela_config::schema_at(&known)?;
        let keys = schema.get("properties")?.as_object()?;
        let near = chela_core::suggest::nearest(key, keys.keys().map(String::as_str))?;
        return Some(known.key(near));
    }
    None
}

/// Changes the file, if what comes out is valid.
pub fn change(
    host: &Host,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> Result<EditOutcome, CommandError> {
    let store = ConfigStore::new(host);
    let before = super::trust::heartbeat_prompts(&chela_config::load(host));
    let outcome = store
        .edit(edit, |source| {
            let found = chela_config::validate_source(host, source);
            if found.iter().all(|found| found.severity != Severity::Error) {
                // On record before it is in force.
                let body = json!({
                    "file": host.compact(&store.path()),
                    "hash": chela_core::ContentHash::of(source),
                });
                super::change_records::record_change(host, AuditKind::ConfigChange, &body);
            }
            found
        })
        .map_err(store_fail)?;
    if outcome.changed == ConfigChanged::Yes {
        super::trust::owner_configured(host, &before);
    }
    Ok(outcome)
}

fn store_fail(error: StoreError) -> CommandError {
    match error {
        StoreError::Invalid { .. } => {
            CommandError::config(error).hint("`chela config explain KEY` shows what a key accepts")
        }
        StoreError::Edit(EditError::Syntax { .. }) => {
            CommandError::config(error).hint("chela config validate")
        }
        other => CommandError::new(other),
    }
}

fn tell(screen: &mut Screen, host: &Host, outcome: &EditOutcome, what: &str) -> CommandOutcome {
    let path = host.compact(&outcome.path);
    match outcome.changed {
        ConfigChanged::No => screen.line(format!(
            "Nothing to change: {path} already has this \
            value."
        ))?,
        ConfigChanged::Yes => screen.line(format!("{what} in {path}."))?,
    }
    for diagnostic in outcome
        .diagnostics
        .iter()
        .filter(|found| found.severity >= Severity::Warning)
    {
        screen.line(format!("{} {diagnostic}", screen.paint.warn("warning:")))?;
    }
    Ok(CommandExit::Fine)
}

fn unset(host: &Host, screen: &mut Screen, path: &str) -> CommandOutcome {
    let path = key_path(path)?;
    let outcome = mend(host, |source| {
        edit::unset(source, &path).map(|(text, _)| text)
    })?;
    if outcome.changed == ConfigChanged::No {
        if chela_config::schema_at(&path).is_none() {
            let unknown = CommandError::new(format!("there is no key {path}"));
            return Err(unknown.hint(unknown_hint(&path)));
        }
        screen.line(format!(
            "{path} is not set in {}.",
            host.compact(&outcome.path)
        ))?;
        return Ok(CommandExit::Fine);
    }
    tell(screen, host, &outcome, &format!("{path} removed"))
}

/// Changes the file if that brings no new errors. Those that are there may stay: otherwise a file
/// with two mistakes could not be mended one at a time.
pub fn mend(
    host: &Host,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> Result<EditOutcome, CommandError> {
    let before = errors(&chela_config::validate(host));
    let no_new = |source: &str| {
        let mut found = chela_config::validate_source(host, source);
        found.retain(|diagnostic| !before.contains(&(diagnostic.code, diagnostic.path.clone())));
        found
    };
    ConfigStore::new(host)
        .edit(edit, no_new)
        .map_err(store_fail)
}

fn errors(diagnostics: &[ConfigDiagnostic]) -> Vec<(&'static str, KeyPath)> {
    let errors = diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error);
    errors
        .map(|found| (found.code, found.path.clone()))
        .collect()
}

fn patch(host: &Host, screen: &mut Screen, args: &PatchArgs) -> CommandOutcome {
    let (value, _) = document(args)?;
    if args.dry_run {
        return dry_run(host, screen, |source| {
            edit::merge_patch(source, &KeyPath::root(), &value)
        });
    }
    let outcome = change(host, |source| {
        edit::merge_patch(source, &KeyPath::root(), &value)
    })?;
    tell(screen, host, &outcome, "Patch merged")
}

fn apply(host: &Host, screen: &mut Screen, args: &PatchArgs) -> CommandOutcome {
    let (value, text) = document(args)?;
    if args.dry_run {
        return dry_run(host, screen, |source| edit::replace_all(source, &value));
    }
    match change(host, |source| edit::replace_all(source, &value)) {
        Ok(outcome) => tell(screen, host, &outcome, "Config replaced"),
        Err(fail) => match ConfigStore::new(host).save_rejected(&text) {
            Ok(kept) => Err(CommandError {
                hint: Some(format!("your text is saved in {}", host.compact(&kept))),
                ..fail
            }),
            Err(_) => Err(fail),
        },
    }
}

/// What was handed over, as a value and as written.
fn document(args: &PatchArgs) -> Result<(Value, String), CommandError> {
    let (text, name) = match (&args.file, args.document.as_deref()) {
        (Some(file), _) => (input::read(file)?, file.display().to_string()),
        (None, Some("-")) => (input::read(Path::new("-"))?, "standard input".to_owned()),
        (None, document) => (
            document.unwrap_or_default().to_owned(),
            "the document".to_owned(),
        ),
    };
    let parsed = chela_config::text::parse(&text, chela_config::FileId::default());
    match parsed.root {
        Some(root) if matches!(root.kind, chela_config::NodeKind::Object(_)) => {
            Ok((root.to_json(), text))
        }
        Some(root) => Err(CommandError::usage(format!(
            "{name} is {}, not an object",
            root.type_name()
        ))
        .hint("write it like {agents: {defaults: {…}}}")),
        None => {
            let told = parse_problem(&text, &parsed.problems);
            let fail = CommandError::usage(format!("{name} is not JSON5: {told}"));
            let is_file = args
                .document
                .as_deref()
                .is_some_and(|typed| Path::new(typed).exists());
            Err(match (is_file, &args.document) {
                (true, Some(file)) => fail.hint(format!("--file {file} reads it from the file")),
                _ => fail.hint("write it like {agents: {defaults: {…}}}"),
            })
        }
    }
}

/// The file as it would be, and whether it would be valid.
fn dry_run(
    host: &Host,
    screen: &mut Screen,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> CommandOutcome {
    let path = host.config_file();
    let source = if path.exists() {
        input::read(&path)?
    } else {
        String::new()
    };
    let edited = edit(&source).map_err(|error| store_fail(error.into()))?;
    screen.raw(&edited)?;
    let found = chela_config::validate_source(host, &edited);
    let errors: Vec<_> = found
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .collect();
    if errors.is_empty() {
        return Ok(CommandExit::Fine);
    }
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(CommandError::config(format!(
        "this would not be valid:\n  {}",
        told.join("\n  ")
    )))
}

fn schema(screen: &mut Screen, path: Option<&str>) -> CommandOutcome {
    let path = key_path(path.unwrap_or_default())?;
    let Some(schema) = chela_config::schema_at(&path) else {
        return Err(CommandError::new(format!("there is no key {path}")).hint(unknown_hint(&path)));
    };
    screen.json(&schema)?;
    Ok(CommandExit::Fine)
}

fn validate(host: &Host, screen: &mut Screen, file: Option<&Path>, json: bool) -> CommandOutcome {
    let host = match file {
        Some(file) => with_config(host, file)?,
        None => host.clone(),
    };
    let found = chela_config::validate(&host);
    let errors = found
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .count();
    let warnings = found
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Warning)
        .count();
    let problems = errors + warnings;
    let without_effect = without_effect(&host);
    if json {
        screen.json(&json!({
            "file": host.config_file(),
            "valid": errors == 0,
            "diagnostics": found,
            "withoutEffect": without_effect,
        }))?;
    } else {
        print_diagnostics(screen, &host, &found)?;
        for told in &without_effect {
            screen.line(format!("{} {told}", screen.paint.severity(Severity::Note)))?;
        }
        let path = host.compact(&host.config_file());
        match (errors, host.config_file().exists()) {
            (0, false) => screen.line(format!("There is no {path} yet; the defaults apply."))?,
            (0, true) => screen.line(screen.paint.good(format!("{path} is valid.")))?,
            (_, _) => screen.line(format!(
                "{} in {path}",
                screen.paint.bad(count_noun(problems, "problem"))
            ))?,
        }
    }
    Ok(if errors == 0 {
        CommandExit::Fine
    } else {
        CommandExit::BadConfig
    })
}

/// Keys that are set and change nothing as the others are set, each with the reason.
fn without_effect(host: &Host) -> Vec<String> {
    let loaded = chela_config::load(host);
    let mut told = Vec::new();
    for view in loaded.agents().iter().filter_map(|id| loaded.agent(id)) {
        let memory = chela_memory::settings::keys_without_effect(&view).into_iter();
        let memory = memory.map(|key| format!("memorySearch.{key}"));
        let sandbox = chela_sandbox::keys_without_effect(&view.sandbox.value);
        for line in memory.chain(sandbox) {
            if !told.contains(&line) {
                told.push(line);
            }
        }
    }
    told
}

/// The same machine with another config file.
fn with_config(host: &Host, file: &Path) -> Result<Host, CommandError> {
    let path = host.cwd.join(file);
    if !path.exists() {
        return Err(unreadable(
            path.display(),
            &std::io::ErrorKind::NotFound.into(),
        ));
    }
    let mut host = host.clone();
    host.env.insert(
        chela_core::vars::CONFIG.to_owned(),
        path.display().to_string(),
    );
    Ok(host)
}

pub fn print_diagnostics(
    screen: &mut Screen,
    host: &Host,
    found: &[ConfigDiagnostic],
) -> std::io::Result<()> {
    let paint = screen.paint;
    for diagnostic in found {
        let severity = paint.severity(diagnostic.severity);
        let place = diagnostic.place.as_ref().map(|place| {
            format!(
                "{}:{}:{}",
                host.compact(&place.file),
                place.line,
                place.column
            )
        });
        let key = diagnostic.path.to_string();
        let head: Vec<String> = [
            place.map(|place| paint.bold(place)),
            (!key.is_empty()).then(|| paint.accent(key)),
        ]
        .into_iter()
        .flatten()
        .collect();
        screen.line(format!("{} {}", severity, head.join(" ")))?;
        screen.paragraph("  ", &diagnostic.message)?;
        if let Some(hint) = &diagnostic.hint {
            screen.paragraph("  ", &format!("→ {hint}"))?;
        }
    }
    Ok(())
}
