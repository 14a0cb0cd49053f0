//! Model endpoints: an address that is one, and a protocol that is spoken here.

use chela_core::suggest::nearest;

use super::{CheckFinding, CheckedTree};
use crate::diagnostic::Severity;
use crate::key_path::KeyPath;
use crate::node::ConfigNode;

/// The protocols Chela speaks, as `models.providers.ID.api` names them.
pub const MODEL_APIS: [&str; 6] = [
    "openai-completions",
    "openai-responses",
    "azure-openai-responses",
    "anthropic-messages",
    "google-generative-ai",
    "ollama",
];

/// Protocols other programs speak: rightly written in a config that came from one of them, and of
/// no use here.
const SPOKEN_ELSEWHERE: [&str; 5] = [
    "bedrock-converse-stream",
    "github-copilot",
    "google-gemini-cli",
    "google-vertex",
    "openai-codex-responses",
];

const NOT_USABLE: &str = "models of this provider cannot be used";

/// `models.providers`: nothing is left out, so that a model of the endpoint is refused when it is
/// asked for, instead of being asked in another way or in another place.
pub fn check(root: &ConfigNode, checked: &mut CheckedTree) {
    let path = KeyPath::root().key("models").key("providers");
    let providers = root.at_path(&path).map_or(&[][..], ConfigNode::members);
    for provider in providers {
        let path = path.key(&provider.key);
        check_address(&provider.value, &path, checked);
        check_api(&provider.value, &path, checked);
        let models = provider.value.get("models");
        let models = models.map_or(&[][..], ConfigNode::items).iter();
        for (index, model) in models.enumerate() {
            check_api(model, &path.key("models").index(index), checked);
        }
    }
}

fn check_api(owner: &ConfigNode, path: &KeyPath, checked: &mut CheckedTree) {
    let Some((node, name)) = text_at(owner, "api") else {
        return;
    };
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    if MODEL_APIS.iter().any(is) {
        return;
    }
    let known = MODEL_APIS.map(|api| format!("`{api}`")).join(", ");
    let (severity, message) = match SPOKEN_ELSEWHERE.iter().any(is) {
        true => (
            Severity::Note,
            format!("is `{name}`, a protocol Chela does not speak"),
        ),
        false => (
            Severity::Error,
            format!("is `{name}`, expected one of {known}"),
        ),
    };
    let hint = match (severity, meant_api(name)) {
        (Severity::Error, Some(near)) => format!("did you mean `{near}`?"),
        (Severity::Error, None) => "most servers speak `openai-completions`".to_owned(),
        _ => format!("Chela speaks {known}"),
    };
    let place = (path.key("api"), node.at);
    checked.findings.push(CheckFinding {
        hint: Some(hint),
        consequence: Some(NOT_USABLE),
        ..CheckFinding::new(severity, "bad-api", place, message)
    });
}

/// The protocol that was probably meant; its maker alone is a name people write.
fn meant_api(name: &str) -> Option<&'static str> {
    let maker = |api: &'static str| api.split('-').next().unwrap_or(api);
    nearest(name, MODEL_APIS).or_else(|| {
        let near = nearest(name, MODEL_APIS.map(maker))?;
        MODEL_APIS.into_iter().find(|api| maker(api) == near)
    })
}

fn check_address(provider: &ConfigNode, path: &KeyPath, checked: &mut CheckedTree) {
    let Some((node, address)) = text_at(provider, "baseUrl") else {
        return;
    };
    let hint = match address.split_once("://") {
        Some(("http" | "https", rest)) if is_authority(rest) => return,
        None if is_authority(address) && address.contains(['.', ':']) => {
            format!("did you mean `http://{address}`?")
        }
        _ => "write it as `https://api.example.com/v1` or `http://127.0.0.1:8080/v1`".to_owned(),
    };
    let place = (path.key("baseUrl"), node.at);
    checked.findings.push(CheckFinding {
        hint: Some(hint),
        consequence: Some(NOT_USABLE),
        ..CheckFinding::new(
            Severity::Error,
            "bad-address",
            place,
            "is not a URL starting with `http://` or `https://`",
        )
    });
}

/// Whether an address goes on with a host.
fn is_authority(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !host.is_empty() && !rest.contains(char::is_whitespace)
}

/// A text that is all there: one with a variable nobody set is told elsewhere.
fn text_at<'n>(owner: &'n ConfigNode, key: &str) -> Option<(&'n ConfigNode, &'n str)> {
    let node = owner.get(key)?;
    let text = node.as_str()?.trim();
    (!text.is_empty() && !text.contains("${")).then_some((node, text))
}
