//! `chela memory …`: search with no key, and keeping it good.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome, after_tool};

mod finding;
mod keeping;

fn with_notes() -> TestHome {
    let home = TestHome::ready();
    home.write(
        ".chela/workspace/MEMORY.md",
        "# People\n- Ann Meyer is the dentist in Lisbon\n- The wifi password is hunter2\n",
    );
    home.write(
        ".chela/workspace/memory/2026-03-04.md",
        "- the car broke down near Porto\n- The wifi password is swordfish\n",
    );
    home
}

#[test]
fn a_question_is_answered_on_a_fresh_machine() {
    let home = with_notes();
    let found = home
        .run(&["memory", "search", "who", "is", "my", "dentist?"])
        .ok();
    assert!(
        found.starts_with("MEMORY.md#L2") && found.contains("  1.00  People\n  - Ann Meyer is the"),
        "{found}"
    );
    let report = home
        .run(&["memory", "search", "automobile trouble", "--json"])
        .json();
    assert_eq!(report["results"][0]["path"], "memory/2026-03-04.md");
    assert_eq!(report["results"][0]["startLine"], 1);
    assert!(report["results"][0]["explain"]["cosine"].as_f64().unwrap() > 0.1);
    let told = home.run(&["memory", "search", "car", "--explain"]).ok();
    assert!(
        told.contains("BM25") && told.contains("local/table-"),
        "{told}"
    );
    assert!(home.exists(".chela/state/memory/main.sqlite"));
}

#[test]
fn status_index_and_get_say_what_is_there() {
    let home = with_notes();
    let before = home.run(&["memory", "status", "--json"]).json();
    assert_eq!(before["chunks"], 0);
    let told = home.run(&["memory", "index"]).ok();
    assert!(told.contains("added, 0 changed, 0 removed"), "{told}");
    assert!(
        home.run(&["memory", "index"])
            .ok()
            .starts_with("Up to date")
    );
    let after = home.run(&["memory", "status", "--json"]).json();
    assert_eq!(after["pending"], 0);
    assert_eq!(after["embedded"], after["chunks"]);
    let text = home.run(&["memory", "status"]).ok();
    assert!(text.contains("nothing: the index is up to date"), "{text}");
    let lines = home
        .run(&["memory", "get", "MEMORY.md", "--from", "2", "--lines", "1"])
        .ok();
    assert!(
        lines.starts_with("- Ann Meyer is the dentist in Lisbon\n"),
        "{lines}"
    );
    let refused = home.run(&["memory", "get", "../chela.json"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("is not part of memory"),
        "{}",
        refused.err
    );
}

#[test]
fn a_damaged_index_is_rebuilt_and_said_so() {
    let home = with_notes();
    home.run(&["memory", "index"]).ok();
    home.write(
        ".chela/state/memory/main.sqlite",
        &"no database ".repeat(1000),
    );
    let found = home.run(&["memory", "search", "dentist"]).ok();
    assert!(found.starts_with("MEMORY.md#L2"), "{found}");
    assert!(found.contains("is rebuilt from the notes"), "{found}");
}

#[test]
fn facts_are_forgotten_and_contradictions_found() {
    let home = with_notes();
    let lint = home.run(&["memory", "lint"]);
    assert_eq!(lint.code, 1);
    assert!(
        lint.out.contains("contradiction: \"wifi password\""),
        "{}",
        lint.out
    );
    let shown = home.run(&["memory", "forget", "swordfish"]).ok();
    assert!(shown.contains("1 entry would be removed"), "{shown}");
    home.run(&["memory", "forget", "swordfish", "--yes"]).ok();
    assert_eq!(
        home.read(".chela/workspace/memory/2026-03-04.md"),
        "- the car broke down near Porto\n"
    );
    assert!(
        !home
            .run(&["memory", "search", "wifi password"])
            .ok()
            .contains("swordfish")
    );
    assert!(!home.run(&["memory", "lint"]).out.contains("contradiction"));
    let none = home.run(&["memory", "forget", "swordfish", "--yes"]);
    assert_eq!(none.code, 1);
}

#[test]
fn providers_that_cannot_be_used_are_named() {
    let home = with_notes();
    home.write(
        ".chela/chela.json",
        "{ memory: { search: { provider: 'ollama', remote: { baseUrl: 'http://127.0.0.1:1' }, store: { vector: { extensionPath: '/x.so' } } } } }",
    );
    let found = home.run(&["memory", "search", "dentist"]).ok();
    assert!(
        found.contains("MEMORY.md#L2") && found.contains("start it with `ollama serve`"),
        "{found}"
    );
    let status = home.run(&["memory", "status"]).ok();
    assert!(
        status.contains("store.vector.extensionPath has no effect"),
        "{status}"
    );
}

#[test]
fn the_model_is_asked_after_and_a_file_that_is_none_changes_nothing() {
    let home = with_notes();
    home.write(".chela/chela.json", "{}\n");
    let status = home.run(&["memory", "model", "status", "--json"]).json();
    assert_eq!(status["present"], false);
    assert_eq!(status["canRun"], cfg!(feature = "minilm"));
    home.write("weights.onnx", "not a model");
    let path = home.path("weights.onnx").display().to_string();
    let refused = home.run(&["memory", "model", "install", &path]);
    assert_eq!(refused.code, 1);
    let why = match cfg!(feature = "minilm") {
        true => "weights.onnx is not usable",
        false => "cargo build --release -p chela --features minilm",
    };
    assert!(refused.err.contains(why), "{}", refused.err);
    assert_eq!(home.read(".chela/chela.json"), "{}\n");
}

#[test]
fn past_conversations_are_found_by_everybody_and_removed_by_nobody() {
    let search = ScriptStep::tool("memory_search", json!({ "query": "turquoise gramophone" }));
    let script = EndpointScript::steps([
        ScriptStep::reply("Noted."),
        search,
        after_tool(ScriptStep::reply("I found: {{tool}}")),
    ]);
    let more = json!({ "agents": { "defaults": {
        "memorySearch": { "sources": ["memory", "sessions"] } } } });
    let scene = ScriptedHome::with(APIS[0], script, more);
    let home = &scene.home;
    home.write(".chela/workspace/memory/a.md", "- the cat is called Momo\n");
    scene
        .chat("The turquoise gramophone was sold at the auction.")
        .ok();
    let sessions = || {
        let status = home.run(&["memory", "status", "--json"]).json();
        assert_eq!(status["gone"], 0, "{status}");
        status["sources"]["sessions"]["files"].clone()
    };
    home.run(&["memory", "index"]).ok();
    assert_eq!(sessions(), 1);
    let found = || {
        let found = home
            .run(&["memory", "search", "turquoise gramophone", "--json"])
            .json();
        found["results"][0]["path"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let path = found();
    assert!(path.starts_with("sessions/"), "{path}");
    assert_eq!(sessions(), 1);
    // Asked in another session, the agent finds it, too; and nothing is gone afterwards.
    let told = home
        .run(&[
            "chat",
            "--session",
            "agent:main:other",
            "-m",
            "what was sold?",
            "--json",
        ])
        .json();
    let reply = told["reply"].as_str().unwrap();
    assert!(reply.contains("was sold at the auction"), "{told}");
    assert!(reply.contains(&path), "{told}");
    assert_eq!(sessions(), 2);
    assert_eq!(found(), path);
    let read = home.run(&["memory", "get", &path, "--lines", "1"]).ok();
    assert!(read.contains("User: The turquoise gramophone"), "{read}");
    let forgotten = home.run(&["memory", "forget", "gramophone", "--yes"]).ok();
    assert!(forgotten.contains("Forgot"), "{forgotten}");
    let rows = sessions();
    home.run(&["memory", "index", "--force"]).ok();
    assert_eq!(sessions(), rows);
}

#[test]
fn what_memory_says_is_for_people_here() {
    let home = with_notes();
    home.run(&["memory", "index"]).ok();
    let told = home.run(&["memory", "get", "secret.txt"]).fails(1);
    assert!(
        told.contains("`chela memory search` shows the paths"),
        "{told}"
    );
    let told = home
        .run(&["memory", "get", "MEMORY.md", "--from", "9"])
        .fails(1);
    assert!(
        told.contains("MEMORY.md has 3 lines; there is no line 9"),
        "{told}"
    );
    assert!(!told.contains("memory_get"), "{told}");
    for question in ["dentist", "nothing of the kind", "quantum chromodynamics"] {
        let told = home.run(&["memory", "search", question, "--explain"]).ok();
        assert!(!told.contains("-0 %") && !told.contains("-0.0"), "{told}");
        let report = home.run(&["memory", "search", question, "--json"]).ok();
        assert!(!report.contains("-0.0"), "{report}");
    }
}

/// A search takes in conversations only once they have grown; `memory index` all of them.
#[test]
fn conversations_are_counted_as_such_and_taken_in_when_told() {
    let more = json!({ "agents": { "defaults": { "memorySearch": {
        "experimental": { "sessionMemory": true }, "sources": ["memory", "sessions"],
    } } } });
    let scene = ScriptedHome::with(
        APIS[0],
        EndpointScript::always(ScriptStep::reply("Noted.")),
        more,
    );
    scene.chat("the boat is called Otter").ok();
    let home = &scene.home;
    home.run(&["memory", "index"]).ok();
    let text = home.run(&["memory", "status"]).ok();
    assert!(text.contains("1 conversation"), "{text}");
    scene.chat("and the harbour is Faro").ok();
    home.run(&["memory", "search", "harbour"]).ok();
    let text = home.run(&["memory", "status"]).ok();
    assert!(text.contains("1 new or changed"), "{text}");
    assert!(text.contains("`chela memory index` indexes them"), "{text}");
    assert!(text.contains("once it has grown by 50 messages"), "{text}");
    home.run(&["memory", "index"]).ok();
    let text = home.run(&["memory", "status"]).ok();
    assert!(text.contains("nothing: the index is up to date"), "{text}");
}

#[test]
fn a_line_of_the_owner_file_that_nobody_filled_in_is_no_memory() {
    let home = TestHome::ready();
    let found = home.run(&["memory", "search", "Name"]);
    assert!(!found.out.contains("- Name:"), "{}", found.out);
    let user = home.read(".chela/workspace/USER.md");
    home.write(
        ".chela/workspace/USER.md",
        &user.replace("- Name:", "- Name: Ada Quill"),
    );
    // A search looks for changes for a moment only; here it is to find them.
    home.run(&["memory", "index"]).ok();
    let found = home.run(&["memory", "search", "Name"]).ok();
    assert!(found.contains("- Name: Ada Quill"), "{found}");
    assert!(!found.contains("- Time zone:"), "{found}");
}
