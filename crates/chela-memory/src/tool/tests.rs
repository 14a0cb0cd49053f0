use super::{GetRequest, MemoryToolError, memory_get, memory_search, read};
use crate::settings::CitationSetting;
use crate::tests_support::{MemoryHome, ask};
use chela_core::{Audience, Trust};

fn get(path: &str) -> GetRequest<'_> {
    GetRequest {
        path,
        from: None,
        lines: None,
        audience: Audience::Private,
    }
}

#[test]
fn results_are_written_for_a_model() {
    let home = MemoryHome::new(&[
        (
            "MEMORY.md",
            "# People\n- Ann lives in Lisbon\n- Bob plays chess\n",
        ),
        ("memory/2023-11-02.md", "- bought a red bicycle for Ann\n"),
    ]);
    let mut memory = home.synced();
    let text = memory_search(&mut memory, &ask("where does Ann live?")).unwrap();
    insta::with_settings!({filters => vec![(r"score 0\.\d\d", "score 0.xx")]}, {
        insta::assert_snapshot!(text.text, @r"
        [1] Source: MEMORY.md#L2 (People), score 1.00
        - Ann lives in Lisbon

        [2] Source: MEMORY.md#L3 (People), score 0.xx
        - Bob plays chess

        [3] Source: memory/2023-11-02.md#L1, score 0.xx
        - bought a red bicycle for Ann
        ");
    });
    assert_eq!(text.trust, Trust::Agent);
    assert_eq!(text.audience, Audience::Private);
    assert!(matches!(
        memory_search(&mut memory, &ask("  ")),
        Err(MemoryToolError::EmptyQuery)
    ));
}

#[test]
fn an_empty_memory_says_so() {
    let mut home = MemoryHome::new(&[]);
    home.settings.citations = CitationSetting::Off;
    let mut memory = home.synced();
    let text = memory_search(&mut memory, &ask("anything")).unwrap().text;
    assert!(text.starts_with("Memory is empty"), "{text}");
}

#[test]
fn private_notes_do_not_reach_a_group() {
    let home = MemoryHome::new(&[("MEMORY.md", "- Ann lives in Lisbon\n")]);
    let mut memory = home.synced();
    let mut question = ask("Ann Lisbon");
    question.audience = Audience::Shared;
    assert!(memory.search(&question).unwrap().excerpts.is_empty());
    let shared = GetRequest {
        audience: Audience::Shared,
        ..get("MEMORY.md")
    };
    assert!(matches!(
        read(&memory, &shared),
        Err(MemoryToolError::NotMemory { .. })
    ));
}

#[test]
fn only_memory_can_be_read() {
    let home = MemoryHome::new(&[
        ("MEMORY.md", "- one\n"),
        ("AGENTS.md", "rules"),
        ("memory/a.md", "x"),
    ]);
    std::fs::write(home.folder.path().join("secret.md"), "secret").unwrap();
    let memory = home.memory();
    for path in [
        "../secret.md",
        "AGENTS.md",
        "memory/../AGENTS.md",
        "/etc/passwd",
        "",
        "memory",
    ] {
        let result = read(&memory, &get(path));
        assert!(
            matches!(result, Err(MemoryToolError::NotMemory { .. })),
            "{path}: {result:?}"
        );
    }
    assert!(matches!(
        read(&memory, &get("memory/b.md")),
        Err(MemoryToolError::Missing { .. })
    ));
    assert_eq!(read(&memory, &get("./memory/a.md")).unwrap().text, "x");
    assert_eq!(read(&memory, &get("MEMORY.md#L1")).unwrap().text, "- one");
}

#[test]
fn long_files_come_in_pieces() {
    let text: String = (1..=300).map(|i| format!("line {i}\n")).collect();
    let home = MemoryHome::new(&[
        ("memory/long.md", &text),
        ("memory/wide.md", &"x".repeat(50_000)),
    ]);
    let memory = home.memory();
    let first = read(&memory, &get("memory/long.md")).unwrap();
    assert_eq!(
        (first.start_line, first.end_line, first.next),
        (1, 120, Some(121))
    );
    let rest = GetRequest {
        from: Some(299),
        lines: Some(10),
        ..get("memory/long.md")
    };
    let rest = read(&memory, &rest).unwrap();
    assert_eq!(
        (rest.text.as_str(), rest.next),
        ("line 299\nline 300", None)
    );
    assert!(read(&memory, &get("memory/wide.md")).unwrap().text.len() <= 12_000);
    let past = GetRequest {
        from: Some(301),
        ..get("memory/long.md")
    };
    let error = memory_get(&memory, &past).unwrap_err().to_string();
    assert!(error.contains("between 1 and 300"), "{error}");
    assert!(
        memory_get(&memory, &get("memory/long.md"))
            .unwrap()
            .text
            .ends_with("[more: call memory_get with from=121]")
    );
}
