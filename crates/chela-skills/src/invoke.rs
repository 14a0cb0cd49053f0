//! Calling a skill: what a person typed, and what the model gets to read.

mod fill_in;

use std::io;
use std::path::PathBuf;

use chela_core::{ContentHash, Host, sanitize};
use serde::Serialize;

use crate::front_matter::{self, CommandDispatch, SkillContext};
use crate::settings::{SkillCredential, SkillEntry};
use crate::skill::Skill;
use crate::tree;
use crate::tree::FileKind;
use crate::xml::{escape, escape_attribute};

pub use fill_in::fill_in;

/// A call as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillCall<'a> {
    /// `/skill name args` or `/skill:name args`.
    Skill { name: &'a str, args: &'a str },
    /// `/command args`, which may be a skill's or somebody else's.
    Command { command: &'a str, args: &'a str },
}

/// Reads a message that begins with a slash.
pub fn parse_call(message: &str) -> Option<SkillCall<'_>> {
    let rest = message.trim_start().strip_prefix('/')?;
    let (word, args) = split_word(rest);
    let typed_name = |prefix: &str| {
        word.split_at_checked(prefix.len())
            .filter(|(head, _)| head.eq_ignore_ascii_case(prefix))
            .map(|(_, name)| name)
    };
    if word.eq_ignore_ascii_case("skill") {
        let (name, args) = split_word(args);
        return (!name.is_empty()).then_some(SkillCall::Skill { name, args });
    }
    if let Some(name) = typed_name("skill:").filter(|name| !name.is_empty()) {
        return Some(SkillCall::Skill { name, args });
    }
    (!word.is_empty()).then_some(SkillCall::Command {
        command: word,
        args,
    })
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, rest.trim())
}

/// A skill made ready for a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSkill {
    pub name: String,
    pub version: ContentHash,
    shown_version: String,
    pub folder: PathBuf,
    /// The body with `{baseDir}` filled in, without invisible characters.
    pub body: String,
    /// Body and resources as the model reads them.
    pub content: String,
    pub resources: Vec<SkillResource>,
    /// W05: while the skill is active, only these tools.
    pub only_tools: Option<Vec<String>>,
    /// Calls the owner granted when trusting this version: they need no approval of their own.
    pub granted: Vec<String>,
    pub context: SkillContext,
    /// Which model it would have.
    pub model: Option<String>,
    /// Its SKILL.md.
    pub file: PathBuf,
    pub dispatch: Option<CommandDispatch>,
    /// Variables for this run, all of them unset so far.
    pub env: Vec<(String, String)>,
    /// What was cleaned or left out.
    pub notes: Vec<String>,
}

impl LoadedSkill {
    /// What the model reads when somebody wrote `args` behind the command: put where the text asks
    /// for it. What was written cannot end the frame the text stands in.
    pub fn content_for(&self, args: &str) -> String {
        let (body, _) = fill_in(&self.body, args);
        wrap(self, &body)
    }
}

/// A file of a skill besides SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillResource {
    pub path: String,
    pub bytes: u64,
}

/// Why a skill cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("there is no skill `{name}`{}", nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        name: String,
        nearest: Option<String>,
    },
    #[error("skill `{name}` is quarantined: {reason}; review it with `chela skills trust {name}`")]
    Quarantined { name: String, reason: String },
    #[error("skill `{name}` is hidden: {reason}")]
    Hidden { name: String, reason: String },
    #[error("skill `{name}` cannot be called by a person (`user-invocable: false`)")]
    NotForPeople { name: String },
    #[error("skill `{name}` changed a moment ago; try again")]
    JustChanged { name: String },
    #[error("skill `{name}` is new and was not scanned yet; run `chela skills scan {name}`")]
    NotLookedInto { name: String },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Reads a skill whose use is allowed. What is read is what was judged: a file that changed since
/// the scan is refused.
pub(crate) fn load(
    skill: &Skill,
    entry: Option<&SkillEntry>,
    host: &Host,
) -> Result<LoadedSkill, LoadError> {
    let unreadable = |source| LoadError::Unreadable {
        path: skill.file.clone(),
        source,
    };
    let content = tree::read_file(&skill.file, u64::MAX).map_err(unreadable)?;
    let just_changed = || LoadError::JustChanged {
        name: skill.name.clone(),
    };
    if ContentHash::of(&content.bytes) != skill.version {
        return Err(just_changed());
    }
    let text = front_matter::read(&content.bytes).map_err(|_| just_changed())?;
    let mut notes = Vec::new();
    let (clean, removed) = sanitize::content(text.body);
    if removed.total() > 0 {
        notes.push(format!(
            "{} invisible characters were removed",
            removed.total()
        ));
    }
    let folder = skill.folder.display().to_string();
    let body = clean
        .trim()
        .replace("{baseDir}", &sanitize::literal(&folder));
    let resources: Vec<SkillResource> = skill
        .files
        .iter()
        .filter(|file| file.kind != FileKind::Link && skill.folder.join(&file.path) != skill.file)
        .map(|file| SkillResource {
            path: file.path.clone(),
            bytes: file.bytes,
        })
        .collect();
    let env = env_for_run(skill, entry, host, &mut notes);
    let mut loaded = LoadedSkill {
        name: skill.name.clone(),
        version: skill.version,
        shown_version: skill.short_version(),
        folder: skill.folder.clone(),
        content: String::new(),
        body,
        resources,
        only_tools: skill.front.only_tools.clone(),
        granted: Vec::new(),
        context: skill.front.context,
        model: skill.front.model.clone(),
        file: skill.file.clone(),
        dispatch: skill.front.dispatch.clone(),
        env,
        notes,
    };
    loaded.content = wrap(&loaded, &loaded.body);
    Ok(loaded)
}

/// The body between tags that say whose it is, followed by the files it may refer to.
fn wrap(skill: &LoadedSkill, body: &str) -> String {
    /// Further files are found by listing the folder.
    const MAX_LISTED: usize = 50;
    let folder = skill.folder.display().to_string();
    let mut text = format!(
        "<skill_content name=\"{}\" version=\"{}\">\n{}\n",
        escape_attribute(&skill.name),
        skill.shown_version,
        // The body may not end the frame it stands in.
        body.replace("</skill_content>", "&lt;/skill_content&gt;"),
    );
    text.push_str(&format!(
        "\nSkill folder: {}\n",
        escape(&sanitize::literal(&folder))
    ));
    let resources = &skill.resources;
    if !resources.is_empty() {
        text.push_str("<skill_resources>\n");
        for resource in resources.iter().take(MAX_LISTED) {
            text.push_str(&format!(
                "<file>{}</file>\n",
                escape(&sanitize::literal(&resource.path))
            ));
        }
        if resources.len() > MAX_LISTED {
            text.push_str(&format!("<more>{}</more>\n", resources.len() - MAX_LISTED));
        }
        text.push_str("</skill_resources>\n");
    }
    text.push_str("</skill_content>");
    text
}

/// The variables a run gets for a skill: those of its entry that are not set already. A skill
/// chooses the name of its `primaryEnv`, so names that steer other programs are refused.
fn env_for_run(
    skill: &Skill,
    entry: Option<&SkillEntry>,
    host: &Host,
    notes: &mut Vec<String>,
) -> Vec<(String, String)> {
    let Some(entry) = entry else {
        return Vec::new();
    };
    let mut env: Vec<(String, String)> = Vec::new();
    let from_key = skill
        .front
        .gating
        .primary_env
        .as_ref()
        .zip(entry.api_key.as_ref());
    for (name, value) in entry.env.iter().chain(from_key) {
        let is_set = host.var(name).is_some() || env.iter().any(|(known, _)| known == name);
        if is_set || !value.is_given() {
            continue;
        }
        let SkillCredential::Text(value) = value else {
            notes.push(format!(
                "variable {name} was not set: its value is stored elsewhere"
            ));
            continue;
        };
        if steers_programs(name) {
            notes.push(format!(
                "variable {name} was not set: it controls other programs"
            ));
        } else {
            env.push((name.clone(), value.clone()));
        }
    }
    env
}

/// Variables that make programs load or run other code.
fn steers_programs(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        "PATH",
        "HOME",
        "SHELL",
        "IFS",
        "ENV",
        "BASH_ENV",
        "PROMPT_COMMAND",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5LIB",
        "PERL5OPT",
        "RUBYOPT",
        "GIT_SSH_COMMAND",
        "JAVA_TOOL_OPTIONS",
    ];
    let upper = name.to_ascii_uppercase();
    let shaped = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    !shaped
        || NAMES.contains(&upper.as_str())
        || ["LD_", "DYLD_", "CHELA_"]
            .iter()
            .any(|prefix| upper.starts_with(prefix))
}

#[cfg(test)]
mod tests;
