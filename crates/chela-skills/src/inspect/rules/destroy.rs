//! Breaking things: wiping disks and traces, locking files away, using the machine up.

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedKind};
use crate::inspect::words::WordKinds;

patterns! {
    "destroy.txt":
    WIPE, WIPE_CALL, DISK, TRACES, SHADOWS, SETUID, GUARD_DOWN, MINER, LOCKS_FILES, LOSES_KEY,
    HARD_CIPHER, WALKS, DROPS, DECRYPTS, WIPE_SPOKEN, ESCAPE, BOMB, FLOOD, ADMIN,
}

pub(super) fn look(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have_any(WordKinds::DESTROY | WordKinds::MINE) {
        return;
    }
    let text = line.text.as_str();
    let code = line.zone == LineZone::Code;
    let done = if code {
        SignWeight::Dangerous
    } else {
        SignWeight::Note
    };
    let mut sign = |code: &'static str, weight: SignWeight, what: &'static str| {
        signs.push(LineSign::new(code, weight, what));
    };
    if line.words.have(WordKinds::DESTROY) {
        if WIPE.is_in(text) || WIPE_CALL.is_in(text) || DISK.is_in(text) {
            sign(
                "destroys",
                done,
                "deletes a whole disk, system or home folder",
            );
        }
        if SHADOWS.is_in(text) {
            sign(
                "destroys",
                done,
                "deletes the copies from which files could be restored",
            );
        }
        if TRACES.is_in(text) {
            sign(
                "wipes-traces",
                done,
                "wipes the records of what was done on the machine",
            );
        }
        if SETUID.is_in(text) {
            sign(
                "persistence",
                done,
                "lets a program run as root from now on",
            );
        }
        if GUARD_DOWN.is_in(text) {
            let weight = done.min(SignWeight::Suspicious);
            sign(
                "guard-down",
                weight,
                "turns off a protection of the machine",
            );
        }
        if ADMIN.is_in(text) {
            sign(
                "persistence",
                SignWeight::Suspicious,
                "adds an account for someone else",
            );
        }
        if page.kind == ScannedKind::Prose && !code && WIPE_SPOKEN.is_in(text) {
            let weight = if text.contains("rm -") {
                SignWeight::Dangerous
            } else {
                SignWeight::Suspicious
            };
            sign(
                "destroys",
                weight,
                "tells the agent to delete more than its own files",
            );
        }
        if ESCAPE.is_in(text) || (!code && BOMB.is_in(text)) {
            sign(
                "escape",
                SignWeight::Note,
                "tries to break out of its container",
            );
        }
        if page.kind == ScannedKind::Prose && LOCKS_FILES.is_in(text) && !DECRYPTS.is_in(text) {
            let near = page.near(at, 6);
            if near.iter().any(|near| LOSES_KEY.is_in(&near.text)) {
                sign(
                    "locks-files",
                    SignWeight::Dangerous,
                    "encrypts a person's files",
                );
            }
        }
    }
    if line.words.have(WordKinds::MINE) && MINER.is_in(text) {
        let weight = if code {
            SignWeight::Dangerous
        } else {
            SignWeight::Suspicious
        };
        sign("miner", weight, "mines cryptocurrency for someone else");
    }
}

/// What shows only in a program as a whole.
pub(super) fn across(page: &ScannedFile) -> Vec<crate::finding::SkillFinding> {
    let mut found = Vec::new();
    let has = |pattern: &super::pattern::LinePattern| {
        page.lines
            .iter()
            .find(|line| line.zone == LineZone::Code && pattern.is_in(&line.text))
    };
    if page.kind == ScannedKind::Code
        && let Some(line) = has(&HARD_CIPHER)
        && has(&WALKS).is_some()
        && has(&DROPS).is_some()
        && has(&DECRYPTS).is_none()
    {
        let what = "encrypts files one after another and deletes the originals";
        let sign = LineSign::new("locks-files", SignWeight::Dangerous, what);
        found.push(super::finding(&page.path, line, &sign));
    }
    for (at, line) in page.lines.iter().enumerate() {
        let loops = line.words.have(WordKinds::LOOP) && FLOOD.is_in(&line.text);
        if !loops
            || !page
                .near(at, 4)
                .iter()
                .any(|near| near.words.have(WordKinds::ALWAYS))
        {
            continue;
        }
        let calls = page.lines.iter().skip(at).take(3).any(|next| {
            next.words.have(WordKinds::FETCH | WordKinds::LINK) && next.number <= line.number + 2
        });
        if calls && page.kind == ScannedKind::Prose {
            let what = "has the agent call an address hundreds of times";
            let sign = LineSign::new("flood", SignWeight::Dangerous, what);
            found.push(super::finding(&page.path, line, &sign));
        }
    }
    found
}
