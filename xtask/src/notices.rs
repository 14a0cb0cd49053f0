//! The licences of the crates inside the program, for whoever is handed a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{ChoreOutcome, cargo_bin};

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<CratePackage>,
    resolve: CrateGraph,
}

#[derive(Deserialize)]
struct CratePackage {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    license_file: Option<PathBuf>,
    manifest_path: PathBuf,
    authors: Vec<String>,
    repository: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct CrateGraph {
    nodes: Vec<CrateNode>,
}

#[derive(Deserialize)]
struct CrateNode {
    id: String,
    deps: Vec<CrateEdge>,
}

#[derive(Deserialize)]
struct CrateEdge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

pub fn write(into: &str) -> ChoreOutcome {
    let mut page = page_of(&metadata()?);
    for note in data_notes()? {
        page.push_str(&format!("\n---\n\n{note}\n"));
    }
    std::fs::write(into, page).map_err(|error| format!("{into}: {error}"))
}

/// What the data that is compiled in says of itself, beside it.
fn data_notes() -> Result<Vec<String>, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let failed = |error| format!("{}: {error}", crates.display());
    let folders = std::fs::read_dir(&crates).map_err(failed)?.flatten();
    let mut notes: Vec<PathBuf> = folders
        .map(|folder| folder.path().join("data/README.md"))
        .filter(|note| note.is_file())
        .collect();
    notes.sort();
    let read = |note: &PathBuf| {
        let text = std::fs::read_to_string(note);
        text.map_err(|error| format!("{}: {error}", note.display()))
    };
    notes.iter().map(read).collect()
}

fn metadata() -> Result<CargoMetadata, String> {
    let host = if cfg!(target_arch = "aarch64") {
        "aarch64-unknown-linux-gnu"
    } else {
        "x86_64-unknown-linux-gnu"
    };
    let output = Command::new(cargo_bin())
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", host])
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

fn page_of(metadata: &CargoMetadata) -> String {
    let inside = crates_inside(metadata);
    let packages = metadata.packages.iter();
    let mut packages: Vec<&CratePackage> = packages
        .filter(|package| package.source.is_some() && inside.contains(package.id.as_str()))
        .collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    let mut page = String::from(
        "# Licences of the crates inside Chela\n\n\
         Written by `cargo xtask notices`. Each text stands once, below the crates it came with.\n\n\
         | crate | licence | from |\n| --- | --- | --- |\n",
    );
    // The same text is in hundreds of crates.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        page.push_str(&format!(
            "| {name} | {} | {} |\n",
            package.license.as_deref().unwrap_or("see its text"),
            package.repository.as_deref().unwrap_or("crates.io"),
        ));
        let found = licence_texts(package);
        if found.is_empty() {
            let by = package.authors.join(", ");
            let words = format!("No text lies in the crate. Authors: {by}");
            texts.entry(words).or_default().push(name.clone());
        }
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        page.push_str(&format!(
            "\n## {}\n\n```text\n{text}\n```\n",
            names.join(", ")
        ));
    }
    page
}

/// What the program is built from: everything it reaches but by way of tests and builds.
fn crates_inside(metadata: &CargoMetadata) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &CrateNode> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let program = metadata
        .packages
        .iter()
        .find(|package| package.name == "chela");
    let mut open: Vec<&str> = program
        .map(|package| package.id.as_str())
        .into_iter()
        .collect();
    let mut inside = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !inside.insert(id) {
            continue;
        }
        let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let normal = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        open.extend(normal.map(|edge| edge.pkg.as_str()));
    }
    inside
}

fn licence_texts(package: &CratePackage) -> Vec<String> {
    let Some(folder) = package.manifest_path.parent() else {
        return Vec::new();
    };
    let named = package.license_file.iter().map(|file| folder.join(file));
    let mut files: BTreeSet<PathBuf> = named.collect();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_licence(&entry.path()) {
            files.insert(entry.path());
        }
    }
    let texts = files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    texts
        .map(|text| text.replace("\r\n", "\n").trim().to_owned())
        .collect()
}

fn is_licence(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_uppercase();
    let begins = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "NOTICE",
        "COPYRIGHT",
        "UNLICENSE",
    ];
    path.is_file() && begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::{data_notes, metadata, page_of};

    #[test]
    fn every_crate_inside_is_named_with_its_licence_and_no_other() {
        let page = page_of(&metadata().expect("cargo metadata"));
        let named = |name: &str| page.contains(&format!("| {name} "));
        for inside in ["ring", "rustls", "tokio", "serde_json", "clap"] {
            assert!(named(inside), "{inside}");
        }
        for outside in ["insta", "proptest", "chela-core"] {
            assert!(!named(outside), "{outside}");
        }
        assert!(!page.contains("| see its text | crates.io"));
        assert!(page.contains("Apache License"));
        assert!(page.contains("Permission is hereby granted"));
        assert!(data_notes().expect("notes of the data").len() >= 3);
    }
}
