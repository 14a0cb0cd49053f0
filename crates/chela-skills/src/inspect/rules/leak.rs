//! Secrets that leave: named and sent in one line, or followed from where they are read to where
//! they go.

mod flow;

pub(super) use flow::flows;

use super::pattern::{Pattern, patterns};
use super::{Sign, Weight};
use crate::inspect::hosts::{Known, Link, Place, links};
use crate::inspect::page::{Kind, Line, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    "leak.txt":
    SSH, CLOUD, BROWSER, KEYCHAIN, WALLET, TOKENS, ENVIRONMENT, SCREEN, DOT_ENV, AGENT, SINK,
    SHELL_SINK, SENT_FILE, PIPED_ENV, KEY_FILE, BEACON, MUTED, PIPED_OUT, NAMES_SECRET, SYSTEM_FILE,
    IN_QUERY, ENV_SECRET, DNS_CALL, KEY_IN_BODY, PACKED, SENT_ANY_FILE, DNS, SPOKEN, SENDS_TO,
    HEADER, READ_WHOLE, ASSIGN, BOUND, GROWS, DEFINES,
}

/// What kind of secret a line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Secret {
    Keys,
    Cloud,
    Browser,
    Keychain,
    Wallet,
    Tokens,
    Environment,
    Screen,
    /// Files a skill may well read its own key from.
    Settings,
}

const SECRETS: [(&Pattern, Secret); 10] = [
    (&SSH, Secret::Keys),
    (&CLOUD, Secret::Cloud),
    (&BROWSER, Secret::Browser),
    (&KEYCHAIN, Secret::Keychain),
    (&WALLET, Secret::Wallet),
    (&TOKENS, Secret::Tokens),
    (&ENVIRONMENT, Secret::Environment),
    (&SCREEN, Secret::Screen),
    (&AGENT, Secret::Settings),
    (&DOT_ENV, Secret::Settings),
];

pub(super) fn secret_in(line: &Line) -> Option<Secret> {
    if !line.words.have(Words::SECRET) {
        return None;
    }
    let found = SECRETS
        .iter()
        .find(|(pattern, _)| pattern.is_in(&line.text));
    found
        .map(|(_, secret)| *secret)
        .filter(|_| !line.text.contains(".pub"))
}

/// A secret and its way out in one line, or in two neighbouring lines of instructions.
pub(super) fn look(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let (words, text) = (line.words, line.text.as_str());
    let near_only = || links(text).iter().any(|link| link.place == Place::Near);
    if words.have(Words::SECRET | Words::POST)
        && SHELL_SINK.is_in(text)
        && (SENT_FILE.is_in(text) || PIPED_ENV.is_in(text))
        && (KEY_FILE.is_in(text) || !near_only())
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "sends a file of secrets, or the whole environment, to another machine",
        ));
    }
    if words.have(Words::POST)
        && text.contains("$(")
        && DNS.is_in(text)
        && words.have(Words::SECRET)
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "hides data in a name look-up",
        ));
    }
    if page.kind == Kind::Code
        && text.contains("dns.") | text.contains("gethostbyname")
        && DNS_CALL.is_in(text)
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "hides data in a name look-up",
        ));
    }
    if words.have(Words::POST) && words.have(Words::SECRET) && KEY_IN_BODY.is_in(text) {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "sends the key of a wallet to another machine",
        ));
    }
    if words.have(Words::POST) && line.zone == Zone::Code {
        packed(page, at, signs);
    }
    if words.have(Words::POST)
        && PIPED_OUT.is_in(text)
        && NAMES_SECRET.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "pipes something secret or hidden to an address the skill is not about",
        ));
    }
    if page.kind == Kind::Code
        && words.have(Words::POST)
        && SINK.is_in(text)
        && BEACON.is_in(text)
        && MUTED.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
    {
        signs.push(Sign::new(
            "reports-home",
            Weight::Dangerous,
            "tells a strange place which machine it runs on, and hides that it does",
        ));
    }
    if line.zone == Zone::Code && words.have(Words::SECRET) && SYSTEM_FILE.is_in(text) {
        signs.push(Sign::new(
            "system-file",
            Weight::Suspicious,
            "reads a file in which the system keeps its secrets",
        ));
    }
    if page.kind == Kind::Code
        && words.have(Words::LINK)
        && IN_QUERY.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
        && page
            .near(at, 4)
            .iter()
            .any(|near| near.words.have(Words::SECRET) && ENV_SECRET.is_in(&near.text))
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Suspicious,
            "puts a key into an address the skill is not about",
        ));
    }
    let inbox = words.have_any(Words::LINK | Words::BAD_HOST)
        && links(text)
            .iter()
            .any(|link| link.place == Place::Inbox && !link.target.starts_with("discord"));
    if inbox {
        let secret = page
            .near(at, 12)
            .iter()
            .any(|near| secret_in(near).is_some());
        let weight = if secret || page.kind == Kind::Code && line.zone == Zone::Code {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        signs.push(Sign::new(
            "inbox-host",
            weight,
            "sends to an inbox that keeps whatever arrives for whoever made it",
        ));
    }
    if page.kind == Kind::Code && words.have_any(Words::LINK | Words::BAD_HOST) {
        tunnelled(line, signs);
    }
    if page.kind == Kind::Prose {
        told_to_send(page, at, known, signs);
    }
}

/// Secrets put into a file, and the file sent a few lines below.
fn packed(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let Some(file) = SENT_ANY_FILE.captured(&line.text) else {
        return;
    };
    let file = file.trim_matches(['"', '\'']);
    let filled = page.near(at, 8).iter().any(|near| {
        near.number < line.number
            && near.text.contains(file)
            && PACKED.is_in(&near.text)
            && secret_in(near).is_some_and(|secret| secret != Secret::Settings)
    });
    if filled {
        let what = "sends a file into which secrets were put above";
        signs.push(Sign::new("secrets-out", Weight::Dangerous, what));
    }
}

/// A program that sends through a way to somebody's own machine.
fn tunnelled(line: &Line, signs: &mut Vec<Sign>) {
    let tunnel = links(&line.text).into_iter().any(|link| {
        link.place == Place::Tunnel
            && [
                "ngrok",
                "trycloudflare",
                "loca.lt",
                "serveo",
                "localtunnel",
                "bore.pub",
                "pagekite",
            ]
            .iter()
            .any(|name| link.host().contains(name))
    });
    if tunnel {
        let weight = if line.words.have(Words::POST) && SINK.is_in(&line.text) {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        let what = "goes through a tunnel to a machine nobody can name";
        signs.push(Sign::new("tunnel", weight, what));
    }
}

fn foreign(link: &Link, known: &Known) -> bool {
    match link.place {
        Place::Site => !known.has(link),
        Place::RawIp | Place::ExampleIp | Place::Paste | Place::Inbox | Place::Tunnel => true,
        _ => false,
    }
}

/// Instructions to collect something private and send it away.
fn told_to_send(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have_any(Words::UPLOAD | Words::POST) || !SENDS_TO.is_in(&line.text) {
        return;
    }
    if !links(&line.text).iter().any(|link| foreign(link, known)) {
        return;
    }
    let near = page.near(at, 4);
    let private = near.iter().any(|near| {
        near.words.have(Words::SECRET) && SPOKEN.is_in(&near.text)
            || near.words.have(Words::ORDER) && SPOKEN.is_in(&near.text)
    });
    let always = near.iter().any(|near| near.words.have(Words::ALWAYS));
    if private {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "says to collect something private and send it to a place the skill is not about",
        ));
    } else if always || links(&line.text).iter().any(Link::is_borrowed) {
        let weight = if always && links(&line.text).iter().any(Link::is_borrowed) {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        signs.push(Sign::new(
            "reports-home",
            weight,
            "says to send something away to a place the skill is not about",
        ));
    }
}
