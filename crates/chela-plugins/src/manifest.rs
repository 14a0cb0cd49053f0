//! What a package says of itself, in each of the forms packages have.

mod agent_plugin;
mod claude;
mod extension;
mod openclaw_form;

use std::io;
use std::path::{Path, PathBuf};

use chela_config::is_plugin_id;
use serde_json::Value;

use crate::command_hooks::CommandHook;
use crate::grant::{GrantSet, PluginGrant};
use crate::hook_name::HookName;

/// More than any manifest has to say.
const MOST_BYTES: u64 = 1 << 20;

/// What a package says of itself.
#[derive(Debug, Clone)]
pub struct PluginManifest {
    pub id: String,
    pub form: PackageForm,
    pub version: Option<String>,
    pub description: Option<String>,
    pub author: Option<String>,
    pub parts: PluginParts,
    /// What its author wants granted.
    pub asks: GrantSet,
    /// Whether its author says that nothing outward may happen while it does not work.
    pub is_required: bool,
    /// Whether its module registers tools.
    pub offers_tools: bool,
    /// What of it is not used here, and why.
    pub left_out: Vec<String>,
}

/// What a package holds.
#[derive(Debug, Clone, Default)]
pub struct PluginParts {
    pub program: Option<PluginProgram>,
    pub commands: Vec<CommandHook>,
    /// Folders of skills besides `skills/`, relative to the package.
    pub skill_folders: Vec<PathBuf>,
    /// A file that names MCP servers, relative to the package.
    pub servers: Option<PathBuf>,
    /// MCP servers named in the manifest itself.
    pub inline_servers: Option<Value>,
}

/// A program that answers hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginProgram {
    pub kind: ProgramKind,
    /// The hooks it answers, and before whom: higher comes first.
    pub hooks: Vec<(HookName, i32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramKind {
    /// A program and its arguments; relative paths start in the package.
    Command(Vec<String>),
    /// A module for OpenClaw, relative to the package: it runs in Node, behind our shim.
    OpenClaw { entry: PathBuf },
}

/// In whose form a package is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageForm {
    AgentPlugin,
    Claude,
    OpenClaw,
}

impl PackageForm {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::AgentPlugin => "Agent Plugins 1.0",
            Self::Claude => "Claude plugin",
            Self::OpenClaw => "OpenClaw plugin",
        }
    }
}

/// Why a folder is no usable package.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(
        "there is no plugin in {}: no plugin.json, .claude-plugin/plugin.json or openclaw.plugin.json",
        folder.display()
    )]
    None { folder: PathBuf },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {why}", path.display())]
    Wrong { path: PathBuf, why: String },
}

impl PluginManifest {
    /// Reads the manifest of a package. Nothing of it is run.
    pub fn read(folder: &Path) -> Result<Self, ManifestError> {
        let readers: [(&str, FormReader); 3] = [
            ("plugin.json", agent_plugin::read),
            ("openclaw.plugin.json", openclaw_form::read),
            (".claude-plugin/plugin.json", claude::read),
        ];
        for (name, read) in readers {
            if let Some(file) = ManifestFile::open(folder, name)? {
                return read(&file);
            }
        }
        Err(ManifestError::None {
            folder: folder.to_owned(),
        })
    }

    /// The hooks it has anything to say at.
    pub fn hooks(&self) -> Vec<HookName> {
        let program = self.parts.program.iter().flat_map(|program| &program.hooks);
        let commands = self.parts.commands.iter().map(|command| command.hook);
        let mut hooks: Vec<HookName> = program.map(|(hook, _)| *hook).chain(commands).collect();
        hooks.sort();
        hooks.dedup();
        hooks
    }

    /// Whether any of it is run.
    pub fn runs_anything(&self) -> bool {
        self.parts.program.is_some() || !self.parts.commands.is_empty()
    }
}

/// Reads a manifest of one form.
type FormReader = fn(&ManifestFile<'_>) -> Result<PluginManifest, ManifestError>;

/// A manifest as it lies in its package.
struct ManifestFile<'a> {
    folder: &'a Path,
    path: PathBuf,
    value: Value,
}

impl<'a> ManifestFile<'a> {
    fn open(folder: &'a Path, name: &str) -> Result<Option<Self>, ManifestError> {
        let path = folder.join(name);
        let Some(value) = read_json(&path)? else {
            return Ok(None);
        };
        if !value.is_object() {
            return Err(ManifestError::Wrong {
                path,
                why: "it is not a JSON object".to_owned(),
            });
        }
        Ok(Some(Self {
            folder,
            path,
            value,
        }))
    }

    fn wrong(&self, why: impl Into<String>) -> ManifestError {
        ManifestError::Wrong {
            path: self.path.clone(),
            why: why.into(),
        }
    }

    fn get(&self, key: &str) -> &Value {
        self.value.get(key).unwrap_or(&Value::Null)
    }

    /// A text for people, on one line.
    fn line(&self, key: &str) -> Option<String> {
        self.get(key)
            .as_str()
            .map(one_line)
            .filter(|text| !text.is_empty())
    }

    fn author(&self) -> Option<String> {
        let author = self.get("author");
        let name = author.as_str().or(author["name"].as_str());
        name.map(one_line).filter(|text| !text.is_empty())
    }

    /// An id of a form that allows others than we do.
    fn id(&self, key: &str) -> Result<String, ManifestError> {
        let given = self.get(key).as_str().unwrap_or_default();
        let id = plain_id(given);
        match is_plugin_id(&id) {
            true => Ok(id),
            false => Err(self.wrong(format!(
                "`{key}` must be a name of lower-case letters, digits, `-` and `.`, not `{}`",
                one_line(given)
            ))),
        }
    }
}

/// Reads a JSON file of a package; `None` where it is not there.
fn read_json(path: &Path) -> Result<Option<Value>, ManifestError> {
    let unreadable = |source| ManifestError::Unreadable {
        path: path.to_owned(),
        source,
    };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
        Ok(facts) if !facts.is_file() => {
            return Err(unreadable(io::Error::other("it is not a plain file")));
        }
        Ok(facts) if facts.len() > MOST_BYTES => {
            return Err(unreadable(io::Error::other("it is too long")));
        }
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value = serde_json::from_str(text).map_err(|error| ManifestError::Wrong {
        path: path.to_owned(),
        why: format!("it is no JSON: {error}"),
    })?;
    Ok(Some(value))
}

/// `@scope/name` and the like, as an id of ours.
fn plain_id(given: &str) -> String {
    let mut id = String::new();
    for c in given.trim().trim_start_matches('@').chars() {
        let c = match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' => c,
            _ => '-',
        };
        if !(id.ends_with(['-', '.']) && matches!(c, '-' | '.')) {
            id.push(c);
        }
    }
    id.trim_matches(['-', '.']).to_owned()
}

fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = words.chars().take(300).collect();
    chela_core::sanitize::literal(&short).into_owned()
}

/// A path inside a package, as a manifest writes it.
fn inside(written: &str) -> Option<PathBuf> {
    let path = Path::new(written.trim_start_matches("./"));
    let is_inside = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    (is_inside && !path.as_os_str().is_empty()).then(|| path.to_owned())
}

/// What answering these hooks takes.
fn asks_of(hooks: impl IntoIterator<Item = HookName>) -> Vec<PluginGrant> {
    let mut asks = Vec::new();
    for hook in hooks {
        asks.push(PluginGrant::Hook(hook));
        if hook.needs_conversation() {
            asks.push(PluginGrant::Conversation);
        }
    }
    asks
}

#[cfg(test)]
mod tests;
