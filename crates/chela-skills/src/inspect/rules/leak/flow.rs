//! Secrets followed from where a program reads them to where it sends them.

use std::collections::{BTreeSet, HashMap};

use super::super::{LineSign, SignWeight, finding};
use super::{
    ASSIGN, BOUND, BROWSER, DEFINES, ENVIRONMENT, GROWS, HEADER, READ_WHOLE, SINK, SSH, SecretKind,
    WALLET, secret_in,
};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::hosts::{AddressPlace, KnownSites, links};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedLine};
use crate::inspect::words::WordKinds;

/// Follows secrets through the variables of a program to the calls that send.
pub(in crate::inspect::rules) fn flows(
    page: &ScannedFile,
    known: &KnownSites,
) -> Vec<SkillFinding> {
    let code: Vec<&ScannedLine> = page
        .lines
        .iter()
        .filter(|line| line.zone == LineZone::Code)
        .collect();
    let any_secret = code.iter().any(|line| secret_in(line).is_some());
    let any_sink = code
        .iter()
        .any(|line| line.words.have(WordKinds::POST) && SINK.is_in(&line.text));
    if !any_secret || !any_sink {
        return Vec::new();
    }
    let mut tainted = Taint::default();
    // Twice, so that a function may stand below its use.
    tainted.walk(&code);
    tainted.walk(&code);
    let mut found = Vec::new();
    for (at, line) in code.iter().enumerate() {
        if line.about != LineStance::Nothing
            || !line.words.have(WordKinds::POST)
            || !SINK.is_in(&line.text)
        {
            continue;
        }
        let statement = statement(code.get(at..).unwrap_or_default());
        if let Some((secret, whole)) = tainted.sent_by(&statement) {
            let weight = weigh(secret, whole, &statement, page, known);
            let code = match weight {
                SignWeight::Note => "own-secret",
                _ => "secrets-out",
            };
            let sign = LineSign::new(code, weight, what(secret));
            found.push(finding(&page.path, line, &sign));
        }
    }
    found.extend(hoard(page, &code));
    found
}

fn what(secret: SecretKind) -> &'static str {
    match secret {
        SecretKind::Keys => "sends private keys read above",
        SecretKind::Cloud | SecretKind::Tokens => "sends credentials of other programs, read above",
        SecretKind::Browser => "sends data of a browser profile, read above",
        SecretKind::Keychain => "sends the system's keychain, read above",
        SecretKind::Wallet => "sends files of a wallet, read above",
        SecretKind::Environment => "sends all environment variables, with whatever keys they hold",
        SecretKind::Screen => "sends what is on the screen, the clipboard or the keyboard",
        SecretKind::Settings => "sends a file of settings with its keys, read above",
    }
}

/// How bad it is that a secret goes where a statement sends it.
fn weigh(
    secret: SecretKind,
    whole: bool,
    statement: &str,
    page: &ScannedFile,
    known: &KnownSites,
) -> SignWeight {
    let mut targets = links(statement);
    if targets.is_empty() {
        let named = page
            .lines
            .iter()
            .filter(|line| line.words.have(WordKinds::LINK) && ASSIGN.is_in(&line.text));
        targets = named.flat_map(|line| links(&line.text)).collect();
    }
    let bad = targets.iter().any(|link| {
        matches!(
            link.place,
            AddressPlace::RawIp
                | AddressPlace::ExampleIp
                | AddressPlace::Paste
                | AddressPlace::Inbox
                | AddressPlace::Tunnel
        )
    });
    let own = !targets.is_empty()
        && targets.iter().all(|link| {
            known.has(link) || matches!(link.place, AddressPlace::Near | AddressPlace::Installer)
        });
    let as_header = HEADER.is_in(statement);
    match secret {
        _ if bad => SignWeight::Dangerous,
        SecretKind::Settings | SecretKind::Cloud if own || as_header || !whole => SignWeight::Note,
        SecretKind::Settings => SignWeight::Suspicious,
        _ if own => SignWeight::Suspicious,
        _ => SignWeight::Dangerous,
    }
}

/// Several kinds of secrets in one program that sends: nobody needs them all.
fn hoard(page: &ScannedFile, code: &[&ScannedLine]) -> Option<SkillFinding> {
    let kinds: BTreeSet<SecretKind> = code
        .iter()
        .filter(|line| line.about == LineStance::Nothing)
        .filter_map(|line| secret_in(line))
        .filter(|secret| {
            !matches!(
                secret,
                SecretKind::Settings | SecretKind::Environment | SecretKind::Screen
            )
        })
        .collect();
    let first = code.iter().find(|line| secret_in(line).is_some())?;
    (kinds.len() >= 3).then(|| {
        let sign = LineSign::new(
            "secrets-out",
            SignWeight::Dangerous,
            "gathers keys, browser data or wallets in a program that sends",
        );
        finding(&page.path, first, &sign)
    })
}

/// A statement with what belongs to it on the following lines.
fn statement(lines: &[&ScannedLine]) -> String {
    const MOST: usize = 10;
    let mut text = String::new();
    let mut open = 0i32;
    for line in lines.iter().take(MOST) {
        text.push_str(&line.text);
        text.push(' ');
        for c in line.text.chars() {
            open += match c {
                '(' | '{' | '[' => 1,
                ')' | '}' | ']' => -1,
                _ => 0,
            };
        }
        if open <= 0 {
            break;
        }
    }
    text
}

/// Variables and functions that hold a secret, and whether they hold a file as a whole.
#[derive(Debug, Default)]
struct Taint {
    names: HashMap<String, (SecretKind, bool)>,
    /// A list that is still being written: its name.
    open: Option<String>,
    function: Option<String>,
}

impl Taint {
    fn walk(&mut self, code: &[&ScannedLine]) {
        for line in code {
            let text = line.text.as_str();
            if text.starts_with([']', '}', ')']) {
                self.open = None;
            }
            if let Some(name) = DEFINES.captured(text) {
                self.function = Some(name);
            }
            let own = secret_in(line)
                .filter(|_| line.about == LineStance::Nothing)
                .map(|secret| (secret, READ_WHOLE.is_in(text)));
            let held = own.or_else(|| {
                self.held_by(value_of(text))
                    .map(|(secret, whole)| (secret, whole || READ_WHOLE.is_in(text)))
            });
            let assigned = ASSIGN.captured(text);
            if let Some(taint) = held {
                let bound = BOUND.captured(text).or_else(|| GROWS.captured(text));
                let name = assigned.clone().or(bound).or_else(|| self.open.clone());
                if let Some(name) = name {
                    self.names.insert(name, taint);
                }
                if text.starts_with("return ")
                    || text.starts_with("yield ")
                    || text.starts_with("echo ")
                {
                    self.names
                        .extend(self.function.clone().map(|name| (name, taint)));
                }
            }
            if assigned.is_some() && text.ends_with(['[', '{', '(']) {
                self.open = assigned;
            }
        }
    }

    fn held_by(&self, text: &str) -> Option<(SecretKind, bool)> {
        words(text).find_map(|word| self.names.get(word).copied())
    }

    /// The secret a sending statement carries.
    fn sent_by(&self, statement: &str) -> Option<(SecretKind, bool)> {
        let direct = [
            (&SSH, SecretKind::Keys),
            (&ENVIRONMENT, SecretKind::Environment),
            (&BROWSER, SecretKind::Browser),
            (&WALLET, SecretKind::Wallet),
        ];
        let direct = direct
            .into_iter()
            .find(|(pattern, _)| pattern.is_in(statement) && statement.contains('('));
        direct
            .map(|(_, secret)| (secret, true))
            .or_else(|| self.held_by(statement))
    }
}

/// The right side of an assignment, or the whole line.
fn value_of(text: &str) -> &str {
    match text.split_once('=') {
        Some((name, value))
            if !name.contains(['(', ' '])
                || name.trim().split(' ').count() <= 3 && !name.contains('(') =>
        {
            value
        }
        _ => text,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| {
            word.len() > 1 || word.chars().all(|c| c.is_ascii_alphabetic()) && !word.is_empty()
        })
}
