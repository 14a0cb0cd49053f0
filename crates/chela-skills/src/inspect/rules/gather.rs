//! Secrets gathered in one file and a way out in another: what only the whole package shows.

use std::collections::BTreeSet;

use super::leak::{self, SecretKind};
use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::hosts::{AddressPlace, KnownSites, LineLink, links};
use crate::inspect::scanned_file::{ScannedFile, ScannedKind, ScannedLine};
use crate::inspect::words::WordKinds;

patterns! {
    "gather.txt":
    ENV_WALK, SIFTS, NAMED_KEY, BODY, HEADERS, OFFLINE, READS, COMMAND_IN_DATA, SENDS,
}

/// What a package takes: where it stands and how sure it is.
struct Taking<'a> {
    page: &'a ScannedFile,
    line: &'a ScannedLine,
    secret: SecretKind,
}

/// A line that sends, and the file it stands in.
pub(super) struct Sink<'a> {
    pub page: &'a ScannedFile,
    pub line: &'a ScannedLine,
}

/// Every line of a package that sends.
pub(super) fn all_sinks(pages: &[ScannedFile]) -> Vec<Sink<'_>> {
    pages.iter().flat_map(sinks).collect()
}

pub(super) fn look(
    pages: &[ScannedFile],
    sinks: &[Sink<'_>],
    known: &KnownSites,
) -> Vec<SkillFinding> {
    let mut found: Vec<SkillFinding> = gathered(pages, sinks, known).into_iter().collect();
    found.extend(broken_promise(pages, known));
    found
}

/// A package that says nothing leaves the machine, and a program in it that sends.
fn broken_promise(pages: &[ScannedFile], known: &KnownSites) -> Option<SkillFinding> {
    let promises = pages
        .iter()
        .filter(|page| page.kind == ScannedKind::Prose && page.path == crate::SKILL_FILE)
        .flat_map(|page| page.lines.iter())
        .any(|line| OFFLINE.is_in(&line.text));
    if !promises {
        return None;
    }
    let sink = pages.iter().flat_map(sinks).find(|sink| {
        links(&sink.line.text).iter().any(|link| match link.place {
            AddressPlace::Site => !known.has(link),
            AddressPlace::Near | AddressPlace::Installer | AddressPlace::Forge => false,
            _ => true,
        })
    })?;
    let Sink { page, line } = sink;
    let what = "sends to a strange place, though the skill says that nothing leaves the machine";
    let posts = ["post", "--data", " -d ", "put("]
        .iter()
        .any(|word| line.text.contains(word));
    let weight = if posts {
        SignWeight::Dangerous
    } else {
        SignWeight::Suspicious
    };
    let sign = LineSign::new("broken-promise", weight, what);
    Some(super::finding(&page.path, line, &sign))
}

fn gathered(pages: &[ScannedFile], sinks: &[Sink<'_>], known: &KnownSites) -> Option<SkillFinding> {
    if sinks.is_empty() {
        return None;
    }
    let takings: Vec<Taking<'_>> = pages.iter().flat_map(takings).collect();
    let Some(first) = takings.first() else {
        return many_keys(pages, sinks, known);
    };
    let mut kinds: Vec<SecretKind> = takings.iter().map(|taking| taking.secret).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let targets: Vec<LineLink> = sinks
        .iter()
        .flat_map(|sink| targets(sink.page, sink.line))
        .collect();
    let foreign = targets.iter().any(|link| match link.place {
        AddressPlace::Site | AddressPlace::Forge => !known.has(link),
        AddressPlace::Near | AddressPlace::Installer => false,
        _ => true,
    });
    let odd = targets.iter().any(|link| {
        matches!(
            link.place,
            AddressPlace::RawIp
                | AddressPlace::ExampleIp
                | AddressPlace::Paste
                | AddressPlace::Inbox
                | AddressPlace::Tunnel
        )
    });
    let sifted = takings
        .iter()
        .find(|taking| taking.secret == SecretKind::Environment);
    let strong = takings.iter().find(|taking| {
        matches!(
            taking.secret,
            SecretKind::Keys | SecretKind::Browser | SecretKind::Keychain | SecretKind::Wallet
        )
    });
    let (taking, weight) = match (sifted, strong) {
        (Some(sifted), _) if foreign => (sifted, SignWeight::Dangerous),
        (_, Some(strong)) if foreign => (strong, SignWeight::Dangerous),
        _ if odd => (first, SignWeight::Dangerous),
        _ if foreign && kinds.len() >= 2 => (first, SignWeight::Dangerous),
        _ if foreign => {
            return many_keys(pages, sinks, known)
                .or_else(|| Some(remark(first.page, first.line, SignWeight::Suspicious)));
        }
        _ => return None,
    };
    Some(remark(taking.page, taking.line, weight))
}

fn remark(page: &ScannedFile, line: &ScannedLine, weight: SignWeight) -> SkillFinding {
    let what = "reads secrets in a package that also sends to a place it is not about";
    let sign = LineSign::new("secrets-gathered", weight, what);
    super::finding(&page.path, line, &sign)
}

/// Keys of services the package has nothing to do with, and a way out.
fn many_keys(
    pages: &[ScannedFile],
    sinks: &[Sink<'_>],
    known: &KnownSites,
) -> Option<SkillFinding> {
    let regex = NAMED_KEY.regex()?;
    for Sink { page, line: sink } in sinks {
        let strange = targets(page, sink).iter().any(|link| match link.place {
            AddressPlace::Site => !known.has(link),
            AddressPlace::Near | AddressPlace::Installer | AddressPlace::Forge => false,
            _ => true,
        });
        if !strange {
            continue;
        }
        let mut services: BTreeSet<&str> = BTreeSet::new();
        let mut first = None;
        for line in page
            .lines
            .iter()
            .filter(|line| line.words.have(WordKinds::SECRET))
        {
            for service in regex
                .captures_iter(&line.text)
                .filter_map(|groups| groups.get(1))
            {
                services.insert(service.as_str());
                first = first.or(Some(line));
            }
        }
        let many = services.len() >= MANY_SERVICES;
        // A program that works with a service speaks of it beyond the name of its key.
        services.retain(|service| {
            if many {
                return true;
            }
            let key = format!("{service}_");
            !pages
                .iter()
                .flat_map(|page| page.lines.iter())
                .any(|line| line.text.contains(service) && !line.text.contains(&key))
        });
        if let Some(line) = first.filter(|_| !services.is_empty()) {
            let weight = if services.len() >= 2 || is_body(page, sink) {
                SignWeight::Dangerous
            } else {
                SignWeight::Suspicious
            };
            return Some(remark(page, line, weight));
        }
    }
    None
}

/// Nobody needs the keys of this many at once.
const MANY_SERVICES: usize = 3;

/// Whether a line that sends does so in the body rather than as a key of its own.
fn is_body(page: &ScannedFile, sink: &ScannedLine) -> bool {
    let at = page
        .lines
        .iter()
        .position(|line| line.number == sink.number);
    let statement = || page.lines.iter().skip(at.unwrap_or(usize::MAX)).take(5);
    statement().any(|line| BODY.is_in(&line.text))
        && !statement().any(|line| HEADERS.is_in(&line.text))
}

fn takings(page: &ScannedFile) -> Vec<Taking<'_>> {
    if page.kind != ScannedKind::Code {
        return Vec::new();
    }
    let data = is_data(&page.path);
    let mut found = Vec::new();
    for (at, line) in page.lines.iter().enumerate() {
        if line.about != LineStance::Nothing || !line.words.have(WordKinds::SECRET) {
            continue;
        }
        // Data does nothing, but for commands that something else runs.
        if data && !COMMAND_IN_DATA.is_in(&line.text) {
            continue;
        }
        let near = || page.lines.iter().skip(at).take(4);
        if ENV_WALK.is_in(&line.text) && near().any(|next| SIFTS.is_in(&next.text)) {
            found.push(Taking {
                page,
                line,
                secret: SecretKind::Environment,
            });
            continue;
        }
        let secret = leak::secret_in(line).filter(|secret| {
            !matches!(
                secret,
                SecretKind::Environment | SecretKind::Settings | SecretKind::Screen
            )
        });
        // In a list of places, the reading stands somewhere below.
        let listed = line.text.starts_with(['"', '\'']);
        let read = near().any(|next| READS.is_in(&next.text))
            || listed && page.lines.iter().any(|other| READS.is_in(&other.text));
        if let Some(secret) = secret
            && read
        {
            found.push(Taking { page, line, secret });
        }
    }
    found
}

fn sinks(page: &ScannedFile) -> Vec<Sink<'_>> {
    if page.kind != ScannedKind::Code || is_data(&page.path) {
        return Vec::new();
    }
    page.lines
        .iter()
        .filter(|line| {
            line.about == LineStance::Nothing
                && line.words.have(WordKinds::POST)
                && SENDS.is_in(&line.text)
        })
        .map(|line| Sink { page, line })
        .collect()
}

/// Where a line sends to: the addresses in it, or else those its file names at all.
fn targets(page: &ScannedFile, line: &ScannedLine) -> Vec<LineLink> {
    let own = links(&line.text);
    if !own.is_empty() {
        return own;
    }
    page.lines
        .iter()
        .filter(|line| {
            line.words.have_any(WordKinds::LINK | WordKinds::BAD_HOST)
                && line.about == LineStance::Nothing
        })
        .flat_map(|line| links(&line.text))
        .collect()
}

/// Files that hold data and do nothing.
pub(super) fn is_data(path: &str) -> bool {
    [
        ".json", ".yaml", ".yml", ".toml", ".csv", ".svg", ".xml", ".html", ".css", ".lock", ".map",
    ]
    .iter()
    .any(|end| path.ends_with(end))
}
