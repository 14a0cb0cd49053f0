//! Measuring the ranking: 500 skills and what people said when they needed one of them.
//!
//! The skills and queries under `data/ranking` are of our own writing. The queries are split: the
//! smaller part was looked at while tuning, the larger was not. Both were written by the same
//! hand as the descriptions, which flatters every ranking; compare figures, not with one's own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, tokens};
use serde::Serialize;

use crate::front_matter::FrontMatter;
use crate::listing::{ListingRequest, entry_tokens, list};
use crate::rank::{DESCRIBED_PER_MESSAGE, RankIndex};
use crate::settings::SkillLimits;
use crate::shown::{Shown, ShownParts};
use crate::skill::Skill;
use crate::source::Source;
use crate::uses::Uses;

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
    /// The skills and queries that come with Chela.
    pub fn built_in(set: QuerySet) -> Self {
        let skills = rows(include_str!("../data/ranking/skills.txt"))
            .map(|row| made_up(&row))
            .collect();
        let queries = match set {
            QuerySet::Dev => include_str!("../data/ranking/dev.txt"),
            QuerySet::HeldOut => include_str!("../data/ranking/held-out.txt"),
        };
        Self {
            skills,
            queries: pairs(queries),
        }
    }

    /// One's own skills, with queries from a file of `skill | query` lines.
    pub fn of(skills: Vec<Skill>, queries: &str) -> Self {
        Self {
            skills,
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
        let uses = Uses::default();
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
fn made_up(row: &[&str]) -> Skill {
    let cell = |at: usize| row.get(at).copied().unwrap_or_default();
    let folder = Path::new("/home/me/.agents/skills").join(cell(0));
    let file = folder.join(crate::SKILL_FILE);
    let version = ContentHash::of(cell(1));
    let parts = ShownParts {
        name: cell(0),
        description: cell(1),
        file: &file,
        version,
    };
    Skill {
        shown: Shown::new(&parts, &Host::fixed("/home/me")),
        name: cell(0).to_owned(),
        description: cell(1).to_owned(),
        file,
        folder,
        root: PathBuf::from("/home/me/.agents/skills"),
        source: Source::Personal,
        level: 0,
        plugin: None,
        front: FrontMatter {
            user_invocable: true,
            ..FrontMatter::default()
        },
        version,
        tree: version,
        files: Vec::new(),
        headings: cell(2)
            .split(';')
            .map(|heading| heading.trim().to_owned())
            .collect(),
        body_chars: 0,
        modified: 0,
        findings: Vec::new(),
        signature: crate::signature::Signature::Unsigned,
    }
}
