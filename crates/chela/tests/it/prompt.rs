//! `chela prompt`: the live setup and explicit facts.

use crate::home::{TestHome, text};

#[test]
fn the_live_prompt_has_files_zone_and_runtime() {
    let home = TestHome::ready();
    let prompt = home.run(&["prompt"]).ok();
    for part in [
        "## SOUL.md",
        "Time zone: Europe/Berlin",
        "shell=bash",
        "agent=main",
        "Working directory: ~/.chela/workspace",
    ] {
        assert!(prompt.contains(part), "{part} is missing in\n{prompt}");
    }
    assert_eq!(
        prompt,
        home.run(&["prompt"]).ok(),
        "the same input gives the same bytes"
    );
}

#[test]
fn json_spans_tile_the_text() {
    let home = TestHome::ready();
    let prompt = home.run(&["prompt", "--json"]).json();
    let mut at = 0;
    for section in prompt["sections"].as_array().unwrap() {
        assert_eq!(section["start"], at);
        at = section["end"].as_u64().unwrap() as usize;
        assert!(section["tokens"].as_u64().unwrap() > 0);
        assert_eq!(section["sha256"].as_str().unwrap().len(), 64);
    }
    assert!(at > 1000);
}

#[test]
fn a_fresh_home_stays_small() {
    let home = TestHome::ready();
    let report = home.run(&["context", "json"]).json();
    let tokens = report["prompt"]["tokens"].as_u64().unwrap();
    assert!(tokens < 4_500, "{tokens}");
}

#[test]
fn sessions_choose_mode_and_files() {
    let home = TestHome::ready();
    home.write(".chela/workspace/MEMORY.md", "The cat is called Miso.\n");
    let main = home.run(&["prompt"]).ok();
    assert!(main.contains("Miso") && main.contains("## USER.md"));
    let group = home
        .run(&["prompt", "--session", "agent:main:discord:group:7"])
        .ok();
    assert!(
        !group.contains("Miso") && !group.contains("## USER.md"),
        "private files in a group"
    );
    assert!(group.contains("## Silent Replies") && group.contains("channel=discord"));
    let child = home
        .run(&["prompt", "--session", "agent:main:subagent:1"])
        .ok();
    assert!(child.contains("## Safety") && child.contains("## AGENTS.md"));
    assert!(!child.contains("## SOUL.md") && !child.contains("## Messaging"));
    assert_eq!(
        home.run(&["prompt", "--mode", "none"]).ok(),
        "You are a personal assistant running inside Chela."
    );
}

#[test]
fn facts_render_without_any_setup() {
    let home = TestHome::empty();
    let facts = r#"{"workspaceDir":"/srv/x","promptMode":"minimal","toolNames":["read"]}"#;
    let prompt = home.run_with_input(&["prompt", "--facts", "-"], facts).ok();
    assert!(prompt.contains("- read: ") && prompt.contains("/srv/x"));
    assert!(!home.exists(".chela"));
    let file = home.write("facts.json", r#"{"workspaceDir":"/x","toolName":["read"]}"#);
    let told = home.run(&["prompt", "--facts", text(&file)]).fails(1);
    assert!(told.contains("toolNames"), "{told}");
    let told = home.run(&["prompt", "--facts", "missing.json"]).fails(1);
    assert!(told.contains("missing.json"), "{told}");
}

#[test]
fn owners_are_hashed_with_a_secret_of_the_installation() {
    let home = TestHome::with_config("{ commands: { ownerAllowFrom: ['telegram:12345'] } }");
    let prompt = home.run(&["prompt"]).ok();
    assert!(
        prompt.contains("## Authorized Senders") && !prompt.contains("12345"),
        "{prompt}"
    );
    assert!(home.exists(".chela/state/owner-secret"));
    let line = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("Authorized senders"))
            .map(str::to_owned)
    };
    assert_eq!(line(&prompt), line(&home.run(&["prompt"]).ok()));
}

#[test]
fn golden_prompts_of_ones_own_agents() {
    let home = TestHome::ready();
    home.run(&["prompt", "snapshot", "golden"]).ok();
    assert!(home.exists("golden/main.discord-group.md"));
    home.run(&["prompt", "check", "golden"]).ok();
    home.write(".chela/workspace/SOUL.md", "Other.\n");
    let run = home.run(&["prompt", "check", "golden"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains("main.main.md") && run.out.contains("Other."),
        "{}",
        run.out
    );
}

#[test]
fn what_is_no_session_or_agent_is_refused() {
    let home = TestHome::ready();
    assert!(
        home.run(&["prompt", "--agent", "nobody"])
            .fails(1)
            .contains("nobody")
    );
    assert!(
        home.run(&["prompt", "--session", "agent:main"])
            .fails(2)
            .contains("agent:main:main")
    );
    assert!(
        home.run(&["prompt", "--session", "agent:ghost:main"])
            .fails(1)
            .contains("ghost")
    );
    assert!(
        home.run(&["prompt", "--facts", "x", "--agent", "main"])
            .fails(2)
            .contains("--facts")
    );
}
