//! What the text of a skill shows at a glance: its headings, and files it points to elsewhere.

use crate::finding::SkillFinding;
use crate::one_line::one_line;

const MAX_HEADINGS: usize = 64;
const MAX_HEADING_CHARS: usize = 120;
/// One warning says enough; a file full of them should not fill a report.
const MAX_OUTSIDE: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SkillBody {
    pub headings: Vec<String>,
    pub outside: Vec<SkillFinding>,
}

pub(crate) fn read(body: &str, first_line: u32) -> SkillBody {
    let mut outside = Vec::new();
    if body.contains("](") || body.contains("../") {
        for (at, line) in body.lines().enumerate() {
            let line_number = first_line.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            note_outside(line, line_number, &mut outside);
        }
    }
    SkillBody {
        headings: headings(body),
        outside,
    }
}

/// The headings outside of code. Only the first characters of a line are looked at: thousands of
/// bodies are read at a start, and most of their lines are plain text.
fn headings(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_fence = false;
    let breaks = body.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    for start in std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)) {
        let rest = body.get(start..).unwrap_or_default();
        match rest.bytes().next() {
            Some(b'#') if !in_fence && found.len() < MAX_HEADINGS => {
                let line = rest.lines().next().unwrap_or_default();
                let heading = one_line(line.trim_matches(['#', ' ']), MAX_HEADING_CHARS);
                if !heading.is_empty() {
                    found.push(heading);
                }
            }
            Some(b' ' | b'`' | b'~') => {
                let text = rest.trim_start_matches(' ');
                if text.starts_with("```") || text.starts_with("~~~") {
                    in_fence = !in_fence;
                }
            }
            _ => {}
        }
    }
    found
}

/// W09: links and paths that leave the skill's own folder.
fn note_outside(line: &str, line_number: u32, outside: &mut Vec<SkillFinding>) {
    for target in link_targets(line).chain(climbing_paths(line)) {
        if outside.len() >= MAX_OUTSIDE {
            return;
        }
        if leaves_folder(target) && !outside.iter().any(|known| known.message.contains(target)) {
            let shown = one_line(target, 80);
            outside.push(
                SkillFinding::warning(
                    "outside-reference",
                    format!("refers to `{shown}`, outside its folder"),
                )
                .at(line_number)
                .hint("keep what a skill needs inside its folder"),
            );
        }
    }
}

/// Targets of Markdown links that are paths.
pub(crate) fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, opening)| {
        let rest = line.get(at + opening.len()..)?;
        let rest = rest.strip_prefix('<').unwrap_or(rest);
        let end = rest.find([')', ' ', '>', '#', '?'])?;
        let target = rest.get(..end)?;
        let is_url = target.contains("://") || target.starts_with("mailto:") || target.is_empty();
        (!is_url).then_some(target)
    })
}

/// `../shared/x` and `{baseDir}/../x` written anywhere in the text.
fn climbing_paths(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "`'\"()[]<>,;|".contains(c);
    line.split(ends)
        .filter(|word| {
            word.starts_with("../") || word.starts_with("{baseDir}/..") || word.starts_with("./..")
        })
        .map(|word| {
            if word.ends_with("..") {
                word
            } else {
                word.trim_end_matches(['.', ':'])
            }
        })
}

/// Whether a path, taken from the skill's folder, ends up outside it.
pub(crate) fn leaves_folder(path: &str) -> bool {
    let path = path.strip_prefix("{baseDir}/").unwrap_or(path);
    if path.starts_with(['/', '~', '\\']) || path.get(1..3) == Some(":\\") {
        return true;
    }
    let mut depth = 0i32;
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{leaves_folder, read};

    #[test]
    fn headings_are_seen_and_fences_are_not() {
        let body = read(
            "# One\ntext\n```sh\n# not a heading\n```\n## Two ##\n#\n",
            5,
        );
        assert_eq!(body.headings, ["One", "Two"]);
    }

    #[test]
    fn w09_references_outside_the_folder_are_flagged_with_their_line() {
        let text = "See [a](references/a.md) and [b](https://x.y/../z).\n\
                    Then [c](../other/SKILL.md), run `../../bin/x` and {baseDir}/../y.\n";
        let body = read(text, 10);
        let found: Vec<_> = body
            .outside
            .iter()
            .map(|finding| (finding.line, finding.message.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (
                    Some(11),
                    "refers to `../other/SKILL.md`, outside its folder"
                ),
                (Some(11), "refers to `../../bin/x`, outside its folder"),
                (Some(11), "refers to `{baseDir}/../y`, outside its folder"),
            ]
        );
    }

    #[test]
    fn paths_are_followed_step_by_step() {
        for outside in [
            "/etc/passwd",
            "~/x",
            "../x",
            "a/../../x",
            "C:\\x",
            "{baseDir}/../x",
        ] {
            assert!(leaves_folder(outside), "{outside}");
        }
        for inside in ["a", "./a", "a/../b", "a/b/..", "{baseDir}/a"] {
            assert!(!leaves_folder(inside), "{inside}");
        }
    }
}
