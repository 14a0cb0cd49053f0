//! The files that make an agent who it is, and their order in the prompt.

use std::path::Path;

use chela_core::Audience;
use serde::Serialize;

use crate::markdown::strip_front_matter;

/// A file with a fixed name and a fixed meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "&'static str")]
pub enum CoreFile {
    Agents,
    Soul,
    Identity,
    User,
    Tools,
    Bootstrap,
    Memory,
    Heartbeat,
}

/// What an agent is asked to do when the gateway starts. It is in no prompt, and gives orders all
/// the same.
pub const BOOT_FILE: &str = "BOOT.md";

/// Whether the agent is told that a file is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileNeed {
    Required,
    Optional,
}

/// The kinds of session that differ in which files they get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionScope {
    Main,
    Subagent,
    Cron,
    /// A heartbeat with `lightContext`: HEARTBEAT.md alone.
    LightHeartbeat,
}

impl CoreFile {
    /// In prompt order.
    pub const ALL: [Self; 8] = [
        Self::Agents,
        Self::Soul,
        Self::Identity,
        Self::User,
        Self::Tools,
        Self::Bootstrap,
        Self::Memory,
        Self::Heartbeat,
    ];

    /// The older spelling of MEMORY.md, read where it is a file of its own.
    pub const LOWER_MEMORY: &'static str = "memory.md";

    pub fn name(self) -> &'static str {
        match self {
            Self::Agents => "AGENTS.md",
            Self::Soul => "SOUL.md",
            Self::Identity => "IDENTITY.md",
            Self::User => "USER.md",
            Self::Tools => "TOOLS.md",
            Self::Bootstrap => "BOOTSTRAP.md",
            Self::Memory => "MEMORY.md",
            Self::Heartbeat => "HEARTBEAT.md",
        }
    }

    /// Every name under which a file enters the prompt of every session.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let names = Self::ALL.into_iter().map(Self::name);
        names.chain([Self::LOWER_MEMORY])
    }

    /// The core file a path names, by its base name, whatever its case.
    pub fn of(path: &str) -> Option<Self> {
        let base = base_name(path);
        Self::ALL
            .into_iter()
            .find(|file| file.name().eq_ignore_ascii_case(base))
    }

    /// BOOTSTRAP.md is never required: an agent told that it lacks one thinks it was born today.
    pub fn need(self) -> FileNeed {
        match self {
            Self::Agents | Self::Soul | Self::Identity | Self::Tools => FileNeed::Required,
            Self::User | Self::Bootstrap | Self::Memory | Self::Heartbeat => FileNeed::Optional,
        }
    }

    pub fn audience(self) -> Audience {
        match self {
            // The first conversation asks the owner about themselves: nobody else is asked.
            Self::User | Self::Memory | Self::Bootstrap => Audience::Private,
            _ => Audience::Shared,
        }
    }

    /// Whether a session gets it without being given more than its kind has.
    pub fn is_for(self, session: SessionScope) -> bool {
        match session {
            SessionScope::Main => true,
            SessionScope::Subagent | SessionScope::Cron => {
                matches!(self, Self::Agents | Self::Tools)
            }
            SessionScope::LightHeartbeat => self == Self::Heartbeat,
        }
    }

    /// What a new workspace's file says; `None` for files that are not written for it.
    pub fn template(self) -> Option<&'static str> {
        let text = match self {
            Self::Agents => include_str!("../templates/AGENTS.md"),
            Self::Soul => include_str!("../templates/SOUL.md"),
            Self::Tools => include_str!("../templates/TOOLS.md"),
            Self::Identity => include_str!("../templates/IDENTITY.md"),
            Self::User => include_str!("../templates/USER.md"),
            Self::Heartbeat => include_str!("../templates/HEARTBEAT.md"),
            Self::Bootstrap => include_str!("../templates/BOOTSTRAP.md"),
            Self::Memory => return None,
        };
        Some(strip_front_matter(text))
    }
}

impl From<CoreFile> for &'static str {
    fn from(file: CoreFile) -> Self {
        file.name()
    }
}

impl std::fmt::Display for CoreFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The key by which context files are ordered: rank, lower-cased base name, path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromptOrder {
    rank: u8,
    base: String,
    path: String,
}

impl PromptOrder {
    pub fn of(path: &str) -> Self {
        let base = base_name(path).to_lowercase();
        let rank = match base.as_str() {
            "agents.md" => 10,
            "soul.md" => 20,
            "identity.md" => 30,
            "user.md" => 40,
            "tools.md" => 50,
            "bootstrap.md" => 60,
            "memory.md" => 70,
            _ => u8::MAX,
        };
        Self {
            rank,
            base,
            path: path.replace('\\', "/"),
        }
    }
}

pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Whether an operator's entry such as `soul.md` or `notes/AGENTS.md` means the file `shown`.
/// An entry without a folder means every file of that name.
pub(crate) fn is_meant_by(entry: &str, shown: &str) -> bool {
    let entry = entry.trim();
    let entry = entry.strip_prefix("./").unwrap_or(entry);
    let compared = if entry.contains(['/', '\\']) {
        shown
    } else {
        base_name(shown)
    };
    !entry.is_empty()
        && entry
            .replace('\\', "/")
            .eq_ignore_ascii_case(&compared.replace('\\', "/"))
}

/// The base name of a path as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{CoreFile, PromptOrder, is_meant_by};

    #[test]
    fn ranks_follow_the_specification() {
        let mut names = vec![
            "zebra.md",
            "MEMORY.md",
            "HEARTBEAT.md",
            "sub\\Tools.md",
            "TOOLS.md",
            "USER.md",
            "apple.md",
            "AGENTS.md",
            "BOOTSTRAP.md",
            "IDENTITY.md",
            "SOUL.md",
            "b/SOUL.md",
        ];
        names.sort_by_key(|name| PromptOrder::of(name));
        assert_eq!(
            names,
            [
                "AGENTS.md",
                "SOUL.md",
                "b/SOUL.md",
                "IDENTITY.md",
                "USER.md",
                "TOOLS.md",
                "sub\\Tools.md",
                "BOOTSTRAP.md",
                "MEMORY.md",
                "apple.md",
                "HEARTBEAT.md",
                "zebra.md",
            ]
        );
    }

    #[test]
    fn the_table_is_in_prompt_order() {
        assert!(CoreFile::ALL.is_sorted_by_key(|file| PromptOrder::of(file.name())));
        assert_eq!(CoreFile::of("x/y\\memory.MD"), Some(CoreFile::Memory));
        assert_eq!(CoreFile::of("MEMORY.md.bak"), None);
    }

    #[test]
    fn entries_mean_names_or_paths() {
        assert!(is_meant_by("soul.md", "SOUL.md"));
        assert!(is_meant_by("SOUL.md", "a/SOUL.md"));
        assert!(is_meant_by("./a\\SOUL.md", "a/SOUL.md"));
        assert!(!is_meant_by("b/SOUL.md", "a/SOUL.md"));
        assert!(!is_meant_by("", ""));
    }
}
