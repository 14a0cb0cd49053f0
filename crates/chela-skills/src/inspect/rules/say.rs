//! Sentences that have the agent do harm: send what is private, pay somebody, change what it
//! lives by, take an order for one of its owner's.

use super::pattern::patterns;
use super::{Sign, Weight, leak, order};
use crate::finding::Finding;
use crate::inspect::about::About;
use crate::inspect::hosts::{Known, Link, Place, links};
use crate::inspect::page::{Kind, Line, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    "say.txt":
    PRIVATE, PERSONAL, SEND, SEND_TO, CARRY, SILENT, READS, MUST, TURN, TURN_ORDER, PAY, ADDRESS,
    UNASKED, LIVES_BY, PUTS, KEEPS, REMOTE_ORDERS, KEY_IN_QUERY, ASKS_SECRET,
}

pub(super) fn look(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if page.kind != Kind::Prose {
        return;
    }
    if line.words.have_any(Words::UPLOAD | Words::ACT) {
        sends(page, at, known, signs);
    }
    if line.words.have(Words::LINK)
        && line.zone == Zone::Prose
        && line
            .words
            .have_any(Words::POST | Words::FETCH | Words::UPLOAD)
        && SILENT.is_in(&line.text)
        && links(&line.text).iter().any(|link| foreign(link, known))
    {
        let weight = if line.words.have(Words::UPLOAD) || line.words.have(Words::ALWAYS) {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        let what = "has the agent go to a strange address without a word";
        signs.push(Sign::order("behind-your-back", weight, what));
    }
    if line.words.have(Words::TURN) {
        turn(page, at, signs);
    }
    if line.words.have(Words::WRITE) {
        lives_by(page, at, signs);
    }
    let text = line.text.as_str();
    if line
        .words
        .have_any(Words::ACT | Words::ORDER | Words::ALWAYS)
        && PAY.is_in(text)
    {
        pays(page, at, signs);
    }
    if line.words.have(Words::ACT) && line.zone == Zone::Prose && REMOTE_ORDERS.is_in(text) {
        let targets = links(text);
        let strange = targets.iter().any(|link| foreign(link, known));
        let weight = match (strange, targets.is_empty()) {
            (true, _) => Weight::Dangerous,
            (false, true) => Weight::Suspicious,
            (false, false) => Weight::Note,
        };
        let what = "has the agent do whatever a remote text says";
        signs.push(Sign::order("remote-orders", weight, what));
    }
    if line.words.have(Words::SECRET | Words::ACT)
        && line.zone == Zone::Prose
        && KEY_IN_QUERY.is_in(text)
    {
        let what = "has the agent put a key into every address it opens";
        signs.push(Sign::new("secrets-out", Weight::Dangerous, what));
    }
    if line.words.have(Words::SECRET) && line.zone == Zone::Prose && ASKS_SECRET.is_in(text) {
        let sends = page
            .near(at, 4)
            .iter()
            .any(|near| near.words.have(Words::UPLOAD) && SEND_TO.is_in(&near.text));
        let weight = if sends {
            Weight::Suspicious
        } else {
            Weight::Note
        };
        let what = "has the agent get a password or key out of a person";
        signs.push(Sign::new("asks-for-keys", weight, what));
    }
}

/// Several kinds of secrets that a text has the agent read, one after the other.
pub(super) fn hoard(page: &Page) -> Option<Finding> {
    /// More kinds than any one task needs.
    const MANY: usize = 4;
    if page.kind != Kind::Prose {
        return None;
    }
    let read: Vec<(&Line, leak::Secret)> = page
        .lines
        .iter()
        .filter(|line| line.about == About::Nothing && line.zone == Zone::Prose)
        .filter(|line| line.words.have(Words::SECRET) && READS.is_in(&line.text))
        .filter_map(|line| Some((line, leak::secret_in(line)?)))
        .collect();
    let (first, _) = read.first()?;
    let mut kinds: Vec<leak::Secret> = read
        .iter()
        .filter(|(line, _)| line.number <= first.number + 20)
        .map(|(_, secret)| *secret)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds.len() >= MANY).then(|| {
        let what = "has the agent read one kind of secret after the other";
        let sign = Sign::new("secrets-gathered", Weight::Dangerous, what);
        super::finding(&page.path, first, &sign)
    })
}

/// Something private and a way out of the machine, in a sentence or in neighbouring ones.
fn sends(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    let here_private = line.words.have(Words::SECRET) && PRIVATE.is_in(text);
    let here_personal = !here_private && line.zone == Zone::Prose && PERSONAL.is_in(text);
    if !here_private && !here_personal {
        return;
    }
    if here_private && CARRY.is_in(text) {
        let pressed = order::hides(text)
            || SILENT.is_in(text)
            || line.words.have(Words::ALWAYS)
            || TURN.is_in(text);
        let weight = if pressed {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        let what = "has the agent carry something private out in its own words";
        signs.push(Sign::new("secrets-out", weight, what));
    }
    let near = step(page, at);
    let sending = |near: &&Line| {
        near.words.have_any(Words::UPLOAD | Words::POST)
            && (SEND_TO.is_in(&near.text)
                || (SEND.is_in(&near.text)
                    && links(&near.text).iter().any(|link| foreign(link, known))))
    };
    let Some(out) = near.iter().find(|near| sending(near)) else {
        return;
    };
    let out_links = links(&out.text);
    let to_stranger = out_links.iter().any(|link| foreign(link, known));
    let to_own = !to_stranger
        && out_links
            .iter()
            .any(|link| known.has(link) || link.place == Place::Installer);
    let pressed = near.iter().any(|near| MUST.is_in(&near.text));
    let hidden = near.iter().any(|near| order::hides(&near.text));
    let same = out.number == line.number;
    let weight = match (here_private, to_stranger) {
        _ if to_own => Weight::Note,
        (true, true) => Weight::Dangerous,
        (true, false) if same && (hidden || line.words.have(Words::ALWAYS)) => Weight::Dangerous,
        (true, false) if same && line.words.have(Words::ALWAYS) => Weight::Suspicious,
        (false, true) if same && (pressed || hidden) => Weight::Dangerous,
        (false, true) if same || pressed || hidden => Weight::Suspicious,
        (false, false) if same && hidden => Weight::Suspicious,
        _ => Weight::Note,
    };
    let what = "says to send something private to a place the skill is not about";
    let told = page
        .lines
        .get(at)
        .is_some_and(|line| line.about == About::Nothing);
    if weight > Weight::Note || told {
        signs.push(Sign::new("secrets-out", weight, what));
    }
}

/// The line and those that belong to the same few sentences.
fn step(page: &Page, at: usize) -> Vec<&Line> {
    page.near(at, 3).iter().collect()
}

fn foreign(link: &Link, known: &Known) -> bool {
    match link.place {
        Place::Site => !known.has(link),
        Place::Forge | Place::Near | Place::Installer => false,
        _ => true,
    }
}

/// Text that poses as a turn of the conversation or as its system part.
fn turn(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if line.zone == Zone::Code || !TURN.is_in(&line.text) || order::is_quoted(&line.text) {
        return;
    }
    let after = page
        .lines
        .iter()
        .skip(at)
        .take(4)
        .filter(|next| next.number <= line.number + 4);
    let mut weight = Weight::Note;
    for next in after {
        let acts = next.words.have_any(Words::ACT | Words::ORDER) && TURN_ORDER.is_in(&next.text);
        let bad = order::drops_rules(&next.text)
            || order::hides(&next.text)
            || (SEND_TO.is_in(&next.text)
                && (PRIVATE.is_in(&next.text) || PERSONAL.is_in(&next.text)));
        weight = weight.max(match (bad, acts) {
            (true, _) => Weight::Dangerous,
            (false, true) if !line.text.contains("<important>") => Weight::Suspicious,
            _ => Weight::Note,
        });
    }
    let what = "poses as the system's own words to give the agent an order";
    signs.push(Sign::order("posing-turn", weight, what));
}

/// Orders that are to stay with the agent.
fn lives_by(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    if line.zone == Zone::Code || !LIVES_BY.is_in(text) || !PUTS.is_in(text) {
        return;
    }
    let near = page.near(at, 5);
    let bad = near.iter().any(|near| {
        order::drops_rules(&near.text)
            || order::hides(&near.text)
            || (near.words.have(Words::FETCH | Words::LINK) && near.words.have(Words::SHELL))
    });
    let keeps = near.iter().any(|near| KEEPS.is_in(&near.text));
    let unasked = near.iter().any(|near| UNASKED.is_in(&near.text));
    let weight = match (bad, keeps, unasked) {
        (true, _, _) => Weight::Dangerous,
        (false, true, true) => Weight::Suspicious,
        _ => Weight::Note,
    };
    let what = "has the agent change what it lives by, so that an order stays";
    signs.push(Sign::order("agent-file", weight, what));
}

/// Money on its way to somebody the skill names.
fn pays(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if line.zone == Zone::Code {
        return;
    }
    let near = page.near(at, 3);
    let named = near.iter().any(|near| ADDRESS.is_in(&near.text));
    let unasked = near
        .iter()
        .any(|near| UNASKED.is_in(&near.text) || order::hides(&near.text));
    let weight = match (named, unasked) {
        (true, true) => Weight::Dangerous,
        (true, false) => Weight::Suspicious,
        _ => Weight::Note,
    };
    let what = "has the agent move money to somebody the skill names";
    signs.push(Sign::order("moves-money", weight, what));
}
