use std::ops::ControlFlow;

use chela_core::Audience;

use super::ForgetTarget;
use crate::index::SyncDepth;
use crate::memory::{Memory, MemoryQuestion};
use crate::settings::SourceKind;
use crate::tests_support::{MemoryHome, found};

/// Whether nothing about a text is found any more.
fn is_forgotten(memory: &mut Memory<'_>, text: &str) -> bool {
    let ask = MemoryQuestion::new(text, Audience::Private);
    let found = memory.search(&ask).unwrap().excerpts;
    !found.iter().any(|excerpt| excerpt.text.contains(text))
}

fn home_with_transcript(said: &str) -> MemoryHome {
    let mut home = MemoryHome::new(&[]);
    home.settings.sources.push(SourceKind::Sessions);
    std::fs::create_dir_all(home.workspace()).unwrap();
    std::fs::create_dir_all(home.folder.path().join("sessions")).unwrap();
    let line = format!(r#"{{"message":{{"role":"user","content":"{said}"}}}}"#);
    std::fs::write(home.folder.path().join("sessions/s.jsonl"), line).unwrap();
    home
}

#[test]
fn what_holds_a_secret_is_forgotten_too() {
    let said = format!("the lighthouse opens with ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let home = home_with_transcript(&said);
    let mut memory = home.synced();
    assert!(!is_forgotten(&mut memory, "lighthouse"));
    assert!(is_forgotten(&mut memory, "a1B2c3D4e5F6"));
    let doomed = memory.find_to_forget(&ForgetTarget::Text("lighthouse".into()));
    memory.forget(doomed).unwrap();
    assert!(is_forgotten(&mut memory, "lighthouse"));
}

#[test]
fn without_the_list_of_what_was_forgotten_no_conversation_is_indexed() {
    let home = home_with_transcript("the lighthouse is closed");
    let mut memory = home.memory();
    std::fs::create_dir(home.index_file().with_extension("forgotten")).unwrap();
    let report = memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(
        report.problems[0].contains("not brought up to date"),
        "{:?}",
        report.problems
    );
    assert!(is_forgotten(&mut memory, "lighthouse"));
}

#[test]
fn a_fact_is_gone_from_file_index_and_transcripts() {
    let mut home = MemoryHome::new(&[
        (
            "MEMORY.md",
            "- likes tea\n- secret code is 4711\n- likes cats\n",
        ),
        (
            "memory/a.md",
            "The Secret Code is 4711, she said.\n\nOther paragraph.\n",
        ),
    ]);
    home.settings.sources.push(SourceKind::Sessions);
    std::fs::create_dir_all(home.folder.path().join("sessions")).unwrap();
    let line = r#"{"message":{"role":"user","content":"my secret code is 4711"}}"#;
    std::fs::write(home.folder.path().join("sessions/s.jsonl"), line).unwrap();
    let mut memory = home.synced();
    assert!(!is_forgotten(&mut memory, "4711"));
    let doomed = memory.find_to_forget(&ForgetTarget::Text("secret code".into()));
    assert_eq!(doomed.len(), 3);
    let gone = memory.forget(doomed).unwrap();
    assert_eq!(gone.copies.len(), 2);
    assert!(is_forgotten(&mut memory, "4711"));
    let text = std::fs::read_to_string(home.workspace().join("MEMORY.md")).unwrap();
    assert_eq!(text, "- likes tea\n- likes cats\n");
    assert!(
        std::fs::read_to_string(&gone.copies[0])
            .unwrap()
            .to_lowercase()
            .contains("secret code")
    );
    drop(memory);
    let bytes = std::fs::read(home.index_file()).unwrap();
    assert!(
        !bytes.windows(4).any(|window| window == b"4711"),
        "still in the index file"
    );
    // The index can go; what was forgotten stays so.
    std::fs::remove_file(home.index_file()).unwrap();
    let mut memory = home.synced();
    assert!(is_forgotten(&mut memory, "4711"));
    assert!(found(&mut memory, "likes tea")[0].starts_with("MEMORY.md#L1"));
}

#[test]
fn lines_can_be_named() {
    let home = MemoryHome::new(&[("MEMORY.md", "- one\n- two\n- three\n")]);
    let mut memory = home.synced();
    let what = ForgetTarget::Lines {
        label: "MEMORY.md".into(),
        first: 2,
        last: 2,
    };
    let doomed = memory.find_to_forget(&what);
    assert_eq!(doomed.len(), 1);
    memory.forget(doomed).unwrap();
    let text = std::fs::read_to_string(home.workspace().join("MEMORY.md")).unwrap();
    assert_eq!(text, "- one\n- three\n");
}

/// The process died after the note was changed and before the index was.
#[test]
fn what_a_killed_forget_began_is_ended_by_the_next() {
    let home = MemoryHome::new(&[("MEMORY.md", "- likes tea\n- secret code is 4711\n")]);
    let mut memory = home.synced();
    assert!(!memory.finish_forgetting().unwrap());
    memory.store().set_meta(super::FORGETTING, "1").unwrap();
    drop(memory);
    std::fs::write(home.workspace().join("MEMORY.md"), "- likes tea\n").unwrap();
    // Somebody searches in between, and the index follows the notes.
    let mut memory = home.synced();
    assert!(
        memory
            .find_to_forget(&ForgetTarget::Text("secret code".into()))
            .is_empty()
    );
    assert!(memory.finish_forgetting().unwrap());
    assert!(!memory.finish_forgetting().unwrap());
    drop(memory);
    for suffix in ["", "-wal"] {
        let mut file = home.index_file().into_os_string();
        file.push(suffix);
        let bytes = std::fs::read(file).unwrap_or_default();
        assert!(
            !bytes.windows(4).any(|window| window == b"4711"),
            "still in the index{suffix}"
        );
    }
}

#[test]
fn the_index_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = MemoryHome::new(&[("MEMORY.md", "- likes tea\n")]);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    drop(home.synced());
    assert_eq!(mode(&home.index_file()), 0o600);
    // One that was made before is mended when it is opened.
    std::fs::set_permissions(home.index_file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(home.synced());
    assert_eq!(mode(&home.index_file()), 0o600);
}
