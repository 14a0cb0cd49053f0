//! Memory that takes care of itself: what was said is searched and noted, and what outlasts its
//! day goes into MEMORY.md when the owner says so.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome, after_tool};

/// Notes at once, where people wait an hour.
fn impatient() -> ScriptedHome {
    ScriptedHome::without_canary(
        APIS[0],
        EndpointScript::always(ScriptStep::reply("Noted.")),
        json!({ "memory": { "capture": { "idle": "1ms" } } }),
    )
}

fn notes(home: &TestHome) -> Vec<String> {
    let folder = home.path(".chela/workspace/memory");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut notes: Vec<String> = entries
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .filter(|text| text.contains("kind: session-note"))
        .collect();
    notes.sort();
    notes
}

#[test]
fn a_conversation_that_rests_becomes_a_note_that_can_be_taken_back() {
    let scene = impatient();
    let home = &scene.home;
    scene.chat("I live in Faro. What is the weather?").ok();
    scene.chat("and in Porto?").ok();
    let written = notes(home);
    let all = written.concat();
    assert!(all.contains("## To keep\n\n- I live in Faro.\n"), "{all}");
    assert_eq!(
        all.matches("I live in Faro. What is the weather?").count(),
        1,
        "{all}"
    );
    assert!(
        all.contains("- and in Porto?\n") && !all.contains("Noted."),
        "{all}"
    );

    let listed = home.run(&["undo", "--list", "--json"]).json();
    let changes = listed["changes"].as_array().unwrap();
    assert!(
        changes
            .iter()
            .all(|change| change["tool"] == "session-memory"),
        "{listed}"
    );
    for change in changes {
        home.run(&["undo", &change["id"].to_string()]).ok();
    }
    assert!(notes(home).is_empty());
    // What was taken back is not written again.
    scene.chat("thanks").ok();
    let all = notes(home).concat();
    assert!(all.contains("- thanks\n") && !all.contains("Faro"), "{all}");
}

#[test]
fn notes_of_conversations_are_switched_off_together() {
    let off = json!({
        "memory": { "capture": { "idle": "1ms" } },
        "hooks": { "internal": { "entries": { "session-memory": { "enabled": false } } } },
    });
    let script = EndpointScript::always(ScriptStep::reply("Noted."));
    let scene = ScriptedHome::without_canary(APIS[0], script, off);
    scene.chat("I live in Faro.").ok();
    assert!(notes(&scene.home).is_empty());
}

#[test]
fn what_outlasts_its_day_goes_into_memory_md_when_the_owner_says_so() {
    let scene = impatient();
    let home = &scene.home;
    home.write(
        ".chela/workspace/MEMORY.md",
        "# Memory\n- The cat is Momo\n",
    );
    scene
        .chat("My dentist is Dr Meyer. From now on answer in metres.")
        .ok();
    let look = home.run(&["memory", "consolidate"]);
    assert_eq!(look.code, 1, "{}", look.err);
    assert!(
        look.out.contains("+- My dentist is Dr Meyer. ("),
        "{}",
        look.out
    );
    assert!(look.out.contains("2 lines. Add --yes"), "{}", look.out);
    assert_eq!(
        home.read(".chela/workspace/MEMORY.md"),
        "# Memory\n- The cat is Momo\n"
    );

    let told = home.run(&["memory", "consolidate", "--yes"]).ok();
    assert!(told.contains("MEMORY.md: 2 lines"), "{told}");
    let memory = home.read(".chela/workspace/MEMORY.md");
    assert!(
        memory.starts_with("# Memory\n- The cat is Momo\n\n## From notes\n"),
        "{memory}"
    );
    assert!(
        memory.contains("- From now on answer in metres. ("),
        "{memory}"
    );
    let told = home.run(&["memory", "consolidate"]).ok();
    assert!(
        told.starts_with("Nothing in the notes is missing"),
        "{told}"
    );
    // It is the owner's, and can be taken back.
    let waiting = home.run(&["trust", "status", "--json"]).json();
    assert!(!waiting.to_string().contains("\"waits\":true"), "{waiting}");
    let listed = home.run(&["undo", "--list", "--json"]).json();
    let changes = listed["changes"].as_array().unwrap();
    let change = changes
        .iter()
        .find(|change| change["tool"] == "consolidate")
        .unwrap();
    home.run(&["undo", &change["id"].to_string()]).ok();
    assert_eq!(
        home.read(".chela/workspace/MEMORY.md"),
        "# Memory\n- The cat is Momo\n"
    );

    home.run(&["memory", "consolidate", "--refuse"]).ok();
    let report = home.run(&["memory", "consolidate", "--json"]).json();
    assert_eq!(report["lines"], json!([]), "{report}");
}

#[test]
fn what_was_said_before_is_searched_without_being_asked_to() {
    let search = ScriptStep::tool("memory_search", json!({ "query": "turquoise gramophone" }));
    let script = EndpointScript::steps([
        ScriptStep::reply("Noted."),
        search,
        after_tool(ScriptStep::reply("There: {{tool}}")),
    ]);
    let scene = ScriptedHome::new(script);
    let home = &scene.home;
    scene
        .chat("The turquoise gramophone was sold at the auction.")
        .ok();
    let found = home
        .run(&["memory", "search", "turquoise gramophone", "--json"])
        .json();
    let path = found["results"][0]["path"].as_str().unwrap_or_default();
    assert!(path.starts_with("sessions/"), "{found}");
    let other = [
        "chat",
        "--session",
        "agent:main:other",
        "-m",
        "what was sold?",
    ];
    let told = home.run(&other).ok();
    assert!(
        told.contains("There:") && told.contains("was sold at the auction"),
        "{told}"
    );
}

#[test]
fn documents_are_searched_where_they_are_asked_for() {
    let home = TestHome::ready();
    home.write(
        ".chela/workspace/reports/q3.md",
        "# Third quarter\n\nRevenue grew to 4.2 million.\n",
    );
    home.write(
        ".chela/workspace/site/node_modules/x/README.md",
        "Revenue of packages.\n",
    );
    home.write(
        ".chela/workspace/memory/2026-03-04.md",
        "- lunch with Paola\n",
    );
    let paths = |report: &Value| -> Vec<String> {
        let results = report["results"].as_array().unwrap().iter();
        results
            .map(|result| result["path"].as_str().unwrap().to_owned())
            .collect()
    };
    let find = |question: &str| {
        home.run(&["memory", "search", "--in", "files", question, "--json"])
            .json()
    };
    assert_eq!(
        paths(&find("revenue of the third quarter"))[0],
        "reports/q3.md"
    );
    assert!(
        !paths(&find("revenue of packages"))
            .concat()
            .contains("node_modules")
    );
    // They are no notes: without being asked for they are not there.
    let found = home.run(&["memory", "search", "revenue", "--json"]).json();
    assert!(
        !paths(&found).contains(&"reports/q3.md".to_owned()),
        "{found}"
    );
    home.write(
        ".chela/workspace/reports/q3.md",
        "# Third quarter\n\nTurnover fell.\n",
    );
    assert!(
        find("turnover")["results"][0]["text"]
            .to_string()
            .contains("fell")
    );
}
