//! `chela agents …`

use insta::assert_snapshot;

use crate::home::TestHome;

#[test]
fn agents_come_and_go_and_the_first_one_stays() {
    let home = TestHome::ready();
    home.run(&["agents", "add", "research", "--model", "ollama/qwen3"])
        .ok();
    assert!(home.exists(".chela/workspace-research/SOUL.md"));
    assert_snapshot!("two_agents", home.run(&["agents", "list"]).ok());
    let told = home.run(&["agents", "add", "research"]).fails(1);
    assert!(told.contains("already"), "{told}");
    let told = home.run(&["agents", "add", "Home Lab"]).fails(2);
    assert!(told.contains("home-lab"), "{told}");
    home.run(&["agents", "remove", "research"]).ok();
    assert!(
        home.exists(".chela/workspace-research/SOUL.md"),
        "files stay"
    );
    let agents = home.run(&["agents", "list", "--json"]).json();
    assert_eq!(agents.as_array().unwrap().len(), 1);
}

#[test]
fn an_agent_is_added_in_the_shape_the_roster_has() {
    let home = TestHome::with_config("{ agents: { entries: { main: {} } } }\n");
    home.run(&["agents", "add", "two"]).ok();
    let config = home.read(".chela/chela.json");
    assert!(
        config.contains("two") && !config.contains("list"),
        "{config}"
    );
    assert_eq!(
        home.run(&["agents", "list", "--json"])
            .json()
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn the_matrix_names_the_key_behind_each_value() {
    let home = TestHome::with_config(
        "{ agents: { defaults: { model: 'a/b' }, list: [{ id: 'main' }, { id: 'two', model: 'c/d', tools: { deny: ['exec'] } }] } }",
    );
    home.run(&["init"]).ok();
    assert_snapshot!("matrix", home.run(&["agents", "matrix"]).ok());
    let matrix = home.run(&["agents", "matrix", "--json"]).json();
    assert_eq!(matrix["two"]["model"]["value"], "c/d");
    assert_eq!(matrix["two"]["model"]["from"], "agents.list[1].model");
    assert_eq!(matrix["main"]["model"]["from"], "agents.defaults.model");
}

#[test]
fn keys_that_are_only_for_all_agents_are_refused_for_one() {
    let home = TestHome::with_config("{ agents: { list: [{ id: 'main', timeoutSeconds: 5 }] } }");
    let run = home.run(&["config", "validate"]);
    assert_eq!(run.code, 78);
    assert!(
        run.out.contains("agents.defaults.timeoutSeconds"),
        "{}",
        run.out
    );
}

#[test]
fn show_tells_where_each_setting_comes_from() {
    let home = TestHome::with_config("{ agents: { defaults: { bootstrapMaxChars: 5000 } } }");
    let settings = home.run(&["agents", "show", "main", "--json"]).json();
    assert_eq!(settings["settings"]["bootstrapMaxChars"]["value"], 5000);
    let from = settings["settings"]["bootstrapMaxChars"]["from"]
        .as_str()
        .unwrap();
    assert!(from.contains("agents.defaults.bootstrapMaxChars"), "{from}");
    assert!(
        home.run(&["agents", "show", "man"])
            .fails(1)
            .contains("main")
    );
}

#[test]
fn w25_the_matrix_tells_what_each_agent_may_do() {
    let home = TestHome::with_config(
        "{ guard: { policy: 'strict', egress: ['docs.example'], confirm: ['persona'] }, \
           secrets: { named: { forge: { value: 'x-value-1', exec: true, hosts: ['api.forge.example'], agents: ['main'] } } }, \
           agents: { list: [{ id: 'main' }, { id: 'reader', tools: { profile: 'minimal' }, guard: { policy: 'open' } }] } }",
    );
    home.run(&["init"]).ok();
    let matrix = home.run(&["agents", "matrix", "--json"]).json();
    let value = |agent: &str, row: &str| matrix[agent][row]["value"].as_str().unwrap().to_owned();
    assert!(
        value("main", "effects").contains("irreversible: exec"),
        "{matrix}"
    );
    assert!(!value("reader", "effects").contains("exec"), "{matrix}");
    assert!(value("main", "guard policy").starts_with("strict"));
    assert!(value("main", "guard policy").contains("always asks: persona"));
    assert!(value("reader", "guard policy").starts_with("open"));
    assert_eq!(
        matrix["reader"]["guard policy"]["from"],
        "agents.list[1].guard.policy"
    );
    assert_eq!(value("main", "egress"), "docs.example");
    assert_eq!(
        value("main", "grants"),
        "commands ask, 0 pre-approved; secrets forge (commands, api.forge.example)"
    );
    assert!(!value("reader", "grants").contains("forge"));
    // It fits a terminal.
    let shown = home.run(&["agents", "matrix"]).ok();
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(!shown.contains("x-value-1"));
}
