//! The skills that come with Chela: compiled in, put on the disk when needed, trusted by hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chela_core::ContentHash;

use crate::disk;
use crate::tree;
use crate::tree::{FileKind, SkillFile};

/// A skill of ours: its name and the text of its SKILL.md.
#[derive(Debug, Clone, Copy)]
pub struct BundledSkill {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! bundled {
    ($($name:literal),+ $(,)?) => {
        [$(BundledSkill { name: $name, text: include_str!(concat!("../bundled/", $name, "/SKILL.md")) }),+]
    };
}

/// All bundled skills, by name.
pub const BUNDLED: [BundledSkill; 6] = bundled![
    "make-skill",
    "remind-me",
    "review-change",
    "save-handover",
    "tidy-memory",
    "vet-skill",
];

/// Names the set as a whole, so that two versions of Chela do not write over each other.
static EDITION: LazyLock<String> = LazyLock::new(|| {
    let all: String = BUNDLED
        .iter()
        .map(|skill| format!("{} {}\n", skill.name, ContentHash::of(skill.text)))
        .collect();
    ContentHash::of(all).short()
});

/// The folder the bundled skills lie in.
pub(crate) fn dir(state_dir: &Path) -> PathBuf {
    state_dir.join("skills-bundled").join(EDITION.as_str())
}

/// Makes sure that the bundled skills are on the disk as they were built, so that a model can read
/// them like any other.
pub(crate) fn materialise(state_dir: &Path) -> io::Result<PathBuf> {
    let dir = dir(state_dir);
    for skill in &BUNDLED {
        let file = dir.join(skill.name).join(crate::SKILL_FILE);
        let same = fs::read(&file).is_ok_and(|bytes| bytes == skill.text.as_bytes());
        if !same {
            disk::create_dir(&dir.join(skill.name))?;
            disk::replace(&file, skill.text.as_bytes())?;
        }
    }
    Ok(dir)
}

/// Whether a skill's files are exactly those that were compiled in.
pub(crate) fn is_genuine(name: &str, tree: ContentHash) -> bool {
    BUNDLED
        .iter()
        .any(|skill| skill.name == name && built_tree(skill) == tree)
}

fn built_tree(skill: &BundledSkill) -> ContentHash {
    let file = SkillFile {
        path: crate::SKILL_FILE.to_owned(),
        bytes: skill.text.len() as u64,
        hash: ContentHash::of(skill.text),
        kind: FileKind::Plain,
    };
    tree::hash_of(&[file])
}
