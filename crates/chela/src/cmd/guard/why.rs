//! `chela guard why PATH`: who wrote a file, and how that is known.

use chela_agent::file_trust::{FileAnswer, ForeignReason};
use chela_agent::trust::custody_of;
use chela_core::{Host, ok_or_warn};
use chela_session::journal::ListAsk;
use serde_json::{Value, json};

use crate::cli::AgentArg;
use crate::cmd::time::utc;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::file_trouble::unreadable;
use crate::screen::Screen;

pub(super) fn run(
    host: &Host,
    screen: &mut Screen,
    typed: &str,
    agent: &AgentArg,
    json: bool,
) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    let agent = setup.agent(agent.agent.as_deref())?;
    let view = setup.view(&agent)?;
    let custody = custody_of(&setup.host, &setup.loaded, &view);
    let inside = custody
        .root()
        .join(typed.strip_prefix("./").unwrap_or(typed));
    let path = match (typed.starts_with('~'), inside.symlink_metadata().is_ok()) {
        (true, _) => host.expand(typed),
        (false, true) => inside,
        (false, false) => host.cwd.join(typed),
    };
    let real = path
        .canonicalize()
        .map_err(|error| unreadable(host.compact(&path), &error))?;
    let known = setup.file_trust();
    let answer = known.answer_for(&real);
    let record = custody.records().entry(&real).cloned();
    let changes: Vec<Value> = known
        .journals
        .iter()
        .filter_map(|journal| {
            let list = journal.list(ListAsk { limit: 1_000 });
            ok_or_warn!(list, "who changed the file last cannot be read")
        })
        .flatten()
        .filter(|change| change.path == real)
        .take(5)
        .map(|change| json!({ "turn": change.turn, "tool": change.tool, "session": change.session, "tainted": change.tainted }))
        .collect();
    let is_foreign = matches!(answer, FileAnswer::Nobody(_));
    let (who, how) = in_words(&answer);
    let shown = custody.shown(&real);
    if json {
        screen.json(&json!({
            "path": real,
            "shown": shown,
            "trust": if is_foreign { "foreign" } else { "own" },
            "who": who,
            "how": how,
            "record": record,
            "changes": changes,
        }))?;
        return Ok(CommandExit::Fine);
    }
    let trust = match is_foreign {
        true => screen.paint.warn("untrusted"),
        false => screen.paint.good("trusted"),
    };
    screen.line(format!("{shown}: {trust}"))?;
    screen.paragraph("  ", &format!("{who}: {how}."))?;
    for change in &changes {
        let taint = match change["tainted"] == true {
            true => ", with untrusted content in context",
            false => "",
        };
        let word = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
        screen.line(format!(
            "  changed by {} in turn {}{taint}",
            word("tool"),
            word("turn")
        ))?;
    }
    if is_foreign {
        screen.paragraph(
            "",
            &format!(
                "After reading it, a session asks before it sends anything out. `chela \
                trust approve {shown}` approves it as it is."
            ),
        )?;
    }
    Ok(CommandExit::Fine)
}

/// Who answers for it, and how that is known.
fn in_words(answer: &FileAnswer) -> (String, String) {
    match answer {
        FileAnswer::Journal(version) => {
            let turn = match version.turn.is_empty() {
                true => String::new(),
                false => format!(", turn {}", version.turn),
            };
            let at = utc(version.at / 1_000);
            (
                version.writer.clone(),
                format!(
                    "{}{turn}, {at}; the journal has this exact version",
                    version.how
                ),
            )
        }
        FileAnswer::Custody(_) => (
            "on record".to_owned(),
            "it is the version in `chela trust status`".to_owned(),
        ),
        FileAnswer::Policy => (
            "anybody".to_owned(),
            "guard.trust treats what others write there as yours".to_owned(),
        ),
        FileAnswer::Chela => ("chela".to_owned(), "one of Chela's own folders".to_owned()),
        FileAnswer::Nobody(reason) => ("nobody".to_owned(), reason_in_words(*reason).to_owned()),
    }
}

fn reason_in_words(reason: ForeignReason) -> &'static str {
    match reason {
        ForeignReason::WrittenTainted => "it was written with untrusted content in context",
        ForeignReason::NotOnRecord => {
            "it is not the recorded version; `chela trust diff` shows what changed"
        }
        ForeignReason::Unknown => {
            "this version was not written by a turn without untrusted content or by a command of \
                yours, and you have not approved it"
        }
        ForeignReason::Unreadable => "the records of who wrote it cannot be read",
    }
}
