//! Questions that are open in another process.

use chela_core::Host;
use chela_guard::approval::host_marks;
use chela_tools::approvals::{OpenCall, OpenQuestion, shown};
use serde_json::json;

use super::super::time::utc;
use super::{CommandOutcome, calls};
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen, shorten};

/// The open question of an id.
pub(super) fn find(host: &Host, id: &str) -> Option<OpenQuestion> {
    OpenQuestion::all(host)
        .into_iter()
        .find(|question| question.id == id)
}

pub(super) fn row(question: &OpenQuestion, paint: ColourMode) -> Vec<String> {
    let place = format!(
        "asked in {} (process {})",
        shown(&question.session),
        question.pid
    );
    vec![
        paint.accent(shown(&question.id)),
        shown(&question.agent),
        shorten(&in_a_line(question), 60),
        format!(
            "{} {}",
            paint.warn(place),
            paint.dim(utc(question.since / 1000))
        ),
    ]
}

fn in_a_line(question: &OpenQuestion) -> String {
    let call = |call: &OpenCall| {
        let values: Vec<String> = call.exact.iter().map(|(_, value)| shown(value)).collect();
        format!("{} {}", shown(&call.tool), values.join(" "))
    };
    let lines: Vec<String> = question.calls.iter().map(call).collect();
    lines.join("; ")
}

/// Everything about a question, to the last argument.
pub(super) fn show(screen: &mut Screen, question: &OpenQuestion, json: bool) -> CommandOutcome {
    if json {
        screen.json(&json!({ "agent": question.agent, "open": question }))?;
        return Ok(CommandExit::Fine);
    }
    let mut rows = vec![
        vec!["id".to_owned(), shown(&question.id)],
        vec!["agent".to_owned(), shown(&question.agent)],
        vec!["session".to_owned(), shown(&question.session)],
        vec!["process".to_owned(), question.pid.to_string()],
        vec!["since".to_owned(), utc(question.since / 1000)],
        vec!["lapses".to_owned(), utc(question.until / 1000)],
    ];
    for call in &question.calls {
        rows.push(vec!["what".to_owned(), shown(&call.summary)]);
        rows.extend(calls::argument_rows(&call.exact));
        for mark in host_marks(&call.exact) {
            rows.push(vec!["⚠".to_owned(), shown(&mark)]);
        }
        rows.push(vec!["why it asks".to_owned(), shown(&call.why)]);
    }
    screen.table("", &rows)?;
    screen.paragraph(
        "",
        &format!(
            "It is open in another process. If it is the gateway's, answer it here: `chela approvals \
             allow {0}` or `chela approvals revoke {0}`; if it is open in another terminal, answer it \
             there (Esc denies it).",
            shown(&question.id)
        ),
    )?;
    Ok(CommandExit::Fine)
}
