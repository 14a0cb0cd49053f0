use super::{MemoryPlaces, find};
use crate::settings::{ExtraPath, MemorySettings, SourceKind};
use chela_core::{Audience, Host, Trust};
use std::fs;
use std::path::Path;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn labels(home: &Path, settings: &MemorySettings) -> (Vec<String>, Vec<String>) {
    let places = MemoryPlaces {
        workspace: home.join("w"),
        sessions: Some(home.join("sessions")),
        ..Default::default()
    };
    let found = find(&Host::fixed(home), &places, settings);
    (found.files.into_keys().collect(), found.problems)
}

#[test]
fn core_files_and_notes_are_found() {
    let home = tempfile::tempdir().unwrap();
    for name in [
        "MEMORY.md",
        "USER.md",
        "AGENTS.md",
        "memory/a.md",
        "memory/deep/er/b.MD",
        "memory/c.txt",
        "memory/house.org",
        "memory/lease.pdf",
        "memory/.hidden.md",
    ] {
        write(&home.path().join("w"), name, "x");
    }
    write(home.path(), "sessions/s.jsonl", "{}");
    let notes_alone = MemorySettings {
        sources: vec![SourceKind::Memory],
        ..MemorySettings::default()
    };
    let (found, problems) = labels(home.path(), &notes_alone);
    assert_eq!(
        found,
        [
            "MEMORY.md",
            "USER.md",
            "memory/a.md",
            "memory/c.txt",
            "memory/deep/er/b.MD",
            "memory/house.org"
        ]
    );
    assert!(
        problems.concat().contains("memory/lease.pdf"),
        "{problems:?}"
    );
    let settings = MemorySettings {
        sources: vec![SourceKind::Memory, SourceKind::Sessions],
        ..MemorySettings::default()
    };
    assert!(
        labels(home.path(), &settings)
            .0
            .contains(&"sessions/s.jsonl".to_owned())
    );
}

#[test]
fn a_second_memory_file_counts_when_it_is_another() {
    let home = tempfile::tempdir().unwrap();
    write(&home.path().join("w"), "MEMORY.md", "x");
    write(&home.path().join("w"), "memory.md", "y");
    assert_eq!(
        labels(home.path(), &MemorySettings::default()).0,
        ["MEMORY.md", "memory.md"]
    );
}

#[test]
fn extra_paths_are_files_folders_and_patterns() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("w")).unwrap();
    write(home.path(), "docs/a.md", "x");
    write(home.path(), "docs/sub/b.md", "x");
    write(home.path(), "docs/sub/c.txt", "x");
    let with = |path: &str, pattern: Option<&str>| MemorySettings {
        extra_paths: vec![ExtraPath {
            path: path.into(),
            pattern: pattern.map(str::to_owned),
        }],
        ..MemorySettings::default()
    };
    let root = home.path().display().to_string();
    let names = |settings: &MemorySettings| {
        let (found, problems) = labels(home.path(), settings);
        (
            found
                .iter()
                .map(|l| l.replace(&root, ""))
                .collect::<Vec<_>>(),
            problems.len(),
        )
    };
    assert_eq!(
        names(&with("~/docs", None)),
        (vec!["/docs/a.md".into(), "/docs/sub/b.md".into()], 0)
    );
    assert_eq!(
        names(&with("~/docs", Some("**/*.txt"))),
        (vec!["/docs/sub/c.txt".into()], 0)
    );
    assert_eq!(
        names(&with("~/docs/*.md", None)),
        (vec!["/docs/a.md".into()], 0)
    );
    assert_eq!(names(&with("../docs/sub/c.txt", None)).0.len(), 1);
    assert_eq!(names(&with("~/gone", None)), (vec![], 1));
    assert_eq!(names(&with("~/docs/[", None)), (vec![], 1));
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path();
    write(root, "secret/key.md", "x");
    fs::create_dir_all(root.join("w/memory")).unwrap();
    std::os::unix::fs::symlink(root.join("secret"), root.join("w/memory/link")).unwrap();
    std::os::unix::fs::symlink(root.join("secret/key.md"), root.join("w/MEMORY.md")).unwrap();
    std::os::unix::fs::symlink(root.join("secret"), root.join("linked")).unwrap();
    let settings = MemorySettings {
        extra_paths: vec![ExtraPath {
            path: "~/linked".into(),
            pattern: None,
        }],
        ..MemorySettings::default()
    };
    let (found, problems) = labels(root, &settings);
    assert!(found.is_empty(), "{found:?}");
    assert!(problems[0].contains("symbolic link"), "{problems:?}");
}

#[test]
fn trust_follows_who_writes_a_file() {
    let home = tempfile::tempdir().unwrap();
    write(&home.path().join("w"), "MEMORY.md", "x");
    write(&home.path().join("w"), "memory/a.md", "x");
    write(home.path(), "docs/a.md", "x");
    let settings = MemorySettings {
        extra_paths: vec![ExtraPath {
            path: "~/docs".into(),
            pattern: None,
        }],
        ..MemorySettings::default()
    };
    let places = MemoryPlaces {
        workspace: home.path().join("w"),
        sessions: None,
        ..Default::default()
    };
    let found = find(&Host::fixed(home.path()), &places, &settings);
    let trust: Vec<Trust> = found.files.values().map(|file| file.trust).collect();
    assert_eq!(trust, [Trust::External, Trust::Owner, Trust::Agent]);
}

#[test]
fn no_file_is_trusted_more_than_it_may_be() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("workspace");
    std::fs::create_dir_all(workspace.join("memory")).unwrap();
    for name in ["MEMORY.md", "USER.md", "memory/a.md", "memory/b.md"] {
        std::fs::write(
            workspace.join(name),
            "---\naudience: shared\n---\n- something\n",
        )
        .unwrap();
    }
    let places = MemoryPlaces {
        workspace,
        sessions: None,
        ceiling: super::TrustCeiling::new(|path, _| {
            match path.ends_with("MEMORY.md") || path.ends_with("a.md") {
                true => Trust::External,
                false => Trust::Operator,
            }
        }),
        ..MemoryPlaces::default()
    };
    let host = Host::fixed(home.path());
    let found = find(&host, &places, &MemorySettings::default());
    let trust: Vec<(&str, Trust)> = found
        .files
        .values()
        .map(|file| (file.label.as_str(), file.trust))
        .collect();
    assert_eq!(
        trust,
        [
            ("MEMORY.md", Trust::External),
            ("USER.md", Trust::Owner),
            ("memory/a.md", Trust::External),
            ("memory/b.md", Trust::Agent),
        ]
    );
    // Less trust does not mean more readers.
    let text = std::fs::read_to_string(&found.files["MEMORY.md"].path).unwrap();
    let audience = super::audience_of(&found.files["MEMORY.md"], &text);
    assert_eq!(audience, Audience::Private);
}
