//! What can be told of a call before it is made: what it is about, what it would change, and what
//! the change would look like.
//!
//! The turn, the guard and sub-agents ask these questions and know no tool by its name, so a tool
//! of an embedder, a server or a plugin is treated as the built-in ones are.

use std::path::PathBuf;

use chela_guard::{AddressFault, WebAddress};
use serde_json::{Map, Value};

use crate::spec::ToolSpec;
use crate::{CallTarget, Effect, SinkKind};

/// What a call would change on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallWrites {
    Nothing,
    /// The files it names and no others. None where it names none that may be written: the call
    /// will be refused.
    Files {
        /// Links and detours resolved.
        paths: Vec<PathBuf>,
        extent: WriteExtent,
    },
    /// Nobody can tell: a command, a program of somebody else.
    Anything,
}

/// How much of a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteExtent {
    /// All of it: nothing of what was there is left.
    Whole,
    Part,
}

/// A file as it is, and as a call would leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePreview {
    /// Links and detours resolved.
    pub path: PathBuf,
    /// `None`: there is none.
    pub before: Option<Vec<u8>>,
    /// `None`: it would be gone.
    pub after: Option<Vec<u8>>,
}

/// What a tool needs of the session it is used in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolNeed {
    /// The folders of the session: its own files, not those of whoever started it.
    Folders,
    /// Sub-agents of its own.
    Children,
}

/// What a call would change, as far as its effect says.
pub(crate) fn writes_by_effect(effect: Effect) -> CallWrites {
    match effect {
        Effect::Read | Effect::ReadUntrusted | Effect::Egress | Effect::WriteOutward => {
            CallWrites::Nothing
        }
        Effect::WriteReversible
        | Effect::Irreversible
        | Effect::Persona
        | Effect::Config
        | Effect::RunsOnOpen
        | Effect::RunsOnBuild => CallWrites::Anything,
    }
}

/// The targets that the sinks of a tool name by themselves: addresses and commands.
pub(crate) fn targets_by_sink(spec: &ToolSpec, arguments: &Map<String, Value>) -> Vec<CallTarget> {
    let mut targets = Vec::new();
    for sink in spec.sinks.iter() {
        let Some(value) = arguments.get(sink.argument.as_ref()) else {
            continue;
        };
        match (sink.kind, value) {
            (SinkKind::Url, value) => {
                let addresses = texts_of(value).into_iter().flat_map(url_targets);
                targets.extend(addresses);
            }
            (SinkKind::Command, Value::String(text)) => {
                targets.push(CallTarget::Command(text.trim().to_owned()));
            }
            (SinkKind::Command, Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                targets.push(CallTarget::Command(words.join(" ")));
            }
            _ => {}
        }
    }
    targets
}

/// An address and its host. Nothing for what is no address: the call will be refused.
pub(crate) fn url_targets(text: &str) -> Vec<CallTarget> {
    let Ok(address) = WebAddress::parse(text) else {
        return Vec::new();
    };
    let host = address.host().trim_end_matches('.').to_owned();
    vec![CallTarget::Url(address), CallTarget::Host(host)]
}

/// What is wrong with an address a call names. What cannot be read in one way only is refused and
/// not put right: the one who judges and the one who asks for it must mean the same.
pub(crate) fn address_fault(
    spec: &ToolSpec,
    arguments: &Map<String, Value>,
) -> Option<AddressFault> {
    let sinks = spec.sinks.iter().filter(|sink| sink.kind == SinkKind::Url);
    sinks
        .filter_map(|sink| arguments.get(sink.argument.as_ref()))
        .flat_map(texts_of)
        .find_map(|text| WebAddress::parse(text).err())
}

fn texts_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What a tool that declares these sinks needs at the least.
pub(crate) fn needs_by_sink(spec: &ToolSpec) -> Vec<ToolNeed> {
    let folders = spec
        .sinks
        .iter()
        .any(|sink| matches!(sink.kind, SinkKind::Path | SinkKind::Command));
    folders.then_some(ToolNeed::Folders).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use chela_guard::WebAddress;

    use super::{CallTarget, url_targets};

    #[test]
    fn an_address_has_one_form() {
        let page = CallTarget::Url(WebAddress::parse("https://example.org/a?b=c").unwrap());
        let host = CallTarget::Host("example.org".to_owned());
        for written in [
            "https://example.org/a?b=c",
            "HTTPS://EXAMPLE.org:443/x/../a?b=c#part",
        ] {
            assert_eq!(url_targets(written), [page.clone(), host.clone()]);
        }
        assert!(url_targets("no address").is_empty());
        assert!(url_targets(" https://example.org/").is_empty());
    }
}
