//! Whether what a tool brought is the text of a skill, by whatever way it was read.

use std::path::{Path, PathBuf};

use chela_core::ok_or_debug;
use chela_model::ToolCall;
use chela_skills::{AgentSkills, Skill, SkillPresence};

use super::SkillBound;

/// Longer lines are told apart from other text.
const TELLING: usize = 16;
/// So many of them are no accident.
const ENOUGH: usize = 3;
const MOST_BYTES: u64 = 512 * 1024;

/// A call, and what came of it.
pub(super) struct ReadCall<'a> {
    pub call: &'a ToolCall,
    /// The files it was about, where it only read.
    pub files: &'a [PathBuf],
    pub done: bool,
    pub text: &'a str,
}

impl ReadCall<'_> {
    /// The bounds of the skills whose text it brought.
    pub(super) fn bounds(&self, skills: &AgentSkills) -> Vec<SkillBound> {
        let usable = skills.skills().iter().filter(|skill| {
            matches!(
                skill.presence(),
                SkillPresence::Listed | SkillPresence::OnCall
            )
        });
        usable
            .filter_map(|skill| {
                let skill = skill.skill();
                let tools = skill.front.allowed_tools.as_deref()?;
                self.is_of(skill)
                    .then(|| SkillBound::new(&skill.name, tools))
            })
            .collect()
    }

    fn is_of(&self, skill: &Skill) -> bool {
        let Ok(file) = skill.file.canonicalize() else {
            return false;
        };
        if self.done && self.files.contains(&file) {
            return true;
        }
        let found = self.lines_of(&file);
        // Named and seen, or seen at length.
        let enough = match self.names(skill) {
            true => 1,
            false => ENOUGH,
        };
        found.all > 0 && found.seen >= enough.min(found.all)
    }

    /// Whether the arguments speak of the skill's folder.
    fn names(&self, skill: &Skill) -> bool {
        let folder = skill.folder.file_name().and_then(|name| name.to_str());
        let mut values = self
            .call
            .arguments
            .values()
            .filter_map(|value| value.as_str());
        folder.is_some_and(|folder| values.any(|value| value.contains(folder)))
    }

    fn lines_of(&self, file: &Path) -> Lines {
        let size = file.metadata().map_or(u64::MAX, |facts| facts.len());
        let text = match size <= MOST_BYTES {
            true => {
                let text = std::fs::read_to_string(file);
                ok_or_debug!(text, "a skill's file is not compared").unwrap_or_default()
            }
            false => String::new(),
        };
        let body = body_of(&text);
        let mut lines: Vec<&str> = body
            .lines()
            .map(str::trim)
            .filter(|line| line.chars().count() >= TELLING)
            .collect();
        if lines.is_empty() {
            // A short text is known as a whole.
            lines.extend(Some(body.trim()).filter(|body| !body.is_empty()));
        }
        lines.sort_unstable();
        lines.dedup();
        Lines {
            all: lines.len(),
            seen: lines
                .iter()
                .filter(|line| self.text.contains(**line))
                .count(),
        }
    }
}

struct Lines {
    all: usize,
    seen: usize,
}

/// What stands after the front matter, which lists and searches show without its being used.
fn body_of(text: &str) -> &str {
    let after = text.strip_prefix("---").and_then(|rest| {
        let end = rest.find("\n---")?;
        let rest = rest.get(end + 4..).unwrap_or_default();
        Some(rest.split_once('\n').map_or("", |(_, body)| body))
    });
    after.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::body_of;

    #[test]
    fn the_body_is_what_stands_after_the_front_matter() {
        assert_eq!(body_of("---\nname: x\n---\nSay it.\n"), "Say it.\n");
        assert_eq!(body_of("Say it."), "Say it.");
        assert_eq!(body_of("---\nname: x"), "---\nname: x");
    }
}
