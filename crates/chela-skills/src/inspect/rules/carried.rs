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
    "carried.txt":
    FETCHED, DECODED, RUNS_VALUE, ASSIGN, RUNS_DIRECT,
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
