//! Calls that wait for the owner's yes, and those that have it.

use chela_tools::approvals::{Document, KnownCall, KnownState, shown};
use serde_json::json;

use super::super::time::utc;
use super::{Desk, Outcome};
use crate::fail::{Exit, Fail};
use crate::screen::{Paint, Screen, shorten};

/// The call of an id, and whose it is.
pub(super) fn find<'a>(document: &'a Document, id: &str) -> Option<(&'a String, &'a KnownCall)> {
    document
        .agents
        .iter()
        .flat_map(|(agent, approvals)| approvals.calls.iter().map(move |call| (agent, call)))
        .find(|(_, call)| call.id == id)
}

pub(super) fn row(agent: &str, call: &KnownCall, paint: Paint) -> Vec<String> {
    let state = match call.state {
        KnownState::Pending => paint.warn("waits for you"),
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

impl Desk {
    pub(super) fn show_call(
        &self,
        screen: &mut Screen,
        (agent, call): (&str, &KnownCall),
        json: bool,
    ) -> Outcome {
        if json {
            screen.json(&json!({ "agent": agent, "call": call }))?;
            return Ok(Exit::Fine);
        }
        let mut rows = vec![
            vec!["id".to_owned(), shown(&call.id)],
            vec!["agent".to_owned(), shown(agent)],
            vec!["session".to_owned(), shown(&call.session)],
            vec!["what".to_owned(), shown(&call.summary)],
        ];
        for (name, value) in &call.exact {
            rows.push(vec![format!("  {}", shown(name)), shown(value)]);
        }
        rows.push(vec!["why it asks".to_owned(), shown(&call.why)]);
        rows.push(vec!["since".to_owned(), utc(call.at / 1000)]);
        screen.table("", &rows)?;
        if call.state == KnownState::Pending {
            let id = &call.id;
            screen.paragraph("", &format!("`chela approvals allow {id}` lets it happen once, `--always` for good, `chela approvals revoke {id}` drops it."))?;
        }
        Ok(Exit::Fine)
    }

    /// Says yes to a call that waits.
    pub(super) fn allow_call(&self, screen: &mut Screen, id: &str, always: bool) -> Outcome {
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
                if call.id == id {
                    call.state = state;
                }
            }
        })?;
        screen.line(match always {
            true => "Allowed from now on, for exactly these arguments.",
            false => "Allowed once: the agent can make the call now.",
        })?;
        Ok(Exit::Fine)
    }

    pub(super) fn revoke_call(&self, screen: &mut Screen, id: &str) -> Result<bool, Fail> {
        let mut gone = None;
        self.change(&format!("forget call {id}"), |document| {
            gone = document.forget_call(id);
        })?;
        if let Some((agent, call)) = &gone {
            screen.line(format!(
                "Taken back: {} of {} asks again.",
                shown(&call.tool),
                shown(agent)
            ))?;
        }
        Ok(gone.is_some())
    }
}
