//! Holds the config to the truth: a key nothing uses says so, and one that is used does not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What programs note for themselves: nobody sets it.
const NOTES: &str = "Meta";

/// A key as it is declared.
struct Key {
    owner: String,
    field: String,
    name: String,
    later: bool,
}

#[test]
fn keys_nothing_uses_are_marked_and_no_others() {
    let model = root().join("crates/chela-config/src/model");
    let words = words_elsewhere(&model);
    let mut wrong = Vec::new();
    for file in rust_files(&model) {
        for key in keys(&read(&file))
            .into_iter()
            .filter(|key| key.owner != NOTES)
        {
            // A name that stands nowhere else is read by nobody. The reverse is not sure: a
            // common word is found for other reasons.
            let found = words.contains(&key.field) || words.contains(&key.name);
            let is_common = key.later && !key.field.contains('_');
            if found == key.later && !is_common {
                let what = match key.later {
                    true => "is used: take `[later]` away",
                    false => "is used by nothing: use it, or mark it `[later]`",
                };
                wrong.push(format!("{}.{} {what}", key.owner, key.field));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn keys(text: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut owner = String::new();
    let mut later = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("    struct ") {
            owner = name.trim_end_matches(" {").to_owned();
        } else if line.starts_with("        [") {
            later = line.contains("later");
        } else if let Some((field, name)) = declared(line) {
            keys.push(Key {
                owner: owner.clone(),
                field,
                name,
                later: std::mem::take(&mut later),
            });
        }
    }
    keys
}

/// The field of a line such as `action as "do": Option<AllowDeny>,`, and its name in the file.
fn declared(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("        ")?;
    let (left, _) = line.split_once(": ")?;
    let (field, name) = match left.split_once(" as ") {
        Some((field, name)) => (field, name.trim_matches('"').to_owned()),
        None => (left, camel(left)),
    };
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!field.is_empty() && field.chars().all(is_name)).then(|| (field.to_owned(), name))
}

fn camel(snake: &str) -> String {
    let mut parts = snake.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (head, tail) = part.split_at(part.len().min(1));
        name + &head.to_uppercase() + tail
    })
}

/// Every word of the code outside the model, tests and comments left out.
fn words_elsewhere(model: &Path) -> BTreeSet<String> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let mut words = BTreeSet::new();
    for folder in crates.flatten() {
        for file in rust_files(&folder.path().join("src")) {
            let is_test = file
                .iter()
                .any(|part| part == "tests" || part == "tests.rs");
            if is_test || file.starts_with(model) {
                continue;
            }
            for line in read(&file)
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
            {
                let cut = |c: char| !c.is_ascii_alphanumeric() && c != '_';
                words.extend(line.split(cut).map(str::to_owned));
            }
        }
    }
    words
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
