use super::What;
use crate::settings::SourceKind;
use crate::tests_support::{Home, found};

#[test]
fn a_fact_is_gone_from_file_index_and_transcripts() {
    let mut home = Home::new(&[
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
    assert!(!memory.is_forgotten("4711").unwrap());
    let doomed = memory.find_to_forget(&What::Text("secret code".into()));
    assert_eq!(doomed.len(), 3);
    let gone = memory.forget(doomed).unwrap();
    assert_eq!(gone.copies.len(), 2);
    assert!(memory.is_forgotten("4711").unwrap());
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
    assert!(memory.is_forgotten("4711").unwrap());
    assert!(found(&mut memory, "likes tea")[0].starts_with("MEMORY.md#L1"));
}

#[test]
fn lines_can_be_named() {
    let home = Home::new(&[("MEMORY.md", "- one\n- two\n- three\n")]);
    let mut memory = home.synced();
    let what = What::Lines {
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
