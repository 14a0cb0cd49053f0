//! What a program fetched or decoded in one line and runs in another.

use std::collections::HashMap;

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::hosts::{AddressPlace, KnownSites, links};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedLine};
use crate::inspect::words::WordKinds;

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
pub(super) fn across(page: &ScannedFile, known: &KnownSites) -> Vec<SkillFinding> {
    let code: Vec<&ScannedLine> = page
        .lines
        .iter()
        .filter(|line| line.zone == LineZone::Code && line.about != LineStance::Speaks)
        .collect();
    let runs = code
        .iter()
        .any(|line| line.words.have_any(WordKinds::RUN | WordKinds::SHELL));
    if !runs {
        return Vec::new();
    }
    let mut held: HashMap<String, Holds> = HashMap::new();
    let mut found = Vec::new();
    for line in code {
        let text = line.text.as_str();
        if line.words.have_any(WordKinds::RUN | WordKinds::SHELL)
            && let Some(name) = RUNS_VALUE.captured(text)
            && let Some(holds) = held.get(&name)
        {
            found.push(super::finding(&page.path, line, &sign(*holds)));
        }
        if line.words.have(WordKinds::RUN) && RUNS_DIRECT.is_in(text) {
            let what = "makes a system call in an obfuscated way";
            let sign = LineSign::new("hidden-import", SignWeight::Suspicious, what);
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

fn holds(
    line: &ScannedLine,
    value: &str,
    held: &HashMap<String, Holds>,
    known: &KnownSites,
) -> Option<Holds> {
    let may_decode =
        line.words.have_any(WordKinds::DECODE | WordKinds::GARBLED) || value.contains("[::-1]");
    if may_decode && DECODED.is_in(value) {
        return Some(Holds::Decoded);
    }
    if line.words.have(WordKinds::FETCH) && FETCHED.is_in(value) {
        let targets = links(value);
        let foreign = targets.is_empty()
            || targets.iter().any(|link| {
                !known.has(link)
                    && !matches!(link.place, AddressPlace::Near | AddressPlace::Installer)
            });
        return Some(Holds::Fetched { foreign });
    }
    value
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find_map(|word| held.get(word).copied())
}

fn sign(holds: Holds) -> LineSign {
    match holds {
        Holds::Decoded => LineSign::new(
            "encoded-command",
            SignWeight::Dangerous,
            "runs a text that was decoded above",
        ),
        Holds::Fetched { foreign } => LineSign::new(
            "pipe-to-shell",
            if foreign {
                SignWeight::Dangerous
            } else {
                SignWeight::Suspicious
            },
            "runs whatever an address answered above",
        ),
    }
}
