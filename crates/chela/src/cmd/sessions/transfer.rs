//! `chela sessions export`, `import` and `rescue`.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use chela_agent::spoken::{ExportFormat, export_session};
use chela_core::{SessionKey, ok_or_warn};
use chela_session::{ImportError, ImportOrigin, Sessions, salvage};
use chela_store::{FileState, block_on};
use serde_json::{Value, json};

use super::{SessionOwner, explained, plain, short};
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::{unreadable, unwritable};
use crate::screen::{Screen, count_noun, shown_json};

pub fn export(
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    given: &str,
    output: Option<&Path>,
    format: Option<ExportFormat>,
) -> CommandOutcome {
    let (sessions, session) = owner.find(given)?;
    let by_ending = output.map(ExportFormat::of_file);
    let format = format.or(by_ending).unwrap_or(ExportFormat::JsonLines);
    let text = block_on(export_session(&sessions, &session, format)).map_err(explained)?;
    match output {
        Some(path) => {
            std::fs::write(path, text).map_err(|error| unwritable(path.display(), &error))?;
            screen.line(format!(
                "Wrote {} to {} as {}.",
                short(session.id.as_str()),
                path.display(),
                match format {
                    ExportFormat::JsonLines => "JSON lines",
                    ExportFormat::Json => "JSON",
                    ExportFormat::Markdown => "Markdown",
                }
            ))?;
        }
        None if format == ExportFormat::Markdown => {
            screen.raw(&plain(&String::from_utf8_lossy(&text)))?;
        }
        None => screen.raw(&shown_json(&String::from_utf8_lossy(&text)))?,
    }
    Ok(CommandExit::Fine)
}

pub fn import(
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    path: &Path,
    key: Option<&str>,
    as_json: bool,
) -> CommandOutcome {
    let key = key
        .map(SessionKey::parse)
        .transpose()
        .map_err(|error| CommandError::usage(error).hint("--key agent:main:main"))?;
    let files = files(path)?;
    if key.is_some() && files.len() > 1 {
        return Err(CommandError::usage(
            "--key goes with one file, not with a folder",
        ));
    }
    let sessions = owner.open()?;
    let mut report = Vec::new();
    let mut failed = 0;
    for (file, known_key) in &files {
        let key = key.clone().or_else(|| known_key.clone());
        match import_file(&sessions, file, key, ImportOrigin::Elsewhere) {
            Ok(line) => report.push(line),
            Err(why) if files.len() > 1 => {
                failed += 1;
                report.push(json!({ "file": file.display().to_string(), "failed": why }));
            }
            Err(why) => {
                return Err(CommandError::new(format!("{}: {why}", file.display()))
                    .hint("give a .jsonl file of a conversation, or a folder of them"));
            }
        }
    }
    if as_json {
        screen.json(&json!({ "imported": report }))?;
    } else {
        for line in &report {
            screen.line(said(line))?;
        }
        if failed < report.len() {
            screen.line("Imported text is untrusted: nothing in it counts as your words.")?;
        }
    }
    Ok(if failed > 0 {
        CommandExit::Findings
    } else {
        CommandExit::Fine
    })
}

fn import_file(
    sessions: &Sessions,
    file: &Path,
    key: Option<SessionKey>,
    origin: ImportOrigin,
) -> Result<Value, String> {
    let open = std::fs::File::open(file).map_err(|error| format!("cannot be read: {error}"))?;
    let imported =
        block_on(sessions.import_jsonl(BufReader::new(open), key, origin)).map_err(|error| {
            match error {
                ImportError::Session(error) => explained(error).message,
                other => explained(other).message,
            }
        })?;
    let skipped: Vec<Value> = imported
        .skipped
        .iter()
        .map(|(line, why)| json!({ "line": line, "why": why }))
        .collect();
    Ok(json!({
        "file": file.display().to_string(),
        "sessionId": imported.session.id,
        "key": imported.session.key.to_string(),
        "entries": imported.entries,
        "past": imported.past,
        "foreign": origin == ImportOrigin::Elsewhere,
        "skipped": skipped,
    }))
}

fn said(line: &Value) -> String {
    let file = line["file"].as_str().unwrap_or_default();
    if let Some(why) = line["failed"].as_str() {
        return format!("{file}: {why}");
    }
    let entries = line["entries"].as_u64().unwrap_or(0);
    let skipped = line["skipped"].as_array().map_or(0, Vec::len);
    format!(
        "{} {}: {}{}{}",
        short(line["sessionId"].as_str().unwrap_or_default()),
        line["key"].as_str().unwrap_or_default(),
        count_noun(usize::try_from(entries).unwrap_or(0), "line"),
        if skipped > 0 {
            format!(", {} could not be used", count_noun(skipped, "line"))
        } else {
            String::new()
        },
        if line["past"] == true {
            ", imported as a past conversation: the key is in use"
        } else {
            ""
        }
    )
}

/// The files to read, each with the key a `sessions.json` beside it gives it.
fn files(path: &Path) -> Result<Vec<(PathBuf, Option<SessionKey>)>, CommandError> {
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), None)]);
    }
    let folder = std::fs::read_dir(path).map_err(|error| unreadable(path.display(), &error))?;
    let keys = keys(&path.join("sessions.json"));
    let mut files: Vec<_> = folder
        .flatten()
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .map(|file| {
            let id = file.file_stem().and_then(|stem| stem.to_str());
            let key = id.and_then(|id| keys.get(id).cloned());
            (file, key)
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    if files.is_empty() {
        let told = format!("{} has no .jsonl file", path.display());
        return Err(CommandError::new(told).hint("`chela sessions export` writes one"));
    }
    Ok(files)
}

/// Session ids and their keys, from the index of earlier versions of the reference.
fn keys(index: &Path) -> BTreeMap<String, SessionKey> {
    if !index.exists() {
        return BTreeMap::new();
    }
    let read = std::fs::read_to_string(index).and_then(|text| Ok(serde_json::from_str(&text)?));
    let read = ok_or_warn!(read, "the index of sessions cannot be read", path = %index.display());
    let Some(Value::Object(entries)) = read else {
        return BTreeMap::new();
    };
    entries
        .iter()
        .filter_map(|(key, entry)| {
            let id = entry.get("sessionId")?.as_str()?;
            Some((id.to_owned(), SessionKey::parse(key).ok()?))
        })
        .collect()
}

pub fn rescue(owner: &SessionOwner<'_>, screen: &mut Screen, as_json: bool) -> CommandOutcome {
    let path = owner.file();
    if !path.exists() {
        return Err(
            CommandError::new(format!("{} does not exist", owner.host.compact(&path)))
                .hint("there are no conversations to recover yet; `chela chat` starts one"),
        );
    }
    if FileState::of(&path) == FileState::Empty {
        return Err(CommandError::new(format!(
            "the session file {} is empty: nothing is left to recover. Restore a copy, or delete \
             it; the next chat starts a new one",
            owner.host.compact(&path)
        )));
    }
    if Sessions::open_file(owner.host, &path).is_ok_and(|sessions| block_on(sessions.is_sound())) {
        if as_json {
            screen.json(&json!({ "damaged": false }))?;
        } else {
            screen.line("The session file is intact: nothing to recover.")?;
        }
        return Ok(CommandExit::Fine);
    }
    let folder = path.with_file_name(format!("rescued-{}", owner.host.unix_time()));
    let saved = salvage(owner.host, &path, &folder).map_err(explained)?;
    let sessions = owner.open()?;
    let mut back = 0;
    for file in &saved.files {
        back += usize::from(import_file(&sessions, file, None, ImportOrigin::ThisHome).is_ok());
    }
    // What could not be read is a finding, whatever was saved.
    let exit = match saved.lost.is_empty() {
        true => CommandExit::Fine,
        false => CommandExit::Findings,
    };
    if as_json {
        screen.json(&json!({
            "damaged": true,
            "entries": saved.entries,
            "files": saved.files,
            "sessions": back,
            "lost": saved.lost,
            "aside": saved.aside,
        }))?;
        return Ok(exit);
    }
    let compact = |path: &Path| owner.host.compact(path);
    screen.line(format!(
        "Recovered {} of {} into a new session file.",
        count_noun(saved.entries, "entry"),
        count_noun(back, "session")
    ))?;
    screen.line(format!("Copies as JSON lines are in {}.", compact(&folder)))?;
    if let Some(aside) = &saved.aside {
        screen.line(format!("The damaged file is {}.", compact(aside)))?;
    }
    for why in &saved.lost {
        screen.line(format!("Could not be read: {why}"))?;
    }
    Ok(exit)
}
