//! Measuring the ranking: 500 skills and what people said when they needed one of them.
//!
//! The skills and queries under `data/ranking` are of our own writing. The queries are split: the
//! smaller part was looked at while tuning, the larger was not. Both were written by the same
//! hand as the descriptions, which flatters every ranking; compare figures, not with one's own.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use chela_core::{Host, tokens};
use chela_skills::{
    DESCRIBED_PER_MESSAGE, ListingRequest, RankIndex, Skill, SkillLibrary, SkillLimits,
    SkillPlaces, SkillSource, SkillUses, SkillsSettings, entry_tokens, list,
};
use serde::Serialize;

/// Skills, and queries with the skill each should find.
#[derive(Debug, Clone)]
pub struct RankingBench {
    skills: Vec<Skill>,
    queries: Vec<(String, String)>,
}

/// Which of the queries that come with Chela.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuerySet {
    /// Looked at while tuning.
    Dev,
    /// Not looked at while tuning.
    HeldOut,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RankingFigures {
    pub skills: usize,
    pub queries: usize,
    /// Queries whose skill is among those described.
    pub found: usize,
    /// Queries whose skill comes first.
    pub first: usize,
    /// Tokens of the stable list of names.
    pub names_tokens: usize,
    /// Tokens of the described skills: the most of any query.
    pub described_tokens: usize,
    pub misses: Vec<Miss>,
}

/// A query that did not find its skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Miss {
    pub query: String,
    pub wanted: String,
    pub described: Vec<String>,
}

impl RankingFigures {
    /// The share of queries whose skill is described, in percent.
    #[allow(clippy::cast_precision_loss, reason = "a few hundred queries")]
    pub fn recall(&self) -> f64 {
        100.0 * self.found as f64 / self.queries.max(1) as f64
    }
}

impl RankingBench {
    /// The skills and queries that come with Chela. The skills are written into a folder and read
    /// from there as everybody's are.
    pub fn built_in(set: QuerySet) -> Result<Self, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        for row in rows(include_str!("../../data/ranking/skills.txt")) {
            write_skill(&home.path().join(".agents/skills"), &row)?;
        }
        let queries = match set {
            QuerySet::Dev => include_str!("../../data/ranking/dev.txt"),
            QuerySet::HeldOut => include_str!("../../data/ranking/held-out.txt"),
        };
        Ok(Self::of(home.path(), queries))
    }

    /// The skills of a home, with queries as lines of `skill | query`.
    pub fn of(home: &Path, queries: &str) -> Self {
        let host = Host::fixed(home);
        let places = SkillPlaces {
            workspace: home.join(".chela/workspace"),
            state_dir: home.join(".chela"),
            project: None,
        };
        let settings = SkillsSettings {
            limits: SkillLimits {
                max_candidates_per_root: 10_000,
                ..SkillLimits::default()
            },
            ..SkillsSettings::default()
        };
        let library = SkillLibrary::open(&host, places, settings);
        let entries = library.catalog().entries().iter();
        Self {
            skills: entries
                .map(|entry| entry.skill.as_ref().clone())
                .filter(|skill| skill.source == SkillSource::Personal)
                .collect(),
            queries: pairs(queries),
        }
    }

    pub fn run(&self, host: &Host) -> RankingFigures {
        let skills: Vec<&Skill> = self.skills.iter().collect();
        let limits = SkillLimits {
            max_skills_in_prompt: 0,
            max_skills_prompt_chars: usize::MAX,
            ..SkillLimits::default()
        };
        let uses = SkillUses::default();
        let names = list(&ListingRequest {
            skills: &skills,
            limits: &limits,
            uses: &uses,
            now: host.unix_time(),
        });
        let index = RankIndex::new(skills.iter().copied());
        let mut known: HashMap<usize, usize> = HashMap::new();
        let mut figures = RankingFigures {
            skills: skills.len(),
            queries: self.queries.len(),
            found: 0,
            first: 0,
            names_tokens: tokens::count(&names.text),
            described_tokens: 0,
            misses: Vec::new(),
        };
        for (wanted, query) in &self.queries {
            let ranked = index.rank(query, &uses, host.unix_time());
            let best: Vec<usize> = ranked
                .iter()
                .take(DESCRIBED_PER_MESSAGE)
                .map(|ranked| ranked.at)
                .collect();
            let described: Vec<String> = best.iter().map(|at| skills[*at].name.clone()).collect();
            figures.first += usize::from(described.first() == Some(wanted));
            let cost = best.iter().map(|at| {
                *known
                    .entry(*at)
                    .or_insert_with(|| entry_tokens(skills[*at]))
            });
            figures.described_tokens = figures.described_tokens.max(cost.sum());
            if described.contains(wanted) {
                figures.found += 1;
            } else {
                figures.misses.push(Miss {
                    query: query.clone(),
                    wanted: wanted.clone(),
                    described,
                });
            }
        }
        figures
    }
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| line.split('|').map(str::trim).collect())
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |row: Vec<&str>| Some((row.first()?.to_string(), row.get(1)?.to_string()));
    rows(text).filter_map(pair).collect()
}

/// A skill from one line: `name | description | heading; heading`.
fn write_skill(root: &Path, row: &[&str]) -> std::io::Result<()> {
    let cell = |at: usize| row.get(at).copied().unwrap_or_default();
    let folder = root.join(cell(0));
    fs::create_dir_all(&folder)?;
    let description = serde_json::Value::from(cell(1));
    let headings: String = cell(2)
        .split(';')
        .map(|heading| format!("\n## {}\n", heading.trim()))
        .collect();
    let text = format!(
        "---\nname: {}\ndescription: {description}\n---\n{headings}",
        cell(0)
    );
    fs::write(folder.join(chela_skills::SKILL_FILE), text)
}
