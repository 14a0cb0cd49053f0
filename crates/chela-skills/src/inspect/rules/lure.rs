//! Making a person install something: locked archives, pages to copy from, made-up requirements.

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::inspect::hosts::{AddressPlace, KnownSites, links};
use crate::inspect::scanned_file::{ScannedFile, ScannedLine};
use crate::inspect::words::WordKinds;

patterns! {
    "lure.txt":
    ARCHIVE_PASSWORD, MAKES_ARCHIVE, PASTE_IN_TERMINAL, FROM_PAGE, REQUIRED, SEED, VAGUE, RUN_IT,
    DOWNLOAD,
}

pub(super) fn look(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    locked_archive(page, at, signs);
    pasted(page, at, signs);
    program(page, at, known, signs);
    vague_link(page, at, known, signs);
    if line.words.have(WordKinds::SECRET) && SEED.is_in(&line.text) {
        signs.push(LineSign::new(
            "asks-for-keys",
            SignWeight::Suspicious,
            "asks a person for a wallet's seed phrase",
        ));
    }
    if line.words.have(WordKinds::LINK) {
        paste_host(page, at, signs);
    }
}

/// An archive with a password: the password is there so that no scanner sees what is inside.
fn locked_archive(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have(WordKinds::ARCHIVE | WordKinds::PASSWORD)
        || !ARCHIVE_PASSWORD.is_in(&line.text)
    {
        return;
    }
    let makes = MAKES_ARCHIVE.is_in(&line.text);
    let fetched = page.near(at, 4).iter().any(|near| {
        let program = links(&near.text).iter().any(|link| {
            link.is_program()
                || link.place == AddressPlace::Paste
                || link.target.contains("/releases/")
        });
        program || (near.words.have(WordKinds::LINK) && DOWNLOAD.is_in(&near.text))
    });
    let weight = match (fetched, makes) {
        (true, _) => SignWeight::Dangerous,
        (false, false) if DOWNLOAD.is_in(&line.text) => SignWeight::Suspicious,
        _ => SignWeight::Note,
    };
    signs.push(LineSign::new(
        "locked-archive",
        weight,
        "asks to open an archive with a password, which keeps scanners out",
    ));
}

/// Copy a command from a page and paste it into a terminal.
fn pasted(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have(WordKinds::COPY | WordKinds::TERMINAL)
        || !PASTE_IN_TERMINAL.is_in(&line.text)
    {
        return;
    }
    let foreign = |line: &ScannedLine| {
        links(&line.text)
            .iter()
            .any(|link| !matches!(link.place, AddressPlace::Near | AddressPlace::Installer))
    };
    let paste = page.near(at, 3).iter().any(|near| {
        links(&near.text)
            .iter()
            .any(|link| link.place == AddressPlace::Paste)
    });
    if paste {
        signs.push(LineSign::new(
            "paste-and-run",
            SignWeight::Dangerous,
            "has a person run a command from a page anyone can change",
        ));
    } else if foreign(line)
        && FROM_PAGE.is_in(&line.text)
        && (line.text.contains("copy")
            || line.text.contains("paste")
            || line.text.contains("command"))
    {
        signs.push(LineSign::new(
            "paste-and-run",
            SignWeight::Dangerous,
            "has a person copy a command from a page and run it unseen",
        ));
    }
}

/// A requirement whose installation is behind a link that does not say where it leads.
fn vague_link(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have(WordKinds::LINK) || !VAGUE.is_in(&line.text) {
        return;
    }
    let foreign = links(&line.text).iter().any(|link| {
        matches!(
            link.place,
            AddressPlace::Site
                | AddressPlace::Tunnel
                | AddressPlace::RawIp
                | AddressPlace::ExampleIp
                | AddressPlace::Paste
        ) && !known.has(link)
    });
    let near = page.near(at, 6);
    let required = near
        .iter()
        .any(|near| near.words.have(WordKinds::REQUIRE) && REQUIRED.is_in(&near.text));
    let systems = ["macos", "windows", "linux"]
        .iter()
        .filter(|system| near.iter().any(|near| near.text.contains(**system)))
        .count();
    if foreign && required {
        let weight = if systems >= 2 {
            SignWeight::Dangerous
        } else {
            SignWeight::Note
        };
        signs.push(LineSign::new(
            "fake-prerequisite",
            weight,
            "asks to install something from an opaque link",
        ));
    }
}

/// A program to download and start before the skill is said to work.
fn program(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !line.words.have(WordKinds::LINK) {
        return;
    }
    let links = links(&line.text);
    let Some(link) = links.iter().find(|link| link.is_program()) else {
        return;
    };
    let near = page.near(at, 4);
    let says = |words: WordKinds, check: &dyn Fn(&str) -> bool| {
        near.iter()
            .any(|near| near.words.have_any(words) && check(&near.text))
    };
    let required = says(WordKinds::REQUIRE, &|text| REQUIRED.is_in(text));
    let run = says(WordKinds::COPY | WordKinds::ARCHIVE, &|text| {
        RUN_IT.is_in(text)
    });
    let download = DOWNLOAD.is_in(&line.text) || line.text.contains("](http");
    if !(download && run) {
        return;
    }
    let odd = matches!(
        link.place,
        AddressPlace::RawIp
            | AddressPlace::ExampleIp
            | AddressPlace::Paste
            | AddressPlace::Tunnel
            | AddressPlace::Inbox
    ) || link.plain;
    let weight = match (
        required,
        odd,
        known.has(link) || link.place == AddressPlace::Installer,
    ) {
        (_, true, _) => SignWeight::Dangerous,
        (true, _, false) => SignWeight::Dangerous,
        (false, _, false) => SignWeight::Suspicious,
        (_, _, true) => SignWeight::Note,
    };
    signs.push(LineSign::new(
        "program-download",
        weight,
        "has a person download a finished program and start it",
    ));
}

/// Text hosts that hold what is to be run.
fn paste_host(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if !links(&line.text)
        .iter()
        .any(|link| link.place == AddressPlace::Paste)
    {
        return;
    }
    let run = line.words.have_any(WordKinds::FETCH | WordKinds::SHELL)
        || page
            .near(at, 2)
            .iter()
            .any(|near| RUN_IT.is_in(&near.text) || PASTE_IN_TERMINAL.is_in(&near.text));
    let sends = line.words.have(WordKinds::UPLOAD)
        || line.text.contains(" -f ")
        || line.text.contains("--upload-file")
        || line.text.contains(" -t ");
    let weight = match (run, sends) {
        (true, false) => SignWeight::Dangerous,
        (true, true) => SignWeight::Suspicious,
        _ => SignWeight::Note,
    };
    signs.push(LineSign::new(
        "paste-host",
        weight,
        "takes something from a page anyone can change",
    ));
}
