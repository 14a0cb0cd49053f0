//! Holds the rooms of the house apart: which crate may use which.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// For each crate the crates of this workspace it may use. A crate that is not in the table
/// may use none and fails the test, so a new room is a line here.
const TABLE: &[(&str, &[&str])] = &[
    ("chela-core", &[]),
    ("chela-config", &["chela-core"]),
    ("chela-workspace", &["chela-core", "chela-config"]),
    ("chela-skills", &["chela-core", "chela-config"]),
    ("chela-memory", &["chela-core", "chela-config"]),
    ("chela-prompt", &["chela-core"]),
    ("chela-guard", &["chela-core", "chela-config"]),
    ("chela-ledger", &["chela-core"]),
    ("chela-model", &["chela-core", "chela-config"]),
    ("chela-plugins", &["chela-core", "chela-config"]),
    (
        "chela-tools",
        &["chela-core", "chela-config", "chela-guard", "chela-memory", "chela-skills"],
    ),
    (
        "chela-agent",
        &[
            "chela-core", "chela-config", "chela-workspace", "chela-skills", "chela-memory",
            "chela-prompt", "chela-guard", "chela-ledger", "chela-model", "chela-plugins",
            "chela-tools",
        ],
    ),
    (
        "chela-gateway",
        &[
            "chela-core", "chela-config", "chela-workspace", "chela-skills", "chela-memory",
            "chela-prompt", "chela-guard", "chela-ledger", "chela-model", "chela-plugins",
            "chela-tools", "chela-agent",
        ],
    ),
    (
        "chela",
        &[
            "chela-core", "chela-config", "chela-workspace", "chela-skills", "chela-memory",
            "chela-prompt", "chela-guard", "chela-ledger", "chela-model", "chela-plugins",
            "chela-tools", "chela-agent", "chela-gateway",
        ],
    ),
    ("chela-testkit", &["chela-core", "chela-model"]),
    ("xtask", &[]),
];

/// The kit is for tests and benchmarks alone.
const DEV_ONLY: &str = "chela-testkit";

#[test]
fn crates_use_only_what_the_table_allows() {
    let table: BTreeMap<&str, BTreeSet<&str>> =
        TABLE.iter().map(|(name, uses)| (*name, uses.iter().copied().collect())).collect();
    let mut broken = Vec::new();
    for (name, uses) in dependencies() {
        let Some(allowed) = table.get(name.as_str()) else {
            broken.push(format!("{name} is not in the table of rooms"));
            continue;
        };
        for (used, kind) in uses {
            let ok = allowed.contains(used.as_str()) || (kind == Kind::Dev && used == DEV_ONLY);
            if !ok {
                broken.push(format!("{name} must not use {used} ({kind:?})"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Normal,
    Dev,
}

/// What each crate of the workspace uses of the others, as cargo sees it.
fn dependencies() -> BTreeMap<String, BTreeSet<(String, Kind)>> {
    let output = Command::new(crate::cargo_bin())
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .expect("cargo metadata runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    packages
        .iter()
        .map(|package| {
            let uses = package["dependencies"].as_array().expect("dependencies").iter();
            let uses = uses.filter_map(|dependency| {
                let name = dependency["name"].as_str().filter(|name| ours.contains(name))?;
                let dev = dependency["kind"].as_str() == Some("dev");
                Some((name.to_owned(), if dev { Kind::Dev } else { Kind::Normal }))
            });
            (package["name"].as_str().unwrap_or_default().to_owned(), uses.collect())
        })
        .collect()
}
