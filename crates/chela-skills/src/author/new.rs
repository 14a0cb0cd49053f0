//! A new skill from a template that asks the right questions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::name::{is_valid_name, suggested};

/// What a new skill is called and is for.
#[derive(Debug, Clone, Copy)]
pub struct NewSkill<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
}

/// Why a skill was not made.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    #[error(
        "`{name}` is not a valid skill name{}; use a-z, 0-9 and single hyphens, at most 64 \
            characters",
        suggestion(name)
    )]
    BadName { name: String },
    #[error("{} already exists; choose another name or remove it first", path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

fn suggestion(name: &str) -> String {
    let better = suggested(name);
    if better.is_empty() {
        String::new()
    } else {
        format!(", but `{better}` can")
    }
}

const TEMPLATE: &str = include_str!("template.md");

/// Makes `<root>/<name>/SKILL.md` and returns its path.
pub fn create(root: &Path, new: &NewSkill<'_>) -> Result<PathBuf, NewError> {
    if !is_valid_name(new.name) {
        return Err(NewError::BadName {
            name: new.name.to_owned(),
        });
    }
    let folder = root.join(new.name);
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(NewError::Exists { path: folder });
    }
    let file = folder.join(crate::SKILL_FILE);
    let failed = |source| NewError::Write {
        path: file.clone(),
        source,
    };
    let asked = "What it does, in one sentence. Use when the owner says \"…\" or needs ….";
    let description = crate::one_line::one_line(
        new.description.unwrap_or(asked),
        crate::MAX_DESCRIPTION_CHARS,
    );
    // A JSON string is a YAML string in double quotes, whatever the description holds.
    let description = serde_json::to_string(&description).map_err(|error| failed(error.into()))?;
    let text = TEMPLATE
        .replace("{{name}}", new.name)
        .replace("{{title}}", &title(new.name))
        .replace("{{description}}", &description);
    disk::create_dir(&folder).map_err(failed)?;
    disk::replace(&file, text.as_bytes()).map_err(failed)?;
    Ok(file)
}

/// `tidy-memory` as `Tidy memory`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut chars = words.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + chars.as_str())
        .unwrap_or_default()
}
