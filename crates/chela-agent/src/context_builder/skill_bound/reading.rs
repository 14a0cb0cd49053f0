//! Whether what a tool brought is the text of a skill, by whatever way it was read.

use std::path::{Path, PathBuf};

use chela_core::ok_or_debug;
use chela_model::ToolCall;
use chela_skills::{AgentSkill, AgentSkills, Skill, SkillLook, SkillPresence};
use serde_json::Value;

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
    /// The skills whose text it brought, of those it makes a difference for: such as bound or were
    /// granted something, and such as nobody has scanned.
    pub(super) fn skills<'s>(&self, skills: &'s AgentSkills) -> Vec<&'s AgentSkill> {
        let usable = skills.skills().iter().filter(|skill| {
            matches!(
                skill.presence(),
                SkillPresence::Listed | SkillPresence::OnCall
            )
        });
        usable
            .filter(|skill| match skill.entry.trust.look {
                SkillLook::Waiting => self.concerns(skill.skill()) && self.is_of(skill.skill()),
                SkillLook::Done => matters(skill) && self.is_of(skill.skill()),
            })
            .collect()
    }

    /// Whether a call has to do with the folder of a skill. There may be hundreds that were never
    /// scanned: comparing the text of each with every result would take too long.
    fn concerns(&self, skill: &Skill) -> bool {
        let root = skill.root.file_name().and_then(|name| name.to_str());
        let mut values = self.call.arguments.values();
        self.names(skill)
            || root.is_some_and(|root| values.any(|value| holds(value, root)))
            || self.files.iter().any(|file| {
                let folder = skill.folder.canonicalize();
                folder.is_ok_and(|folder| file.starts_with(folder))
            })
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
        let mut values = self.call.arguments.values();
        folder.is_some_and(|folder| values.any(|value| holds(value, folder)))
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

/// Whether it makes a difference that a skill is in use.
fn matters(skill: &AgentSkill) -> bool {
    skill.skill().front.only_tools.is_some() || !skill.entry.granted.is_empty()
}

fn holds(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word),
        Value::Array(items) => items.iter().any(|item| holds(item, word)),
        _ => false,
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
