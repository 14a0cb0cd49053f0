//! What git obeys in a repository: its config, its hooks, and what these name.
//!
//! Git takes any folder of a certain look for a repository, and a prompt that shows the branch
//! starts git in every folder one enters.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use chela_files::{FolderEntryKind, RootedFolder};
use chela_tools::approvals::is_plain_config;

use super::MOST_BYTES;

/// Repositories inside of one that are looked for, and how deep their names go.
const MOST_DEPTH: u8 = 4;
/// Settings that name no program and no further config, but text git only reads.
const TEXT_KEYS: &[&str] = &[
    "url",
    "pushurl",
    "fetch",
    "remote",
    "merge",
    "name",
    "email",
    "worktree",
    "template",
    "excludesfile",
    "ignorerevsfile",
];

/// Whether a folder with these names is a repository for git, or as good as one. What is missing
/// may be added where nobody looks.
pub(super) fn is_repository(has: impl Fn(&str) -> bool) -> bool {
    let with_head = ["config", "commondir", "config.worktree", "objects"];
    let is_whole = has("HEAD") && with_head.iter().any(|name| has(name));
    // Another folder may have it as its common one.
    let is_common = has("objects") && has("refs") && has("config");
    is_whole || is_common
}

/// Files git obeys, in whichever of the roots they are.
#[derive(Debug, Default)]
pub(super) struct RepositoryFiles {
    /// Whether or not anything is there yet.
    pub(super) files: Vec<ObeyedFile>,
    /// Where git looks for hooks.
    hooks: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct ObeyedFile {
    pub(super) root: usize,
    pub(super) inner: PathBuf,
    /// It says nothing but what a plain clone says.
    pub(super) is_harmless: bool,
}

impl RepositoryFiles {
    /// Of the repository in this folder, and of those inside it.
    pub(super) fn of(roots: &[RootedFolder], root: &RootedFolder, repository: &Path) -> Self {
        let mut found = Self::default();
        found.take(roots, &root.path().join(repository), MOST_DEPTH);
        found
    }

    /// Whether this is one of them, or would be one.
    pub(super) fn has(&self, roots: &[RootedFolder], file: &Path) -> bool {
        let place = place_below(roots, file);
        let is_it = |known: &ObeyedFile| {
            let mut place = place.iter();
            place.any(|(root, inner)| *root == known.root && *inner == known.inner)
        };
        self.files.iter().any(is_it) || self.hooks.iter().any(|hooks| file.starts_with(hooks))
    }

    fn take(&mut self, roots: &[RootedFolder], repository: &Path, depth: u8) {
        let common = common_folder(roots, repository);
        self.take_configs(roots, repository, common.as_deref());
        for folder in std::iter::once(repository).chain(common.as_deref()) {
            self.take_hooks(roots, &folder.join("hooks"));
        }
        if depth == 0 {
            return;
        }
        let folders = entries_of(roots, &repository.join("worktrees"));
        for folder in folders {
            self.take_configs(roots, &folder, None);
        }
        self.take_modules(roots, &repository.join("modules"), depth);
    }

    /// Names of submodules may have slashes.
    fn take_modules(&mut self, roots: &[RootedFolder], modules: &Path, depth: u8) {
        for folder in entries_of(roots, modules) {
            let is_there = |name: &str| is_there(roots, &folder.join(name));
            match is_repository(is_there) || is_there("config") {
                true => self.take(roots, &folder, depth - 1),
                false if depth > 1 => self.take_modules(roots, &folder, depth - 1),
                false => {}
            }
        }
    }

    fn take_configs(&mut self, roots: &[RootedFolder], repository: &Path, common: Option<&Path>) {
        let config = |folder: &Path| folder.join("config");
        let configs = [
            Some(config(repository)),
            Some(repository.join("config.worktree")),
            common.map(config),
        ];
        for file in configs.into_iter().flatten() {
            let text = text_of(roots, &file);
            let is_harmless = text.as_deref().is_some_and(is_plain_config);
            self.push(roots, &file, is_harmless);
            if let Some(text) = text.filter(|_| !is_harmless) {
                self.take_named(roots, &file, &text);
            }
        }
        let leads_away = repository.join("commondir");
        let is_of_worktree = common.is_none() && is_in_worktrees(roots, repository);
        self.push(roots, &leads_away, is_of_worktree);
    }

    fn take_hooks(&mut self, roots: &[RootedFolder], hooks: &Path) {
        self.hooks.push(hooks.to_owned());
        for hook in entries_of(roots, hooks) {
            if hook.extension() != Some(OsStr::new("sample")) {
                self.push(roots, &hook, false);
            }
        }
    }

    /// The files and folders a config names: further configs, hooks, programs.
    fn take_named(&mut self, roots: &[RootedFolder], config: &Path, text: &str) {
        let folder = config.parent().unwrap_or(config);
        let is_inner = folder.file_name() == Some(OsStr::new(".git"));
        let tree = folder.parent().filter(|_| is_inner).unwrap_or(folder);
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let key = key.trim().to_lowercase();
            if TEXT_KEYS.contains(&key.as_str()) {
                continue;
            }
            let names_file = matches!(key.as_str(), "path" | "hookspath" | "attributesfile");
            let words = value.split(|c: char| c.is_whitespace() || "\"';!&|()".contains(c));
            let words = words.filter(|word| !matches!(*word, "" | "." | ".."));
            for word in words.filter(|word| names_file || word.contains(['/', '.'])) {
                for base in [tree, folder] {
                    let named = base.join(word);
                    self.push(roots, &named, false);
                    if key == "hookspath" {
                        self.take_hooks(roots, &lexical(&named));
                    }
                }
            }
        }
    }

    fn push(&mut self, roots: &[RootedFolder], file: &Path, is_harmless: bool) {
        let Some((root, inner)) = place_below(roots, &lexical(file)) else {
            return;
        };
        self.files.push(ObeyedFile {
            root,
            inner,
            is_harmless,
        });
    }
}

/// Where a repository says that most of it is, inside of the roots.
fn common_folder(roots: &[RootedFolder], repository: &Path) -> Option<PathBuf> {
    let text = text_of(roots, &repository.join("commondir"))?;
    let common = lexical(&repository.join(text.trim_end_matches(['\n', '\r'])));
    (common != repository).then_some(common)
}

/// Whether this is what `git worktree add` makes inside of a repository: it leads back there.
fn is_in_worktrees(roots: &[RootedFolder], folder: &Path) -> bool {
    let outer = folder.parent().and_then(Path::parent);
    let leads_to = common_folder(roots, folder);
    outer.is_some() && leads_to.as_deref() == outer
}

/// The folder git is led to by a file called `.git`.
pub(super) fn led_to(roots: &[RootedFolder], file: &Path) -> Option<PathBuf> {
    let text = text_of(roots, file)?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(lexical(&file.parent()?.join(target)))
}

/// In which of the roots a path is, and the way to it from there.
pub(super) fn place_below(roots: &[RootedFolder], path: &Path) -> Option<(usize, PathBuf)> {
    let mut roots = roots.iter().enumerate();
    roots.find_map(|(at, root)| {
        let inner = path.strip_prefix(root.path()).ok()?;
        Some((at, inner.to_owned()))
    })
}

/// Without `.` and `..`, by its words alone.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn is_there(roots: &[RootedFolder], path: &Path) -> bool {
    let place = place_below(roots, path);
    let root = place.and_then(|(at, inner)| roots.get(at)?.metadata(&inner).ok());
    root.is_some()
}

fn text_of(roots: &[RootedFolder], file: &Path) -> Option<String> {
    let (at, inner) = place_below(roots, file)?;
    let bytes = roots.get(at)?.read_plain(&inner, MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

fn entries_of(roots: &[RootedFolder], folder: &Path) -> Vec<PathBuf> {
    let entries = place_below(roots, folder).and_then(|(at, inner)| {
        let entries = roots.get(at)?.entries(&inner).ok()?;
        Some(entries)
    });
    let entries = entries.unwrap_or_default().into_iter();
    let entries = entries.filter(|entry| entry.kind != FolderEntryKind::Other);
    entries.map(|entry| folder.join(entry.name)).collect()
}
