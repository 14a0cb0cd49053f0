//! Breaking things: wiping disks and traces, locking files away, using the machine up.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    "destroy.txt":
    WIPE, WIPE_CALL, DISK, TRACES, SHADOWS, SETUID, GUARD_DOWN, MINER, LOCKS_FILES, LOSES_KEY,
    HARD_CIPHER, WALKS, DROPS, DECRYPTS, WIPE_SPOKEN, ESCAPE, BOMB, FLOOD, ADMIN,
}

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have_any(Words::DESTROY | Words::MINE) {
        return;
    }
    let text = line.text.as_str();
    let code = line.zone == Zone::Code;
    let done = if code {
        Weight::Dangerous
    } else {
        Weight::Note
    };
    let mut sign = |code: &'static str, weight: Weight, what: &'static str| {
        signs.push(Sign::new(code, weight, what));
    };
    if line.words.have(Words::DESTROY) {
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
                "lets a program run as the system's owner from now on",
            );
        }
        if GUARD_DOWN.is_in(text) {
            let weight = done.min(Weight::Suspicious);
            sign(
                "guard-down",
                weight,
                "switches a protection of the machine off",
            );
        }
        if ADMIN.is_in(text) {
            sign(
                "persistence",
                Weight::Suspicious,
                "adds an account that lets somebody else in",
            );
        }
        if page.kind == Kind::Prose && !code && WIPE_SPOKEN.is_in(text) {
            let weight = if text.contains("rm -") {
                Weight::Dangerous
            } else {
                Weight::Suspicious
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
                Weight::Note,
                "reaches for the machine around its container",
            );
        }
        if page.kind == Kind::Prose && LOCKS_FILES.is_in(text) && !DECRYPTS.is_in(text) {
            let near = page.near(at, 6);
            if near.iter().any(|near| LOSES_KEY.is_in(&near.text)) {
                sign(
                    "locks-files",
                    Weight::Dangerous,
                    "locks a person's files away behind a key",
                );
            }
        }
    }
    if line.words.have(Words::MINE) && MINER.is_in(text) {
        let weight = if code {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        sign(
            "miner",
            weight,
            "uses the machine to make money for somebody else",
        );
    }
}

/// What shows only in a program as a whole.
pub(super) fn across(page: &Page) -> Vec<crate::finding::Finding> {
    let mut found = Vec::new();
    let has = |pattern: &super::pattern::Pattern| {
        page.lines
            .iter()
            .find(|line| line.zone == Zone::Code && pattern.is_in(&line.text))
    };
    if page.kind == Kind::Code
        && let Some(line) = has(&HARD_CIPHER)
        && has(&WALKS).is_some()
        && has(&DROPS).is_some()
        && has(&DECRYPTS).is_none()
    {
        let what = "encrypts files one after the other and deletes what they were";
        let sign = Sign::new("locks-files", Weight::Dangerous, what);
        found.push(super::finding(&page.path, line, &sign));
    }
    for (at, line) in page.lines.iter().enumerate() {
        let loops = line.words.have(Words::LOOP) && FLOOD.is_in(&line.text);
        if !loops
            || !page
                .near(at, 4)
                .iter()
                .any(|near| near.words.have(Words::ALWAYS))
        {
            continue;
        }
        let calls = page.lines.iter().skip(at).take(3).any(|next| {
            next.words.have(Words::FETCH | Words::LINK) && next.number <= line.number + 2
        });
        if calls && page.kind == Kind::Prose {
            let what = "has the agent call an address hundreds of times";
            let sign = Sign::new("flood", Weight::Dangerous, what);
            found.push(super::finding(&page.path, line, &sign));
        }
    }
    found
}
