//! What was found, put in order: who is who, who stands behind whom, who is trusted.

use std::collections::BTreeMap;
use std::sync::Arc;

use chela_core::suggest;

use crate::scan::{RootReport, Scan, Skipped};
use crate::settings::OnChange;
use crate::skill::Skill;
use crate::trust::{TrustLock, Trusting, judge};

/// All skills of one agent, each name once.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Workspace skills first, then by falling precedence, then by name.
    entries: Vec<Entry>,
    pub shadowed: Vec<Shadowed>,
    pub skipped: Vec<Skipped>,
    pub roots: Vec<RootReport>,
    by_name: BTreeMap<String, usize>,
}

/// A skill and where it stands.
#[derive(Debug, Clone)]
pub struct Entry {
    pub skill: Arc<Skill>,
    pub trust: Trusting,
}

/// A skill that is not reached because another has its name.
#[derive(Debug, Clone)]
pub struct Shadowed {
    pub skill: Arc<Skill>,
    pub trust: Trusting,
    /// The one that is used instead.
    pub by: Arc<Skill>,
}

impl Catalog {
    pub(crate) fn new(scan: &Scan, lock: &TrustLock, on_change: OnChange) -> Self {
        let mut entries: Vec<Entry> = scan
            .skills
            .iter()
            .map(|skill| Entry {
                skill: Arc::clone(skill),
                trust: judge(skill, lock, on_change),
            })
            .collect();
        // A quarantined skill never stands before one that may be used: otherwise a foreign
        // folder could take the owner's own skills away by naming them.
        entries.sort_by(|a, b| {
            let rank = |entry: &Entry| {
                (
                    !entry.trust.state.may_be_used(),
                    usize::MAX - entry.skill.level,
                )
            };
            rank(a)
                .cmp(&rank(b))
                .then_with(|| a.skill.folder.as_os_str().cmp(b.skill.folder.as_os_str()))
        });
        let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
        let mut shadowed = Vec::new();
        let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
        for entry in entries {
            match by_name.get(&entry.skill.name) {
                Some(winner) => shadowed.push(Shadowed {
                    by: Arc::clone(&kept[*winner].skill),
                    skill: entry.skill,
                    trust: entry.trust,
                }),
                None => {
                    by_name.insert(entry.skill.name.clone(), kept.len());
                    kept.push(entry);
                }
            }
        }
        kept.sort_by(|a, b| {
            b.skill
                .level
                .cmp(&a.skill.level)
                .then_with(|| a.skill.name.cmp(&b.skill.name))
        });
        let by_name = kept
            .iter()
            .enumerate()
            .map(|(at, entry)| (entry.skill.name.clone(), at))
            .collect();
        Self {
            entries: kept,
            shadowed,
            skipped: scan.skipped.clone(),
            roots: scan.roots.clone(),
            by_name,
        }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A skill by its name; capitals do not matter when there is no doubt.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        let exact = self.by_name.get(name).copied();
        let at = exact.or_else(|| {
            let mut alike = self
                .by_name
                .iter()
                .filter(|(known, _)| known.eq_ignore_ascii_case(name));
            alike
                .next()
                .map(|(_, at)| *at)
                .filter(|_| alike.next().is_none())
        })?;
        self.entries.get(at)
    }

    /// The known name nearest to a mistyped one.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        suggest::nearest(name, self.by_name.keys().map(String::as_str))
    }

    pub fn shadowed_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Shadowed> {
        self.shadowed
            .iter()
            .filter(move |shadowed| shadowed.skill.name == name)
    }

    pub fn skipped_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Skipped> {
        self.skipped
            .iter()
            .filter(move |skipped| skipped.name == name)
    }
}
