//! Secrets stay here: out of what tools say, and out of what calls carry.

use std::collections::BTreeSet;

use chela_config::model::RedactMode;
use chela_core::ok_or_warn;
use chela_core::secret::{CANARY, KnownBy};
use chela_guard::SecretLook;
use serde_json::{Map, Value, json};

use super::Toolbox;
use crate::{CallProgress, Effect, OutputPiece, SinkKind, ToolOutput, ToolSpec};

/// Under this name the details of a result tell what was hidden or refused.
pub const SECRETS: &str = "secrets";
/// How every stand-in begins.
const OPENING: &str = "[secret:";

impl Toolbox {
    /// A refusal, if a call carries what must not leave: a value the installation holds or the
    /// canary anywhere, anything that looks like a secret where it would be seen by others. An
    /// address that only looks so may be one the owner was given: the guard knows, or asks.
    pub(super) fn carries(
        &self,
        spec: &ToolSpec,
        arguments: &Map<String, Value>,
    ) -> Result<SecretLook, ToolOutput> {
        let mut look = SecretLook::Plain;
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
                if !ours && is_address(spec, name) {
                    look = SecretLook::InAddress;
                } else if ours || seen {
                    found.insert(hit.name.to_string());
                    by_whom.get_or_insert(name);
                }
            }
        }
        let Some(argument) = by_whom else {
            return Ok(look);
        };
        let names: Vec<String> = found.into_iter().collect();
        let refused = format!(
            "{} was not run: its {argument} holds a secret ({}). Secrets do not leave in commands, addresses or messages. Where one is needed, the owner can give it a name in secrets.named; then write ${{secret:NAME}} where the tool says so.",
            spec.name,
            names.join(", ")
        );
        let told = json!({ SECRETS: { "what": "blocked", "names": names } });
        Err(ToolOutput::failed(refused).with_details(told))
    }

    /// The same result without secrets, and which there were.
    pub(super) fn without_secrets(&self, mut output: ToolOutput) -> ToolOutput {
        let mut names = BTreeSet::new();
        for piece in &mut output.content {
            if let OutputPiece::Text(text) = piece {
                let found = text.hide_secrets(&self.redactor);
                names.extend(found.iter().map(ToString::to_string));
                // Tools that cut what they read hide first.
                names.extend(self.hidden_before(text.text()));
            }
        }
        let details = output.details.to_string();
        let clean = self.redactor.redact_json(&details);
        if clean != details {
            let clean = serde_json::from_str(&clean);
            output.details =
                ok_or_warn!(clean, "details that hold secrets are left out").unwrap_or_default();
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
                let inside = text.get(at + OPENING.len()..)?;
                let (inside, _) = inside.split_at_checked(inside.find([']', '[', '\n'])?)?;
                let end = at + OPENING.len() + inside.len();
                let shown = text.get(at..=end)?.strip_suffix(']')?;
                let name = inside.rsplit_once(':').map_or(inside, |(name, _)| name);
                let planted = || canary.as_deref().and_then(|one| one.strip_suffix(']'));
                (name != CANARY || planted() == Some(shown)).then(|| name.to_owned())
            })
            .collect()
    }

    /// For the owner's screen. They may want to see what only looks like a secret.
    pub(super) fn progress_without_secrets(&self, progress: CallProgress) -> CallProgress {
        let clean = |text: String| match self.on_screen {
            RedactMode::Tools => self.redactor.redact(&text).into_owned(),
            RedactMode::Off => self.redactor.redact_known(&text).into_owned(),
        };
        match progress {
            CallProgress::Status(text) => CallProgress::Status(clean(text)),
            CallProgress::Output(text) => CallProgress::Output(clean(text)),
        }
    }
}

fn is_address(spec: &ToolSpec, argument: &str) -> bool {
    let mut sinks = spec.sinks.iter();
    sinks.any(|sink| sink.argument == argument && sink.kind == SinkKind::Url)
}

/// A command line stands in the list of processes, an address in somebody's log.
fn is_seen_by_others(spec: &ToolSpec, argument: &str) -> bool {
    let outward = matches!(
        spec.effect,
        Effect::Egress | Effect::WriteOutward | Effect::ReadUntrusted | Effect::Irreversible
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
