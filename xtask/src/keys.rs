//! Holds the config to the truth: a key counts as used when the program reads it where it runs, and
//! one that nothing reads says so.
//!
//! There is no compiler here. A field is taken for read where a file outside of `chela-config`
//! reads a field of that name and either names the section it belongs to or reaches it through a
//! field of that section's type; what only looks at the config as such (the audit) does not count.

mod model;
mod source;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::{ConfigModel, ModelKey};
use source::SourceFile;

/// What programs note for themselves: nobody sets it.
const NOTES: &str = "Meta";

/// Code that looks at the config as such, and does nothing it says.
const ONLY_LOOKS: [&str; 2] = ["chela-config/", "chela-inspect/src/security"];

/// Keys that `chela-config` itself obeys.
const BY_CONFIG: [(&str, &str); 17] = [
    // An address for editors.
    ("Config", "schema"),
    ("Config", "meta"),
    // Filled into the values of the file.
    ("Config", "env"),
    ("Env", "vars"),
    ("Env", "from_folder"),
    // Read as `agents.list` and `agents.defaults.memorySearch`.
    ("Agents", "entries"),
    ("Memory", "search"),
    ("AgentMemory", "search"),
    // Says which agent answers what nobody else claims.
    ("AgentEntry", "default"),
    ("ModelChain", "primary"),
    // Put together in the view of an agent.
    ("AgentDefaults", "heartbeat"),
    ("AgentEntry", "heartbeat"),
    ("Heartbeat", "agent_id"),
    // Whether a plugin is used (`Plugins::is_on`).
    ("Plugins", "enabled"),
    ("Plugins", "allow"),
    ("Plugins", "deny"),
    ("PluginEntry", "enabled"),
];

/// Keys whose word is read near their section, of something else.
const READ_OF_OTHERS: [(&str, &str); 19] = [
    ("Gateway", "mode"),
    ("Gateway", "tools"),
    ("Tools", "media"),
    ("Tools", "links"),
    ("Tools", "message"),
    ("AgentTools", "message"),
    ("WebFetch", "provider"),
    ("Session", "scope"),
    ("Session", "store"),
    ("Tts", "mode"),
    ("Plugins", "load"),
    ("PluginEntry", "api_key"),
    ("PluginEntry", "env"),
    ("AgentEntry", "plugins"),
    ("AgentEntry", "runtime"),
    ("Memory", "backend"),
    ("Cron", "jobs"),
    ("Commands", "restart"),
    ("Commands", "mcp"),
];

/// What the prompt speaks of although nothing runs it: it is kept, and said to be.
const PROMPT_ONLY: [(&str, &str); 1] = [("Config", "channels")];

#[test]
fn keys_nothing_reads_are_marked_and_no_others() {
    let model = ConfigModel::read(&root().join("crates/chela-config/src"));
    let readers = KeyReaders::of(&model, &source_files());
    let mut wrong = Vec::new();
    for key in model.keys.iter().filter(|key| key.owner != NOTES) {
        if !readers.reached.contains(&key.owner) {
            continue;
        }
        let what = match (readers.is_used(key), key.later) {
            (true, true) => "is read: take `[later]` away",
            (false, false) => "is read by nothing: use it, or mark it `[later]`",
            _ => continue,
        };
        wrong.push(format!("{}.{} {what}", key.owner, key.field));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_exceptions_are_keys_of_the_config() {
    let model = ConfigModel::read(&root().join("crates/chela-config/src"));
    let exceptions = BY_CONFIG.into_iter().chain(PROMPT_ONLY);
    for (owner, field) in exceptions.chain(READ_OF_OTHERS) {
        let known = |key: &ModelKey| key.owner == owner && key.field == field;
        assert!(model.keys.iter().any(known), "{owner}.{field}");
    }
}

/// Which keys somebody reads.
struct KeyReaders<'m> {
    used: BTreeSet<(&'m str, &'m str)>,
    /// Sections that a key leads to which is used; what lies inside others is not looked at.
    reached: BTreeSet<String>,
}

impl<'m> KeyReaders<'m> {
    fn of(model: &'m ConfigModel, files: &[SourceFile]) -> Self {
        let viewed = model.read_through_view(files);
        let mut used = BTreeSet::new();
        for key in &model.keys {
            let id = (key.owner.as_str(), key.field.as_str());
            let is_used = !PROMPT_ONLY.contains(&id)
                && !READ_OF_OTHERS.contains(&id)
                && (BY_CONFIG.contains(&id)
                    || viewed.contains(&id)
                    || files.iter().any(|file| reads(model, file, key)));
            if is_used {
                used.insert(id);
            }
        }
        let mut reached = BTreeSet::from(["Config".to_owned()]);
        loop {
            let more: Vec<String> = model
                .keys
                .iter()
                .filter(|key| reached.contains(&key.owner))
                .filter(|key| used.contains(&(key.owner.as_str(), key.field.as_str())))
                .flat_map(|key| key.leads_to.iter().cloned())
                .filter(|section| !reached.contains(section))
                .collect();
            if more.is_empty() {
                return Self { used, reached };
            }
            reached.extend(more);
        }
    }

    fn is_used(&self, key: &ModelKey) -> bool {
        self.used
            .contains(&(key.owner.as_str(), key.field.as_str()))
    }
}

fn reads(model: &ConfigModel, file: &SourceFile, key: &ModelKey) -> bool {
    let parents = model.fields_of_type(&key.owner);
    // The top of the config is reached as `config`, and everything names it.
    if key.owner == "Config" {
        return file.reads_of(&key.field, "config");
    }
    file.reads(&key.field) && (file.names.contains(&key.owner) || file.reads_any(parents))
}

/// Every file of the program, tests left out.
fn source_files() -> Vec<SourceFile> {
    let crates = root().join("crates");
    let mut files = Vec::new();
    for folder in std::fs::read_dir(&crates).unwrap().flatten() {
        for file in rust_files(&folder.path().join("src")) {
            let is_test = file
                .iter()
                .any(|part| part == "tests" || part == "tests.rs");
            let path = file.strip_prefix(&crates).unwrap().display().to_string();
            if !is_test && !ONLY_LOOKS.iter().any(|looks| path.starts_with(looks)) {
                files.push(SourceFile::new(&read(&file)));
            }
        }
    }
    files
}

pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return files;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => files.extend(rust_files(&path)),
            false if path.extension().is_some_and(|ext| ext == "rs") => files.push(path),
            false => {}
        }
    }
    files
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}
