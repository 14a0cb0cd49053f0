//! What was found, put in order: who is who, who stands behind whom, who is trusted.

use std::cmp::Reverse;
use std::sync::Arc;

use chela_core::suggest;

use crate::scan::{RootReport, RootScan, SkippedFolder};
use crate::skill::Skill;
use crate::trust::{SkillTrust, TrustLock, TrustPolicy, judge};

/// All skills of one agent, each name once.
#[derive(Debug, Clone)]
pub struct SkillCatalog {
    /// Workspace skills first, then by falling precedence, then by name.
    entries: Vec<CatalogEntry>,
    pub shadowed: Vec<ShadowedSkill>,
    pub skipped: Vec<SkippedFolder>,
    pub roots: Vec<RootReport>,
    /// Positions in `entries`, by name.
    by_name: Vec<usize>,
}

/// A skill and where it stands.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    pub skill: Arc<Skill>,
    pub trust: SkillTrust,
    /// The calls of `allowed-tools` the owner granted to this very version.
    pub granted: Vec<String>,
    /// When, in seconds since 1970.
    pub granted_at: u64,
}

/// A skill that is not reached because another has its name.
#[derive(Debug, Clone)]
pub struct ShadowedSkill {
    pub skill: Arc<Skill>,
    pub trust: SkillTrust,
    /// The one that is used instead.
    pub by: Arc<Skill>,
}

impl SkillCatalog {
    pub(crate) fn new(scan: &RootScan, lock: &TrustLock, policy: &TrustPolicy<'_>) -> Self {
        let mut entries: Vec<CatalogEntry> = scan
            .skills
            .iter()
            .map(|skill| CatalogEntry {
                skill: Arc::clone(skill),
                trust: judge(skill, lock, policy),
                granted: lock.granted(skill).to_vec(),
                granted_at: lock.entry(skill).map_or(0, |entry| entry.since),
            })
            .collect();
        // Same names together, the one that counts first. A quarantined skill never stands before
        // one that may be used: otherwise a foreign folder could take the owner's own skills away
        // by naming them.
        entries.sort_by(|a, b| {
            let rank = |entry: &CatalogEntry| {
                (!entry.trust.state.may_be_used(), Reverse(entry.skill.level))
            };
            let name = a.skill.name.cmp(&b.skill.name);
            let folder = || a.skill.folder.as_os_str().cmp(b.skill.folder.as_os_str());
            name.then_with(|| rank(a).cmp(&rank(b))).then_with(folder)
        });
        let mut kept: Vec<CatalogEntry> = Vec::with_capacity(entries.len());
        let mut shadowed = Vec::new();
        for entry in entries {
            match kept
                .last()
                .filter(|winner| winner.skill.name == entry.skill.name)
            {
                Some(winner) => shadowed.push(ShadowedSkill {
                    by: Arc::clone(&winner.skill),
                    skill: entry.skill,
                    trust: entry.trust,
                }),
                None => kept.push(entry),
            }
        }
        kept.sort_by_key(|entry| Reverse(entry.skill.level));
        let name_of = |at: &usize| kept.get(*at).map(|entry| entry.skill.name.as_str());
        let mut by_name: Vec<usize> = (0..kept.len()).collect();
        by_name.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
        Self {
            entries: kept,
            shadowed,
            skipped: scan.skipped.clone(),
            roots: scan.roots.clone(),
            by_name,
        }
    }

    pub fn entries(&self) -> &[CatalogEntry] {
        &self.entries
    }

    /// A skill by its name; capitals do not matter when there is no doubt.
    pub fn get(&self, name: &str) -> Option<&CatalogEntry> {
        let name_at = |at: &usize| self.entries.get(*at).map(|entry| entry.skill.name.as_str());
        let found = self
            .by_name
            .binary_search_by(|at| name_at(at).cmp(&Some(name)));
        if let Ok(found) = found {
            return self.entries.get(*self.by_name.get(found)?);
        }
        let mut alike = self
            .entries
            .iter()
            .filter(|entry| entry.skill.name.eq_ignore_ascii_case(name));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// The known name nearest to a mistyped one.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        suggest::nearest(
            name,
            self.entries.iter().map(|entry| entry.skill.name.as_str()),
        )
    }

    pub fn shadowed_by_name<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'a ShadowedSkill> {
        self.shadowed
            .iter()
            .filter(move |shadowed| shadowed.skill.name == name)
    }

    pub fn skipped_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a SkippedFolder> {
        self.skipped
            .iter()
            .filter(move |skipped| skipped.name == name)
    }
}
