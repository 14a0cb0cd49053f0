//! Running what was fetched or decoded, and opening the machine to others.

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::finding::SkillFinding;
use crate::inspect::about::LineStance;
use crate::inspect::hosts::{AddressPlace, KnownSites, LineLink, links, place_of};
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedKind, ScannedLine};
use crate::inspect::words::WordKinds;

patterns! {
    "run.txt":
    PIPED, INTO_SHELL, POWERSHELL, FETCHED_CODE, LIVING_OFF, SHELLED, DECODED_TO_SHELL,
    DECODED_EVAL, DECODED_CODE, DECODED_RUN, ENCODED_POWERSHELL, REVERSE_SHELL, DUPED, SOCKET,
    SHELL_SPAWN, SAVED, RUNS_FILE, CHECKED, TEMP_RUN, WRITES_FILE, WHOLE_EXEC, GARBLED,
    FOREIGN_PACKAGE, QUOTED_IP, RAW_CONNECT, OPEN_SHELL, DYNAMIC_CODE, DYNAMIC_IMPORT,
}

pub(super) fn look(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let (words, text) = (line.words, line.text.as_str());
    if words.have(WordKinds::FETCH | WordKinds::SHELL)
        || words.have(WordKinds::FETCH | WordKinds::RUN)
    {
        let fetched_into_shell = (PIPED.is_in(text)
            && (text.contains("curl") || text.contains("wget") || text.contains("iwr")))
            || INTO_SHELL.is_in(text)
            || POWERSHELL.is_in(text)
            || FETCHED_CODE.is_in(text);
        if fetched_into_shell {
            signs.push(LineSign::new(
                "pipe-to-shell",
                weigh_source(line, known),
                "runs whatever an address answers, without anyone having seen it",
            ));
        } else if LIVING_OFF.is_in(text) {
            signs.push(LineSign::new(
                "pipe-to-shell",
                SignWeight::Dangerous,
                "uses a system tool to run something from the network",
            ));
        } else if SAVED.is_in(text) && RUNS_FILE.is_in(text) {
            signs.push(LineSign::new(
                "download-and-run",
                weigh_source(line, known),
                "saves a file from the network and runs it",
            ));
        } else if page.kind == ScannedKind::Code && SHELLED.is_in(text) {
            let weight = match weigh_source(line, known) {
                SignWeight::Dangerous if worst_link(text).is_some() => SignWeight::Dangerous,
                SignWeight::Dangerous => SignWeight::Suspicious,
                _ => SignWeight::Note,
            };
            signs.push(LineSign::new(
                "exec-and-network",
                weight,
                "starts a downloader from inside a program",
            ));
        }
    }
    if words.have(WordKinds::DECODE) && is_code(line) {
        let decoded = DECODED_TO_SHELL.is_in(text)
            || DECODED_EVAL.is_in(text)
            || DECODED_CODE.is_in(text)
            || DECODED_RUN.is_in(text);
        if decoded || ENCODED_POWERSHELL.is_in(text) {
            signs.push(LineSign::new(
                "encoded-command",
                SignWeight::Dangerous,
                "decodes a hidden text and runs it",
            ));
        }
    }
    if words.have(WordKinds::BACKDOOR)
        && (REVERSE_SHELL.is_in(text)
            || (DUPED.is_in(text) && page.lines.iter().any(|line| SOCKET.is_in(&line.text))))
    {
        signs.push(LineSign::new(
            "reverse-shell",
            SignWeight::Dangerous,
            "opens a shell to another machine",
        ));
    }
    if words.have(WordKinds::RUN) && page.kind == ScannedKind::Code && DYNAMIC_IMPORT.is_in(text) {
        signs.push(LineSign::new(
            "hidden-import",
            SignWeight::Suspicious,
            "makes a system call in an obfuscated way",
        ));
    }
    if page.kind == ScannedKind::Code && line.about == LineStance::Nothing && is_written(page) {
        loose(line, signs);
    }
    if text.contains("ptth") && (text.contains("//:ptth") || text.contains("//:sptth")) {
        signs.push(LineSign::new(
            "encoded-command",
            SignWeight::Dangerous,
            "writes an address backwards, so that nobody sees where it leads",
        ));
    }
    raw_address(line, signs);
    if page.kind == ScannedKind::Code && quoted_ip(text) {
        signs.push(LineSign::new(
            "raw-ip",
            SignWeight::Suspicious,
            "connects to a bare IP address",
        ));
    }
    if text.contains("install") && FOREIGN_PACKAGE.is_in(text) && worst_source(text, known) {
        signs.push(LineSign::new(
            "foreign-package",
            SignWeight::Suspicious,
            "installs packages from its own server",
        ));
    }
}

/// Whether a program is one that a person wrote, and not the output of a bundler.
fn is_written(page: &ScannedFile) -> bool {
    const LONG: usize = 600;
    page.lines.len() < LONG && page.lines.iter().all(|line| line.raw.len() < 2_000)
}

/// Doors that a program leaves open to whatever it is given.
fn loose(line: &ScannedLine, signs: &mut Vec<LineSign>) {
    let text = line.text.as_str();
    if line.words.have_any(WordKinds::BACKDOOR | WordKinds::RUN) && RAW_CONNECT.is_in(text) {
        let what = "opens a plain connection to another machine";
        signs.push(LineSign::new(
            "raw-connection",
            SignWeight::Suspicious,
            what,
        ));
    }
    let may_start =
        line.words.have_any(WordKinds::RUN | WordKinds::BACKDOOR) || text.contains("system");
    if may_start && OPEN_SHELL.is_in(text) {
        let what = "passes its input to a shell";
        signs.push(LineSign::new("open-shell", SignWeight::Suspicious, what));
    }
    if line.words.have(WordKinds::RUN) && DYNAMIC_CODE.is_in(text) {
        let what = "runs its input as code";
        signs.push(LineSign::new("dynamic-code", SignWeight::Suspicious, what));
    }
}

/// A public address in quotes that something connects to.
fn quoted_ip(text: &str) -> bool {
    let found = QUOTED_IP.regex().and_then(|regex| regex.captures(text));
    let ip = found.and_then(|groups| groups.get(1));
    ip.is_some_and(|ip| place_of(ip.as_str()) == AddressPlace::RawIp)
}

/// Whether a line names a place that is neither near nor known.
fn worst_source(text: &str, known: &KnownSites) -> bool {
    let foreign = |link: &LineLink| match link.place {
        AddressPlace::Near | AddressPlace::Installer => false,
        _ => {
            !known.has(link)
                && ![
                    "pypi.org",
                    "pytorch.org",
                    "nvidia.com",
                    "npmjs.org",
                    "npmjs.com",
                ]
                .iter()
                .any(|own| link.host().ends_with(own))
        }
    };
    links(text).iter().any(foreign)
}

/// A bare public address in a command or a program.
fn raw_address(line: &ScannedLine, signs: &mut Vec<LineSign>) {
    if !line.words.have_any(WordKinds::LINK | WordKinds::FETCH) {
        return;
    }
    let raw = links(&line.text)
        .into_iter()
        .any(|link| link.place == AddressPlace::RawIp);
    if raw {
        let weight = if line
            .words
            .have_any(WordKinds::FETCH | WordKinds::POST | WordKinds::SHELL)
            && is_code(line)
        {
            SignWeight::Dangerous
        } else {
            SignWeight::Suspicious
        };
        signs.push(LineSign::new(
            "raw-ip",
            weight,
            "links to a bare IP address",
        ));
    }
}

/// How bad it is to run what this line fetches: by where it comes from.
fn weigh_source(line: &ScannedLine, known: &KnownSites) -> SignWeight {
    let links = links(&line.text);
    let weigh = |link: &LineLink| match link.place {
        AddressPlace::RawIp
        | AddressPlace::ExampleIp
        | AddressPlace::Paste
        | AddressPlace::Inbox
        | AddressPlace::Tunnel => SignWeight::Dangerous,
        AddressPlace::Installer => SignWeight::Note,
        AddressPlace::Near => SignWeight::Suspicious,
        _ if link.plain && !is_public(link.host()) => SignWeight::Dangerous,
        AddressPlace::Forge | AddressPlace::Site if known.has(link) => SignWeight::Note,
        AddressPlace::Forge => SignWeight::Suspicious,
        AddressPlace::Site if known.speaks_of(link) || is_public(link.host()) => {
            SignWeight::Suspicious
        }
        AddressPlace::Site => SignWeight::Dangerous,
    };
    // `curl … | sh` in a sentence is how people speak of it.
    let unnamed = if line.zone == LineZone::Code {
        SignWeight::Suspicious
    } else {
        SignWeight::Note
    };
    links.iter().map(weigh).max().unwrap_or(unnamed)
}

/// Names that only public bodies and schools get.
fn is_public(host: &str) -> bool {
    [".gov", ".edu", ".mil", ".int", ".ac.uk", ".gov.uk"]
        .iter()
        .any(|end| host.ends_with(end))
}

/// A link nobody honest fetches a program from.
fn worst_link(text: &str) -> Option<LineLink> {
    links(text).into_iter().find(|link| {
        matches!(
            link.place,
            AddressPlace::RawIp
                | AddressPlace::ExampleIp
                | AddressPlace::Paste
                | AddressPlace::Inbox
                | AddressPlace::Tunnel
        )
    })
}

/// Fetched in one line and run in another of the same piece of code.
pub(super) fn across(page: &ScannedFile, known: &KnownSites) -> Vec<SkillFinding> {
    let mut found = Vec::new();
    for (at, line) in page.lines.iter().enumerate() {
        if line.words.have(WordKinds::FETCH)
            && line.zone == LineZone::Code
            && SAVED.is_in(&line.text)
            && !RUNS_FILE.is_in(&line.text)
        {
            let after = page
                .near(at, 8)
                .iter()
                .filter(|other| other.number > line.number);
            let runs = after.into_iter().any(|other| {
                other.zone == LineZone::Code
                    && other.words.have(WordKinds::RUN)
                    && RUNS_FILE.is_in(&other.text)
            });
            if runs {
                // Whoever compares what came with what was meant runs nothing unseen.
                let checked = page
                    .near(at, 8)
                    .iter()
                    .any(|other| other.zone == LineZone::Code && CHECKED.is_in(&other.text));
                let weight = match weigh_source(line, known) {
                    SignWeight::Dangerous | SignWeight::Suspicious if checked => SignWeight::Note,
                    weight => weight,
                };
                let sign = LineSign::new(
                    "download-and-run",
                    weight,
                    "saves a file from the network, which the lines below run",
                );
                found.push(super::finding(&page.path, line, &sign));
            }
        }
    }
    if page.kind == ScannedKind::Code {
        found.extend(program(page, known));
        found.extend(garbled(page));
    }
    found
}

/// A script that fetches, and runs what it did not bring along.
fn program(page: &ScannedFile, known: &KnownSites) -> Vec<SkillFinding> {
    let fetches = || {
        page.lines
            .iter()
            .filter(|line| line.words.have(WordKinds::FETCH | WordKinds::LINK))
    };
    let foreign = fetches().any(|line| {
        links(&line.text).iter().any(|link| {
            !known.has(link) && !matches!(link.place, AddressPlace::Near | AddressPlace::Installer)
        })
    });
    let mut found = Vec::new();
    let any_fetch = page
        .lines
        .iter()
        .any(|line| line.words.have(WordKinds::FETCH) && line.about == LineStance::Nothing);
    if !any_fetch {
        return reverse_shell(page);
    }
    for line in page
        .lines
        .iter()
        .filter(|line| line.words.have(WordKinds::RUN))
    {
        if WHOLE_EXEC.is_in(&line.text) && line.about == LineStance::Nothing {
            let weight = if foreign {
                SignWeight::Suspicious
            } else {
                SignWeight::Note
            };
            let sign = LineSign::new(
                "exec-and-network",
                weight,
                "runs text as code in a program that also fetches",
            );
            found.push(super::finding(&page.path, line, &sign));
        }
    }
    let writes = page.lines.iter().any(|line| WRITES_FILE.is_in(&line.text));
    let chmods = page.lines.iter().find(|line| {
        line.words.have(WordKinds::RUN)
            && line.text.contains("chmod")
            && line.text.contains("755")
                | line.text.contains("+x")
                | line.text.contains("777")
                | line.text.contains("s_ixusr")
    });
    let runs = page
        .lines
        .iter()
        .any(|line| line.words.have(WordKinds::RUN) && TEMP_RUN.is_in(&line.text));
    if let Some(line) = chmods.filter(|_| writes && runs && foreign) {
        let sign = LineSign::new(
            "download-and-run",
            SignWeight::Suspicious,
            "makes a file executable in a program that downloads, writes and starts things",
        );
        found.push(super::finding(&page.path, line, &sign));
    }
    found.extend(reverse_shell(page));
    found
}

/// A connection whose both ends are tied to a shell.
fn reverse_shell(page: &ScannedFile) -> Vec<SkillFinding> {
    let connects = page.lines.iter().any(|line| SOCKET.is_in(&line.text));
    let shell = page.lines.iter().find(|line| {
        line.words.have(WordKinds::BACKDOOR)
            && (SHELL_SPAWN.is_in(&line.text) || DUPED.is_in(&line.text))
    });
    match shell.filter(|_| connects) {
        Some(line) => {
            let sign = LineSign::new(
                "reverse-shell",
                SignWeight::Dangerous,
                "ties a shell to a network connection",
            );
            vec![super::finding(&page.path, line, &sign)]
        }
        None => Vec::new(),
    }
}

/// Names nobody would choose.
fn garbled(page: &ScannedFile) -> Vec<SkillFinding> {
    /// A few such names may come from a compiler.
    const MANY: usize = 12;
    let lines: Vec<&ScannedLine> = page
        .lines
        .iter()
        .filter(|line| line.words.have(WordKinds::GARBLED))
        .collect();
    let count: usize = lines
        .iter()
        .map(|line| {
            GARBLED
                .regex()
                .map_or(0, |regex| regex.find_iter(&line.text).count())
        })
        .sum();
    match lines.first().filter(|_| count >= MANY) {
        Some(line) => {
            let sign = LineSign::new(
                "obfuscated",
                SignWeight::Dangerous,
                "is obfuscated, so that nobody can read what it does",
            );
            vec![super::finding(&page.path, line, &sign)]
        }
        None => Vec::new(),
    }
}

/// Whether a decoded line would do something when run.
pub(super) fn is_command(line: &ScannedLine) -> bool {
    let acts = line.words.have_any(WordKinds::FETCH | WordKinds::BACKDOOR);
    let runs = line.words.have(WordKinds::SHELL)
        || [
            "import os",
            "subprocess",
            "child_process",
            "invoke-",
            "/bin/",
        ]
        .iter()
        .any(|word| line.text.contains(word));
    (acts && (runs || line.words.have(WordKinds::LINK) || !links(&line.text).is_empty()))
        || (runs && line.words.have(WordKinds::RUN | WordKinds::LINK))
}

/// Code, or a command in the middle of a sentence.
fn is_code(line: &ScannedLine) -> bool {
    line.zone == LineZone::Code || line.raw.contains('`') || line.words.have_any(WordKinds::SHELL)
}
