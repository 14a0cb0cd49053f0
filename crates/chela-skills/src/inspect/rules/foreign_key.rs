//! The key of one service that goes to another.

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::inspect::hosts::{AddressPlace, LineLink, links};
use crate::inspect::scanned_file::{LineZone, ScannedFile};
use crate::inspect::tables::{RuleTable, rule_table};
use crate::inspect::words::WordKinds;

patterns! {
    "foreign_key.txt":
    VARIABLE, SENDS, AS_HEADER,
}

/// How the names of a service's keys begin, and what its own addresses hold.
static SERVICES: RuleTable = rule_table!("services.txt");

pub(super) fn look(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    if !line.words.have(WordKinds::SECRET | WordKinds::POST) || !SENDS.is_in(text) {
        return;
    }
    let targets: Vec<LineLink> = links(text)
        .into_iter()
        .filter(|link| link.place != AddressPlace::Near)
        .collect();
    if targets.is_empty() {
        return;
    }
    let Some(regex) = VARIABLE.regex() else {
        return;
    };
    for groups in regex.captures_iter(text) {
        let Some(name) = groups.iter().skip(1).flatten().next() else {
            continue;
        };
        let prefix = name.as_str().split('_').next().unwrap_or_default();
        let Some(own) = SERVICES.items(prefix) else {
            continue;
        };
        let fits = |link: &LineLink| {
            // Without what is asked for there: the name of the key is part of that.
            let place = link.target.split(['?', '$']).next().unwrap_or_default();
            own.iter().any(|part| place.contains(part)) || link.host().contains(prefix)
        };
        if targets.iter().any(fits) {
            continue;
        }
        let header = AS_HEADER.is_in(text);
        let weight = match (header, line.zone) {
            (false, LineZone::Code) => SignWeight::Dangerous,
            (false, LineZone::Prose) => SignWeight::Suspicious,
            // Services that speak another's protocol take its key in the same place.
            (true, _) => SignWeight::Note,
        };
        let what = "sends the key of one service to another";
        signs.push(LineSign::new("foreign-key", weight, what));
        return;
    }
}
