//! Holds the modules inside a crate apart: which stand on which, and that none stands on itself.
//!
//! Only the modules of the crate's root count. The paths of the code are read by their tokens,
//! not by a compiler: `crate::…`, `super::…` as far as it leads to the root, and names that the
//! root gives on. Tests are left out: they may look at everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[test]
fn no_modules_stand_on_each_other() {
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        let graph = ModuleGraph::read(&folder);
        let cycles = graph.cycles();
        let told = cycles.iter().map(|cycle| graph.describe(cycle));
        wrong.extend(told.map(|cycle| format!("{name}: {cycle}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A method of `Conversation` is found in its folder; whoever else needs something of it takes the
/// part it needs.
#[test]
fn a_conversation_is_extended_in_its_own_folder() {
    let (_, folder) = crates()
        .into_iter()
        .find(|(name, _)| name == "chela-agent")
        .unwrap();
    let files = super::super::keys::rust_files(&folder).into_iter();
    let elsewhere: Vec<PathBuf> = files
        .filter(|file| !file.starts_with(folder.join("conversation")))
        .filter(|file| *file != folder.join("conversation.rs"))
        .filter(|file| implements(&tokens(&text_of(file)), "Conversation"))
        .collect();
    assert!(elsewhere.is_empty(), "`impl Conversation` in {elsewhere:?}");
}

/// Whether an inherent `impl` of a type stands in a file, with or without parameters.
fn implements(tokens: &[String], of: &str) -> bool {
    tokens.split(|token| token == "impl").skip(1).any(|rest| {
        let mut depth = 0_usize;
        let mut header = rest.iter().skip_while(|token| {
            match token.as_str() {
                "<" => depth += 1,
                ">" if depth > 0 => depth -= 1,
                _ => return depth > 0,
            }
            true
        });
        header.next().is_some_and(|token| token == of)
    })
}

/// Name and source folder of every crate of the workspace.
fn crates() -> Vec<(String, PathBuf)> {
    let found = super::packages().into_iter().filter_map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let folder = manifest.parent()?.join("src");
        Some((package["name"].as_str()?.to_owned(), folder))
    });
    found.filter(|(_, folder)| folder.is_dir()).collect()
}

/// Which module of a crate's root names which other, and where.
#[derive(Default)]
struct ModuleGraph {
    edges: BTreeMap<(String, String), BTreeSet<String>>,
}

impl ModuleGraph {
    fn read(folder: &Path) -> Self {
        let root = ["lib.rs", "main.rs"].map(|name| folder.join(name));
        let root = root.iter().find(|path| path.is_file());
        let Some(root) = root.map(|path| without_tests(&tokens(&text_of(path)))) else {
            return Self::default();
        };
        let modules = declared_modules(&root);
        let given_on = given_on(&root);
        let mut graph = Self::default();
        for file in super::super::keys::rust_files(folder) {
            let inside = file
                .strip_prefix(folder)
                .unwrap_or(&file)
                .with_extension("");
            let path: Vec<String> = inside
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .filter(|part| part != "mod")
                .collect();
            let Some(own) = path.first().filter(|own| modules.contains(*own)) else {
                continue;
            };
            if path.iter().any(|part| part.ends_with("tests")) {
                continue;
            }
            let text = text_of(&file);
            for name in names_at_root(&without_tests(&tokens(&text)), path.len()) {
                let module = match modules.contains(&name) {
                    true => Some(&name),
                    false => given_on.get(&name),
                };
                if let Some(module) = module.filter(|module| *module != own) {
                    let edge = (own.clone(), module.clone());
                    let place = inside.with_extension("rs").display().to_string();
                    graph.edges.entry(edge).or_default().insert(place);
                }
            }
        }
        graph
    }

    /// The groups of modules from each of which one can get to each other, in order.
    fn cycles(&self) -> Vec<BTreeSet<String>> {
        let modules: BTreeSet<&str> = self.edges.keys().map(|(from, _)| from.as_str()).collect();
        let reach: BTreeMap<&str, BTreeSet<&str>> = modules
            .into_iter()
            .map(|module| (module, self.reachable(module)))
            .collect();
        let mut cycles = BTreeSet::new();
        for (module, reached) in &reach {
            let back = |other: &&&str| reach.get(**other).is_some_and(|r| r.contains(module));
            let cycle: BTreeSet<String> = reached
                .iter()
                .filter(back)
                .map(|name| (*name).to_owned())
                .collect();
            if !cycle.is_empty() {
                cycles.insert(cycle);
            }
        }
        cycles.into_iter().collect()
    }

    fn reachable(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            let next = self.edges.keys().filter(|(source, _)| source == at);
            for (_, target) in next {
                if reached.insert(target.as_str()) {
                    open.push(target);
                }
            }
        }
        reached
    }

    fn describe(&self, cycle: &BTreeSet<String>) -> String {
        let mut text = format!("{cycle:?} stand on each other:");
        for ((from, to), places) in &self.edges {
            if cycle.contains(from) && cycle.contains(to) {
                text += &format!("\n    {from} -> {to} in {places:?}");
            }
        }
        text
    }
}

/// Words and signs of a file; comments, texts and letters are left out, `::` is one sign.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_text(rest) {
            length
        } else if first == '"' {
            plain_text(rest)
        } else if first == '\'' {
            letter(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    tokens
}

/// The length of `r"…"`, `br#"…"#` and the like.
fn raw_text(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let body = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end)? + end.len();
    Some(rest.len() - body.len() + length)
}

fn plain_text(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `'x'` or `'\n'`; a lifetime is only its sign.
fn letter(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, c))) => {
            let behind = at + c.len_utf8();
            rest[behind..].find('\'').map_or(1, |end| behind + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The same without every item that stands under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let marked = tokens.get(at..at + MARK.len());
        if marked.is_some_and(|marked| marked == MARK) {
            at = end_of_item(tokens, at + MARK.len());
        } else {
            kept.push(token.clone());
            at += 1;
        }
    }
    kept
}

/// Behind the item that begins at `at`: its last brace, or its semicolon.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0_usize;
    let mut is_use = false;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "use" if depth == 0 => is_use = true,
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let closed = token == "}" && !is_use;
        if depth == 0 && (closed || token == ";" || token == ",") {
            break;
        }
    }
    at
}

/// Modules that the root declares.
fn declared_modules(root: &[String]) -> BTreeSet<String> {
    root.windows(3)
        .filter(|three| three[0] == "mod" && (three[2] == ";" || three[2] == "{"))
        .map(|three| three[1].clone())
        .collect()
}

/// Names that the root gives on, and the module each comes from.
fn given_on(root: &[String]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let uses = root.split(|token| token == "use").skip(1);
    for path in uses {
        let path: Vec<&String> = path.iter().take_while(|token| *token != ";").collect();
        let from = path
            .iter()
            .position(|token| !matches!(token.as_str(), "crate" | "self" | "::"));
        let Some((module, rest)) = from.and_then(|at| path[at..].split_first()) else {
            continue;
        };
        let is_name = |token: &&&String| token.chars().next().is_some_and(|c| c.is_alphabetic());
        for name in rest.iter().filter(is_name) {
            names.entry((*name).clone()).or_insert((*module).clone());
        }
    }
    names
}

/// The first names of paths that begin at the crate's root, in a file `depth` modules below it.
fn names_at_root(tokens: &[String], depth: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // For each open brace, whether it is that of a module: inside one, the root is further away.
    let mut braces: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "{" => braces.push(at >= 3 && tokens[at - 3] == "mod"),
            "}" => drop(braces.pop()),
            "crate" | "super" if tokens.get(at).is_some_and(|next| next == "::") => {
                let mut steps = usize::from(token == "super");
                at += 1;
                while tokens.get(at).is_some_and(|next| next == "super") {
                    steps += 1;
                    at += 2;
                }
                let inside = depth + braces.iter().filter(|module| **module).count();
                if token == "crate" || steps == inside {
                    names.extend(first_names(&tokens[at.min(tokens.len())..]));
                }
            }
            _ => {}
        }
    }
    names
}

/// The name a path goes on with, or those of a list in braces.
fn first_names(tokens: &[String]) -> Vec<String> {
    match tokens.first() {
        Some(open) if open == "{" => {}
        first => return first.cloned().into_iter().collect(),
    }
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut is_first = true;
    for token in tokens {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," if depth == 1 => is_first = true,
            _ if is_first => {
                names.push(token.clone());
                is_first = false;
            }
            _ => {}
        }
    }
    names
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, ModuleGraph, implements, names_at_root, tokens, without_tests};

    fn names(text: &str, depth: usize) -> Vec<String> {
        let found = names_at_root(&without_tests(&tokens(text)), depth);
        found.into_iter().collect()
    }

    #[test]
    fn paths_to_the_root_are_found_however_they_are_written() {
        let text = "use crate::{a::{self, X}, b}; use super::super::c::Y; use super::near; \
                    fn f(x: &'static str) -> crate::d::Z { mod inner { use super::super::super::e; } }";
        assert_eq!(names(text, 2), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn tests_comments_and_texts_name_nothing() {
        let text = "// crate::a\n/* crate::b */ \"crate::c \\\" crate::d\" r#\"crate::e\"# '\"' \
                    #[cfg(test)] use crate::{f, g}; #[cfg(test)] mod tests { use crate::h; } \
                    #[cfg(test)] fn i() { crate::j() } use crate::k;";
        assert_eq!(names(text, 1), ["k"]);
    }

    #[test]
    fn an_impl_is_found_with_and_without_parameters() {
        let has = |text: &str| implements(&tokens(text), "Conversation");
        assert!(has("fn f() {} impl Conversation { }"));
        assert!(has("impl<'a, T: Into<U>> Conversation<'a> { }"));
        assert!(!has(
            "impl Debug for Conversation { } impl ConversationAsk { } // impl Conversation"
        ));
    }

    #[test]
    fn a_cycle_is_found_over_any_number_of_steps() {
        let mut graph = ModuleGraph::default();
        for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")] {
            let edge = (from.to_owned(), to.to_owned());
            graph.edges.insert(edge, BTreeSet::new());
        }
        let cycle: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!(graph.cycles(), [cycle]);
    }
}
