//! Names: what the Agent Skills format asks of them, and what they become as commands.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::finding::SkillFinding;
use crate::one_line::one_line;

/// The longest name that is kept.
const MAX_CHARS: usize = 64;

pub(crate) fn of_folder(folder: &Path) -> &str {
    folder
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("skill")
}

/// What a skill is called, and what is wrong with the name that is written down, if there is one.
pub(crate) fn settle(written: Option<&str>, folder: &str) -> (String, Vec<SkillFinding>) {
    let clean = written
        .map(|name| one_line(name, MAX_CHARS))
        .filter(|name| !name.is_empty());
    match clean {
        Some(name) => {
            let findings = problems(written.unwrap_or(&name), folder);
            (name, findings)
        }
        None => {
            let finding = SkillFinding::warning(
                "no-name",
                format!("has no name; it is called `{folder}` like its folder"),
            );
            (
                one_line(folder, MAX_CHARS),
                vec![finding.hint(format!("add `name: {folder}`"))],
            )
        }
    }
}

/// What is wrong with a skill's name; empty when nothing is.
pub(crate) fn problems(name: &str, folder: &str) -> Vec<SkillFinding> {
    let warn = |code, message: String| {
        let suggestion = suggested(name);
        let finding = SkillFinding::warning(code, message);
        if suggestion.is_empty() {
            finding
        } else {
            finding.hint(format!("write `{suggestion}`"))
        }
    };
    let mut found = Vec::new();
    let chars = name.chars().count();
    if chars == 0 || chars > MAX_CHARS {
        found.push(warn(
            "name-length",
            format!("the name has {chars} characters; 1 to 64 are allowed"),
        ));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(allowed) {
        found.push(warn(
            "name-characters",
            "the name may contain only a-z, 0-9 and `-`".to_owned(),
        ));
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        found.push(warn(
            "name-hyphens",
            "the name may not start or end with a hyphen, or have two in a row".to_owned(),
        ));
    }
    if found.is_empty() && name != folder {
        found.push(
            SkillFinding::warning(
                "name-mismatch",
                format!("the name `{name}` differs from its folder, `{folder}`"),
            )
            .hint("give both the same name"),
        );
    }
    found
}

/// The nearest name that keeps the rules.
pub(crate) fn suggested(name: &str) -> String {
    let mut plain = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => plain.push(c),
            _ if !plain.ends_with('-') => plain.push('-'),
            _ => {}
        }
    }
    plain
        .trim_matches('-')
        .chars()
        .take(MAX_CHARS)
        .collect::<String>()
        .trim_end_matches('-')
        .to_owned()
}

/// Whether a name keeps all the rules.
pub fn is_valid_name(name: &str) -> bool {
    problems(name, name).is_empty()
}

/// The longest command name that chat platforms take.
const MAX_COMMAND_CHARS: usize = 32;

/// Command names for skills: a-z, 0-9 and `_`, at most 32 characters, a number on collision.
/// The order of the names decides who goes without a number. `taken` are commands that exist.
pub fn command_names<'a>(
    names: impl IntoIterator<Item = &'a str>,
    taken: &[&str],
) -> BTreeMap<String, &'a str> {
    let mut used: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    let mut commands = BTreeMap::new();
    for name in names {
        let base = command_base(name);
        let mut command = base.clone();
        let mut number = 2;
        while !used.insert(command.clone()) {
            let suffix = format!("_{number}");
            let room = MAX_COMMAND_CHARS - suffix.len();
            command = format!(
                "{}{suffix}",
                base.get(..room).unwrap_or(&base).trim_end_matches('_')
            );
            number += 1;
        }
        commands.insert(command, name);
    }
    commands
}

/// A name in the letters of a command.
pub(crate) fn command_base(name: &str) -> String {
    let mut plain = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => plain.push(c),
            _ if !plain.ends_with('_') => plain.push('_'),
            _ => {}
        }
    }
    let base: String = plain
        .trim_matches('_')
        .chars()
        .take(MAX_COMMAND_CHARS)
        .collect();
    let base = base.trim_end_matches('_');
    if base.is_empty() {
        "skill".to_owned()
    } else {
        base.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{command_names, is_valid_name, problems, suggested};
    use proptest::prelude::*;

    #[test]
    fn names_are_judged_by_the_format() {
        assert!(is_valid_name("pdf-tools"));
        for bad in ["", "PDF", "a_b", "-a", "a-", "a--b", "a b", &"x".repeat(65)] {
            assert!(!is_valid_name(bad), "{bad}");
        }
        assert_eq!(problems("pdf", "pdf-tools")[0].code, "name-mismatch");
        assert_eq!(suggested("Image  Generation!"), "image-generation");
    }

    #[test]
    fn commands_are_sanitized_and_numbered() {
        let commands = command_names(["pdf-tools", "PDF Tools", "天气", "new"], &["new"]);
        let pairs: Vec<_> = commands
            .iter()
            .map(|(command, name)| (command.as_str(), *name))
            .collect();
        assert_eq!(
            pairs,
            [
                ("new_2", "new"),
                ("pdf_tools", "pdf-tools"),
                ("pdf_tools_2", "PDF Tools"),
                ("skill", "天气")
            ]
        );
    }

    proptest! {
        #[test]
        fn every_skill_gets_a_command_of_its_own(names in prop::collection::hash_set(".{0,60}", 0..40)) {
            let commands = command_names(names.iter().map(String::as_str), &["help"]);
            prop_assert_eq!(commands.len(), names.len());
            for command in commands.keys() {
                prop_assert!(command.len() <= 32 && !command.is_empty());
                prop_assert!(command.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
            }
        }
    }
}
