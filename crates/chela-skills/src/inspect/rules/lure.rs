//! Making a person install something: locked archives, pages to copy from, made-up requirements.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::inspect::hosts::{Known, Place, links};
use crate::inspect::page::{Line, Page};
use crate::inspect::words::Words;

patterns! {
    ARCHIVE_PASSWORD = r"(?:extract|unzip|unpack|解压|archive|\.zip|\.rar|\.7z).{0,80}(?:\bpass(?:word|code|phrase)?\b|\bpwd\b|密码|contraseña|пароль|passwort)\s*(?:is|:|：|=|`|-)|(?:\bpass(?:word|code)?|密码|contraseña|пароль)\s*(?:is|:|：|=).{0,60}(?:extract|unzip|archive|解压|\.zip)|unzip\s+(?:-\S+\s+)*-p\s*\S|7z[az]?\s+[xe]\s+.*-p\S|\b(?:rar|unrar)\s+x\s+.*-p\S";
    MAKES_ARCHIVE = r"\bzip\s+-|7z[az]?\s+a\b|create|creating|protect|encrypt|compress";
    PASTE_IN_TERMINAL = r"(?:copy|paste|enter|execute|run|粘贴|执行|运行|复制).{0,100}(?:terminal|powershell|command prompt|cmd\b|console|终端|命令行)|(?:terminal|powershell|command prompt|终端).{0,60}(?:paste|execute|粘贴|执行)";
    FROM_PAGE = r"\b(?:visit|go to|open|navigate|from)\b.{0,60}(?:page|link|site|\]\(http|https?://)|访问|前往";
    REQUIRED = r"(?:require[sd]?|needs?|must|mandatory|prerequisite|not (?:work|function)|won't (?:work|function)|cannot (?:work|function|run)|before (?:using|proceeding|continuing|you)|depends on|先决|必须|需要)";
    SEED = r"(?:enter|provide|paste|send|share|input|type|give)\b.{0,40}(?:seed phrase|recovery phrase|secret phrase|12[- ]word|24[- ]word)";
    VAGUE = r"(?:install|download|setup|set up|run|visit|get|command|follow|instructions?|go to).{0,80}\[(?:here|this (?:link|page|guide|site)|link|click here|official (?:page|site|link))\]\(https?://|\[(?:here|this (?:link|page))\]\(https?://.{0,120}(?:install|terminal|command|execute|run )";
    RUN_IT = r"(?:run|execute|launch|start|open|install|double[- ]click|运行|执行|启动|安装).{0,60}(?:executable|\.exe|installer|\bit\b|\bthe (?:file|app|setup|binary|program|agent|tool|utility|driver)|可执行|setup\b|\.dmg|\.pkg|\.msi|file)";
    DOWNLOAD = r"download|下载|descarg|скач|grab|get the|fetch";
}

pub(super) fn look(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    locked_archive(page, at, signs);
    pasted(page, at, signs);
    program(page, at, known, signs);
    vague_link(page, at, known, signs);
    if line.words.have(Words::SECRET) && SEED.is_in(&line.text) {
        signs.push(Sign::new(
            "asks-for-keys",
            Weight::Suspicious,
            "asks a person for the words that open a wallet",
        ));
    }
    if line.words.have(Words::LINK) {
        paste_host(page, at, signs);
    }
}

/// An archive with a password: the password is there so that no scanner sees what is inside.
fn locked_archive(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have(Words::ARCHIVE | Words::PASSWORD) || !ARCHIVE_PASSWORD.is_in(&line.text) {
        return;
    }
    let makes = MAKES_ARCHIVE.is_in(&line.text);
    let fetched = page.near(at, 4).iter().any(|near| {
        let program = links(&near.text).iter().any(|link| {
            link.is_program() || link.place == Place::Paste || link.target.contains("/releases/")
        });
        program || (near.words.have(Words::LINK) && DOWNLOAD.is_in(&near.text))
    });
    let weight = match (fetched, makes) {
        (true, _) => Weight::Dangerous,
        (false, false) if DOWNLOAD.is_in(&line.text) => Weight::Suspicious,
        _ => Weight::Note,
    };
    signs.push(Sign::new(
        "locked-archive",
        weight,
        "asks to open an archive with a password, which keeps scanners out",
    ));
}

/// Copy a command from a page and paste it into a terminal.
fn pasted(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have(Words::COPY | Words::TERMINAL) || !PASTE_IN_TERMINAL.is_in(&line.text) {
        return;
    }
    let foreign = |line: &Line| {
        links(&line.text)
            .iter()
            .any(|link| !matches!(link.place, Place::Near | Place::Installer))
    };
    let paste = page.near(at, 3).iter().any(|near| {
        links(&near.text)
            .iter()
            .any(|link| link.place == Place::Paste)
    });
    if paste {
        signs.push(Sign::new(
            "paste-and-run",
            Weight::Dangerous,
            "has a person run a command from a page anyone can change",
        ));
    } else if foreign(line)
        && FROM_PAGE.is_in(&line.text)
        && (line.text.contains("copy")
            || line.text.contains("paste")
            || line.text.contains("command"))
    {
        signs.push(Sign::new(
            "paste-and-run",
            Weight::Dangerous,
            "has a person copy a command from a page and run it unseen",
        ));
    }
}

/// A requirement whose installation is behind a link that does not say where it leads.
fn vague_link(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have(Words::LINK) || !VAGUE.is_in(&line.text) {
        return;
    }
    let foreign = links(&line.text).iter().any(|link| {
        matches!(
            link.place,
            Place::Site | Place::Tunnel | Place::RawIp | Place::ExampleIp | Place::Paste
        ) && !known.has(link)
    });
    let near = page.near(at, 6);
    let required = near
        .iter()
        .any(|near| near.words.have(Words::REQUIRE) && REQUIRED.is_in(&near.text));
    let systems = ["macos", "windows", "linux"]
        .iter()
        .filter(|system| near.iter().any(|near| near.text.contains(**system)))
        .count();
    if foreign && required {
        let weight = if systems >= 2 {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "fake-prerequisite",
            weight,
            "wants something installed from behind a link that does not say what it is",
        ));
    }
}

/// A program to download and start before the skill is said to work.
fn program(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have(Words::LINK) {
        return;
    }
    let links = links(&line.text);
    let Some(link) = links.iter().find(|link| link.is_program()) else {
        return;
    };
    let near = page.near(at, 4);
    let says = |words: Words, check: &dyn Fn(&str) -> bool| {
        near.iter()
            .any(|near| near.words.have_any(words) && check(&near.text))
    };
    let required = says(Words::REQUIRE, &|text| REQUIRED.is_in(text));
    let run = says(Words::COPY | Words::ARCHIVE, &|text| RUN_IT.is_in(text));
    let download = DOWNLOAD.is_in(&line.text) || line.text.contains("](http");
    if !(download && run) {
        return;
    }
    let odd = matches!(
        link.place,
        Place::RawIp | Place::ExampleIp | Place::Paste | Place::Tunnel | Place::Inbox
    ) || link.plain;
    let weight = match (
        required,
        odd,
        known.has(link) || link.place == Place::Installer,
    ) {
        (_, true, _) => Weight::Dangerous,
        (true, _, false) => Weight::Dangerous,
        (false, _, false) => Weight::Suspicious,
        (_, _, true) => Weight::Note,
    };
    signs.push(Sign::new(
        "program-download",
        weight,
        "has a person download a finished program and start it",
    ));
}

/// Text hosts that hold what is to be run.
fn paste_host(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !links(&line.text)
        .iter()
        .any(|link| link.place == Place::Paste)
    {
        return;
    }
    let run = line.words.have_any(Words::FETCH | Words::SHELL)
        || page
            .near(at, 2)
            .iter()
            .any(|near| RUN_IT.is_in(&near.text) || PASTE_IN_TERMINAL.is_in(&near.text));
    let sends = line.words.have(Words::UPLOAD)
        || line.text.contains(" -f ")
        || line.text.contains("--upload-file")
        || line.text.contains(" -t ");
    let weight = match (run, sends) {
        (true, false) => Weight::Dangerous,
        (true, true) => Weight::Suspicious,
        _ => Weight::Note,
    };
    signs.push(Sign::new(
        "paste-host",
        weight,
        "takes something from a page anyone can change",
    ));
}
