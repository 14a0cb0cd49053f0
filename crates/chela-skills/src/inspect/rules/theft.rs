//! Credentials of somebody else in a package that sends: judged by the constants of all of its
//! code. A path may be put together from pieces, in a function or in another file than the one
//! that sends.

use super::gather::Sink;
use super::{LineSign, SignWeight};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::hosts::{AddressPlace, KnownSites, LineLink, links};
use crate::inspect::scanned_file::{ScannedFile, ScannedKind, ScannedLine};
use crate::inspect::tables::rule_lists;
use crate::inspect::words::WordKinds;

rule_lists! {
    "theft.txt":
    AGENT_FOLDERS, AGENT_SECRETS, AGENT_ROOMS, STORES, SPACED_STORES, HOME, OWN_PLACE, AS_KEY,
}

/// A store of credentials that the code of a package names.
struct NamedStore<'a> {
    page: &'a ScannedFile,
    line: &'a ScannedLine,
    /// Whether a skill may be given a key of its own in there.
    shared: bool,
}

/// The worst that is read and sent, if anything is.
pub(super) fn look(
    pages: &[ScannedFile],
    sinks: &[Sink<'_>],
    known: &KnownSites,
) -> Option<SkillFinding> {
    if sinks.is_empty() || !finds_home(pages) {
        return None;
    }
    let stores: Vec<NamedStore<'_>> = programs(pages).filter_map(named_store).collect();
    let store = stores
        .iter()
        .find(|store| !store.shared)
        .or_else(|| stores.first())?;
    let weight = sinks
        .iter()
        .filter_map(|sink| weigh(pages, sink, store, known))
        .max()?;
    let what = "reads stored credentials in a package that sends to a place it does not declare";
    let sign = LineSign::new("credential-theft", weight, what);
    Some(super::finding(&store.page.path, store.line, &sign))
}

fn programs(pages: &[ScannedFile]) -> impl Iterator<Item = &ScannedFile> {
    pages
        .iter()
        .filter(|page| page.kind == ScannedKind::Code && !super::gather::is_data(&page.path))
}

fn done(page: &ScannedFile) -> impl Iterator<Item = &ScannedLine> {
    page.lines
        .iter()
        .filter(|line| line.about == LineStance::Nothing && !is_remark(&line.text))
}

fn is_remark(text: &str) -> bool {
    text.starts_with(['#', '*']) || text.starts_with("//") || text.starts_with("/*")
}

fn finds_home(pages: &[ScannedFile]) -> bool {
    programs(pages)
        .flat_map(done)
        .any(|line| HOME.iter().any(|word| line.text.contains(word)))
}

fn named_store(page: &ScannedFile) -> Option<NamedStore<'_>> {
    let named = |line, shared| NamedStore { page, line, shared };
    let spaced = done(page).find(|line| {
        let text = &line.text;
        SPACED_STORES.iter().any(|store| text.contains(store)) && text.contains(['"', '\''])
    });
    if let Some(line) = spaced.filter(|_| page.lines.iter().any(is_browser)) {
        return Some(named(line, false));
    }
    let foreign = STORES.iter().find_map(|store| {
        let words: Vec<&str> = store.split(' ').collect();
        let within = |line: &&ScannedLine| {
            let here: Vec<&str> = parts(&line.text).collect();
            words.iter().all(|word| here.contains(word))
        };
        done(page)
            .find(within)
            .or_else(|| put_together(page, &words))
    });
    if let Some(line) = foreign {
        return Some(named(line, false));
    }
    agent_store(page).map(|line| named(line, true))
}

/// The line with the last piece of a path whose pieces stand in different lines.
fn put_together<'a>(page: &'a ScannedFile, words: &[&str]) -> Option<&'a ScannedLine> {
    let mut last = None;
    for word in words {
        // Everything has a config somewhere.
        if *word == "config" {
            return None;
        }
        last = Some(done(page).find(|line| is_piece(&line.text, word))?);
    }
    last
}

/// Whether a word is a literal of its own, or the end of a path.
fn is_piece(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        let ends = |c: char| matches!(c, '"' | '\'' | '`' | ')' | '|' | ';') || c.is_whitespace();
        before.is_some_and(|c| matches!(c, '"' | '\'' | '`' | '/')) && after.is_none_or(ends)
    })
}

fn is_browser(line: &ScannedLine) -> bool {
    ["chrome", "brave", "edge", "chromium"]
        .iter()
        .any(|name| line.text.contains(name))
}

/// Where the secrets of an agent are named: in one path, or its folder in one place and the file in
/// another.
fn agent_store(page: &ScannedFile) -> Option<&ScannedLine> {
    let mut folder = None;
    for line in done(page) {
        let words: Vec<&str> = parts(&line.text).collect();
        for (at, word) in words.iter().enumerate() {
            if !AGENT_FOLDERS.contains(word) {
                continue;
            }
            match words.get(at + 1) {
                Some(next) if AGENT_SECRETS.contains(next) => return Some(line),
                Some(next) if AGENT_ROOMS.contains(next) => {}
                _ => folder = folder.or(Some(line)),
            }
        }
    }
    folder?;
    done(page).find(|line| {
        let own = OWN_PLACE.iter().any(|word| line.text.contains(word));
        !own && AGENT_SECRETS
            .iter()
            .any(|secret| is_piece(&line.text, secret))
    })
}

/// The parts of the paths in a line.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
        .filter(|part| !part.is_empty())
}

fn weigh(
    pages: &[ScannedFile],
    sink: &Sink<'_>,
    store: &NamedStore<'_>,
    known: &KnownSites,
) -> Option<SignWeight> {
    // There a key is used, not sent.
    if sink.line.text.contains("paramiko") {
        return None;
    }
    let targets = targets(pages, sink);
    if targets.is_empty() {
        return Some(SignWeight::Suspicious);
    }
    targets
        .iter()
        .filter_map(|link| match link.place {
            AddressPlace::Near | AddressPlace::Installer => None,
            AddressPlace::Site | AddressPlace::Forge if known.has(link) => match store.shared {
                true => None,
                // Nobody's own service needs somebody else's keys.
                false => Some(SignWeight::Suspicious),
            },
            AddressPlace::Site if store.shared && is_told(pages, link) => {
                let as_key = sink.page.lines.iter().any(is_key);
                Some(match as_key {
                    true => SignWeight::Note,
                    false => SignWeight::Suspicious,
                })
            }
            _ => Some(SignWeight::Dangerous),
        })
        .max()
}

fn is_key(line: &ScannedLine) -> bool {
    AS_KEY.iter().any(|word| line.text.contains(word))
}

/// Whether the owner, who reads what the skill says of itself, reads of a host.
fn is_told(pages: &[ScannedFile], link: &LineLink) -> bool {
    let skill = pages.iter().find(|page| page.path == crate::SKILL_FILE);
    skill.is_some_and(|page| {
        page.lines
            .iter()
            .any(|line| line.text.contains(link.host()))
    })
}

/// Where something is sent: what the line says, or else its file, or else the package.
fn targets(pages: &[ScannedFile], sink: &Sink<'_>) -> Vec<LineLink> {
    let own = links(&sink.line.text);
    if !own.is_empty() {
        return own;
    }
    let of = |page: &ScannedFile| -> Vec<LineLink> {
        done(page)
            .filter(|line| line.words.have_any(WordKinds::LINK | WordKinds::BAD_HOST))
            .flat_map(|line| links(&line.text))
            .filter(|link| link.place != AddressPlace::Forge)
            .collect()
    };
    let here = of(sink.page);
    if !here.is_empty() {
        return here;
    }
    programs(pages).flat_map(of).collect()
}
