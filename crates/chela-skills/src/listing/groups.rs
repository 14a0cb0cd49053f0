//! Skills under the frames of the folders they share.

use std::collections::HashMap;

use crate::shown_skill::chars;
use crate::skill::Skill;

pub(super) const OPEN: &str = "<available_skills>\n";
pub(super) const CLOSE: &str = "</available_skills>";
const FRAME: usize = "<skills location=\"\">\n</skills>\n".len();
const NAMES: usize = "-\n".len();

/// The skills of one folder, those with a description before those by name alone.
#[derive(Default)]
struct FolderGroup<'a> {
    place: &'a str,
    described: Vec<(&'a Skill, usize)>,
    named: Vec<&'a Skill>,
}

/// Writes skills in the order they came in: each with the cap of its description, or by name alone.
pub(super) fn write<'a>(
    text: &mut String,
    skills: impl IntoIterator<Item = (&'a Skill, Option<usize>)>,
) {
    let mut at: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<FolderGroup<'_>> = Vec::new();
    for (skill, cap) in skills {
        let place = skill.shown.group.as_str();
        let known = *at.entry(place).or_insert(groups.len());
        if known == groups.len() {
            groups.push(FolderGroup {
                place,
                ..FolderGroup::default()
            });
        }
        if let Some(group) = groups.get_mut(known) {
            match cap {
                Some(cap) => group.described.push((skill, cap)),
                None => group.named.push(skill),
            }
        }
    }
    for group in groups {
        text.push_str("<skills location=\"");
        text.push_str(group.place);
        text.push_str("\">\n");
        for (skill, cap) in group.described {
            skill.shown.write_line(text, cap);
        }
        if !group.named.is_empty() {
            text.push('-');
            for skill in group.named {
                text.push(' ');
                skill.shown.write_name(text);
            }
            text.push('\n');
        }
        text.push_str("</skills>\n");
    }
}

/// What the frame of a folder costs, with the line of names it may have.
pub(super) fn frame_chars(group: &str) -> usize {
    FRAME + NAMES + chars(group)
}
