//! Secrets stay here: out of what tools say, and out of what calls carry.

use std::collections::BTreeSet;

use chela_core::secret::{CANARY, KnownBy};
use serde_json::{Map, Value, json};

use super::Toolbox;
use crate::{Effect, Output, Piece, Progress, SinkKind, Spec};

/// Under this name the details of a result tell what was hidden or refused.
pub const SECRETS: &str = "secrets";

impl Toolbox {
    /// A refusal, if a call carries what must not leave: a value the installation holds or the
    /// canary anywhere, anything that looks like a secret where it would be seen by others.
    pub(super) fn carries(&self, spec: &Spec, arguments: &Map<String, Value>) -> Option<Output> {
        let mut found = BTreeSet::new();
        let mut by_whom = None;
        for (name, value) in arguments {
            let seen = is_seen_by_others(spec, name);
            let text = json!({ name: value }).to_string();
            for hit in self.redactor.find_in_json(text.as_bytes()) {
                let ours = matches!(hit.by, KnownBy::Value(_)) || &*hit.name == CANARY;
                if ours || seen {
                    found.insert(hit.name.to_string());
                    by_whom.get_or_insert(name);
                }
            }
        }
        let argument = by_whom?;
        let names: Vec<String> = found.into_iter().collect();
        let refused = format!(
            "{} was not run: its {argument} holds a secret ({}). Secrets do not leave in commands, addresses or messages. Where one is needed, the owner can give it a name in secrets.named; then write ${{secret:NAME}} where the tool says so.",
            spec.name,
            names.join(", ")
        );
        let told = json!({ SECRETS: { "what": "blocked", "names": names } });
        Some(Output::failed(refused).with_details(told))
    }

    /// The same result without secrets, and which there were.
    pub(super) fn without_secrets(&self, mut output: Output) -> Output {
        let mut names = BTreeSet::new();
        for piece in &mut output.content {
            if let Piece::Text(text) = piece {
                let found = text.hide_secrets(&self.redactor);
                names.extend(found.iter().map(ToString::to_string));
            }
        }
        let details = output.details.to_string();
        let clean = self.redactor.redact_json(&details);
        if clean != details {
            output.details = serde_json::from_str(&clean).unwrap_or_default();
        }
        if names.is_empty() {
            return output;
        }
        let names: Vec<String> = names.into_iter().collect();
        output.with_details(json!({ SECRETS: { "what": "hidden", "names": names } }))
    }

    pub(super) fn progress_without_secrets(&self, progress: Progress) -> Progress {
        match progress {
            Progress::Status(text) => Progress::Status(self.redactor.redact(&text).into_owned()),
            Progress::Output(text) => Progress::Output(self.redactor.redact(&text).into_owned()),
        }
    }
}

/// A command line stands in the list of processes, an address in somebody's log.
fn is_seen_by_others(spec: &Spec, argument: &str) -> bool {
    let outward = matches!(
        spec.effect,
        Effect::Egress | Effect::WriteOutward | Effect::ReadUntrusted
    );
    spec.sinks
        .iter()
        .filter(|sink| sink.argument == argument)
        .any(|sink| match sink.kind {
            SinkKind::Command | SinkKind::Url | SinkKind::Recipient => true,
            SinkKind::Text | SinkKind::Name => outward,
            // Where a tool says that a secret belongs, one may stand; the guard asks about it.
            SinkKind::Secret | SinkKind::Path | SinkKind::Amount => false,
        })
}
