//! The key of one service that goes to another.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::inspect::hosts::{Link, Place, links};
use crate::inspect::page::{Page, Zone};
use crate::inspect::tables::{RuleTable, rule_table};
use crate::inspect::words::Words;

patterns! {
    "foreign_key.txt":
    VARIABLE, SENDS, AS_HEADER,
}

/// How the names of a service's keys begin, and what its own addresses hold.
static SERVICES: RuleTable = rule_table!("services.txt");

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    if !line.words.have(Words::SECRET | Words::POST) || !SENDS.is_in(text) {
        return;
    }
    let targets: Vec<Link> = links(text)
        .into_iter()
        .filter(|link| link.place != Place::Near)
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
        let fits = |link: &Link| {
            // Without what is asked for there: the name of the key is part of that.
            let place = link.target.split(['?', '$']).next().unwrap_or_default();
            own.iter().any(|part| place.contains(part)) || link.host().contains(prefix)
        };
        if targets.iter().any(fits) {
            continue;
        }
        let header = AS_HEADER.is_in(text);
        let weight = match (header, line.zone) {
            (false, Zone::Code) => Weight::Dangerous,
            (false, Zone::Prose) => Weight::Suspicious,
            // Services that speak another's protocol take its key in the same place.
            (true, _) => Weight::Note,
        };
        let what = "sends the key of one service to another";
        signs.push(Sign::new("foreign-key", weight, what));
        return;
    }
}
