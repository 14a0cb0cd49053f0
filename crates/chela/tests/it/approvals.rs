//! `chela approvals …`: what may run is seen, given and taken back.

use crate::home::TestHome;

#[test]
fn a_list_is_made_shown_and_taken_back() {
    let home = TestHome::ready();
    let empty = home.run(&["approvals", "list"]).ok();
    assert!(
        empty.starts_with("Nothing is waiting, and no command is pre-approved."),
        "{empty}"
    );
    home.run(&["approvals", "allow", "git", "--args", "status|log( .*)?"])
        .ok();
    home.run(&["approvals", "allow", "rg", "--every-agent"])
        .ok();
    let list = home.run(&["approvals", "list", "--json"]).json();
    assert_eq!(list[0]["agent"], "*");
    assert_eq!(list[0]["entry"]["pattern"], "rg");
    assert_eq!(list[1]["agent"], "main");
    let id = list[1]["entry"]["id"].as_str().unwrap();
    let shown = home.run(&["approvals", "show", id]).ok();
    assert!(shown.contains("status|log( .*)?"), "{shown}");
    let told = home.run(&["approvals", "revoke", id]).ok();
    assert_eq!(
        told,
        "Revoked: `git /status|log( .*)?/` of main asks again.\n"
    );
    home.run(&["approvals", "revoke", id]).fails(1);
    // By the program it is for, where that is one only.
    let told = home.run(&["approvals", "revoke", "rg"]).ok();
    assert_eq!(told, "Revoked: `rg …` of * asks again.\n");
    home.run(&["approvals", "allow", "git", "--args", "("])
        .fails(2);
}

#[test]
fn an_id_whose_question_has_ended_pre_approves_no_program() {
    let home = TestHome::ready();
    for order in ["allow", "revoke", "show"] {
        let told = home.run(&["approvals", order, "deadbe"]).fails(1);
        assert!(told.contains("there is no open question"), "{told}");
        assert!(told.contains("comes again when the agent"), "{told}");
    }
    let list = home.run(&["approvals", "list", "--json"]).json();
    assert_eq!(list, serde_json::json!([]));
    // A program that is called like that and exists is one.
    home.write("bin/facade", "#!/bin/sh\n");
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let home = home.env("PATH", &path);
    home.run(&["approvals", "allow", "facade"]).ok();
}

#[test]
fn presets_and_the_stricter_of_two() {
    let home = TestHome::with_config("{ tools: { exec: { mode: 'full' } } }");
    let get = |home: &TestHome| home.run(&["approvals", "get", "--json"]).json();
    assert_eq!(get(&home)["unlisted"], "run");
    home.run(&["approvals", "set", "cautious"]).ok();
    assert_eq!(get(&home)["unlisted"], "ask");
    assert_eq!(get(&home)["nobodyAnswers"], "deny");
    home.run(&["approvals", "set", "deny-all"]).ok();
    assert_eq!(get(&home)["listed"], "deny");
    home.run(&["approvals", "set", "yolo"]).ok();
    assert_eq!(get(&home)["listed"], "run");
    home.run(&[
        "approvals",
        "set",
        "--security",
        "allowlist",
        "--ask",
        "off",
        "--agent",
        "main",
    ])
    .ok();
    assert_eq!(get(&home)["unlisted"], "deny");
}

#[test]
fn a_broken_document_is_told_and_not_overwritten() {
    let home = TestHome::ready();
    home.write(".chela/exec-approvals.json", "{ \"version\": 1,");
    let told = home.run(&["approvals", "set", "yolo"]).fails(1);
    assert!(told.contains("is broken"), "{told}");
    let kept = std::fs::read_to_string(home.path(".chela/exec-approvals.json")).unwrap();
    assert_eq!(kept, "{ \"version\": 1,");
}

#[test]
fn a_command_of_an_agent_cannot_change_what_may_run() {
    let home = TestHome::ready().env("CHELA_SHELL", "exec");
    let told = home.run(&["approvals", "set", "yolo"]).fails(1);
    assert!(told.contains("by the owner, not by an agent"), "{told}");
    assert!(!home.exists(".chela/exec-approvals.json"));
}

#[test]
fn a_program_that_is_not_there_is_noted() {
    let home = TestHome::ready();
    let told = home.run(&["approvals", "allow", "nosuchprog"]).ok();
    assert!(
        told.contains("there is no program `nosuchprog` on PATH"),
        "{told}"
    );
    for there in ["sh", "/opt/*/tool"] {
        let told = home.run(&["approvals", "allow", there]).ok();
        assert!(!told.contains("PATH"), "{told}");
    }
}
