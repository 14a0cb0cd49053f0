//! `.env` of the current folder, which may be anybody's download.
//!
//! It is no environment: no proxy, no certificate, no command and no path comes from it. It can
//! only fill in `${NAME}` where the config keeps a credential, for the names of well-known API
//! keys and those the owner lists in `env.fromFolder`, and only where neither the environment nor
//! the state folder's `.env` says something.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chela_core::{Host, sanitize};

use super::dotenv::read_entries;
use crate::diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
use crate::key_path::{KeyPath, PathSegment};
use crate::node::ConfigNode;
use crate::redact::is_secret_key;

/// Keys of model, search and embedding services. Whoever sets one decides whose account pays,
/// not where anything is sent.
const API_KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "BRAVE_API_KEY",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "EXA_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "HUGGINGFACE_HUB_TOKEN",
    "LLAMA_API_KEY",
    "LMSTUDIO_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OLLAMA_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "TAVILY_API_KEY",
    "TOGETHER_API_KEY",
    "VLLM_API_KEY",
    "VOYAGE_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
];

/// Names by which programs are steered: one of these in a folder's `.env` is worth a warning.
const STEERING: &[&str] = &["ENV", "IFS", "PATH"];
const STEERING_PARTS: &[&str] = &[
    "BASE_URL",
    "BASH",
    "CERT",
    "CHELA_",
    "DYLD_",
    "GIT_",
    "LD_",
    "NODE_",
    "OPENCLAW_",
    "PERL",
    "PROXY",
    "PYTHON",
    "RUBY",
    "SHELL",
    "SSH",
    "SSL",
];

/// How many names a notice lists.
const NAMES_SHOWN: usize = 6;

/// What the file says, and what of it was used.
pub(super) struct FolderEnv {
    file: PathBuf,
    values: BTreeMap<String, String>,
    allowed: BTreeSet<String>,
    used: RefCell<BTreeSet<String>>,
    refused: RefCell<BTreeSet<String>>,
}

impl FolderEnv {
    /// `root` is the config before anything is filled in: it says which names are allowed.
    pub(super) fn read(
        host: &Host,
        root: &ConfigNode,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Self {
        let file = host.cwd.join(".env");
        let is_own = file == host.state_dir().join(".env");
        let entries = match is_own {
            true => Vec::new(),
            false => read_entries(&file, diagnostics),
        };
        let mut values = BTreeMap::new();
        for (name, value) in entries {
            values.entry(name).or_insert(value);
        }
        let listed = root.get("env").and_then(|env| env.get("fromFolder"));
        let listed = listed.into_iter().flat_map(|list| list.items());
        let allowed = listed
            .filter_map(|name| name.as_str())
            .chain(API_KEYS.iter().copied())
            .map(str::to_owned)
            .collect();
        Self {
            file,
            values,
            allowed,
            used: RefCell::default(),
            refused: RefCell::default(),
        }
    }

    /// The value for `${name}` at a place of the config, where it may come from here.
    pub(super) fn value_at(&self, name: &str, path: impl FnOnce() -> KeyPath) -> Option<&str> {
        let value = self.values.get(name).filter(|value| !value.is_empty())?;
        if self.allowed.contains(name) && holds_credential(&path()) {
            self.used.borrow_mut().insert(name.to_owned());
            return Some(value);
        }
        self.refused.borrow_mut().insert(name.to_owned());
        None
    }

    /// One notice for all that was left out, once everything is filled in.
    pub(super) fn notice(self) -> Option<ConfigDiagnostic> {
        let used = self.used.into_inner();
        let refused = self.refused.into_inner();
        let mut ignored: Vec<&String> = self
            .values
            .keys()
            .filter(|name| !used.contains(*name))
            .collect();
        // What the owner may have meant, or somebody else, comes first.
        let matters =
            |name: &str| refused.contains(name) || steers(name) || self.allowed.contains(name);
        ignored.sort_by_key(|name| !matters(name));
        let first = ignored.first()?;
        let severity = match matters(first) {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let shown: Vec<String> = ignored
            .iter()
            .take(NAMES_SHOWN)
            .map(|name| sanitize::literal(name).chars().take(64).collect())
            .collect();
        let more = match ignored.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "{}{more} in this .env are not used: the current folder may be anyone's, so its .env \
             only fills in `${{NAME}}` for API keys in the config",
            shown.join(", ")
        );
        let hint = "set them in the environment or in .env of the state folder; list more \
                    credential names in env.fromFolder";
        Some(ConfigDiagnostic {
            place: Some(SourcePlace {
                file: self.file,
                line: 1,
                column: 1,
            }),
            ..ConfigDiagnostic::whole(severity, "env-file", message, hint)
        })
    }
}

fn steers(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    STEERING.contains(&upper.as_str()) || STEERING_PARTS.iter().any(|part| upper.contains(part))
}

/// Whether the key a value stands under names a credential: never an address, a program or a path.
fn holds_credential(path: &KeyPath) -> bool {
    let key = path
        .segments()
        .iter()
        .rev()
        .find_map(|segment| match segment {
            PathSegment::Key(key) => Some(key),
            PathSegment::Index(_) => None,
        });
    key.is_some_and(|key| is_secret_key(key))
}
