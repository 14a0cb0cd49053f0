//! What became of the skills since a listing was made.

use std::collections::BTreeMap;

use super::groups;
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

/// Compares the skills that would be listed now with an earlier listing, as a model has it. Where
/// that left some out, a skill it does not name may have been there: nothing is called new then.
pub fn changes_since(told: &str, skills: &[&Skill]) -> SkillChanges {
    let was_partial = told.contains("<more>");
    let told = told_versions(told);
    let mut changes = SkillChanges::default();
    for skill in skills {
        let shown = &skill.shown;
        let entry = || {
            let described = changes.added.len() + changes.changed.len();
            (skill.name.clone(), entry_of(skill, described))
        };
        match told.get(shown.word.as_str()) {
            None if was_partial => {}
            None => {
                let entry = entry();
                changes.added.push(entry);
            }
            // Names alone have no versions.
            Some(None) => {}
            Some(Some(version)) if *version == shown.version => {}
            Some(Some(_)) => {
                let entry = entry();
                changes.changed.push(entry);
            }
        }
    }
    let is_there = |word: &str| skills.iter().any(|skill| skill.shown.word == word);
    let gone = told.keys().filter(|word| !is_there(word));
    changes.withdrawn = gone.map(|word| (*word).to_owned()).collect();
    changes
}

fn entry_of(skill: &Skill, described: usize) -> String {
    let mut text = String::new();
    let cap = (described < MOST_DESCRIBED).then_some(LONGEST_DESCRIPTION);
    groups::write(&mut text, [(skill, cap)]);
    text.trim_end().to_owned()
}

/// The names of a listing, each with its version where the listing says it.
fn told_versions(listing: &str) -> BTreeMap<&str, Option<&str>> {
    let mut told = BTreeMap::new();
    let mut inside = false;
    for line in listing.lines() {
        if line.starts_with('<') {
            inside = line.starts_with("<skills ");
        } else if let Some(names) = line.strip_prefix("- ").filter(|_| inside) {
            told.extend(names.split(' ').map(|name| (word_of(name), None)));
        } else if inside && let Some((name, rest)) = line.split_once(" v") {
            let version = rest.split_once(':').map(|(version, _)| version);
            told.insert(word_of(name), version);
        }
    }
    told.remove("");
    told
}

/// Without the folder that may follow it.
fn word_of(name: &str) -> &str {
    name.split_once('@').map_or(name, |(word, _)| word)
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
        assert!(changes.changed[0].1.contains("\nchanges v"), "{changes:?}");
    }

    #[test]
    fn names_alone_have_no_versions_and_a_partial_list_makes_nothing_new() {
        let told = "<skills location=\"~/{name}/SKILL.md\">\ngamma@x/gamma v123456: Does it v1: so.\n- alpha beta@b\n</skills>";
        let changes = super::changes_since(told, &[]);
        assert_eq!(changes.withdrawn, ["alpha", "beta", "gamma"]);
        let home = &mut SkillsHome::new();
        write(home, "delta", "one");
        let skills = home.open_own().for_agent(&|_| true);
        assert_eq!(skills.changes_since(told, &|_| true).added.len(), 1);
        let partial = format!("{told}\n<more>7 more</more>");
        assert!(skills.changes_since(&partial, &|_| true).added.is_empty());
    }
}
