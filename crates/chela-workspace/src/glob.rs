//! Patterns such as `packages/*/AGENTS.md`, expanded inside the workspace.
//!
//! `*` and `?` match within a name, `**` any number of folders, `{a,b}` either. Nothing else is
//! special. Small on purpose: it is used for a handful of files with known names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chela_core::ok_or_debug;

/// Folder entries looked at for all patterns together.
const MOST_ENTRIES: usize = 20_000;
const MOST_DEPTH: usize = 12;
/// Expansions of the braces in one pattern.
const MOST_ALTERNATIVES: usize = 64;

/// The files below `root` that match any of the patterns, in order. Folders that are symlinks,
/// `.git` and `node_modules` are not entered by wildcards.
pub(crate) fn expand(root: &Path, patterns: &[String]) -> BTreeSet<PathBuf> {
    let mut walk = Walk {
        found: BTreeSet::new(),
        looked_at: 0,
    };
    for pattern in patterns.iter().flat_map(|pattern| alternatives(pattern)) {
        let pattern = pattern.replace('\\', "/");
        let mut parts: Vec<&str> = pattern
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        if parts.last() == Some(&"**") {
            parts.push("*");
        }
        let leaves = pattern.starts_with('/') || parts.contains(&"..");
        if !leaves {
            walk.step(root, &parts, 0);
        }
    }
    walk.found
}

struct Walk {
    found: BTreeSet<PathBuf>,
    looked_at: usize,
}

impl Walk {
    fn step(&mut self, dir: &Path, parts: &[&str], depth: usize) {
        let Some((part, rest)) = parts.split_first() else {
            return;
        };
        if depth > MOST_DEPTH {
            return;
        }
        if *part == "**" {
            self.step(dir, rest, depth);
            for (name, path, is_dir) in self.entries(dir) {
                if is_dir && !is_skipped(&name) {
                    self.step(&path, parts, depth + 1);
                }
            }
        } else if part.contains(['*', '?']) {
            for (name, path, is_dir) in self.entries(dir) {
                if matches(part, &name) {
                    self.enter(path, is_dir && !is_skipped(&name), rest, depth);
                }
            }
        } else {
            let path = dir.join(part);
            let metadata = std::fs::symlink_metadata(&path);
            if let Ok(metadata) = metadata {
                self.enter(path, metadata.is_dir(), rest, depth);
            }
        }
    }

    fn enter(&mut self, path: PathBuf, is_dir: bool, rest: &[&str], depth: usize) {
        if rest.is_empty() {
            if !is_dir {
                self.found.insert(path);
            }
        } else if is_dir {
            self.step(&path, rest, depth + 1);
        }
    }

    fn entries(&mut self, dir: &Path) -> Vec<(String, PathBuf, bool)> {
        let read = std::fs::read_dir(dir);
        let Some(entries) = ok_or_debug!(read, "a folder cannot be listed", dir = %dir.display())
        else {
            return Vec::new();
        };
        let left = MOST_ENTRIES.saturating_sub(self.looked_at);
        if left == 0 {
            tracing::warn!(dir = %dir.display(), "extra files are not looked for here: too many entries");
        }
        let mut entries: Vec<_> = entries
            .take(left)
            .flatten()
            .map(|entry| {
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                (
                    entry.file_name().to_string_lossy().into_owned(),
                    entry.path(),
                    is_dir,
                )
            })
            .collect();
        self.looked_at += entries.len();
        entries.sort();
        entries
    }
}

fn is_skipped(name: &str) -> bool {
    matches!(name, ".git" | "node_modules")
}

/// Whether `name` matches `pattern`, with one star remembered for going back.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = name.get(n) {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || c == letter => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, eaten)) => {
                    star = Some((at, eaten + 1));
                    p = at + 1;
                    n = eaten + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// `a/{b,c}` becomes `a/b` and `a/c`.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.trim().to_owned()];
    while let Some(pattern) = open.pop() {
        let braces = pattern.split_once('{').and_then(|(before, rest)| {
            let (choices, after) = rest.split_once('}')?;
            Some((before, choices, after))
        });
        match braces {
            Some((before, choices, after)) if open.len() + done.len() < MOST_ALTERNATIVES => {
                open.extend(
                    choices
                        .split(',')
                        .map(|choice| format!("{before}{choice}{after}")),
                );
            }
            _ => done.push(pattern),
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::{alternatives, expand, matches};

    #[test]
    fn names_match() {
        for (pattern, name) in [
            ("*.md", "a.md"),
            ("A?B", "AéB"),
            ("*a*b", "xaxb"),
            ("a", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.md", "a.mdx"), ("?", ""), ("a*", "ba"), ("", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        // Many stars must not take exponential time.
        assert!(!matches(&"*a".repeat(30), &"a".repeat(29)));
    }

    #[test]
    fn braces_expand_and_are_bounded() {
        let mut both = alternatives("a/{b,c}/d");
        both.sort();
        assert_eq!(both, ["a/b/d", "a/c/d"]);
        assert_eq!(alternatives("a{b"), ["a{b"]);
        assert!(alternatives(&"{a,b}".repeat(40)).len() < 200);
    }

    #[test]
    fn patterns_find_files_inside_only() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("ws");
        for path in [
            "AGENTS.md",
            "a/AGENTS.md",
            "a/b/SOUL.md",
            ".git/AGENTS.md",
            "a/x.txt",
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        std::fs::write(home.path().join("AGENTS.md"), "x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(home.path(), root.join("out")).unwrap();
        let found = |pattern: &str| -> Vec<String> {
            let found = expand(&root, &[pattern.to_owned()]);
            found
                .iter()
                .map(|p| p.strip_prefix(&root).unwrap().display().to_string())
                .collect()
        };
        assert_eq!(found("**/AGENTS.md"), ["AGENTS.md", "a/AGENTS.md"]);
        assert_eq!(found("a/**"), ["a/AGENTS.md", "a/b/SOUL.md", "a/x.txt"]);
        assert_eq!(
            found("a/**/{SOUL,AGENTS}.md"),
            ["a/AGENTS.md", "a/b/SOUL.md"]
        );
        assert_eq!(found("./a/*.md"), ["a/AGENTS.md"]);
        for outside in [
            "../AGENTS.md",
            "a/../../AGENTS.md",
            "/etc/passwd",
            "out/AGENTS.md",
        ] {
            assert_eq!(found(outside), Vec::<String>::new(), "{outside}");
        }
    }
}
