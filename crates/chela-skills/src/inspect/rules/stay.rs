//! Staying: what runs by itself later, what changes the agent, what switches protection off.

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedKind};
use crate::inspect::words::WordKinds;

patterns! {
    "stay.txt":
    SCHEDULE, SHELL_START, HARMLESS_START, GIT_HOOK, DOORS, STRIP, AGENT_WRITE, OWN_ROOM, AGENT_ORDER,
    POLICY_WRITE, AGENT_SETTINGS, OPENS_TO_WRITE, LOOSER, REMOTE,
}

pub(super) fn look(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let (words, text) = (line.words, line.text.as_str());
    if words.have(WordKinds::PERSIST) {
        persistence(page, at, signs);
    }
    if words.have(WordKinds::STRIP) && STRIP.is_in(text) {
        let code = line.zone == LineZone::Code || line.raw.contains('`');
        let fetched = page.near(at, 12).iter().any(|near| {
            near.words.have(WordKinds::FETCH | WordKinds::LINK) && near.number != line.number
        });
        let weight = match (code, fetched || words.have(WordKinds::FETCH)) {
            (true, true) => SignWeight::Dangerous,
            (true, false) => SignWeight::Suspicious,
            _ => SignWeight::Note,
        };
        signs.push(LineSign::new(
            "quarantine-strip",
            weight,
            "removes the mark the system uses to check downloads",
        ));
    }
    if words.have(WordKinds::AGENT_FILE | WordKinds::WRITE) {
        if AGENT_WRITE.is_in(text) {
            let weight = if REMOTE.is_in(text) && !OWN_ROOM.is_in(text) {
                SignWeight::Dangerous
            } else {
                SignWeight::Note
            };
            signs.push(LineSign::new(
                "agent-file",
                weight,
                "writes to one of the agent's core files",
            ));
        } else if AGENT_ORDER.is_in(text) {
            signs.push(LineSign::new(
                "agent-file",
                SignWeight::Note,
                "asks to change one of the agent's core files",
            ));
        }
    }
    if words.have_any(WordKinds::AGENT_FILE | WordKinds::ORDER)
        && POLICY_WRITE.is_in(text)
        && line.zone == LineZone::Code
    {
        signs.push(LineSign::new(
            "agent-policy",
            SignWeight::Suspicious,
            "changes what the agent may do without asking",
        ));
    }
}

/// A program that rewrites the agent's own settings so that it asks less.
pub(super) fn loosens(page: &ScannedFile) -> Option<SkillFinding> {
    if page.kind != ScannedKind::Code {
        return None;
    }
    let has = |pattern: &super::pattern::LinePattern| {
        page.lines
            .iter()
            .find(|line| line.about != LineStance::Speaks && pattern.is_in(&line.text))
    };
    has(&AGENT_SETTINGS)?;
    has(&OPENS_TO_WRITE)?;
    let line = has(&LOOSER)?;
    let what = "rewrites the agent's settings so that it asks less";
    let sign = LineSign::new("agent-policy", SignWeight::Dangerous, what);
    Some(super::finding(&page.path, line, &sign))
}

fn persistence(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    let foreign = REMOTE.is_in(text);
    if DOORS.is_in(text) {
        signs.push(LineSign::new(
            "persistence",
            SignWeight::Dangerous,
            "lets someone else in from now on",
        ));
    } else if SCHEDULE.is_in(text) {
        let weight = if foreign
            && (text.contains("curl")
                || text.contains("wget")
                || text.contains("base64")
                || text.contains("/dev/tcp"))
        {
            SignWeight::Dangerous
        } else {
            SignWeight::Note
        };
        signs.push(LineSign::new(
            "persistence",
            weight,
            "makes something run by itself from now on",
        ));
    } else if SHELL_START.is_in(text) && !HARMLESS_START.is_in(text) {
        let weight = if foreign {
            SignWeight::Dangerous
        } else {
            SignWeight::Note
        };
        signs.push(LineSign::new(
            "persistence",
            weight,
            "makes something run with every new shell",
        ));
    } else if GIT_HOOK.is_in(text) {
        let weight = if foreign {
            SignWeight::Dangerous
        } else {
            SignWeight::Note
        };
        signs.push(LineSign::new(
            "persistence",
            weight,
            "makes something run with every commit",
        ));
    }
}
