//! Calls that wait for the owner's yes, and those that have it.

use chela_guard::approval::host_marks;
use chela_tools::approvals::{ApprovalsDocument, KnownCall, KnownState, shown};
use serde_json::json;

use super::super::time::utc;
use super::{ApprovalsFile, CommandOutcome};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{ColourMode, Screen, shorten};

/// The call of an id, and whose it is.
pub(super) fn find<'a>(
    document: &'a ApprovalsDocument,
    id: &str,
) -> Option<(&'a String, &'a KnownCall)> {
    document
        .agents
        .iter()
        .flat_map(|(agent, approvals)| approvals.calls.iter().map(move |call| (agent, call)))
        .find(|(_, call)| call.id == id)
}

pub(super) fn row(agent: &str, call: &KnownCall, paint: ColourMode) -> Vec<String> {
    let state = match call.state {
        KnownState::Pending => paint.warn("waiting"),
        KnownState::Once => "once".to_owned(),
        KnownState::Always => "always".to_owned(),
    };
    vec![
        paint.accent(&call.id),
        shown(agent),
        shorten(&format!("{} {}", call.tool, in_a_line(call)), 60),
        format!("{state} {}", paint.dim(utc(call.at / 1000))),
    ]
}

fn in_a_line(call: &KnownCall) -> String {
    let values: Vec<String> = call.exact.iter().map(|(_, value)| shown(value)).collect();
    values.join(" ")
}

impl ApprovalsFile {
    pub(super) fn show_call(
        &self,
        screen: &mut Screen,
        (agent, call): (&str, &KnownCall),
        json: bool,
    ) -> CommandOutcome {
        if json {
            screen.json(&json!({ "agent": agent, "call": call }))?;
            return Ok(CommandExit::Fine);
        }
        print_call(screen, agent, call)?;
        if call.state == KnownState::Pending {
            let id = &call.id;
            screen.paragraph(
                "",
                &format!(
                    "`chela approvals allow {id}` allows it once, with \
                `--always` from now on; `chela approvals revoke {id}` drops it."
                ),
            )?;
        }
        Ok(CommandExit::Fine)
    }

    /// Says yes to a call that waits, and shows what that is.
    pub(super) fn allow_call(
        &self,
        screen: &mut Screen,
        (agent, call): (&str, &KnownCall),
        always: bool,
    ) -> CommandOutcome {
        let id = &call.id;
        print_call(screen, agent, call)?;
        let state = match always {
            true => KnownState::Always,
            false => KnownState::Once,
        };
        self.change(&format!("allow call {id}"), |document| {
            for call in document
                .agents
                .values_mut()
                .flat_map(|agent| &mut agent.calls)
            {
                if call.id == *id {
                    call.state = state;
                }
            }
        })?;
        screen.line(match always {
            true => "Always allowed, with exactly these arguments.",
            false => "Allowed once: the agent can make the call now.",
        })?;
        screen.line(format!("`chela approvals revoke {id}` revokes it."))?;
        Ok(CommandExit::Fine)
    }

    pub(super) fn revoke_call(&self, screen: &mut Screen, id: &str) -> Result<bool, CommandError> {
        let mut gone = None;
        self.change(&format!("forget call {id}"), |document| {
            gone = document.forget_call(id);
        })?;
        if let Some((agent, call)) = &gone {
            screen.line(format!(
                "Revoked: {} of {} asks again.",
                shown(&call.tool),
                shown(agent)
            ))?;
        }
        Ok(gone.is_some())
    }
}

/// Everything about a call, to the last argument.
fn print_call(screen: &mut Screen, agent: &str, call: &KnownCall) -> std::io::Result<()> {
    let mut rows = vec![
        vec!["id".to_owned(), shown(&call.id)],
        vec!["agent".to_owned(), shown(agent)],
        vec!["session".to_owned(), shown(&call.session)],
        vec!["what".to_owned(), shown(&call.summary)],
    ];
    rows.extend(argument_rows(&call.exact));
    for mark in host_marks(&call.exact) {
        rows.push(vec!["⚠".to_owned(), shown(&mark)]);
    }
    rows.push(vec!["why it asks".to_owned(), shown(&call.why)]);
    rows.push(vec!["since".to_owned(), utc(call.at / 1000)]);
    screen.table("", &rows)
}

/// The arguments of a call. A text of several lines keeps them, each behind a bar that is not its
/// own.
pub(super) fn argument_rows(exact: &[(String, String)]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (name, value) in exact {
        for (at, line) in value.split('\n').enumerate() {
            let name = if at == 0 { shown(name) } else { String::new() };
            let bar = if value.contains('\n') { "│ " } else { "" };
            rows.push(vec![format!("  {name}"), format!("{bar}{}", shown(line))]);
        }
    }
    rows
}
