//! Holding a skill against the rules of the Agent Skills format, line by line.

use std::fs;
use std::path::{Path, PathBuf};

use chela_config::Severity;
use chela_core::{suggest, tokens};
use serde_json::Value;

use crate::body;
use crate::finding::SkillFinding;
use crate::front_matter::{
    self, ADDED_KEYS, FrontMatter, GATING_KEYS, STANDARD_KEYS, SkillText, SplitFile,
};
use crate::name;
use crate::scan::skill_file_in;
use crate::tree::{self, FolderListing};

const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;
const MAX_BODY_LINES: usize = 500;
const MAX_BODY_TOKENS: usize = 5_000;
/// A description shorter than this can hardly say what and when.
const MIN_DESCRIPTION: usize = 20;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedSkill {
    pub name: String,
    /// Worst first, then by line.
    pub findings: Vec<SkillFinding>,
}

impl CheckedSkill {
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Checks the skill in a folder. Whatever would keep it from being loaded is an error.
pub fn check_folder(folder: &Path) -> CheckedSkill {
    let name = name::of_folder(folder).to_owned();
    let path = skill_file(folder);
    let bytes = match tree::read_file(&path, 64 * 1024 * 1024) {
        Ok(content) => content.bytes,
        Err(error) => {
            let why = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    "does not exist; `chela skills new NAME` makes a skill".to_owned()
                }
                _ => format!("cannot be read: {error}"),
            };
            let finding = SkillFinding::error("unreadable", why);
            return CheckedSkill {
                name,
                findings: vec![finding],
            };
        }
    };
    let parts = front_matter::decode(&bytes).and_then(front_matter::split);
    let (split, text) = match parts.and_then(|split| Ok((split, front_matter::read(&bytes)?))) {
        Ok(parts) => parts,
        Err(error) => {
            let finding = SkillFinding::error("front-matter", error.to_string());
            return CheckedSkill {
                name,
                findings: vec![finding],
            };
        }
    };
    let mut check = Check {
        folder,
        split,
        findings: text.findings.clone(),
    };
    check.name(&text.front, &name);
    check.description(&text.front);
    check.other_fields(&text.front);
    check.body(&text, bytes.len());
    check.resources(&text);
    let mut findings = check.findings;
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then(a.file.cmp(&b.file))
            .then(a.line.cmp(&b.line))
    });
    CheckedSkill {
        name: text.front.name.unwrap_or(name),
        findings,
    }
}

/// The file that makes it a skill, in whatever letters it is written.
fn skill_file(folder: &Path) -> PathBuf {
    let listing = FolderListing::read(folder.to_owned());
    let named = listing.ok().and_then(|listing| skill_file_in(&listing));
    folder.join(named.as_deref().unwrap_or(crate::SKILL_FILE))
}

struct Check<'a> {
    folder: &'a Path,
    split: SplitFile<'a>,
    findings: Vec<SkillFinding>,
}

impl Check<'_> {
    fn push(&mut self, finding: SkillFinding, key: &str) {
        let line = self.split.line_of(key);
        self.findings.push(finding.at(line));
    }

    fn name(&mut self, front: &FrontMatter, folder: &str) {
        match &front.name {
            None => {
                let finding = SkillFinding::error("no-name", "has no name")
                    .hint(format!("add `name: {folder}`"));
                self.findings.push(finding.at(self.split.head_line));
            }
            Some(name) => {
                for finding in name::problems(name, folder) {
                    self.push(finding, "name");
                }
            }
        }
    }

    fn description(&mut self, front: &FrontMatter) {
        let Some(description) = &front.description else {
            let finding = SkillFinding::error(
                "no-description",
                "has no description, so it is never listed",
            );
            self.findings.push(finding.at(self.split.head_line));
            return;
        };
        let chars = description.chars().count();
        if chars > MAX_DESCRIPTION {
            let message =
                format!("the description has {chars} characters; {MAX_DESCRIPTION} are allowed");
            self.push(
                SkillFinding::warning("long-description", message),
                "description",
            );
        } else if chars < MIN_DESCRIPTION {
            let finding = SkillFinding::note(
                "short-description",
                "the description hardly says what it does and when to use it",
            );
            self.push(finding, "description");
        }
        if description.contains(['<', '>']) {
            let finding = SkillFinding::note(
                "tags-in-description",
                "the description contains `<` or `>`, which cost more to list",
            );
            self.push(finding, "description");
        }
    }

    fn other_fields(&mut self, front: &FrontMatter) {
        if front
            .compatibility
            .as_ref()
            .is_some_and(|text| text.chars().count() > MAX_COMPATIBILITY)
        {
            let message = format!("`compatibility` has more than {MAX_COMPATIBILITY} characters");
            self.push(
                SkillFinding::warning("long-compatibility", message),
                "compatibility",
            );
        }
        let standard = STANDARD_KEYS.iter().chain(&ADDED_KEYS).copied();
        for key in &front.unknown {
            let mut finding = SkillFinding::note(
                "unknown-key",
                format!("`{key}` is not part of the format and is ignored"),
            );
            if let Some(near) = suggest::nearest(key, standard.clone()) {
                finding = finding.hint(format!("did you mean `{near}`?"));
            }
            self.push(finding, key);
        }
        for (key, value) in &front.metadata {
            let ours = GATING_KEYS.contains(&key.as_str());
            if !ours && !matches!(value, Value::String(_)) {
                let message =
                    format!("`metadata.{key}` is not text; the format allows only text here");
                self.push(
                    SkillFinding::note("metadata-shape", message).hint("put it in quotes"),
                    "metadata",
                );
            }
        }
    }

    fn body(&mut self, text: &SkillText<'_>, bytes: usize) {
        if text.body.trim().is_empty() {
            let finding = SkillFinding::warning("empty-body", "is empty after its front matter");
            self.findings.push(finding.at(text.body_line));
        }
        let lines = text.body.lines().count();
        let tokens = tokens::count(text.body);
        if lines > MAX_BODY_LINES || tokens > MAX_BODY_TOKENS {
            let message = format!(
                "the body has {lines} lines and {tokens} tokens; keep it under {MAX_BODY_LINES} \
                    lines and {MAX_BODY_TOKENS} tokens"
            );
            let finding =
                SkillFinding::warning("long-body", message).hint("move parts of it to references/");
            self.findings.push(finding.at(text.body_line));
        }
        let limit = crate::SkillLimits::default().max_skill_file_bytes;
        if bytes as u64 > limit {
            let message = format!("has {bytes} bytes; more than {limit} are not loaded");
            self.findings
                .push(SkillFinding::error("too-large", message));
        }
        let (_, removed) = chela_core::sanitize::content(text.body);
        if removed.total() > 0 {
            let message = format!("contains {} invisible characters", removed.total());
            let line = removed
                .first_lines
                .first()
                .map(|line| text.body_line + line - 1);
            self.findings
                .push(SkillFinding::warning("hidden-characters", message).at(line));
        }
        self.findings
            .extend(body::read(text.body, text.body_line).outside);
    }

    /// Links in the text that lead to no file.
    fn resources(&mut self, text: &SkillText<'_>) {
        let mut in_fence = false;
        for (at, line) in text.body.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_fence = !in_fence;
            }
            if in_fence {
                continue;
            }
            for target in body::link_targets(line) {
                let path = target.strip_prefix("{baseDir}/").unwrap_or(target);
                if body::leaves_folder(path)
                    || path.starts_with('#')
                    || path.contains(['<', '{', '$', '*'])
                {
                    continue;
                }
                if fs::symlink_metadata(self.folder.join(path)).is_err() {
                    let line = text
                        .body_line
                        .saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
                    let shown = crate::one_line::one_line(path, 80);
                    self.findings.push(
                        SkillFinding::warning(
                            "missing-file",
                            format!("links to `{shown}`, which does not exist"),
                        )
                        .at(line),
                    );
                }
            }
        }
    }
}
