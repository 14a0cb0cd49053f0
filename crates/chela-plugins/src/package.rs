//! A package in a folder: what it says of itself, and its files.

use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use chela_skills::{SkillFile, TreeError, package_files};

use crate::manifest::{ManifestError, PluginManifest};

/// A package as it lies in a folder.
#[derive(Debug)]
pub struct PluginPackage {
    pub folder: PathBuf,
    pub manifest: PluginManifest,
    pub files: Vec<SkillFile>,
    pub hash: ContentHash,
}

/// What of a package is run, and what starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnablePart {
    pub what: &'static str,
    pub command: String,
}

/// Why a folder is no usable package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Files(#[from] TreeError),
}

impl PluginPackage {
    /// Reads a package. Nothing of it is run.
    pub fn read(folder: &Path) -> Result<Self, PackageError> {
        let manifest = PluginManifest::read(folder)?;
        let files = package_files(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
            files: files.files,
            hash: files.hash,
        })
    }

    /// Names of the skills in it.
    pub fn skills(&self) -> Vec<String> {
        let skills = self.files.iter().filter_map(|file| {
            let inner = file.path.strip_prefix("skills/")?;
            let name = inner.strip_suffix("/SKILL.md")?;
            (!name.contains('/')).then(|| name.to_owned())
        });
        skills.collect()
    }

    /// What of it is run.
    pub fn runs(&self) -> Vec<RunnablePart> {
        use crate::manifest::ProgramKind;
        let shown = |text: &str| chela_core::sanitize::literal(text).into_owned();
        let program = self
            .manifest
            .parts
            .program
            .iter()
            .map(|program| RunnablePart {
                what: "a program, kept running while it is used",
                command: match &program.kind {
                    ProgramKind::Command(words) => shown(&words.join(" ")),
                    ProgramKind::OpenClaw { entry } => {
                        format!("node, with {}", shown(&entry.display().to_string()))
                    }
                },
            });
        let commands = self
            .manifest
            .parts
            .commands
            .iter()
            .map(|command| RunnablePart {
                what: "a command, started for each question",
                command: format!("{}: {}", command.event, shown(&command.command)),
            });
        program.chain(commands).collect()
    }
}
