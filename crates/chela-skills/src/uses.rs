//! Which skills are used: a small file of counts, derived and deletable.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use chela_core::ok_or_warn;
use serde::{Deserialize, Serialize};

use crate::disk;

/// How often each skill was loaded, and when last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillUses {
    path: Option<PathBuf>,
    skills: BTreeMap<String, SkillUse>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SkillUse {
    pub count: u64,
    /// Seconds since 1970.
    pub last: u64,
    /// The count with older uses fading, as of `last`.
    pub weight: f64,
}

/// After this many seconds a use counts half.
const HALF_LIFE: f64 = 30.0 * 24.0 * 3600.0;

impl SkillUses {
    /// Reads the history of an installation; one that is missing or broken is empty.
    pub fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("state").join("skill-uses.json");
        let skills = match fs::read(&path) {
            Ok(bytes) => ok_or_warn!(
                serde_json::from_slice(&bytes),
                "the history of skills is broken and starts over"
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the history of skills cannot be read");
                None
            }
        };
        Self {
            path: Some(path),
            skills: skills.unwrap_or_default(),
        }
    }

    pub fn get(&self, skill: &str) -> Option<SkillUse> {
        self.skills.get(skill).copied()
    }

    /// How much a skill is in use at a time: 0 for never, about 1 for one fresh use.
    pub fn weight(&self, skill: &str, now: u64) -> f64 {
        self.skills
            .get(skill)
            .map_or(0.0, |used| used.weight * fading(used.last, now))
    }

    pub fn record(&mut self, skill: &str, now: u64) {
        let weight = self.weight(skill, now) + 1.0;
        let count = self.skills.get(skill).map_or(0, |used| used.count) + 1;
        self.skills.insert(
            skill.to_owned(),
            SkillUse {
                count,
                last: now,
                weight,
            },
        );
    }

    pub fn save(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        disk::create_dir(path.parent().unwrap_or(path))?;
        disk::replace(path, &serde_json::to_vec_pretty(&self.skills)?)
    }
}

#[allow(clippy::cast_precision_loss, reason = "seconds of a human life fit")]
fn fading(last: u64, now: u64) -> f64 {
    (-(now.saturating_sub(last) as f64) / HALF_LIFE * std::f64::consts::LN_2).exp()
}

#[cfg(test)]
mod tests {
    use super::SkillUses;

    #[test]
    fn uses_add_up_fade_and_survive() {
        let dir = tempfile::tempdir().unwrap();
        let mut uses = SkillUses::open(dir.path());
        uses.record("pdf", 1_000);
        uses.record("pdf", 1_000);
        assert!((uses.weight("pdf", 1_000) - 2.0).abs() < 1e-9);
        assert!((uses.weight("pdf", 1_000 + 30 * 24 * 3600) - 1.0).abs() < 1e-9);
        assert!(uses.weight("other", 1_000).abs() < f64::EPSILON);
        uses.save().unwrap();
        assert_eq!(SkillUses::open(dir.path()), uses);
        assert_eq!(SkillUses::open(dir.path()).get("pdf").unwrap().count, 2);
    }

    #[test]
    fn a_broken_history_is_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        std::fs::write(dir.path().join("state/skill-uses.json"), "{oops").unwrap();
        assert!(SkillUses::open(dir.path()).get("pdf").is_none());
    }
}
