//! Days, people, languages, slips and what changed: found through the binary.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome, after_tool};

const NOTES: [(&str, &str); 5] = [
    (
        "MEMORY.md",
        "# People\n- Ann Meyer is the dentist in Lisbon\n- Paola lives in Faro\n",
    ),
    (
        "memory/2026-01-10.md",
        "- The phone number of Ann is 555 0199\n- bought a dishwasher\n",
    ),
    (
        "memory/2026-03-04.md",
        "- the car broke down near Porto\n- lunch with Paola\n",
    ),
    (
        "memory/2026-03-05.md",
        "- Paola: I was in Madrid\n- Bob: nice\n- Paola: and in Rome\n- Bob: ah\n- Paola: bye\n- Bob: bye\n",
    ),
    (
        "memory/2026-06-02.md",
        "- The new phone number of Ann is 555 0142\n",
    ),
];

fn home() -> TestHome {
    let home = TestHome::ready();
    for (name, text) in NOTES {
        home.write(&format!(".chela/workspace/{name}"), text);
    }
    home.run(&["memory", "index"]).ok();
    home
}

fn paths(report: &Value) -> Vec<&str> {
    let results = report["results"].as_array();
    results
        .into_iter()
        .flatten()
        .filter_map(|result| result["path"].as_str())
        .collect()
}

#[test]
fn a_day_or_a_period_is_listed_in_order() {
    let home = home();
    let day = home
        .run(&["memory", "search", "--on", "2026-03-04", "--json"])
        .json();
    assert_eq!(paths(&day), ["memory/2026-03-04.md"]);
    assert_eq!(day["days"]["use"], "listed");
    for question in [
        "what happened in March 2026?",
        "Was ist im März 2026 passiert?",
    ] {
        let month = home.run(&["memory", "search", question, "--json"]).json();
        assert_eq!(
            paths(&month),
            ["memory/2026-03-04.md", "memory/2026-03-05.md"],
            "{month}"
        );
    }
    let told = home.run(&["memory", "search", "--on", "2026-03-04"]).ok();
    assert!(
        told.contains("2 entries of 2026-03-04, in order:"),
        "{told}"
    );
    let since = home
        .run(&[
            "memory",
            "search",
            "phone number",
            "--since",
            "may 2026",
            "--json",
        ])
        .json();
    assert_eq!(paths(&since), ["memory/2026-06-02.md"]);
    let until = home
        .run(&[
            "memory",
            "search",
            "phone number",
            "--until",
            "2026-02-01",
            "--json",
        ])
        .json();
    let found = paths(&until);
    assert!(!found.is_empty() && found.iter().all(|path| *path == "memory/2026-01-10.md"));
    let told = home.run(&["memory", "search", "car", "--on", "blursday"]);
    assert_eq!(told.code, 2, "{}", told.err);
    assert!(
        told.err.contains("--on `blursday` is not a date"),
        "{}",
        told.err
    );
}

#[test]
fn what_changed_is_known_and_the_older_marked() {
    let home = home();
    let found = home
        .run(&["memory", "search", "the phone number of Ann", "--json"])
        .json();
    assert_eq!(
        found["results"][0]["path"], "memory/2026-06-02.md",
        "{found}"
    );
    let older = &found["results"][1];
    assert_eq!(older["path"], "memory/2026-01-10.md", "{found}");
    assert_eq!(older["replacedBy"], "memory/2026-06-02.md#L1", "{found}");
    let told = home
        .run(&["memory", "search", "the phone number of Ann"])
        .ok();
    assert!(
        told.contains("earlier: memory/2026-06-02.md#L1 is newer"),
        "{told}"
    );
    let lint = home.run(&["memory", "lint"]);
    assert!(
        lint.out
            .contains("\"phone number Ann\" has changed: it is 555 0142"),
        "{}",
        lint.out
    );
    assert_eq!(
        lint.out.matches("contradiction:").count(),
        1,
        "{}",
        lint.out
    );
}

#[test]
fn everything_by_and_about_somebody_is_gathered() {
    let home = home();
    let view = home.run(&["memory", "about", "paola", "--json"]).json();
    let cited = |of: &str| -> Vec<String> {
        let entries = view[of].as_array().unwrap().iter();
        entries
            .map(|entry| entry["citation"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        cited("said"),
        [
            "memory/2026-03-05.md#L1",
            "memory/2026-03-05.md#L3",
            "memory/2026-03-05.md#L5"
        ]
    );
    assert_eq!(cited("told"), ["MEMORY.md#L3", "memory/2026-03-04.md#L2"]);
    let nobody = home.run(&["memory", "about", "Zacharias"]).ok();
    assert!(
        nobody.contains("Nothing in memory names Zacharias"),
        "{nobody}"
    );
}

#[test]
fn slips_compounds_and_other_languages_find_it() {
    let home = home();
    for (question, path) in [
        ("dentsit", "MEMORY.md"),
        ("dish washer", "memory/2026-01-10.md"),
        ("Wer ist mein Zahnarzt?", "MEMORY.md"),
        ("¿Quién es mi dentista en Lisboa?", "MEMORY.md"),
    ] {
        let found = home.run(&["memory", "search", question, "--json"]).json();
        assert_eq!(found["results"][0]["path"], path, "{question}: {found}");
    }
    home.write(
        ".chela/workspace/memory/haus.md",
        "# Haus\n- Der Mietvertrag der Wohnung endet im Juni und die Heizung ist neu\n",
    );
    home.run(&["memory", "index"]).ok();
    let found = home
        .run(&["memory", "search", "heating of the apartment", "--json"])
        .json();
    assert_eq!(found["results"][0]["path"], "memory/haus.md", "{found}");
}

#[test]
fn other_texts_are_read_and_what_is_none_is_named() {
    let home = home();
    home.write(
        ".chela/workspace/memory/list.txt",
        "the spare key is at the baker's\n",
    );
    home.write(
        ".chela/workspace/memory/house.org",
        "* Heating\n- serviced by Otto in May\n",
    );
    home.write(".chela/workspace/memory/lease.pdf", "%PDF-1.4\n");
    let told = home.run(&["memory", "index"]).ok();
    assert!(told.contains("memory/lease.pdf"), "{told}");
    let found = home.run(&["memory", "search", "spare key"]).ok();
    assert!(found.starts_with("memory/list.txt#L1"), "{found}");
    let found = home
        .run(&["memory", "search", "who serviced the heating"])
        .ok();
    assert!(found.starts_with("memory/house.org#L2"), "{found}");
    let read = home.run(&["memory", "get", "memory/list.txt"]).ok();
    assert!(read.contains("spare key"), "{read}");
}

#[test]
fn points_add_up_to_the_score() {
    let home = home();
    let found = home
        .run(&["memory", "search", "where does Paola live", "--json"])
        .json();
    for result in found["results"].as_array().unwrap() {
        let explain = &result["explain"];
        let points = explain["points"].as_object().unwrap().values();
        let sum: f64 = points.map(|points| points.as_f64().unwrap()).sum();
        let total = explain["total"].as_f64().unwrap();
        assert!((sum - total).abs() < 0.01, "{result}");
    }
}

#[test]
fn the_agent_limits_a_search_to_days_and_places() {
    let call = |arguments: Value| ScriptStep::tool("memory_search", arguments);
    let script = EndpointScript::steps([
        call(json!({ "query": "what happened", "on": "2026-03-04" })),
        after_tool(ScriptStep::reply("Found: {{tool}}")),
        call(json!({ "query": "phone number", "since": "blursday" })),
        after_tool(ScriptStep::reply("Found: {{tool}}")),
        call(json!({ "query": "phone number", "in": "sessions" })),
        after_tool(ScriptStep::reply("Found: {{tool}}")),
    ]);
    let scene = ScriptedHome::with(APIS[0], script, json!({}));
    for (name, text) in NOTES {
        scene.home.write(&format!(".chela/workspace/{name}"), text);
    }
    scene.home.run(&["memory", "index"]).ok();
    let told = scene.chat("what happened on the fourth of March?").ok();
    assert!(told.contains("broke down near Porto"), "{told}");
    assert!(!told.contains("Madrid"), "{told}");
    let told = scene.chat("and since?").ok();
    assert!(told.contains("since `blursday` is not a date"), "{told}");
    let told = scene.chat("and in conversations?").ok();
    assert!(!told.contains("555"), "{told}");
}

#[test]
fn search_is_measured_on_sets_of_questions() {
    let home = TestHome::ready();
    home.write(
        "sets/small/queries.jsonl",
        "{\"qid\":\"1\",\"group\":\"a\",\"question\":\"who is the dentist?\",\"gold\":[{\"path\":\"memory/2026-03-04.md\",\"line\":1}]}\n",
    );
    home.write(
        "sets/small/a/memory/2026-03-04.md",
        "- Ann is the dentist\n- the car broke down\n",
    );
    let sets = home.path("sets").display().to_string();
    let told = home.run(&["memory", "bench", &sets]).ok();
    assert!(told.contains("small") && told.contains("1.000"), "{told}");
    let report = home.run(&["memory", "bench", &sets, "--json"]).json();
    assert_eq!(report[0]["recall_in_4200"], 1.0, "{report}");
    assert_eq!(report[0]["right_days"], 1.0, "{report}");
    let none = home.path("nothing").display().to_string();
    home.run(&["memory", "bench", &none]).fails(1);
}

#[test]
fn skills_and_tools_are_ranked_by_the_same_engine() {
    let home = TestHome::ready();
    for (name, text) in [
        ("slides", "Make a slide deck from an outline"),
        ("invoices", "Write and send invoices"),
    ] {
        home.write(
            &format!(".chela/workspace/skills/{name}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: {text}\n---\n# {name}\n"),
        );
    }
    let first = |place: &str, question: &str| {
        let found = home
            .run(&["memory", "search", "--in", place, question, "--json"])
            .json();
        found["results"][0]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        first("skills", "prepare a presentation with slides"),
        "slides"
    );
    assert_eq!(
        first("skills", "bill a customer with an invoice"),
        "invoices"
    );
    assert_eq!(
        first("tools", "read the lines of a memory file"),
        "memory_get"
    );
    let told = home.run(&["memory", "search", "--in", "skills", "--on", "yesterday"]);
    assert_eq!(told.code, 2, "{}", told.err);
}
