//! Orders to the agent that no skill may give: against its rules, or behind its owner's back.

use super::pattern::patterns;
use super::{Sign, Weight, leak};
use crate::inspect::about;
use crate::inspect::hosts::{Place, links};
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

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

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have(Words::ORDER) {
        return;
    }
    let text = line.text.as_str();
    // In a program these are mostly words it looks for.
    let spoken = page.kind == Kind::Prose && line.zone == Zone::Prose;
    let quoted = is_quoted(text);
    let weight = |weight: Weight| match (spoken, quoted) {
        (true, false) => weight,
        // Whoever quotes such words adds nothing to other doubts.
        (true, true) => Weight::Note,
        (false, false) if page.kind == Kind::Prose => weight.min(Weight::Suspicious),
        (false, _) => Weight::Note,
    };
    if IGNORE.is_in(text) {
        signs.push(Sign::order(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent to drop its rules",
        ));
    } else if NEW_ROLE.is_in(text) {
        signs.push(Sign::order(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent that it is something without rules",
        ));
    }
    if UNGUARDED.is_in(text) {
        signs.push(Sign::new(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent to switch off what protects you",
        ));
    }
    if HIDE.is_in(text) && page.kind == Kind::Prose {
        behind_your_back(page, at, signs);
    }
    if NO_ASK.is_in(text) {
        signs.push(Sign::new(
            "no-questions",
            Weight::Note,
            "wants things done without asking you",
        ));
    }
    if PROMPT.is_in(text) && page.kind == Kind::Prose {
        signs.push(Sign::new(
            "prompt-leak",
            weight(Weight::Suspicious),
            "asks for the agent's own instructions or keys",
        ));
    }
    if LOOP.is_in(text) {
        signs.push(Sign::new(
            "endless",
            Weight::Suspicious,
            "tells the agent to go on without end",
        ));
    }
}

/// How bad it is to keep something from the owner: by what it is.
fn behind_your_back(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    let harm = page.near(at, 4).iter().any(|near| {
        let sends = near.words.have(Words::LINK)
            && near
                .words
                .have_any(Words::POST | Words::FETCH | Words::UPLOAD)
            && links(&near.text)
                .iter()
                .any(|link| !matches!(link.place, Place::Near | Place::Installer));
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
    let acts = line.words.have(Words::ACT)
        && ["silently", "quietly", "background", "hidden"]
            .iter()
            .any(|word| text.contains(word));
    let weight = match (harm, plain || acts) {
        _ if line.zone == Zone::Code || QUOTED.is_in(text) => Weight::Note,
        (true, _) => Weight::Dangerous,
        (false, true) => Weight::Suspicious,
        _ => Weight::Note,
    };
    signs.push(Sign::order(
        "behind-your-back",
        weight,
        "tells the agent to keep something from you",
    ));
}
