//! What a program fetched or decoded in one line and runs in another.

use std::collections::HashMap;

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::finding::Finding;
use crate::inspect::about::About;
use crate::inspect::hosts::{Known, Place, links};
use crate::inspect::page::{Line, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    FETCHED = r"requests\.(?:get|post|request)\s*\(|httpx\.get\s*\(|urlopen\s*\(|\bfetch\s*\(|axios(?:\.get)?\s*\(|\$\(\s*(?:curl|wget)\b|`(?:curl|wget)\b|http\.get\s*\(|reqwest::|net::http\.get|downloadstring|\biwr\b|invoke-webrequest|file_get_contents\s*\(\s*[\x22']https?:";
    DECODED = r"b64decode\s*\(|a85decode\s*\(|b85decode\s*\(|b32decode\s*\(|fromhex\s*\(|unhexlify\s*\(|zlib\.decompress\s*\(|codecs\.decode\s*\(|atob\s*\(|buffer\.from\s*\([^)]*(?:base64|hex)|base64\s+(?:-d|--decode)|frombase64string|base64_decode\s*\(|urldecode|fromcharcode|chr\s*\(|rot_?13|\[::-1\]|marshal\.loads|\.reverse\s*\(\s*\)|xxd\s+-r|\^\s*(?:key|0x[0-9a-f]{2}|\d{2,3})\b";
    RUNS_VALUE = r"(?:^|[^.\w])(?:exec|eval|compile|execscript)\s*\(\s*(?:compile\s*\(\s*)?([a-z_]\w*)|new\s+function\s*\(\s*([a-z_]\w*)|(?:os\.system|os\.popen|subprocess\.\w+|popen|execsync|child_process\.exec|\bexec|spawnsync|shell_exec|system|passthru|runinthiscontext|runinnewcontext|invoke-expression|\biex)\s*\(?\s*\[?\s*\$?([a-z_]\w*)|\b(?:eval|bash\s+-c|sh\s+-c|python3?\s+-c)\s+[\x22']?\$\{?([a-z_]\w*)|echo\s+[\x22']?\$\{?([a-z_]\w*)\}?[\x22']?\s*\|\s*(?:base64\s+-\S*d\S*\s*\|\s*)?(?:ba|z|da)?sh\b|globals\s*\(\s*\)\s*\[\s*([a-z_]\w*)|setattr\s*\(\s*\w+\s*,\s*([a-z_]\w*)\s*,";
    ASSIGN = r"^(?:export\s+|const\s+|let\s+|var\s+|local\s+|self\.|this\.|my\s+)?\$?([a-z_]\w*)\s*(?::\s*[\w\[\], |]+\s*)?:?=[^=]";
    RUNS_DIRECT = r"(?:^|[^.\w])(?:exec|eval)\s*\(\s*[\w.]+\s*\(|os\.system\s*\(\s*[\w.]+\s*\(|(?:getattr|globals|vars)\s*\([^)]*\)\s*[\[(].{0,40}[\x22'](?:system|popen|exec|eval)[\x22']|getattr\s*\(\s*(?:os|__builtins__|builtins|__import__\s*\([^)]*\))\s*,\s*(?:[\x22'](?:sys|po|ex|ev)|[a-z_]+\s*[,)+])";
}

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Fetched { foreign: bool },
    Decoded,
}

/// Follows fetched and decoded text through the variables of a page to the call that runs it.
pub(super) fn across(page: &Page, known: &Known) -> Vec<Finding> {
    let code: Vec<&Line> = page
        .lines
        .iter()
        .filter(|line| line.zone == Zone::Code && line.about != About::Speaks)
        .collect();
    let runs = code
        .iter()
        .any(|line| line.words.have_any(Words::RUN | Words::SHELL));
    if !runs {
        return Vec::new();
    }
    let mut held: HashMap<String, Holds> = HashMap::new();
    let mut found = Vec::new();
    for line in code {
        let text = line.text.as_str();
        if line.words.have_any(Words::RUN | Words::SHELL)
            && let Some(name) = RUNS_VALUE.captured(text)
            && let Some(holds) = held.get(&name)
        {
            found.push(super::finding(&page.path, line, &sign(*holds)));
        }
        if line.words.have(Words::RUN) && RUNS_DIRECT.is_in(text) {
            let what = "calls into the system in a roundabout way";
            let sign = Sign::new("hidden-import", Weight::Suspicious, what);
            found.push(super::finding(&page.path, line, &sign));
        }
        let Some(name) = ASSIGN.captured(text) else {
            continue;
        };
        let value = text.split_once('=').map_or("", |(_, value)| value);
        match holds(line, value, &held, known) {
            Some(holds) => held.insert(name, holds),
            None => held.remove(&name),
        };
    }
    found
}

fn holds(line: &Line, value: &str, held: &HashMap<String, Holds>, known: &Known) -> Option<Holds> {
    let may_decode =
        line.words.have_any(Words::DECODE | Words::GARBLED) || value.contains("[::-1]");
    if may_decode && DECODED.is_in(value) {
        return Some(Holds::Decoded);
    }
    if line.words.have(Words::FETCH) && FETCHED.is_in(value) {
        let targets = links(value);
        let foreign = targets.is_empty()
            || targets.iter().any(|link| {
                !known.has(link) && !matches!(link.place, Place::Near | Place::Installer)
            });
        return Some(Holds::Fetched { foreign });
    }
    value
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find_map(|word| held.get(word).copied())
}

fn sign(holds: Holds) -> Sign {
    match holds {
        Holds::Decoded => Sign::new(
            "encoded-command",
            Weight::Dangerous,
            "runs a text that was decoded above",
        ),
        Holds::Fetched { foreign } => Sign::new(
            "pipe-to-shell",
            if foreign {
                Weight::Dangerous
            } else {
                Weight::Suspicious
            },
            "runs whatever an address answered above",
        ),
    }
}
