//! Orders to the agent that no skill may give: against its rules, or behind its owner's back.

use super::pattern::patterns;
use super::{LineSign, SignWeight, leak};
use crate::inspect::about;
use crate::inspect::hosts::{AddressPlace, links};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedKind};
use crate::inspect::words::WordKinds;

patterns! {
    "order.txt":
    IGNORE, NEW_ROLE, UNGUARDED, HIDE, NO_ASK, PROMPT, LOOP, DECEIVE, QUOTED,
}

/// Whether a line tells the agent to drop its rules.
pub(super) fn drops_rules(text: &str) -> bool {
    IGNORE.is_in(text) || NEW_ROLE.is_in(text) || UNGUARDED.is_in(text)
}

/// Whether a line tells the agent to keep something from its owner.
pub(super) fn hides(text: &str) -> bool {
    HIDE.is_in(text)
}

/// Whether a line tells the agent to say what is not so.
pub(super) fn deceives(text: &str) -> bool {
    DECEIVE.is_in(text)
}

/// Whether such words are quoted or spoken of.
pub(super) fn is_quoted(text: &str) -> bool {
    // The quotes around a value of the head belong to its notation.
    let value = text.split_once(": ").filter(|(key, value)| {
        !key.contains(' ') && value.starts_with(['"', '\'']) && value.ends_with(['"', '\''])
    });
    let text = value.map_or(text, |(_, value)| value.trim_matches(['"', '\'']));
    QUOTED.is_in(&about::without_names(text))
}

pub(super) fn look(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have(WordKinds::ORDER) {
        return;
    }
    let text = line.text.as_str();
    // In a program these are mostly words it looks for.
    let spoken = page.kind == ScannedKind::Prose && line.zone == LineZone::Prose;
    let quoted = is_quoted(text);
    let weight = |weight: SignWeight| match (spoken, quoted) {
        (true, false) => weight,
        // Whoever quotes such words adds nothing to other doubts.
        (true, true) => SignWeight::Note,
        (false, false) if page.kind == ScannedKind::Prose => weight.min(SignWeight::Suspicious),
        (false, _) => SignWeight::Note,
    };
    if IGNORE.is_in(text) {
        signs.push(LineSign::order(
            "agent-override",
            weight(SignWeight::Dangerous),
            "tells the agent to drop its rules",
        ));
    } else if NEW_ROLE.is_in(text) {
        signs.push(LineSign::order(
            "agent-override",
            weight(SignWeight::Dangerous),
            "tells the agent that it has no rules",
        ));
    }
    if UNGUARDED.is_in(text) {
        signs.push(LineSign::new(
            "agent-override",
            weight(SignWeight::Dangerous),
            "tells the agent to turn off your protections",
        ));
    }
    if HIDE.is_in(text) && page.kind == ScannedKind::Prose {
        behind_your_back(page, at, signs);
    }
    if NO_ASK.is_in(text) {
        signs.push(LineSign::new(
            "no-questions",
            SignWeight::Note,
            "wants the agent to act without asking you",
        ));
    }
    if PROMPT.is_in(text) && page.kind == ScannedKind::Prose {
        signs.push(LineSign::new(
            "prompt-leak",
            weight(SignWeight::Suspicious),
            "asks for the agent's own instructions or keys",
        ));
    }
    if LOOP.is_in(text) {
        signs.push(LineSign::new(
            "endless",
            SignWeight::Suspicious,
            "tells the agent to keep going without end",
        ));
    }
}

/// How bad it is to keep something from the owner: by what it is.
fn behind_your_back(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    let harm = page.near(at, 4).iter().any(|near| {
        let sends = near.words.have(WordKinds::LINK)
            && near
                .words
                .have_any(WordKinds::POST | WordKinds::FETCH | WordKinds::UPLOAD)
            && links(&near.text)
                .iter()
                .any(|link| !matches!(link.place, AddressPlace::Near | AddressPlace::Installer));
        sends || leak::secret_in(near).is_some() || drops_rules(&near.text)
    });
    let plain = [
        "secretly",
        "covertly",
        "stealthily",
        "knowledge",
        "knowing",
        "awareness",
    ]
    .iter()
    .any(|word| text.contains(word));
    let acts = line.words.have(WordKinds::ACT)
        && ["silently", "quietly", "background", "hidden"]
            .iter()
            .any(|word| text.contains(word));
    let weight = match (harm, plain || acts) {
        _ if line.zone == LineZone::Code || QUOTED.is_in(text) => SignWeight::Note,
        (true, _) => SignWeight::Dangerous,
        (false, true) => SignWeight::Suspicious,
        _ => SignWeight::Note,
    };
    signs.push(LineSign::order(
        "behind-your-back",
        weight,
        "tells the agent to hide something from you",
    ));
}
