//! What became of the skills since a listing was made.

use std::collections::BTreeMap;

use crate::shown_skill::ShownSkill;
use crate::skill::Skill;

/// Most skills that are told of with all they say of themselves; of the others the name.
const MOST_DESCRIBED: usize = 20;
/// Longest description of one that is told, in characters.
const LONGEST_DESCRIPTION: usize = 300;

/// What is different from an earlier listing. Entries are in the form of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillChanges {
    /// Not in the listing: name and entry.
    pub added: Vec<(String, String)>,
    /// In the listing with another version: name and entry.
    pub changed: Vec<(String, String)>,
    /// In the listing, and no longer to be used.
    pub withdrawn: Vec<String>,
}

impl SkillChanges {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.withdrawn.is_empty()
    }
}

/// Compares the skills that would be listed now with an earlier listing, as a model has it.
pub fn changes_since(told: &str, skills: &[&Skill]) -> SkillChanges {
    let told = told_versions(told);
    let mut changes = SkillChanges::default();
    for skill in skills {
        let shown = &skill.shown;
        let entry = || {
            let described = changes.added.len() + changes.changed.len();
            (skill.name.clone(), entry_of(shown, described))
        };
        match told.get(shown.name.as_str()) {
            None => {
                let entry = entry();
                changes.added.push(entry);
            }
            // A group of names has no versions.
            Some(None) => {}
            Some(Some(version)) if *version == shown.version => {}
            Some(Some(_)) => {
                let entry = entry();
                changes.changed.push(entry);
            }
        }
    }
    let is_there = |name: &str| skills.iter().any(|skill| skill.shown.name == name);
    let gone = told.keys().filter(|name| !is_there(name));
    changes.withdrawn = gone.map(|name| (*name).to_owned()).collect();
    changes
}

fn entry_of(shown: &ShownSkill, described: usize) -> String {
    let cap = match described < MOST_DESCRIBED {
        true => LONGEST_DESCRIPTION,
        false => 0,
    };
    let mut text = String::new();
    shown.write(&mut text, cap);
    text.trim_end().to_owned()
}

/// The names of a listing, each with its version where the listing says it.
fn told_versions(listing: &str) -> BTreeMap<&str, Option<&str>> {
    let mut told = BTreeMap::new();
    for line in listing.lines() {
        if let Some(name) = between(line, "<skill><name>", "</name>") {
            told.insert(name, between(line, "<version>sha256:", "</version>"));
        } else if line.starts_with("<skills ") {
            let names = between(line, "\">", "</skills>").unwrap_or_default();
            told.extend(names.split(' ').map(|name| (name, None)));
        }
    }
    told.remove("");
    told
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inner, _)| inner)
}

#[cfg(test)]
mod tests {
    use crate::fixture::SkillsHome;

    fn write(home: &mut SkillsHome, name: &str, body: &str) {
        home.write(
            &format!(".agents/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}\n"),
        );
    }

    #[test]
    fn what_came_changed_and_went_is_told_apart() {
        let home = &mut SkillsHome::new();
        write(home, "stays", "one");
        write(home, "changes", "one");
        write(home, "goes", "one");
        let before = home.open_own().for_agent(&|_| true);
        let told = before.listing().text;
        assert!(before.changes_since(&told, &|_| true).is_empty());

        write(home, "changes", "two");
        write(home, "comes", "one");
        std::fs::remove_dir_all(home.path(".agents/skills/goes")).unwrap();
        let after = home.open_own().for_agent(&|_| true);
        let changes = after.changes_since(&told, &|_| true);
        let names = |rows: &[(String, String)]| -> Vec<String> {
            rows.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&changes.added), ["comes"]);
        assert_eq!(names(&changes.changed), ["changes"]);
        assert_eq!(changes.withdrawn, ["goes"]);
        assert!(changes.changed[0].1.contains("<version>sha256:"));
    }

    #[test]
    fn groups_of_names_have_no_versions() {
        let told = "<skills location=\"~/{name}/SKILL.md\">alpha beta</skills>";
        let changes = super::changes_since(told, &[]);
        assert_eq!(changes.withdrawn, ["alpha", "beta"]);
    }
}
