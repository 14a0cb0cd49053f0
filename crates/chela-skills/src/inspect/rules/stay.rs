//! Staying: what runs by itself later, what changes the agent, what switches protection off.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::finding::Finding;
use crate::inspect::about::About;
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    "stay.txt":
    SCHEDULE, SHELL_START, HARMLESS_START, GIT_HOOK, DOORS, STRIP, AGENT_WRITE, AGENT_ORDER,
    POLICY_WRITE, AGENT_SETTINGS, OPENS_TO_WRITE, LOOSER, REMOTE,
}

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let (words, text) = (line.words, line.text.as_str());
    if words.have(Words::PERSIST) {
        persistence(page, at, signs);
    }
    if words.have(Words::STRIP) && STRIP.is_in(text) {
        let code = line.zone == Zone::Code || line.raw.contains('`');
        let fetched = page
            .near(at, 12)
            .iter()
            .any(|near| near.words.have(Words::FETCH | Words::LINK) && near.number != line.number);
        let weight = match (code, fetched || words.have(Words::FETCH)) {
            (true, true) => Weight::Dangerous,
            (true, false) => Weight::Suspicious,
            _ => Weight::Note,
        };
        signs.push(Sign::new(
            "quarantine-strip",
            weight,
            "takes off the mark by which the system checks downloads",
        ));
    }
    if words.have(Words::AGENT_FILE | Words::WRITE) {
        if AGENT_WRITE.is_in(text) {
            let weight = if REMOTE.is_in(text) {
                Weight::Dangerous
            } else {
                Weight::Note
            };
            signs.push(Sign::new(
                "agent-file",
                weight,
                "writes into a file the agent lives by",
            ));
        } else if AGENT_ORDER.is_in(text) {
            signs.push(Sign::new(
                "agent-file",
                Weight::Note,
                "asks to change a file the agent lives by",
            ));
        }
    }
    if words.have_any(Words::AGENT_FILE | Words::ORDER)
        && POLICY_WRITE.is_in(text)
        && line.zone == Zone::Code
    {
        signs.push(Sign::new(
            "agent-policy",
            Weight::Suspicious,
            "changes what the agent may do without asking",
        ));
    }
}

/// A program that rewrites the agent's own settings so that it asks less.
pub(super) fn loosens(page: &Page) -> Option<Finding> {
    if page.kind != Kind::Code {
        return None;
    }
    let has = |pattern: &super::pattern::Pattern| {
        page.lines
            .iter()
            .find(|line| line.about != About::Speaks && pattern.is_in(&line.text))
    };
    has(&AGENT_SETTINGS)?;
    has(&OPENS_TO_WRITE)?;
    let line = has(&LOOSER)?;
    let what = "rewrites the agent's settings so that it asks less";
    let sign = Sign::new("agent-policy", Weight::Dangerous, what);
    Some(super::finding(&page.path, line, &sign))
}

fn persistence(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    let foreign = REMOTE.is_in(text);
    if DOORS.is_in(text) {
        signs.push(Sign::new(
            "persistence",
            Weight::Dangerous,
            "lets somebody else in from now on",
        ));
    } else if SCHEDULE.is_in(text) {
        let weight = if foreign
            && (text.contains("curl")
                || text.contains("wget")
                || text.contains("base64")
                || text.contains("/dev/tcp"))
        {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "persistence",
            weight,
            "makes something run by itself from now on",
        ));
    } else if SHELL_START.is_in(text) && !HARMLESS_START.is_in(text) {
        let weight = if foreign {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "persistence",
            weight,
            "makes something run with every new shell",
        ));
    } else if GIT_HOOK.is_in(text) {
        let weight = if foreign {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "persistence",
            weight,
            "makes something run with every commit",
        ));
    }
}
