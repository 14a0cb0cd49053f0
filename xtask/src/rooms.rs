//! Holds the rooms of the house apart: which crate may use which, and inside a crate which module.

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// For each crate, from the ground up, the crates of this workspace it uses: no others, and every one
/// of them. A crate that is not in the table fails the test, and so does a line that nothing needs any
/// more, so that the table is what is so.
const TABLE: &[(&str, &[&str])] = &[
    ("chela-core", &[]),
    ("chela-files", &["chela-core"]),
    ("chela-log", &["chela-core", "chela-files"]),
    ("chela-store", &["chela-core", "chela-files"]),
    ("chela-config", &["chela-core", "chela-files"]),
    ("chela-clock", &["chela-core", "chela-store"]),
    (
        "chela-backup",
        &["chela-core", "chela-files", "chela-store"],
    ),
    (
        "chela-workspace",
        &["chela-core", "chela-files", "chela-store"],
    ),
    (
        "chela-skills",
        &["chela-core", "chela-files", "chela-store", "chela-config"],
    ),
    (
        "chela-memory",
        &["chela-core", "chela-files", "chela-store", "chela-config"],
    ),
    ("chela-prompt", &["chela-core"]),
    ("chela-guard", &["chela-core", "chela-config"]),
    (
        "chela-ledger",
        &["chela-core", "chela-files", "chela-store"],
    ),
    (
        "chela-model",
        &["chela-core", "chela-files", "chela-config"],
    ),
    (
        "chela-sandbox",
        &["chela-core", "chela-files", "chela-config"],
    ),
    (
        "chela-mcp",
        &[
            "chela-core",
            "chela-files",
            "chela-config",
            "chela-guard",
            "chela-model",
            "chela-sandbox",
        ],
    ),
    (
        "chela-plugins",
        &[
            "chela-core",
            "chela-files",
            "chela-config",
            "chela-skills",
            "chela-sandbox",
            "chela-mcp",
        ],
    ),
    (
        "chela-tools",
        &[
            "chela-core",
            "chela-files",
            "chela-store",
            "chela-config",
            "chela-clock",
            "chela-memory",
            "chela-guard",
            "chela-sandbox",
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
            "chela-tools",
            "chela-reply",
        ],
    ),
    (
        "chela-inspect",
        &[
            "chela-core",
            "chela-files",
            "chela-store",
            "chela-config",
            "chela-workspace",
            "chela-skills",
            "chela-prompt",
            "chela-guard",
            "chela-ledger",
            "chela-model",
            "chela-sandbox",
            "chela-mcp",
            "chela-tools",
        ],
    ),
    (
        "chela-agent",
        &[
            "chela-core",
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
            "chela-sandbox",
            "chela-mcp",
            "chela-plugins",
            "chela-tools",
            "chela-reply",
            "chela-session",
            "chela-inspect",
        ],
    ),
    (
        "chela-gateway",
        &[
            "chela-core",
            "chela-files",
            "chela-store",
            "chela-config",
            "chela-clock",
            "chela-memory",
            "chela-guard",
            "chela-ledger",
            "chela-log",
            "chela-reply",
            "chela-tools",
            "chela-mcp",
            "chela-model",
            "chela-sandbox",
            "chela-session",
            "chela-agent",
        ],
    ),
    (
        "chela",
        &[
            "chela-core",
            "chela-files",
            "chela-log",
            "chela-store",
            "chela-backup",
            "chela-config",
            "chela-clock",
            "chela-workspace",
            "chela-skills",
            "chela-memory",
            "chela-prompt",
            "chela-guard",
            "chela-ledger",
            "chela-model",
            "chela-sandbox",
            "chela-mcp",
            "chela-plugins",
            "chela-tools",
            "chela-reply",
            "chela-session",
            "chela-inspect",
            "chela-agent",
            "chela-gateway",
        ],
    ),
    ("chela-testkit", &[]),
    (
        "chela-fuzz-smoke",
        &[
            "chela-core",
            "chela-store",
            "chela-config",
            "chela-clock",
            "chela-skills",
            "chela-prompt",
            "chela-guard",
            "chela-model",
            "chela-sandbox",
            "chela-tools",
            "chela-reply",
            "chela-session",
            "chela-agent",
            "chela-gateway",
        ],
    ),
    ("xtask", &[]),
];

/// The kit is for tests and benchmarks, and for people who run it: `chela testkit serve`.
const TESTKIT: &str = "chela-testkit";

#[test]
fn crates_use_what_the_table_says() {
    let broken = differences(TABLE, &dependencies());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Records lie behind the stores of `chela-store`, whose engine nobody else knows; the index of
/// memory is no record and has a file of its own.
#[test]
fn the_engine_of_records_is_known_in_one_place() {
    let packages = packages();
    let engine = ("rusqlite".to_owned(), Kind::Normal);
    let know_it: Vec<&str> = packages
        .iter()
        .filter(|package| uses(package).any(|used| used == engine))
        .filter_map(|package| package["name"].as_str())
        .collect();
    assert_eq!(
        BTreeSet::from_iter(know_it),
        BTreeSet::from(["chela-memory", "chela-store"])
    );
}

#[test]
fn a_line_that_is_missing_or_that_nobody_needs_is_found() {
    let uses = |names: &[&str]| {
        let names = names.iter().map(|name| ((*name).to_owned(), Kind::Normal));
        names.collect::<BTreeSet<_>>()
    };
    let found = BTreeMap::from([
        ("a".to_owned(), uses(&[])),
        ("b".to_owned(), uses(&["a"])),
        ("c".to_owned(), uses(&["b"])),
        ("new".to_owned(), uses(&[])),
    ]);
    let table: &[(&str, &[&str])] = &[("a", &[]), ("b", &[]), ("c", &["a", "b"]), ("gone", &["a"])];
    assert_eq!(
        differences(table, &found),
        [
            "b must not use a (Normal)",
            "new is not in the table of rooms",
            "c does not use a: take it out of the table",
            "gone is in the table of rooms and nowhere else",
        ]
    );
}

fn differences(table: &[(&str, &[&str])], found: &Uses) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = table.iter().copied().collect();
    let mut broken = Vec::new();
    for (name, uses) in found {
        let Some(allowed) = allowed.get(name.as_str()) else {
            broken.push(format!("{name} is not in the table of rooms"));
            continue;
        };
        for (used, kind) in uses {
            let testing = used == TESTKIT && (*kind == Kind::Dev || name == "chela");
            if !allowed.contains(&used.as_str()) && !testing {
                broken.push(format!("{name} must not use {used} ({kind:?})"));
            }
        }
    }
    for (name, allowed) in table {
        let Some(uses) = found.get(*name) else {
            broken.push(format!("{name} is in the table of rooms and nowhere else"));
            continue;
        };
        for unused in *allowed {
            if !uses.iter().any(|(used, _)| used == unused) {
                broken.push(format!(
                    "{name} does not use {unused}: take it out of the table"
                ));
            }
        }
    }
    broken
}

type Uses = BTreeMap<String, BTreeSet<(String, Kind)>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Normal,
    Dev,
}

/// What each crate of the workspace uses of the others, as cargo sees it.
fn dependencies() -> Uses {
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
