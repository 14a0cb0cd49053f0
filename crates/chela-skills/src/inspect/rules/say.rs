//! Sentences that have the agent do harm: send what is private, pay somebody, change what it
//! lives by, take an order for one of its owner's.

use super::pattern::patterns;
use super::{LineSign, SignWeight, leak, order};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::hosts::{AddressPlace, KnownSites, LineLink, links};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedKind, ScannedLine};
use crate::inspect::words::WordKinds;

patterns! {
    "say.txt":
    PRIVATE, PERSONAL, SEND, SEND_TO, CARRY, SILENT, READS, MUST, TURN, TURN_ORDER, PAY, ADDRESS,
    UNASKED, LIVES_BY, PUTS, KEEPS, REMOTE_ORDERS, KEY_IN_QUERY, ASKS_SECRET,
}

pub(super) fn look(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if page.kind != ScannedKind::Prose {
        return;
    }
    if line.words.have_any(WordKinds::UPLOAD | WordKinds::ACT) {
        sends(page, at, known, signs);
    }
    if line.words.have(WordKinds::LINK)
        && line.zone == LineZone::Prose
        && line
            .words
            .have_any(WordKinds::POST | WordKinds::FETCH | WordKinds::UPLOAD)
        && SILENT.is_in(&line.text)
        && links(&line.text).iter().any(|link| foreign(link, known))
    {
        let weight = if line.words.have(WordKinds::UPLOAD) || line.words.have(WordKinds::ALWAYS) {
            SignWeight::Dangerous
        } else {
            SignWeight::Suspicious
        };
        let what = "has the agent open an unrelated URL without saying so";
        signs.push(LineSign::order("behind-your-back", weight, what));
    }
    if line.words.have(WordKinds::TURN) {
        turn(page, at, signs);
    }
    if line.words.have(WordKinds::WRITE) {
        lives_by(page, at, signs);
    }
    let text = line.text.as_str();
    if line
        .words
        .have_any(WordKinds::ACT | WordKinds::ORDER | WordKinds::ALWAYS)
        && PAY.is_in(text)
    {
        pays(page, at, signs);
    }
    if line.words.have(WordKinds::ACT) && line.zone == LineZone::Prose && REMOTE_ORDERS.is_in(text)
    {
        let targets = links(text);
        let strange = targets.iter().any(|link| foreign(link, known));
        let weight = match (strange, targets.is_empty()) {
            (true, _) => SignWeight::Dangerous,
            (false, true) => SignWeight::Suspicious,
            (false, false) => SignWeight::Note,
        };
        let what = "has the agent do whatever a remote text says";
        signs.push(LineSign::order("remote-orders", weight, what));
    }
    if line.words.have(WordKinds::SECRET | WordKinds::ACT)
        && line.zone == LineZone::Prose
        && KEY_IN_QUERY.is_in(text)
    {
        let what = "has the agent put a key into every URL it opens";
        signs.push(LineSign::new("secrets-out", SignWeight::Dangerous, what));
    }
    if line.words.have(WordKinds::SECRET) && line.zone == LineZone::Prose && ASKS_SECRET.is_in(text)
    {
        let sends = page
            .near(at, 4)
            .iter()
            .any(|near| near.words.have(WordKinds::UPLOAD) && SEND_TO.is_in(&near.text));
        let weight = if sends {
            SignWeight::Suspicious
        } else {
            SignWeight::Note
        };
        let what = "has the agent get a password or key out of a person";
        signs.push(LineSign::new("asks-for-keys", weight, what));
    }
}

/// Several kinds of secrets that a text has the agent read, one after the other.
pub(super) fn hoard(page: &ScannedFile) -> Option<SkillFinding> {
    /// More kinds than any one task needs.
    const MANY: usize = 4;
    if page.kind != ScannedKind::Prose {
        return None;
    }
    let read: Vec<(&ScannedLine, leak::SecretKind)> = page
        .lines
        .iter()
        .filter(|line| line.about == LineStance::Nothing && line.zone == LineZone::Prose)
        .filter(|line| line.words.have(WordKinds::SECRET) && READS.is_in(&line.text))
        .filter_map(|line| Some((line, leak::secret_in(line)?)))
        .collect();
    let (first, _) = read.first()?;
    let mut kinds: Vec<leak::SecretKind> = read
        .iter()
        .filter(|(line, _)| line.number <= first.number + 20)
        .map(|(_, secret)| *secret)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds.len() >= MANY).then(|| {
        let what = "has the agent read one kind of secret after the other";
        let sign = LineSign::new("secrets-gathered", SignWeight::Dangerous, what);
        super::finding(&page.path, first, &sign)
    })
}

/// Something private and a way out of the machine, in a sentence or in neighbouring ones.
fn sends(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    let here_private = line.words.have(WordKinds::SECRET) && PRIVATE.is_in(text);
    let here_personal = !here_private && line.zone == LineZone::Prose && PERSONAL.is_in(text);
    if !here_private && !here_personal {
        return;
    }
    if here_private && CARRY.is_in(text) {
        let pressed = order::hides(text)
            || SILENT.is_in(text)
            || line.words.have(WordKinds::ALWAYS)
            || TURN.is_in(text);
        let weight = if pressed {
            SignWeight::Dangerous
        } else {
            SignWeight::Note
        };
        let what = "has the agent carry something private out in its own words";
        signs.push(LineSign::new("secrets-out", weight, what));
    }
    let near = step(page, at);
    let sending = |near: &&ScannedLine| {
        near.words.have_any(WordKinds::UPLOAD | WordKinds::POST)
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
            .any(|link| known.has(link) || link.place == AddressPlace::Installer);
    let pressed = near.iter().any(|near| MUST.is_in(&near.text));
    let hidden = near.iter().any(|near| order::hides(&near.text));
    let same = out.number == line.number;
    let weight = match (here_private, to_stranger) {
        _ if to_own => SignWeight::Note,
        (true, true) => SignWeight::Dangerous,
        (true, false) if same && (hidden || line.words.have(WordKinds::ALWAYS)) => {
            SignWeight::Dangerous
        }
        (true, false) if same && line.words.have(WordKinds::ALWAYS) => SignWeight::Suspicious,
        (false, true) if same && (pressed || hidden) => SignWeight::Dangerous,
        (false, true) if same || pressed || hidden => SignWeight::Suspicious,
        (false, false) if same && hidden => SignWeight::Suspicious,
        _ => SignWeight::Note,
    };
    let what = "says to send something private to a host unrelated to the skill";
    let told = page
        .lines
        .get(at)
        .is_some_and(|line| line.about == LineStance::Nothing);
    if weight > SignWeight::Note || told {
        signs.push(LineSign::new("secrets-out", weight, what));
    }
}

/// The line and those that belong to the same few sentences.
fn step(page: &ScannedFile, at: usize) -> Vec<&ScannedLine> {
    page.near(at, 3).iter().collect()
}

fn foreign(link: &LineLink, known: &KnownSites) -> bool {
    match link.place {
        AddressPlace::Site => !known.has(link),
        AddressPlace::Forge | AddressPlace::Near | AddressPlace::Installer => false,
        _ => true,
    }
}

/// Text that poses as a turn of the conversation or as its system part.
fn turn(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if line.zone == LineZone::Code || !TURN.is_in(&line.text) || order::is_quoted(&line.text) {
        return;
    }
    let after = page
        .lines
        .iter()
        .skip(at)
        .take(4)
        .filter(|next| next.number <= line.number + 4);
    let mut weight = SignWeight::Note;
    for next in after {
        let acts =
            next.words.have_any(WordKinds::ACT | WordKinds::ORDER) && TURN_ORDER.is_in(&next.text);
        let bad = order::drops_rules(&next.text)
            || order::hides(&next.text)
            || (SEND_TO.is_in(&next.text)
                && (PRIVATE.is_in(&next.text) || PERSONAL.is_in(&next.text)));
        weight = weight.max(match (bad, acts) {
            (true, _) => SignWeight::Dangerous,
            (false, true) if !line.text.contains("<important>") => SignWeight::Suspicious,
            _ => SignWeight::Note,
        });
    }
    let what = "poses as the system prompt to give the agent instructions";
    signs.push(LineSign::order("posing-turn", weight, what));
}

/// Orders that are to stay with the agent.
fn lives_by(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    if line.zone == LineZone::Code || !LIVES_BY.is_in(text) || !PUTS.is_in(text) {
        return;
    }
    let near = page.near(at, 5);
    let bad = near.iter().any(|near| {
        order::drops_rules(&near.text)
            || order::hides(&near.text)
            || (near.words.have(WordKinds::FETCH | WordKinds::LINK)
                && near.words.have(WordKinds::SHELL))
    });
    let keeps = near.iter().any(|near| KEEPS.is_in(&near.text));
    let unasked = near.iter().any(|near| UNASKED.is_in(&near.text));
    let weight = match (bad, keeps, unasked) {
        (true, _, _) => SignWeight::Dangerous,
        (false, true, true) => SignWeight::Suspicious,
        _ => SignWeight::Note,
    };
    let what = "has the agent change its core files, so that an instruction persists";
    signs.push(LineSign::order("agent-file", weight, what));
}

/// Money on its way to somebody the skill names.
fn pays(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if line.zone == LineZone::Code {
        return;
    }
    let near = page.near(at, 3);
    let named = near.iter().any(|near| ADDRESS.is_in(&near.text));
    let unasked = near
        .iter()
        .any(|near| UNASKED.is_in(&near.text) || order::hides(&near.text));
    let weight = match (named, unasked) {
        (true, true) => SignWeight::Dangerous,
        (true, false) => SignWeight::Suspicious,
        _ => SignWeight::Note,
    };
    let what = "has the agent send money to someone the skill names";
    signs.push(LineSign::order("moves-money", weight, what));
}
