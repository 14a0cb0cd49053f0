//! `chela trust restore`: a version on record, put back.

use chela_core::{ContentHash, Trust, ok_or_warn};
use chela_workspace::trust::{FileEntry, Kind, State, Version, Versions, Writer, Wrote};
use chela_workspace::{Author, History};
use serde_json::json;

use super::Desk;
use crate::cmd::Outcome;
use crate::cmd::time::utc;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

/// Which version of which file.
pub(super) struct Wanted<'a> {
    pub file: &'a str,
    pub to: Option<&'a str>,
}

pub(super) fn run(
    desk: &Desk<'_>,
    screen: &mut Screen,
    wanted: &Wanted<'_>,
    json: bool,
) -> Outcome {
    desk.mend()?;
    let file = desk.watched(wanted.file)?;
    if file.kind == Kind::Setting {
        return Err(Fail::new(format!("{} is a text of the config", file.shown))
            .hint("chela config set agents.defaults.heartbeat.prompt TEXT"));
    }
    let entry = file.entry.clone().unwrap_or_default();
    let version = chosen(&entry, &file.shown, wanted.to)?;
    let bytes = Versions::of(desk.host())
        .bytes(version.hash)
        .ok_or_else(|| {
            Fail::new(format!(
                "the text of version {} of {} was not kept",
                version.hash.short(),
                file.shown
            ))
            .hint(format!("chela workspace history {}", file.shown))
        })?;
    if !json
        && wanted.to.is_none()
        && file.judged.as_ref().is_some_and(|judged| {
            judged.judgement.state == State::Trusted && judged.hash == version.hash
        })
    {
        return as_it_is(screen, &entry, &file.shown);
    }
    let path = desk.custody.resolved(&file.path);
    let before = desk.custody.look(&file.path).map(|(judged, _)| judged.hash);
    // Whatever is replaced can be had back, where the workspace has a history.
    if let Ok(past) = History::open(desk.host(), desk.custody.root()) {
        let why = format!("Keep {} before restoring it", file.shown);
        let kept = past.snapshot(&Author::Runtime, &why);
        ok_or_warn!(kept, "a change is not in the history of the workspace");
    }
    chela_workspace::replace_file(&path, &bytes).map_err(Fail::new)?;
    let how = format!("chela trust restore, as of {}", utc(version.at));
    desk.custody
        .record(&[Wrote {
            path: &path,
            bytes: &bytes,
            writer: &Writer::Owner,
            how: &how,
            trust: version.trust,
        }])
        .map_err(Fail::new)?;
    if version.trust >= Trust::Agent {
        desk.vouch(&path)?;
    }
    desk.note(
        "restore",
        &[&path],
        json!({ "hash": version.hash, "before": before }),
    );
    if json {
        screen.json(&json!({ "restored": file.shown, "hash": version.hash, "before": before }))?;
        return Ok(Exit::Fine);
    }
    screen.line(format!(
        "{} is back as of {} ({}).",
        file.shown,
        utc(version.at),
        version.hash.short()
    ))?;
    Ok(Exit::Fine)
}

/// There is nothing to put back; what came before can be had by its hash.
fn as_it_is(screen: &mut Screen, entry: &FileEntry, shown: &str) -> Outcome {
    screen.line(format!("{shown} is as it is on record."))?;
    for version in entry.earlier.iter().take(5) {
        screen.line(format!(
            "  chela trust restore {shown} --to {}  as of {} ({})",
            version.hash.short(),
            utc(version.at),
            version.writer.as_str()
        ))?;
    }
    Ok(Exit::Fine)
}

fn chosen<'e>(entry: &'e FileEntry, shown: &str, to: Option<&str>) -> Result<&'e Version, Fail> {
    let Some(typed) = to else {
        let newest = entry.versions().next();
        return newest.ok_or_else(|| {
            Fail::new(format!("no version of {shown} is on record"))
                .hint(format!("chela workspace history {shown}"))
        });
    };
    let typed = typed.trim().to_ascii_lowercase();
    let is_hex = typed.len() >= 4 && typed.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_it = |hash: ContentHash| hash.to_string().starts_with(&typed);
    let mut fitting = entry
        .versions()
        .filter(|version| is_hex && is_it(version.hash));
    match (fitting.next(), fitting.next()) {
        (Some(version), None) => Ok(version),
        (Some(_), Some(_)) => Err(Fail::usage(format!("several versions begin with {typed}"))
            .hint("write more of the hash")),
        (None, _) => {
            let known: Vec<String> = entry
                .versions()
                .map(|version| format!("{} ({})", version.hash.short(), utc(version.at)))
                .collect();
            let hint = match known.is_empty() {
                true => "no version is on record".to_owned(),
                false => format!("there is {}", known.join(", ")),
            };
            Err(Fail::new(format!("no version {typed} of {shown} is on record")).hint(hint))
        }
    }
}
