//! Skills by name alone, in groups that share the pattern of their location.

use crate::shown_skill::{ShownSkill, chars};
use crate::skill::Skill;

const TAGS: usize = "<skills location=\"\"></skills>\n".len();

/// Writes the groups of some skills, in the order the skills came in.
pub(super) fn write_groups<'a>(text: &mut String, skills: impl IntoIterator<Item = &'a Skill>) {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for skill in skills {
        let shown = &skill.shown;
        let place = shown.pattern.as_deref();
        let known = place.and_then(|place| groups.iter_mut().find(|(known, _)| *known == place));
        match known {
            Some((_, names)) => names.push(&shown.name),
            None => groups.push((place.unwrap_or(&shown.location), vec![&shown.name])),
        }
    }
    for (place, names) in groups {
        text.push_str("<skills location=\"");
        text.push_str(place);
        text.push_str("\">");
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            text.push_str(name);
        }
        text.push_str("</skills>\n");
    }
}

/// How much a name costs, without the frame of a group it shares.
pub(super) fn name_chars(shown: &ShownSkill) -> usize {
    match shown.pattern {
        Some(_) => shown.name_chars + 1,
        None => TAGS + chars(&shown.location) + shown.name_chars + 1,
    }
}

/// What the frames of all groups cost together, should every skill be named only.
pub(super) fn frame_chars(skills: &[&Skill]) -> usize {
    let mut patterns: Vec<&str> = Vec::new();
    for pattern in skills
        .iter()
        .filter_map(|skill| skill.shown.pattern.as_deref())
    {
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns.iter().map(|pattern| TAGS + chars(pattern)).sum()
}
