//! Addresses in a text, and what kind of place each of them is.

use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;

use super::scanned_file::{LineZone, ScannedFile};
use super::tables::rule_lists;
use super::words::WordKinds;

/// What an address leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressPlace {
    /// This machine, a private network, or a stand-in such as `<host>`.
    Near,
    /// A bare public address: nobody signs for it.
    RawIp,
    /// A bare address that is set aside for examples.
    ExampleIp,
    /// Text or files anyone can put up and change without a name.
    Paste,
    /// An inbox that keeps whatever is sent to it.
    Inbox,
    /// A way to somebody's own machine, or a name that hides another.
    Tunnel,
    /// The installer of a widely known tool.
    Installer,
    /// A repository host: the account decides.
    Forge,
    /// Anything else.
    Site,
}

rule_lists! { "hosts.txt": PASTES, INBOXES, TUNNELS, INSTALLERS, FORGES, SHARED, PROGRAMS }

/// An address as it stands in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineLink {
    /// Host and path, in lower case, without the scheme.
    pub target: String,
    pub place: AddressPlace,
    /// Without encryption anyone on the way can put something else there.
    pub plain: bool,
}

impl LineLink {
    pub(super) fn host(&self) -> &str {
        host_of(&self.target)
    }

    /// What must be known elsewhere in the package for this address to count as the author's: the
    /// site, or the account on a repository host.
    fn owner(&self) -> String {
        match self.place {
            AddressPlace::Forge => account(&self.target),
            _ => site(self.host()),
        }
    }

    /// Whether the name belongs to whoever takes it, for nothing and without saying who.
    pub(super) fn is_borrowed(&self) -> bool {
        self.place == AddressPlace::Site && SHARED.iter().any(|end| self.host().ends_with(end))
    }

    /// Whether the path ends like something that is unpacked or run.
    pub(super) fn is_program(&self) -> bool {
        let path = self.target.split(['?', '#']).next().unwrap_or_default();
        PROGRAMS.iter().any(|end| path.ends_with(end))
    }
}

/// All addresses of a line in lower case.
pub(super) fn links(line: &str) -> Vec<LineLink> {
    let mut found = Vec::new();
    for (at, mark) in line.match_indices("://") {
        let scheme = line
            .get(..at)
            .unwrap_or_default()
            .rsplit(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        let scheme = scheme.trim_start_matches(|c: char| c.is_ascii_digit());
        let web = ["https", "http", "ftp", "hxxp", "hxxps", "wss", "ws"]
            .iter()
            .find(|known| scheme.ends_with(**known));
        let Some(web) = web else { continue };
        let plain = !web.ends_with('s') || *web == "ws";
        found.extend(link(
            line.get(at + mark.len()..).unwrap_or_default(),
            plain && !scheme.ends_with('s'),
        ));
    }
    found.extend(bare(line));
    found.extend(named(line));
    found
}

/// A notorious host by its name alone, as `hostname: 'webhook.site'` has it.
fn named(line: &str) -> Vec<LineLink> {
    if !WordKinds::of(line).have(WordKinds::BAD_HOST) {
        return Vec::new();
    }
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
    words
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.contains('.'))
        .filter(|word| {
            matches!(
                place_of(word),
                AddressPlace::Paste | AddressPlace::Inbox | AddressPlace::Tunnel
            )
        })
        .filter_map(|word| link(word, false))
        .collect()
}

fn link(rest: &str, plain: bool) -> Option<LineLink> {
    let end = rest
        .find(|c: char| {
            c.is_whitespace() || "\"'`<>()[]{}|\\^,;*".contains(c) || c == '。' || c == '，'
        })
        .unwrap_or(rest.len());
    let target = rest
        .get(..end)
        .unwrap_or_default()
        .trim_end_matches(['.', ':', '!', '…']);
    let near = target.is_empty() || target.starts_with('$');
    let target = target
        .rsplit_once('@')
        .filter(|(user, _)| !user.contains('/'))
        .map_or(target, |(_, host)| host);
    let place = if near {
        AddressPlace::Near
    } else {
        place_of(target)
    };
    (!target.is_empty()).then(|| LineLink {
        target: target.to_owned(),
        place,
        plain,
    })
}

/// `curl 1.2.3.4/x` and `curl evil.example/x`: an address without a scheme behind a fetching word.
fn bare(line: &str) -> Vec<LineLink> {
    let mut found = Vec::new();
    for tool in ["curl ", "wget "] {
        for (at, _) in line.match_indices(tool) {
            let rest = line.get(at + tool.len()..).unwrap_or_default();
            let words = rest.split_whitespace().take(8);
            let word = words
                .map(|word| word.trim_matches(['"', '\'', '`', ')', '(']))
                .take_while(|word| !word.starts_with(['|', '>', '&', ';']))
                .find(|word| {
                    !word.starts_with('-') && host_of(word).contains('.') && !word.contains("://")
                });
            let Some(word) = word else { continue };
            let host = host_of(word);
            let named = host
                .rsplit('.')
                .next()
                .is_some_and(|end| end.len() >= 2 && end.chars().all(|c| c.is_ascii_alphabetic()));
            let file = [
                ".sh", ".py", ".json", ".txt", ".html", ".gz", ".zip", ".md", ".js", ".png", ".jpg",
            ]
            .iter()
            .any(|end| host.ends_with(end));
            if (named && !file) || host.parse::<Ipv4Addr>().is_ok() {
                found.extend(link(word, true));
            }
        }
    }
    found
}

fn host_of(target: &str) -> &str {
    let host = target.split(['/', '?', '#']).next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}

pub(super) fn place_of(target: &str) -> AddressPlace {
    let host = host_of(target);
    if let Some(ip) = as_ip(host) {
        return match ip {
            ip if ip.is_documentation() => AddressPlace::ExampleIp,
            ip if is_near(ip) => AddressPlace::Near,
            _ => AddressPlace::RawIp,
        };
    }
    let near = host == "localhost"
        || !host.contains('.')
        || [
            ".local",
            ".internal",
            ".lan",
            ".home",
            ".localhost",
            ".test",
        ]
        .iter()
        .any(|end| host.ends_with(end));
    if near || host.contains(['$', '%', '<', '{']) {
        return AddressPlace::Near;
    }
    let is_one = |list: &[&str]| {
        list.iter().any(|known| match known.split_once('/') {
            Some(_) => target.starts_with(known),
            None => {
                host == *known
                    || host
                        .strip_suffix(known)
                        .is_some_and(|sub| sub.ends_with('.'))
            }
        })
    };
    if is_one(&PASTES) {
        AddressPlace::Paste
    } else if is_one(&INBOXES) {
        AddressPlace::Inbox
    } else if is_one(&TUNNELS) {
        AddressPlace::Tunnel
    } else if is_one(&INSTALLERS) {
        AddressPlace::Installer
    } else if is_one(&FORGES) {
        AddressPlace::Forge
    } else {
        AddressPlace::Site
    }
}

/// An address in digits, also written as one number or in hex.
fn as_ip(host: &str) -> Option<Ipv4Addr> {
    if let Ok(ip) = host.parse() {
        return Some(ip);
    }
    let number = match host.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None if host.len() >= 8 => host.parse().ok()?,
        None => return None,
    };
    Some(Ipv4Addr::from(number))
}

/// Addresses that lead nowhere foreign, and the public ones that every text uses as examples.
fn is_near(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_unspecified()
        || ip.is_broadcast()
        || ip.is_multicast()
        || (a == 100 && (64..128).contains(&b))
        || matches!(
            ip.octets(),
            [8, 8, 8, 8]
                | [8, 8, 4, 4]
                | [1, 1, 1, 1]
                | [1, 0, 0, 1]
                | [9, 9, 9, 9]
                | [1, 2, 3, 4]
                | [100, 100, 100, 200]
        )
        || a == 0
}

/// The part of a name that somebody registered.
fn site(host: &str) -> String {
    let labels: Vec<&str> = host.rsplit('.').collect();
    let short_second = labels
        .get(1)
        .is_some_and(|label| matches!(*label, "co" | "com" | "org" | "net" | "ac" | "gov" | "edu"));
    let shared = SHARED.iter().any(|end| host.ends_with(end));
    let count = if shared || (short_second && labels.len() > 2) {
        3
    } else {
        2
    };
    labels
        .iter()
        .take(count)
        .rev()
        .copied()
        .collect::<Vec<_>>()
        .join(".")
}

/// `github.com/someone` for every way to reach that account.
fn account(target: &str) -> String {
    let mut parts = target.split('/');
    let host = parts.next().unwrap_or_default();
    let user = parts.next().unwrap_or_default();
    let host = match host {
        "raw.githubusercontent.com"
        | "codeload.github.com"
        | "gist.githubusercontent.com"
        | "gist.github.com" => "github.com",
        host => host,
    };
    format!("{host}/{user}")
}

/// The sites a package lives on: named in its head or again and again in its text.
#[derive(Debug, Default)]
pub(super) struct KnownSites {
    owners: BTreeSet<String>,
    /// Sites the package speaks of by name, again and again.
    named: BTreeSet<String>,
}

impl KnownSites {
    pub(super) fn of(pages: &[ScannedFile]) -> Self {
        /// A site that is named this often is what the package is about.
        const OFTEN: usize = 3;
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut owners = BTreeSet::new();
        for page in pages {
            // Only a head that is one: without it, everything would count as declared.
            let opened = page
                .lines
                .first()
                .is_some_and(|line| line.text.starts_with("---"));
            let mut head = page.path == crate::SKILL_FILE && opened;
            for (at, line) in page.lines.iter().enumerate() {
                if !line.words.have(WordKinds::LINK) {
                    head &= at == 0 || !line.text.starts_with("---");
                    continue;
                }
                head &= at == 0 || !line.text.starts_with("---");
                let runs = line.words.have_any(WordKinds::SHELL | WordKinds::DECODE);
                let declared = head && line.zone == LineZone::Prose;
                let mut seen = BTreeSet::new();
                for link in links(&line.text) {
                    // A lure repeated three times is still a lure.
                    let trusty = matches!(link.place, AddressPlace::Site | AddressPlace::Forge)
                        && !link.is_program()
                        && !link.target.contains("/releases/");
                    if trusty && declared {
                        owners.insert(link.owner());
                    } else if trusty && !runs && seen.insert(link.owner()) {
                        *counts.entry(link.owner()).or_default() += 1;
                    }
                }
            }
        }
        owners.extend(
            counts
                .into_iter()
                .filter(|(_, count)| *count >= OFTEN)
                .map(|(owner, _)| owner),
        );
        let named = named_sites(pages);
        Self { owners, named }
    }

    /// Whether the package speaks of the maker of a site by name. That excuses less than
    /// [`KnownSites::has`]: anyone can write a name.
    pub(super) fn speaks_of(&self, link: &LineLink) -> bool {
        link.place == AddressPlace::Site
            && !link.is_borrowed()
            && !link.plain
            && self.named.contains(&site(link.host()))
    }

    /// Whether an address belongs to what the package openly is about.
    pub(super) fn has(&self, link: &LineLink) -> bool {
        self.owners.contains(&link.owner())
    }
}

/// Sites whose own name is a word of the text: `acme` in a skill that fetches from `acme.dev`.
fn named_sites(pages: &[ScannedFile]) -> BTreeSet<String> {
    const OFTEN: usize = 3;
    const SHORTEST: usize = 4;
    let mut sites: HashMap<String, (String, usize)> = HashMap::new();
    let runs = |line: &&super::scanned_file::ScannedLine| {
        line.words.have(WordKinds::LINK) && line.words.have_any(WordKinds::SHELL | WordKinds::RUN)
    };
    for line in pages.iter().flat_map(|page| page.lines.iter()).filter(runs) {
        for link in links(&line.text) {
            let site = site(link.host());
            let label = site.split('.').next().unwrap_or_default().to_owned();
            if link.place == AddressPlace::Site && label.len() >= SHORTEST && label != "example" {
                sites.insert(label, (site, 0));
            }
        }
    }
    if sites.is_empty() {
        return BTreeSet::new();
    }
    for line in pages.iter().flat_map(|page| page.lines.iter()) {
        let words = line
            .text
            .split_whitespace()
            .filter(|word| !word.contains("://") && !word.contains('/'));
        for word in
            words.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'))
        {
            if let Some((_, count)) = sites.get_mut(word) {
                *count += 1;
            }
        }
    }
    sites
        .into_values()
        .filter(|(_, count)| *count >= OFTEN)
        .map(|(site, _)| site)
        .collect()
}
