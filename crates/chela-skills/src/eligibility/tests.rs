use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{GateContext, PathPrograms, SkillPlatform, hidden};
use crate::fixture::SkillsHome;
use crate::{
    AgentSkills, HiddenReason, PluginSkills, PluginState, SkillCredential, SkillEntry,
    SkillPresence,
};

fn gated(home: &mut SkillsHome, gating: &str) -> AgentSkills {
    home.write(
        ".agents/skills/gated/SKILL.md",
        format!(
            "---\nname: gated\ndescription: needs things\nmetadata:\n  openclaw: {gating}\n---\n"
        ),
    );
    home.open_own()
        .for_agent_on(SkillPlatform::Linux, &|path| path == "browser.enabled")
}

fn reasons(home: &mut SkillsHome, gating: &str) -> Vec<String> {
    let agent = gated(home, gating);
    agent
        .get("gated")
        .unwrap()
        .hidden
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn program(home: &mut SkillsHome, name: &str) {
    let path = home.write(&format!("bin/{name}"), "#!/bin/sh\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = home.path("bin").display().to_string();
    home.host.env.insert("PATH".to_owned(), bin);
}

#[test]
fn every_gate_says_why_and_what_to_do() {
    let home = &mut SkillsHome::new();
    let all = "{os: [darwin], requires: {bins: [qpdf], anyBins: [a, b], env: [KEY, OTHER], config: [x.y, browser.enabled]}, primaryEnv: KEY}";
    insta::assert_snapshot!(reasons(home, all).join("\n"), @r#"
    it is for darwin, and this is linux (use it on that kind of machine)
    program `qpdf` is not on PATH (install `qpdf`)
    none of `a`, `b` is on PATH (install one of them)
    env KEY is not set (export KEY=…, or set skills.entries["gated"].apiKey)
    env OTHER is not set (export OTHER=…, or set skills.entries["gated"].env.OTHER)
    config x.y is not on (chela config set x.y true)
    "#);
}

#[test]
fn requirements_are_met_by_path_environment_entry_and_config() {
    let home = &mut SkillsHome::new();
    program(home, "qpdf");
    program(home, "b");
    home.host.env.insert("SET".to_owned(), "1".to_owned());
    let entry = SkillEntry {
        api_key: Some(SkillCredential::Text("secret".to_owned())),
        env: [("OTHER".to_owned(), SkillCredential::Text("2".to_owned()))].into(),
        ..SkillEntry::default()
    };
    home.settings.entries.insert("my-key".to_owned(), entry);
    let met = "{skillKey: my-key, os: [linux], requires: {bins: [qpdf], anyBins: [a, b], env: [SET, KEY, OTHER], config: [browser.enabled]}, primaryEnv: KEY}";
    assert_eq!(reasons(home, met), Vec::<String>::new());
}

#[test]
fn a_tool_that_is_not_there_hides_a_skill() {
    let home = &mut SkillsHome::new();
    let needs = "{requires: {tools: [cron]}}";
    let agent = gated(home, needs);
    assert_eq!(agent.listed_for(&|tool| tool == "cron").len(), 1);
    assert!(agent.listed_for(&|_| false).is_empty());
    assert!(agent.listing_for(&|_| false).text.is_empty());
    let hidden = agent.gated_by_tools(&|_| false);
    let reasons = &hidden.get("gated").unwrap().hidden;
    assert_eq!(reasons[0].reason, "the agent has no tool `cron`");
    assert_eq!(hidden.commands().count(), 0);
    let always = gated(home, "{always: true, requires: {tools: [cron]}}");
    assert_eq!(always.listed_for(&|_| false).len(), 1);
}

#[test]
fn always_opens_every_gate_but_the_operating_system() {
    let home = &mut SkillsHome::new();
    assert!(
        reasons(
            home,
            "{always: true, requires: {bins: [nope], env: [NOPE]}}"
        )
        .is_empty()
    );
    assert_eq!(reasons(home, "{always: true, os: [win32]}").len(), 1);
}

#[test]
fn allow_lists_and_switches_hide() {
    let home = &mut SkillsHome::new();
    home.settings.allowed = Some(Vec::new());
    assert_eq!(
        reasons(home, "{}")[0],
        "this agent has no skills (its `skills` list is empty) (change agents.list[].skills)"
    );
    home.settings.allowed = Some(vec!["other".to_owned()]);
    assert!(reasons(home, "{}")[0].contains("does not name it"));
    home.settings.allowed = Some(vec!["gated".to_owned()]);
    assert!(reasons(home, "{}").is_empty());
    home.settings.entries.insert(
        "gated".to_owned(),
        SkillEntry {
            enabled: Some(false),
            ..SkillEntry::default()
        },
    );
    assert!(reasons(home, "{}")[0].starts_with("it is turned off (chela skills enable gated)"));
}

#[test]
fn the_skills_of_a_disabled_plugin_are_hidden() {
    let mut home = SkillsHome::new();
    home.skill("plugin/skills/extra", "from a plugin");
    let dir = home.path("plugin/skills");
    for (state, is_hidden) in [(PluginState::Disabled, true), (PluginState::Enabled, false)] {
        home.settings.plugins = vec![PluginSkills {
            plugin: "kit".to_owned(),
            dir: dir.clone(),
            state,
        }];
        let skills = home.open().for_agent(&|_| false);
        let extra = skills.get("extra").unwrap();
        let is_off = |reason: &HiddenReason| reason.to_string().contains("plugin `kit` is off");
        assert_eq!(extra.hidden.iter().any(is_off), is_hidden);
        // Whoever made it, nobody has looked at it yet.
        assert_eq!(extra.presence(), SkillPresence::Quarantined);
    }
}

#[test]
fn programs_are_looked_up_again_when_a_folder_of_path_changes() {
    let mut home = SkillsHome::new();
    program(&mut home, "one");
    home.write("bin/not-executable", "");
    let mut programs = PathPrograms::new(&home.host);
    assert!(programs.find("one").is_some());
    assert!(
        programs.find("two").is_none()
            && programs.find("not-executable").is_none()
            && programs.find("../bin/one").is_none()
    );
    program(&mut home, "two");
    programs.refresh();
    assert!(programs.find("two").is_some());
}

#[test]
fn hidden_is_the_same_for_a_library_and_by_hand() {
    let mut home = SkillsHome::new();
    home.skill(".agents/skills/plain", "needs nothing");
    let library = home.open_own();
    let skill = &library.catalog().get("plain").unwrap().skill;
    let gates = GateContext {
        host: &home.host,
        settings: &home.settings,
        platform: SkillPlatform::Darwin,
        config: &|_| false,
    };
    assert!(hidden(skill, &gates, &mut PathPrograms::new(&home.host)).is_empty());
}
