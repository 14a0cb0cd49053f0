//! Secrets that leave: named and sent in one line, or followed from where they are read to where
//! they go.

mod flow;

pub(super) use flow::flows;

use super::pattern::{LinePattern, patterns};
use super::{LineSign, SignWeight};
use crate::inspect::hosts::{AddressPlace, KnownSites, LineLink, links};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedKind, ScannedLine};
use crate::inspect::words::WordKinds;

patterns! {
    "leak.txt":
    SSH, CLOUD, BROWSER, KEYCHAIN, WALLET, TOKENS, ENVIRONMENT, SCREEN, DOT_ENV, AGENT, SINK,
    SHELL_SINK, SENT_FILE, PIPED_ENV, OWN_KEY, KEY_FILE, BEACON, MUTED, PIPED_OUT, NAMES_SECRET, SYSTEM_FILE,
    IN_QUERY, ENV_SECRET, DNS_CALL, KEY_IN_BODY, PACKED, SENT_ANY_FILE, DNS, SPOKEN, SENDS_TO,
    HEADER, READ_WHOLE, ASSIGN, BOUND, GROWS, DEFINES,
}

/// What kind of secret a line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretKind {
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

const SECRETS: [(&LinePattern, SecretKind); 10] = [
    (&SSH, SecretKind::Keys),
    (&CLOUD, SecretKind::Cloud),
    (&BROWSER, SecretKind::Browser),
    (&KEYCHAIN, SecretKind::Keychain),
    (&WALLET, SecretKind::Wallet),
    (&TOKENS, SecretKind::Tokens),
    (&ENVIRONMENT, SecretKind::Environment),
    (&SCREEN, SecretKind::Screen),
    (&AGENT, SecretKind::Settings),
    (&DOT_ENV, SecretKind::Settings),
];

pub(super) fn secret_in(line: &ScannedLine) -> Option<SecretKind> {
    if !line.words.have(WordKinds::SECRET) {
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
pub(super) fn look(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let (words, text) = (line.words, line.text.as_str());
    let near_only = || {
        links(text)
            .iter()
            .any(|link| link.place == AddressPlace::Near)
    };
    if words.have(WordKinds::SECRET | WordKinds::POST)
        && SHELL_SINK.is_in(text)
        && (SENT_FILE.is_in(text) || PIPED_ENV.is_in(text))
        && (KEY_FILE.is_in(text) || !near_only() && !is_own_key(text))
    {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "sends a secrets file, or the whole environment, to another machine",
        ));
    }
    if words.have(WordKinds::POST)
        && text.contains("$(")
        && DNS.is_in(text)
        && words.have(WordKinds::SECRET)
    {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "hides data in a DNS lookup",
        ));
    }
    if page.kind == ScannedKind::Code
        && text.contains("dns.") | text.contains("gethostbyname")
        && DNS_CALL.is_in(text)
    {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "hides data in a DNS lookup",
        ));
    }
    if words.have(WordKinds::POST) && words.have(WordKinds::SECRET) && KEY_IN_BODY.is_in(text) {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "sends the key of a wallet to another machine",
        ));
    }
    if words.have(WordKinds::POST) && line.zone == LineZone::Code {
        packed(page, at, signs);
    }
    if words.have(WordKinds::POST)
        && PIPED_OUT.is_in(text)
        && NAMES_SECRET.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
    {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "pipes something secret or hidden to a host unrelated to the skill",
        ));
    }
    if page.kind == ScannedKind::Code
        && words.have(WordKinds::POST)
        && SINK.is_in(text)
        && BEACON.is_in(text)
        && MUTED.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
    {
        signs.push(LineSign::new(
            "reports-home",
            SignWeight::Dangerous,
            "secretly reports which machine it runs on to an unrelated host",
        ));
    }
    if line.zone == LineZone::Code && words.have(WordKinds::SECRET) && SYSTEM_FILE.is_in(text) {
        signs.push(LineSign::new(
            "system-file",
            SignWeight::Suspicious,
            "reads a file in which the system keeps its secrets",
        ));
    }
    if page.kind == ScannedKind::Code
        && words.have(WordKinds::LINK)
        && IN_QUERY.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
        && page
            .near(at, 4)
            .iter()
            .any(|near| near.words.have(WordKinds::SECRET) && ENV_SECRET.is_in(&near.text))
    {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Suspicious,
            "puts a key into a URL unrelated to the skill",
        ));
    }
    let inbox = words.have_any(WordKinds::LINK | WordKinds::BAD_HOST)
        && links(text)
            .iter()
            .any(|link| link.place == AddressPlace::Inbox && !link.target.starts_with("discord"));
    if inbox {
        let secret = page
            .near(at, 12)
            .iter()
            .any(|near| secret_in(near).is_some());
        let weight = if secret || page.kind == ScannedKind::Code && line.zone == LineZone::Code {
            SignWeight::Dangerous
        } else {
            SignWeight::Suspicious
        };
        signs.push(LineSign::new(
            "inbox-host",
            weight,
            "sends to a public request inbox",
        ));
    }
    if page.kind == ScannedKind::Code && words.have_any(WordKinds::LINK | WordKinds::BAD_HOST) {
        tunnelled(line, signs);
    }
    if page.kind == ScannedKind::Prose {
        told_to_send(page, at, known, signs);
    }
}

/// Whether a key from the skill's own settings goes along as a header, as keys do.
fn is_own_key(text: &str) -> bool {
    let of_others = [".config/gcloud", ".config/gh/", ".config/solana"];
    OWN_KEY.is_in(text)
        && secret_count(text) == 1
        && !of_others.iter().any(|place| text.contains(place))
}

/// How many secrets a line takes out of files.
fn secret_count(text: &str) -> usize {
    text.matches("$(").count() + text.matches('@').count()
}

/// Secrets put into a file, and the file sent a few lines below.
fn packed(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
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
            && secret_in(near).is_some_and(|secret| secret != SecretKind::Settings)
    });
    if filled {
        let what = "sends a file into which secrets were put above";
        signs.push(LineSign::new("secrets-out", SignWeight::Dangerous, what));
    }
}

/// A program that sends through a way to somebody's own machine.
fn tunnelled(line: &ScannedLine, signs: &mut Vec<LineSign>) {
    let tunnel = links(&line.text).into_iter().any(|link| {
        link.place == AddressPlace::Tunnel
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
        let weight = if line.words.have(WordKinds::POST) && SINK.is_in(&line.text) {
            SignWeight::Dangerous
        } else {
            SignWeight::Suspicious
        };
        let what = "connects through a tunnel to an unknown machine";
        signs.push(LineSign::new("tunnel", weight, what));
    }
}

fn foreign(link: &LineLink, known: &KnownSites) -> bool {
    match link.place {
        AddressPlace::Site => !known.has(link),
        AddressPlace::RawIp
        | AddressPlace::ExampleIp
        | AddressPlace::Paste
        | AddressPlace::Inbox
        | AddressPlace::Tunnel => true,
        _ => false,
    }
}

/// Instructions to collect something private and send it away.
fn told_to_send(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have_any(WordKinds::UPLOAD | WordKinds::POST) || !SENDS_TO.is_in(&line.text) {
        return;
    }
    if !links(&line.text).iter().any(|link| foreign(link, known)) {
        return;
    }
    let near = page.near(at, 4);
    let private = near.iter().any(|near| {
        near.words.have(WordKinds::SECRET) && SPOKEN.is_in(&near.text)
            || near.words.have(WordKinds::ORDER) && SPOKEN.is_in(&near.text)
    });
    let always = near.iter().any(|near| near.words.have(WordKinds::ALWAYS));
    if private {
        signs.push(LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "says to collect something private and send it to a host unrelated to the skill",
        ));
    } else if always || links(&line.text).iter().any(LineLink::is_borrowed) {
        let weight = if always && links(&line.text).iter().any(LineLink::is_borrowed) {
            SignWeight::Dangerous
        } else {
            SignWeight::Suspicious
        };
        signs.push(LineSign::new(
            "reports-home",
            weight,
            "says to send something to a host unrelated to the skill",
        ));
    }
}
