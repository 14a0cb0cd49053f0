use std::path::Path;

use chela_core::{ContentHash, Host, Trust};

use super::{TrustError, TrustRecords};
use crate::trust::entry::{FileVersion, VersionWriter};
use crate::trust::versions::VersionCopies;

fn home() -> (tempfile::TempDir, Host) {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::fixed(dir.path());
    (dir, host)
}

fn version(text: &str) -> FileVersion {
    FileVersion {
        hash: ContentHash::of(text),
        writer: VersionWriter::Agent {
            turn: "agent:main:main#3".to_owned(),
            question: None,
        },
        at: 5,
        how: "write".to_owned(),
        trust: Trust::Agent,
        found: None,
    }
}

fn note(host: &Host, path: &str, text: &str) {
    VersionCopies::of(host).keep(text.as_bytes());
    TrustRecords::change(host, |records| {
        records
            .files
            .entry(path.to_owned())
            .or_default()
            .trust(version(text));
    })
    .unwrap();
}

#[test]
fn the_record_is_read_back_and_what_others_wrote_stays() {
    let (_dir, host) = home();
    let path = TrustRecords::path(&host);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(
        &path,
        r#"{ "version": 1, "skills": { "/s": { "name": "s" } } }"#,
    )
    .unwrap();
    note(&host, "/w/SOUL.md", "one");
    let text = std::fs::read_to_string(&path).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["skills"]["/s"]["name"], "s");
    assert_eq!(document["files"]["/w/SOUL.md"]["trusted"]["by"], "agent");
    let records = TrustRecords::read(&host);
    let entry = records.entry(Path::new("/w/SOUL.md")).unwrap();
    assert_eq!(entry.trusted, Some(version("one")));
}

#[test]
fn a_broken_record_counts_for_nothing_and_is_not_written_over() {
    for text in [
        "",
        "{",
        "[]",
        r#"{"files": 3}"#,
        r#"{"files": {"/w/SOUL.md": {"trusted": {"hash": "x"}}}}"#,
    ] {
        let (_dir, host) = home();
        let path = TrustRecords::path(&host);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let records = TrustRecords::read(&host);
        assert!(
            records.broken.is_some() && records.files.is_empty(),
            "{text}"
        );
        let refused = TrustRecords::change(&host, |records| records.files.clear());
        assert!(matches!(refused, Err(TrustError::Broken { .. })), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let aside = TrustRecords::move_aside(&host).unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
        assert_eq!(TrustRecords::read(&host), TrustRecords::default());
        assert_eq!(
            TrustRecords::move_aside(&host).unwrap(),
            None,
            "nothing is wrong now"
        );
    }
}

#[test]
fn writers_side_by_side_lose_nothing() {
    let (_dir, host) = home();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let host = &host;
            scope.spawn(move || {
                for round in 0..10 {
                    note(
                        host,
                        &format!("/w/{writer}-{round}.md"),
                        &format!("{writer} {round}"),
                    );
                }
            });
        }
    });
    assert_eq!(TrustRecords::read(&host).files.len(), 80);
}

#[test]
fn copies_go_with_the_versions_they_are_of() {
    let (_dir, host) = home();
    let versions = VersionCopies::of(&host);
    for round in 0..40 {
        note(&host, "/w/SOUL.md", &format!("text {round}"));
    }
    assert!(versions.bytes(ContentHash::of("text 39")).is_some());
    assert!(versions.bytes(ContentHash::of("text 25")).is_some());
    assert!(versions.bytes(ContentHash::of("text 3")).is_none());
    let copy = host
        .state_dir()
        .join("state/file-versions")
        .join(ContentHash::of("text 39").to_string());
    std::fs::write(copy, "something else").unwrap();
    assert!(
        versions.bytes(ContentHash::of("text 39")).is_none(),
        "a forged copy does not count"
    );
}
