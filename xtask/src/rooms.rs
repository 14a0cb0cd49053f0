//! Holds the rooms of the house apart: which crate may use which, and inside a crate which module.

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// The rooms from the ground up. A room that may use [`BELOW`] may use every
/// one before it.
const ROOMS: &[&str] = &[
    "chela-core",
    "chela-log",
    "chela-files",
    "chela-store",
    "chela-config",
    "chela-workspace",
    "chela-skills",
    "chela-memory",
    "chela-prompt",
    "chela-guard",
    "chela-ledger",
    "chela-model",
    "chela-plugins",
    "chela-sandbox",
    "chela-tools",
    "chela-reply",
    "chela-session",
    "chela-inspect",
    "chela-agent",
    "chela-gateway",
];

/// Everything that stands before a room in [`ROOMS`].
const BELOW: &[&str] = &["*"];
const CORE: &[&str] = &["chela-core"];
const CORE_AND_FILES: &[&str] = &["chela-core", "chela-files"];
const CORE_AND_CONFIG: &[&str] = &["chela-core", "chela-files", "chela-config"];

/// For each crate the crates of this workspace it may use. A crate that is not in the table
/// may use none and fails the test, so a new room is a line here.
const TABLE: &[(&str, &[&str])] = &[
    ("chela-core", &[]),
    ("chela-log", CORE),
    ("chela-files", CORE),
    ("chela-store", CORE_AND_FILES),
    ("chela-config", CORE_AND_FILES),
    ("chela-workspace", CORE_AND_CONFIG),
    ("chela-skills", CORE_AND_CONFIG),
    (
        "chela-memory",
        &["chela-core", "chela-files", "chela-config", "chela-store"],
    ),
    ("chela-prompt", CORE),
    ("chela-guard", CORE_AND_CONFIG),
    (
        "chela-ledger",
        &["chela-core", "chela-files", "chela-store"],
    ),
    ("chela-model", CORE_AND_CONFIG),
    ("chela-plugins", CORE_AND_CONFIG),
    ("chela-sandbox", CORE_AND_CONFIG),
    (
        "chela-tools",
        &[
            "chela-core",
            "chela-files",
            "chela-config",
            "chela-guard",
            "chela-memory",
            "chela-sandbox",
            "chela-skills",
        ],
    ),
    ("chela-reply", &[]),
    (
        "chela-session",
        &[
            "chela-core",
            "chela-files",
            "chela-store",
            "chela-config",
            "chela-ledger",
            "chela-model",
            "chela-reply",
            "chela-tools",
        ],
    ),
    (
        "chela-inspect",
        &[
            "chela-core",
            "chela-files",
            "chela-config",
            "chela-workspace",
            "chela-skills",
            "chela-prompt",
            "chela-guard",
            "chela-ledger",
            "chela-model",
            "chela-sandbox",
            "chela-store",
            "chela-tools",
        ],
    ),
    ("chela-agent", BELOW),
    ("chela-gateway", BELOW),
    ("chela", ROOMS),
    ("chela-testkit", &["chela-core", "chela-model"]),
    ("chela-fuzz-smoke", ROOMS),
    ("xtask", &[]),
];

/// The kit is for tests and benchmarks, and for people who run it: `chela testkit serve`.
const TESTKIT: &str = "chela-testkit";

#[test]
fn crates_use_only_what_the_table_allows() {
    let table: BTreeMap<&str, BTreeSet<&str>> = TABLE
        .iter()
        .map(|(name, uses)| (*name, allowed_to(name, uses)))
        .collect();
    let mut broken = Vec::new();
    for (name, uses) in dependencies() {
        let Some(allowed) = table.get(name.as_str()) else {
            broken.push(format!("{name} is not in the table of rooms"));
            continue;
        };
        for (used, kind) in uses {
            let testing = used == TESTKIT && (kind == Kind::Dev || name == "chela");
            let ok = allowed.contains(used.as_str()) || testing;
            if !ok {
                broken.push(format!("{name} must not use {used} ({kind:?})"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn allowed_to(name: &str, uses: &'static [&'static str]) -> BTreeSet<&'static str> {
    match uses {
        ["*"] => ROOMS
            .iter()
            .copied()
            .take_while(|room| *room != name)
            .collect(),
        uses => uses.iter().copied().collect(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Normal,
    Dev,
}

/// What each crate of the workspace uses of the others, as cargo sees it.
fn dependencies() -> BTreeMap<String, BTreeSet<(String, Kind)>> {
    let packages = packages();
    let ours = names(&packages);
    packages
        .iter()
        .map(|package| {
            let uses = uses(package)
                .filter(|(name, _)| ours.contains(name))
                .collect();
            (
                package["name"].as_str().unwrap_or_default().to_owned(),
                uses,
            )
        })
        .collect()
}

/// The crates of others that any crate of the workspace names as a dependency.
pub fn foreign_dependencies() -> BTreeSet<String> {
    let packages = packages();
    let ours = names(&packages);
    packages
        .iter()
        .flat_map(uses)
        .map(|(name, _)| name)
        .filter(|name| !ours.contains(name))
        .collect()
}

fn names(packages: &[Value]) -> BTreeSet<String> {
    packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .map(str::to_owned)
        .collect()
}

fn uses(package: &Value) -> impl Iterator<Item = (String, Kind)> {
    package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|dependency| {
            let dev = dependency["kind"].as_str() == Some("dev");
            Some((
                dependency["name"].as_str()?.to_owned(),
                if dev { Kind::Dev } else { Kind::Normal },
            ))
        })
}

fn packages() -> Vec<Value> {
    let output = Command::new(crate::cargo_bin())
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .output()
        .expect("cargo metadata runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("packages").clone()
}
