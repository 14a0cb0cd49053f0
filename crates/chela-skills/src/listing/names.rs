//! Skills by name alone, in groups that share the pattern of their location.

use std::fmt::Write;
use std::path::Path;

use chela_core::{Host, sanitize};

use super::Item;
use crate::skill::Skill;
use crate::xml::escape;

/// Names below one folder, or one skill whose folder is not called like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// `~/.chela/workspace/skills/{name}/SKILL.md`, escaped.
    location: String,
    names: Vec<String>,
}

impl Group {
    pub(crate) fn chars(&self) -> usize {
        let tags = "<skills location=\"\"></skills>\n".len();
        let names: usize = self.names.iter().map(|name| super::chars(name) + 1).sum();
        tags + super::chars(&self.location) + names
    }
}

/// The groups of some skills, in the order the skills came in.
pub(crate) fn group_by_place<'a>(
    skills: impl IntoIterator<Item = &'a Skill>,
    host: &Host,
) -> Vec<Group> {
    let mut groups: Vec<(Option<&Path>, Group)> = Vec::new();
    for skill in skills {
        let parent = shared_parent(skill);
        let name = escape(&skill.name).into_owned();
        if let Some((_, group)) =
            parent.and_then(|parent| groups.iter_mut().find(|(known, _)| *known == Some(parent)))
        {
            group.names.push(name);
            continue;
        }
        let location = match parent {
            Some(parent) => host.compact(&parent.join("{name}").join(crate::SKILL_FILE)),
            None => host.compact(&skill.file),
        };
        let location = escape(&sanitize::literal(&location)).into_owned();
        groups.push((
            parent,
            Group {
                location,
                names: vec![name],
            },
        ));
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The folder a skill shares with others, if its own folder is called like it and its name can
/// stand between blanks.
fn shared_parent(skill: &Skill) -> Option<&Path> {
    let folder_is_name = skill
        .folder
        .file_name()
        .is_some_and(|folder| folder == skill.name.as_str());
    let usual_file = skill
        .file
        .file_name()
        .is_some_and(|file| file == crate::SKILL_FILE);
    let one_word = !skill.name.contains(char::is_whitespace);
    (folder_is_name && usual_file && one_word)
        .then(|| skill.folder.parent())
        .flatten()
}

pub(crate) fn write_groups(text: &mut String, groups: &[Group]) {
    for group in groups {
        let _ = writeln!(
            text,
            "<skills location=\"{}\">{}</skills>",
            group.location,
            group.names.join(" ")
        );
    }
}

/// How much a name costs in its group; a little too much for the first of a group.
pub(super) fn name_chars(item: &Item<'_>) -> usize {
    if shared_parent(item.skill).is_some() {
        super::chars(&item.name) + 1
    } else {
        "<skills location=\"\"></skills>\n".len()
            + super::chars(&item.name)
            + super::chars(&item.location)
            + 1
    }
}

/// What the frames of all groups cost together.
pub(super) fn frame_chars(items: &[Item<'_>], host: &Host) -> usize {
    let groups = group_by_place(
        items
            .iter()
            .map(|item| item.skill)
            .filter(|skill| shared_parent(skill).is_some()),
        host,
    );
    groups
        .iter()
        .map(|group| {
            group.chars()
                - group
                    .names
                    .iter()
                    .map(|name| super::chars(name) + 1)
                    .sum::<usize>()
        })
        .sum()
}
