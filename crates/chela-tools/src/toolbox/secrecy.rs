//! Secrets stay here: out of what tools say, and out of what calls carry.

use std::collections::BTreeSet;

use chela_config::model::RedactMode;
use chela_core::secret::{CANARY, KnownBy};
use serde_json::{Map, Value, json};

use super::Toolbox;
use crate::{Effect, Output, Piece, Progress, SinkKind, Spec};

/// Under this name the details of a result tell what was hidden or refused.
pub const SECRETS: &str = "secrets";
/// How every stand-in begins.
const OPENING: &str = "[secret:";

impl Toolbox {
    /// A refusal, if a call carries what must not leave: a value the installation holds or the
    /// canary anywhere, anything that looks like a secret where it would be seen by others.
    pub(super) fn carries(&self, spec: &Spec, arguments: &Map<String, Value>) -> Option<Output> {
        let mut found = BTreeSet::new();
        let mut by_whom = None;
        for (name, value) in arguments {
            let seen = is_seen_by_others(spec, name);
            let text = json!({ name: value }).to_string();
            let disguised = self.redactor.carried(&text);
            if !disguised.is_empty() {
                found.extend(disguised);
                by_whom.get_or_insert(name);
            }
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
                // Tools that cut what they read hide first.
                names.extend(self.hidden_before(text.text()));
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

    /// The secrets whose stand-ins a text has. A canary counts only if it is the one that is
    /// planted: others can write its name.
    fn hidden_before(&self, text: &str) -> Vec<String> {
        let canary = self.redactor.value_of(CANARY);
        let canary = canary.map(|value| self.redactor.redact(&value).into_owned());
        text.match_indices(OPENING)
            .filter_map(|(at, _)| {
                let inside = &text[at + OPENING.len()..];
                let end = inside.find([']', '[', '\n'])?;
                let shown = text.get(at..=at + OPENING.len() + end)?.strip_suffix(']')?;
                let name = inside[..end]
                    .rsplit_once(':')
                    .map_or(&inside[..end], |(name, _)| name);
                let planted = || canary.as_deref().and_then(|one| one.strip_suffix(']'));
                (name != CANARY || planted() == Some(shown)).then(|| name.to_owned())
            })
            .collect()
    }

    /// For the owner's screen. They may want to see what only looks like a secret.
    pub(super) fn progress_without_secrets(&self, progress: Progress) -> Progress {
        let clean = |text: String| match self.on_screen {
            RedactMode::Tools => self.redactor.redact(&text).into_owned(),
            RedactMode::Off => self.redactor.redact_known(&text).into_owned(),
        };
        match progress {
            Progress::Status(text) => Progress::Status(clean(text)),
            Progress::Output(text) => Progress::Output(clean(text)),
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
