//! `chela sessions …`: conversations are listed, read, carried in and out, and cleaned up.

use crate::home::{TestHome, text};

const TRIP: &str = concat!(
    "{\"type\":\"session\",\"version\":3,\"id\":\"3f2a0000-1111-4222-a333-444455556666\",\"timestamp\":\"2026-01-18T00:20:12.345Z\",\"key\":\"agent:main:main\",\"label\":\"Trip\"}\n",
    "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-01-18T00:20:13.000Z\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"When do we leave?\"}]}}\n",
    "{\"type\":\"message\",\"id\":\"00000002\",\"parentId\":\"00000001\",\"timestamp\":\"2026-01-18T00:20:14.000Z\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c1\",\"name\":\"read\",\"arguments\":{\"path\":\"trip.md\"}}],\"model\":\"a/b\"}}\n",
    "{\"type\":\"message\",\"id\":\"00000003\",\"parentId\":\"00000002\",\"timestamp\":\"2026-01-18T00:20:15.000Z\",\"message\":{\"role\":\"toolResult\",\"callId\":\"c1\",\"tool\":\"read\",\"content\":[{\"type\":\"text\",\"text\":\"leave at 9\\u001b[31m\"}]}}\n",
    "{\"type\":\"message\",\"id\":\"00000004\",\"parentId\":\"00000003\",\"timestamp\":\"2026-01-18T00:20:16.000Z\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"At nine.\"}],\"model\":\"a/b\"}}\n",
);

fn with_trip() -> TestHome {
    let home = TestHome::ready();
    let file = home.write("trip.jsonl", TRIP);
    home.run(&["sessions", "import", text(&file)]).ok();
    home
}

#[test]
fn a_newcomer_has_none_and_no_file_is_made() {
    let home = TestHome::ready();
    let told = home.run(&["sessions", "list"]).ok();
    assert!(told.contains("No conversations yet"), "{told}");
    assert_eq!(home.run(&["sessions", "list", "--json"]).json()["count"], 0);
    assert!(!home.exists(".chela/agents/main/sessions.sqlite"));
    let told = home.run(&["sessions", "show", "main"]).fails(1);
    assert!(told.contains("has no conversations yet"), "{told}");
}

#[test]
fn an_import_is_listed_shown_and_exported_again() {
    let home = with_trip();
    let listed = home.run(&["sessions", "list"]).ok();
    assert!(listed.contains("3f2a0000  agent:main:main"), "{listed}");
    assert!(listed.contains("\"Trip\""), "{listed}");
    let json = home.run(&["sessions", "list", "--json"]).json();
    // One more than its lines: what says that they came from elsewhere.
    assert_eq!(json["sessions"][0]["entries"], 5);
    assert_eq!(
        json["sessions"][0]["sessionStartedAt"],
        1_768_695_612_345_u64
    );
    for given in [
        "main",
        "agent:main:main",
        "3f2a",
        "trip",
        "3f2a0000-1111-4222-a333-444455556666",
    ] {
        let shown = home.run(&["sessions", "show", given]).ok();
        assert!(
            shown.contains("When do we leave?") && shown.contains("At nine."),
            "{shown}"
        );
        assert!(shown.contains("→ read {\"path\":\"trip.md\"}"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
    let last = home
        .run(&["sessions", "show", "main", "--last", "1", "--json"])
        .json();
    assert_eq!(last["entries"].as_array().unwrap().len(), 1);
    assert_eq!(
        last["entries"][0]["message"]["content"][0]["text"],
        "At nine."
    );
    let export = home.exact(&["sessions", "export", "trip"]);
    let messages = |lines: &str| -> Vec<serde_json::Value> {
        let read = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let messages = lines.lines().map(read).map(|line| line["message"].clone());
        messages.filter(|message| !message.is_null()).collect()
    };
    assert_eq!(messages(&export), messages(TRIP));
    let twice = home.run(&["sessions", "import", "trip.jsonl"]).fails(1);
    assert!(twice.contains("is already here"), "{twice}");
}

#[test]
fn a_mistyped_name_is_guessed() {
    let home = with_trip();
    let told = home.run(&["sessions", "show", "mian"]).fails(1);
    assert!(told.contains("there is no conversation `mian`"), "{told}");
    assert!(told.contains("did you mean `main`?"), "{told}");
    let told = home
        .run(&["sessions", "rm", "main", "nothing-like-it", "--yes"])
        .fails(1);
    assert!(told.contains("chela sessions list --all"), "{told}");
    assert_eq!(home.run(&["sessions", "list", "--json"]).json()["count"], 1);
    let told = home.run(&["sessions", "list", "--active", "soon"]).fails(2);
    assert!(told.contains("is not a length of time"), "{told}");
}

#[test]
fn sessions_are_renamed_and_deleted() {
    let home = with_trip();
    home.run(&["sessions", "rename", "3f2a", "Lisbon"]).ok();
    let found = home
        .run(&["sessions", "list", "--label", "lisb", "--json"])
        .json();
    assert_eq!(found["sessions"][0]["label"], "Lisbon");
    let told = home.run(&["sessions", "rm", "lisbon"]).ok();
    assert!(told.starts_with("Would delete 3f2a0000"), "{told}");
    assert_eq!(home.run(&["sessions", "list", "--json"]).json()["count"], 1);
    home.run(&["sessions", "rm", "lisbon", "--yes"]).ok();
    assert_eq!(
        home.run(&["sessions", "list", "--all", "--json"]).json()["count"],
        0
    );
}

#[test]
fn old_conversations_are_cleaned_up_after_a_copy() {
    let home = TestHome::with_config("{session: {maintenance: {mode: 'warn'}}}");
    let file = home.write(
        "old.jsonl",
        &TRIP.replace("agent:main:main", "cron:daily:1"),
    );
    home.run(&["sessions", "import", text(&file)]).ok();
    let told = home.run(&["sessions", "cleanup"]).ok();
    assert!(
        told.contains("Would remove 3f2a0000 cron:daily:1: unused"),
        "{told}"
    );
    let plan = home
        .run(&["sessions", "cleanup", "--dry-run", "--json"])
        .json();
    assert_eq!(
        (&plan["done"], plan["sessions"].as_array().unwrap().len()),
        (&false.into(), 1)
    );
    let told = home.run(&["sessions", "cleanup", "--enforce"]).ok();
    assert!(told.contains("Removed 3f2a0000"), "{told}");
    assert!(home.exists(".chela/agents/main/archive/3f2a0000-1111-4222-a333-444455556666.jsonl"));
    assert!(
        home.run(&["sessions", "cleanup"])
            .ok()
            .starts_with("Nothing to clean up")
    );
}

#[test]
fn a_folder_of_the_reference_is_read_with_its_keys() {
    let home = TestHome::ready();
    home.write(
        "old/sessions.json",
        "{\"agent:main:telegram:group:7\": {\"sessionId\": \"abc\"}}",
    );
    home.write(
        "old/abc.jsonl",
        concat!(
            "{\"type\":\"session\",\"version\":3,\"id\":\"abc\",\"timestamp\":\"2026-01-18T00:20:12Z\",\"cwd\":\"/\"}\n",
            "{\"type\":\"message\",\"id\":\"x\",\"parentId\":null,\"timestamp\":\"2026-01-18T00:20:12Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
        ),
    );
    home.write("old/broken.jsonl", "nothing\n");
    let run = home.run(&["sessions", "import", "old"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains("agent:main:telegram:group:7: 1 line"),
        "{}",
        run.out
    );
    assert!(run.out.contains("there is no session in it"), "{}", run.out);
    let found = home
        .run(&["sessions", "list", "--kind", "group", "--json"])
        .json();
    assert_eq!(found["count"], 1);
}

#[test]
fn damage_is_said_and_rescued() {
    let home = with_trip();
    let sound = home.run(&["sessions", "rescue"]).ok();
    assert!(sound.contains("is intact"), "{sound}");
    home.write(
        ".chela/agents/main/sessions.sqlite",
        &"no database ".repeat(500),
    );
    let told = home.run(&["sessions", "list"]).fails(1);
    assert!(
        told.contains("is damaged") && told.contains("chela sessions rescue"),
        "{told}"
    );
    let run = home.run(&["sessions", "rescue"]);
    assert_eq!(run.code, 1, "something was lost: {}", run.out);
    assert!(run.out.contains("The damaged file is"), "{}", run.out);
    assert_eq!(home.run(&["sessions", "list", "--json"]).json()["count"], 0);
}

#[test]
fn a_session_file_that_is_gone_is_missed() {
    for empty in [false, true] {
        let home = with_trip();
        let path = home.path(".chela/agents/main/sessions.sqlite");
        std::fs::remove_file(&path).unwrap();
        if empty {
            home.write(".chela/agents/main/sessions.sqlite", "");
        }
        let told = home.run(&["sessions", "list"]).fails(1);
        assert!(
            told.contains("although there was one. The next chat"),
            "{told}"
        );
        // A chat goes on, and says so once.
        let told = home.run(&["chat", "-m", "/status"]).err;
        assert!(told.contains("is empty or gone"), "{told}");
        let told = home.run(&["chat", "-m", "/status"]).err;
        assert!(!told.contains("is empty or gone"), "{told}");
    }
}

#[test]
fn a_session_file_that_was_cut_off_is_rescued() {
    let home = with_trip();
    let mut lines = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"4f2a0000-1111-4222-a333-444455556666\",\"timestamp\":\"2026-01-18T00:20:12.345Z\",\"key\":\"agent:main:long\"}\n",
    );
    for at in 1..=200_u32 {
        let words = "word ".repeat(60);
        lines.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"timestamp\":\"2026-01-18T00:20:13.000Z\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}]}}}}\n"
        ));
    }
    let file = home.write("long.jsonl", &lines);
    home.run(&["sessions", "import", text(&file)]).ok();
    let path = home.path(".chela/agents/main/sessions.sqlite");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 4096).unwrap();
    home.run(&["sessions", "list"]).fails(1);

    let run = home.run(&["sessions", "rescue", "--json"]);
    assert_eq!(run.code, 1, "something was lost: {}", run.out);
    let told: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(told["entries"].as_u64().unwrap() > 180, "{told}");
    assert!(!told["lost"].as_array().unwrap().is_empty(), "{told}");
    let found = home.run(&["sessions", "list", "--json"]).json();
    assert_eq!(found["count"], told["sessions"]);
    let sound = home.run(&["sessions", "rescue"]).ok();
    assert!(sound.contains("is intact"), "{sound}");
}

#[test]
fn a_conversation_is_made_shorter_and_whole_again() {
    let home = TestHome::ready();
    let mut lines = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"3f2a0000-1111-4222-a333-444455556666\",\"timestamp\":\"2026-01-18T00:20:12.345Z\",\"key\":\"agent:main:main\"}\n",
    );
    for turn in 0..40_u32 {
        for (role, at) in [("user", turn * 2 + 1), ("assistant", turn * 2 + 2)] {
            let parent = match at {
                1 => "null".to_owned(),
                at => format!("\"{:08x}\"", at - 1),
            };
            let words = format!("{role} {turn} ") + &"word ".repeat(900);
            lines.push_str(&format!(
                "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-18T00:20:13.000Z\",\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}]}}}}\n"
            ));
        }
    }
    let file = home.write("long.jsonl", &lines);
    home.run(&["sessions", "import", text(&file)]).ok();
    let before = home.run(&["sessions", "show", "main", "--json"]).json();
    let told = home.run(&["sessions", "compact", "main"]).ok();
    assert!(told.contains("summary by fixed rules"), "{told}");
    assert!(told.contains("--undo"), "{told}");
    assert_ne!(
        home.run(&["sessions", "show", "main", "--json"]).json(),
        before
    );
    let told = home.run(&["sessions", "compact", "main", "--undo"]).ok();
    assert!(told.contains("restored in full"), "{told}");
    let told = home
        .run(&["sessions", "compact", "main", "--undo"])
        .fails(1);
    assert!(told.contains("never compacted"), "{told}");
}

#[test]
fn lines_that_do_not_say_when_count_from_the_import() {
    let home = TestHome::ready();
    let lines = [
        r#"{"type":"session","id":"0f0f0f0f-old"}"#,
        r#"{"type":"message","id":"a","message":{"role":"user","content":"hello"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":"hi"}}"#,
    ];
    let file = home.write("undated.jsonl", &lines.join("\n"));
    home.run(&["sessions", "import", text(&file)]).ok();
    let listed = home.run(&["sessions", "list", "--all"]).ok();
    let row = listed.lines().find(|line| line.starts_with("0f0f0f0f"));
    let used = row.and_then(|row| row.split_whitespace().nth(2));
    assert_eq!(used, Some("now"), "{listed}");
}
