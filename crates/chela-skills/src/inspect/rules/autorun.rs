//! What runs without being called: install scripts, hooks of the agent or the editor, files a
//! language loads by itself.

use super::pattern::patterns;
use super::{LineSign, SignWeight};
use crate::finding::SkillFinding;
use crate::inspect::hosts::{AddressPlace, KnownSites, links};
use crate::inspect::scanned_file::{ScannedFile, ScannedKind};
use crate::inspect::words::WordKinds;

patterns! {
    "autorun.txt":
    INSTALL_STEP, HARMLESS_STEP, STEP_ACTS, HOOK, COMMAND_KEY, COMMAND_ACTS, YAML_OBJECT, CMDCLASS,
    ACTS, PICKLED, PTH_IMPORT,
}

pub(super) fn look(page: &ScannedFile, at: usize, known: &KnownSites, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    let text = line.text.as_str();
    if (text.contains("!!") || text.contains("!ruby")) && YAML_OBJECT.is_in(text) {
        let what = "builds an object while being read, which runs code in careless readers";
        signs.push(LineSign::new("autorun", SignWeight::Dangerous, what));
    }
    if text.contains(".load") && PICKLED.is_in(text) {
        let what = "unpacks stored objects from a hidden text, which runs code";
        signs.push(LineSign::new(
            "encoded-command",
            SignWeight::Dangerous,
            what,
        ));
    }
    if page.kind == ScannedKind::Prose || !line.words.have(WordKinds::AUTORUN) {
        return;
    }
    let name = page.path.rsplit('/').next().unwrap_or_default();
    if name == "package.json" && INSTALL_STEP.is_in(text) && is_script(page, at) {
        let weight = if STEP_ACTS.is_in(text) {
            SignWeight::Dangerous
        } else if HARMLESS_STEP.is_in(text) {
            return;
        } else {
            SignWeight::Note
        };
        let what = "runs a command by itself as soon as the package is installed";
        signs.push(LineSign::new("autorun", weight, what));
    }
    if is_settings(name) && COMMAND_KEY.is_in(text) && COMMAND_ACTS.is_in(text) {
        let foreign = links(text).iter().any(|link| {
            !known.has(link) && !matches!(link.place, AddressPlace::Near | AddressPlace::Installer)
        });
        let hooked = page.near(at, 10).iter().any(|near| HOOK.is_in(&near.text));
        let weight = match (foreign, hooked) {
            (true, _) => SignWeight::Dangerous,
            (false, true) => SignWeight::Suspicious,
            (false, false) => SignWeight::Note,
        };
        let what = "has the agent or the editor run a network command by itself";
        signs.push(LineSign::new("autorun", weight, what));
    }
}

/// Whether a line of a package.json stands among the scripts, and not deeper in something of its own.
fn is_script(page: &ScannedFile, at: usize) -> bool {
    let mut open = 0_i32;
    for line in page.lines.iter().take(at + 1).rev() {
        if line.text.contains("\"scripts\"") {
            return true;
        }
        for c in line.text.chars() {
            open += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
        }
        if open > 0 {
            return false;
        }
    }
    true
}

fn is_settings(name: &str) -> bool {
    [".json", ".jsonc", ".yaml", ".yml", ".toml"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Files that a language runs when it starts or installs.
pub(super) fn across(page: &ScannedFile) -> Vec<SkillFinding> {
    let name = page.path.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    let mut remark = |line: &crate::inspect::scanned_file::ScannedLine,
                      weight: SignWeight,
                      what: &'static str| {
        let sign = LineSign::new("autorun", weight, what);
        found.push(super::finding(&page.path, line, &sign));
    };
    if name.ends_with(".pth") || matches!(name, "sitecustomize.py" | "usercustomize.py") {
        let acts = page
            .lines
            .iter()
            .find(|line| PTH_IMPORT.is_in(&line.text) || ACTS.is_in(&line.text));
        if let Some(line) = acts {
            let what = "is run by Python at every start, whatever is started";
            remark(line, SignWeight::Dangerous, what);
        }
    }
    if name == "setup.py"
        && let Some(line) = page.lines.iter().find(|line| CMDCLASS.is_in(&line.text))
        && page.lines.iter().any(|line| ACTS.is_in(&line.text))
    {
        let what = "does more than copying files while it is installed";
        remark(line, SignWeight::Suspicious, what);
    }
    found
}
