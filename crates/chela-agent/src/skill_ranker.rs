//! Which skills fit a message: ranked by the index that ranks notes and tools.

use std::sync::Mutex;

use chela_core::{lock, ok_or_warn};
use chela_memory::{CardIndex, IndexCard};
use chela_skills::{AgentSkills, Skill};

/// How many skills are described for a message.
pub const DESCRIBED_PER_MESSAGE: usize = 5;
/// How many are looked at to find those: one that is used often may come from further down.
const LOOKED_AT: usize = 20;
/// How much use raises a skill: one used ten times lately passes one or two others.
const USE: f64 = 0.1;

/// The skills of a prompt, ready to be asked about. The index is made with the first question.
#[derive(Debug, Default)]
pub struct SkillRanker(Mutex<Option<CardIndex>>);

impl SkillRanker {
    /// The skills that fit a message, best first, at most so many.
    pub fn rank<'s>(&self, skills: &'s AgentSkills, message: &str, most: usize) -> Vec<&'s Skill> {
        let listed = skills.listed();
        let mut index = lock(&self.0);
        let index = match &mut *index {
            Some(index) => index,
            none => {
                let cards: Vec<IndexCard> = listed.iter().map(|skill| skill_card(skill)).collect();
                let made = ok_or_warn!(CardIndex::new(&cards), "the skills are not ranked");
                let Some(made) = made else {
                    return Vec::new();
                };
                none.insert(made)
            }
        };
        let found = index.find(message, most.max(LOOKED_AT));
        let found = ok_or_warn!(found, "the skills are not ranked").unwrap_or_default();
        let mut ranked: Vec<(f64, &Skill)> = found
            .iter()
            .enumerate()
            .filter_map(|(at, name)| {
                let skill = listed.iter().find(|skill| skill.name == *name)?;
                let used = 1.0 + USE * (1.0 + skills.use_of(name)).ln();
                Some((used / place_cost(at), *skill))
            })
            .collect();
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        ranked
            .into_iter()
            .map(|(_, skill)| skill)
            .take(most)
            .collect()
    }
}

/// Each place further down costs a little less than the one before.
fn place_cost(at: usize) -> f64 {
    10.0 + f64::from(u32::try_from(at).unwrap_or(u32::MAX))
}

/// What a skill is found by: its name, what it says of itself, and what its text is divided into.
pub fn skill_card(skill: &Skill) -> IndexCard {
    let mut text = skill.description.clone();
    for heading in &skill.headings {
        text.push('\n');
        text.push_str(heading);
    }
    IndexCard {
        name: skill.name.clone(),
        text,
    }
}
