//! Holds the dependencies to `deny.toml`: licences, sources, banned crates, second versions.
//!
//! The lock file names the crates of every platform; only cargo's metadata knows their licences,
//! and offline it knows those of this platform.

mod licence;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;

use crate::{ChoreOutcome, cargo_bin, say};

/// What is read of `deny.toml`. The rest of it is for cargo-deny.
#[derive(Debug, Deserialize)]
struct DenyRules {
    licenses: LicenceRules,
    bans: BanRules,
    sources: SourceRules,
}

#[derive(Debug, Deserialize)]
struct LicenceRules {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct BanRules {
    deny: Vec<NamedCrate>,
    skip: Vec<NamedCrate>,
}

#[derive(Debug, Deserialize)]
struct NamedCrate {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SourceRules {
    allow_registry: BTreeSet<String>,
    allow_git: BTreeSet<String>,
}

/// A crate in the lock file.
#[derive(Debug, Deserialize)]
struct LockedCrate {
    name: String,
    version: String,
    /// None: of this workspace.
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
struct LockFile {
    package: Vec<LockedCrate>,
}

/// A crate as cargo's metadata tells of it.
#[derive(Debug, Deserialize)]
struct KnownCrate {
    name: String,
    version: String,
    license: Option<String>,
    dependencies: Vec<NamedDependency>,
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
struct NamedDependency {
    name: String,
    req: String,
    path: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CargoMetadata {
    packages: Vec<KnownCrate>,
}

pub fn check() -> ChoreOutcome {
    let rules = read_toml::<DenyRules>("deny.toml")?;
    let locked = read_toml::<LockFile>("Cargo.lock")?;
    let metadata = metadata()?;
    let findings = findings(&rules, &locked.package, &metadata.packages);
    if findings.is_empty() {
        say(&format!(
            "deny.toml holds: {} crates in the lock file, {} licences read",
            locked.package.len(),
            metadata.packages.len()
        ));
        return Ok(());
    }
    Err(format!(
        "{}\n{} against deny.toml",
        findings.join("\n"),
        match findings.len() {
            1 => "1 finding".to_owned(),
            many => format!("{many} findings"),
        }
    ))
}

fn read_toml<T: for<'de> Deserialize<'de>>(path: &str) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("{path}: {error}"))
}

fn metadata() -> Result<CargoMetadata, String> {
    let host = Command::new("rustc")
        .arg("-vV")
        .output()
        .ok()
        .and_then(|output| {
            let text = String::from_utf8(output.stdout).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("host: "))?;
            Some(line.to_owned())
        })
        .ok_or("`rustc -vV` does not name its host")?;
    let output = Command::new(cargo_bin())
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &host])
        .output()
        .map_err(|error| format!("could not start: cargo metadata: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "cargo metadata failed; `cargo fetch` gets what it misses:\n{told}"
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// One line for each thing that should not be.
fn findings(rules: &DenyRules, locked: &[LockedCrate], known: &[KnownCrate]) -> Vec<String> {
    let mut findings = Vec::new();
    banned(rules, locked, &mut findings);
    second_versions(rules, locked, &mut findings);
    sources(rules, locked, &mut findings);
    wildcards(known, &mut findings);
    licences(rules, known, &mut findings);
    findings
}

fn banned(rules: &DenyRules, locked: &[LockedCrate], findings: &mut Vec<String>) {
    for package in locked {
        let ban = rules.bans.deny.iter().find(|ban| ban.name == package.name);
        if let Some(ban) = ban {
            findings.push(format!(
                "{} {} is banned: {}",
                package.name, package.version, ban.reason
            ));
        }
    }
}

fn second_versions(rules: &DenyRules, locked: &[LockedCrate], findings: &mut Vec<String>) {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in locked {
        let of_name = versions.entry(&package.name).or_default();
        of_name.insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let skipped: BTreeSet<&str> = rules
        .bans
        .skip
        .iter()
        .map(|skip| skip.name.as_str())
        .collect();
    for (name, versions) in &versions {
        if !skipped.contains(name) {
            let versions: Vec<_> = versions.iter().copied().collect();
            findings.push(format!(
                "{name} is there in {} versions: {}",
                versions.len(),
                versions.join(", ")
            ));
        }
    }
    for name in skipped {
        if !versions.contains_key(name) {
            findings.push(format!(
                "{name} has one version only: take it out of `bans.skip`"
            ));
        }
    }
}

fn sources(rules: &DenyRules, locked: &[LockedCrate], findings: &mut Vec<String>) {
    for package in locked {
        let Some(source) = &package.source else {
            continue;
        };
        let allowed = match source.split_once('+') {
            Some(("registry" | "sparse", address)) => {
                rules.sources.allow_registry.contains(address)
            }
            Some(("git", address)) => {
                let address = address.split(['?', '#']).next().unwrap_or(address);
                rules.sources.allow_git.contains(address)
            }
            _ => false,
        };
        if !allowed {
            findings.push(format!(
                "{} {} comes from {source}, which `sources` does not allow",
                package.name, package.version
            ));
        }
    }
}

/// Whoever writes `*` takes any version there will ever be.
fn wildcards(known: &[KnownCrate], findings: &mut Vec<String>) {
    let ours = known.iter().filter(|package| package.source.is_none());
    for package in ours {
        for dependency in &package.dependencies {
            if dependency.req == "*" && dependency.path.is_none() {
                findings.push(format!(
                    "{} takes any version of {}",
                    package.name, dependency.name
                ));
            }
        }
    }
}

fn licences(rules: &DenyRules, known: &[KnownCrate], findings: &mut Vec<String>) {
    for package in known {
        let Some(expression) = &package.license else {
            findings.push(format!(
                "{} {} names no licence",
                package.name, package.version
            ));
            continue;
        };
        if !licence::is_satisfied(expression, &rules.licenses.allow) {
            findings.push(format!(
                "{} {} is under `{expression}`, which `licenses.allow` does not satisfy",
                package.name, package.version
            ));
        }
    }
}
