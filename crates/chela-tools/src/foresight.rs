//! What can be told of a call before it is made: what it is about, what it would change, and what
//! the change would look like.
//!
//! The turn, the guard and sub-agents ask these questions and know no tool by its name, so a tool
//! of an embedder, a server or a plugin is treated as the built-in ones are.

use std::path::PathBuf;

use reqwest::Url;
use serde_json::{Map, Value};

use crate::spec::Spec;
use crate::{Effect, SinkKind};

/// One thing a call is about, in the one form that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallTarget {
    /// One file, links and detours resolved.
    File(PathBuf),
    /// A folder and whatever lies below it, links and detours resolved.
    Tree(PathBuf),
    /// An address as its server sees it: host in small letters, no fragment.
    Url(String),
    /// A host alone.
    Host(String),
    /// A session, by its full key.
    Session(String),
    /// An agent or a sub-agent, by the name the call gives it.
    Agent(String),
    /// A command that runs in the background.
    Process(String),
    /// A command line.
    Command(String),
}

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
        Effect::WriteReversible | Effect::Irreversible | Effect::Persona | Effect::Config => {
            CallWrites::Anything
        }
    }
}

/// The targets that the sinks of a tool name by themselves: addresses and commands.
pub(crate) fn targets_by_sink(spec: &Spec, arguments: &Map<String, Value>) -> Vec<CallTarget> {
    let mut targets = Vec::new();
    for sink in spec.sinks.iter() {
        let Some(value) = arguments.get(sink.argument.as_ref()) else {
            continue;
        };
        match (sink.kind, value) {
            (SinkKind::Url, Value::String(text)) => targets.extend(url_targets(text)),
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
    let Ok(mut url) = Url::parse(text.trim()) else {
        return Vec::new();
    };
    url.set_fragment(None);
    let host = url.host_str().map(|host| host.trim_end_matches('.'));
    let host = host.map(|host| CallTarget::Host(host.to_owned()));
    let mut targets = vec![CallTarget::Url(url.to_string())];
    targets.extend(host);
    targets
}

/// What a tool that declares these sinks needs at the least.
pub(crate) fn needs_by_sink(spec: &Spec) -> Vec<ToolNeed> {
    let folders = spec
        .sinks
        .iter()
        .any(|sink| matches!(sink.kind, SinkKind::Path | SinkKind::Command));
    folders.then_some(ToolNeed::Folders).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{CallTarget, url_targets};

    #[test]
    fn an_address_has_one_form() {
        let page = CallTarget::Url("https://example.org/a?b=c".to_owned());
        let host = CallTarget::Host("example.org".to_owned());
        for written in [
            "https://example.org/a?b=c",
            " HTTPS://EXAMPLE.org:443/x/../a?b=c#part ",
        ] {
            assert_eq!(url_targets(written), [page.clone(), host.clone()]);
        }
        assert!(url_targets("no address").is_empty());
    }
}
