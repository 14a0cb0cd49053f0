use std::path::Path;
use std::time::Duration;

use chela_core::{AgentId, Host, vars};
use serde_json::json;

use super::{AgentView, ValueProvenance};
use crate::load::{LoadedConfig, load_text};
use crate::model::{
    Citations, ContextInjection, DelegationMode, OwnerDisplay, SandboxMode, TruncationWarning,
};

fn loaded(text: &str) -> LoadedConfig {
    load_text(&Host::fixed("/home/me"), text)
}

fn view(loaded: &LoadedConfig, id: &str) -> AgentView {
    loaded.agent(&AgentId::parse(id).unwrap()).unwrap()
}

/// `agents.list[1].model @ 3:7`
fn from(provenance: &ValueProvenance) -> String {
    match provenance {
        ValueProvenance::Defaults { path, place } | ValueProvenance::Agent { path, place } => {
            let place = place.as_ref().unwrap();
            let kind = if matches!(provenance, ValueProvenance::Agent { .. }) {
                "agent"
            } else {
                "all"
            };
            format!("{kind} {path} {}:{}", place.line, place.column)
        }
        other => other.to_string(),
    }
}

#[test]
fn nothing_configured_is_one_agent_with_defaults() {
    let loaded = loaded("{}");
    let view = view(&loaded, "main");
    assert!(view.is_default.value);
    assert_eq!(view.workspace.value, Path::new("/home/me/.chela/workspace"));
    assert_eq!(
        view.agent_dir.value,
        Path::new("/home/me/.chela/agents/main/agent")
    );
    assert_eq!(view.bootstrap_max_chars.value, 20_000);
    assert_eq!(view.bootstrap_total_max_chars.value, 60_000);
    assert_eq!(view.truncation_warning.value, TruncationWarning::Always);
    assert_eq!(view.owner_display.value, OwnerDisplay::Hash);
    assert_eq!(view.citations.value, Citations::Auto);
    assert_eq!(view.skills.value, None);
    assert_eq!(view.delegation_mode.value, None);
    assert_eq!(view.heartbeat.value.every, None);
    assert_eq!(view.heartbeat.from, ValueProvenance::Default);
    assert!(loaded.agent(&AgentId::parse("nobody").unwrap()).is_none());
}

#[test]
fn every_value_knows_where_it_came_from() {
    let loaded = loaded(
        "{\n  agents: {\n    defaults: {\n      model: 'a/b',\n      bootstrapMaxChars: 150000,\n      contextInjection: 'never',\n    },\n    list: [\n      { id: 'one' },\n      { id: 'two', model: 'c/d', contextInjection: 'always' },\n    ],\n  },\n  memory: { citations: 'on' },\n}\n",
    );
    let one = view(&loaded, "one");
    assert_eq!(from(&one.model.from), "all agents.defaults.model 4:14");
    assert_eq!(
        from(&one.bootstrap_max_chars.from),
        "all agents.defaults.bootstrapMaxChars 5:26"
    );
    assert_eq!(one.bootstrap_max_chars.value, 150_000);
    assert_eq!(one.context_injection.value, ContextInjection::Never);
    assert_eq!(from(&one.citations.from), "all memory.citations 13:24");
    let two = view(&loaded, "two");
    assert_eq!(two.model.value.as_ref().unwrap().primary(), Some("c/d"));
    assert_eq!(from(&two.model.from), "agent agents.list[1].model 10:27");
    assert_eq!(two.context_injection.value, ContextInjection::Always);
    assert_eq!(
        from(&two.bootstrap_max_chars.from),
        "all agents.defaults.bootstrapMaxChars 5:26"
    );
    assert_eq!(two.bootstrap_total_max_chars.from, ValueProvenance::Default);
}

#[test]
fn objects_are_merged_key_by_key() {
    let loaded = loaded(
        "{ agents: {
            defaults: { sandbox: { mode: 'all', docker: { image: 'a', network: 'bridge' } }, subagents: { model: 'x/y', maxConcurrent: 3 }, memorySearch: { provider: 'openai', query: { maxResults: 3 } } },
            list: [{ id: 'a', sandbox: { docker: { image: 'b' } }, subagents: { delegationMode: 'prefer' }, memorySearch: { query: { minScore: 0.1 } } }],
        } }",
    );
    let view = view(&loaded, "a");
    assert_eq!(view.sandbox.value.mode, SandboxMode::All);
    assert_eq!(view.sandbox.value.docker.image.as_deref(), Some("b"));
    assert_eq!(view.sandbox.value.docker.network, "bridge");
    assert_eq!(view.subagents.value.max_concurrent, 3);
    assert_eq!(view.delegation_mode.value, Some(DelegationMode::Prefer));
    assert_eq!(view.memory_search.value.query.max_results, Some(3));
    let entry = |name: &str| {
        let entry = view.entries().iter().find(|entry| entry.name == name);
        entry
            .map(|entry| (entry.value.clone(), from(&entry.from)))
            .unwrap()
    };
    assert_eq!(entry("sandbox.mode").0, json!("all"));
    assert!(
        entry("sandbox.mode")
            .1
            .starts_with("all agents.defaults.sandbox.mode")
    );
    assert!(
        entry("sandbox.docker.image")
            .1
            .starts_with("agent agents.list[0].sandbox.docker.image")
    );
    assert_eq!(
        entry("sandbox.scope"),
        (json!("agent"), "default".to_owned())
    );
    assert_eq!(entry("memorySearch.query.minScore").0, json!(0.1));
}

#[test]
fn parameters_and_aliases_are_layered() {
    let loaded = loaded(
        "{ agents: {
            defaults: { model: 'a/b', params: { t: 1, u: 1, v: 1, w: 1 }, models: { 'a/b': { alias: 'ab', params: { u: 2, v: 2, w: 2 } }, 'c/d': { alias: 'cd' }, 'e/f': {} } },
            list: [{ id: 'x', models: { 'a/b': { params: { v: 3, w: 3 } }, 'g/h': { alias: 'cd' } }, params: { w: 4 } }],
        } }",
    );
    let view = view(&loaded, "x");
    assert_eq!(
        json!(view.params.value),
        json!({ "t": 1, "u": 2, "v": 3, "w": 4 })
    );
    let aliases: Vec<_> = view
        .model_aliases
        .value
        .iter()
        .map(|known| (known.alias.as_str(), known.model.as_str()))
        .collect();
    assert_eq!(aliases, [("ab", "a/b"), ("cd", "g/h")]);
}

#[test]
fn workspaces_follow_agent_then_defaults_then_environment_then_state() {
    let path = |text: &str, env: Option<&str>, id: &str| {
        let mut host = Host::fixed("/home/me");
        host.cwd = "/tmp/here".into();
        if let Some(value) = env {
            host.env.insert(vars::WORKSPACE.into(), value.into());
        }
        let loaded = load_text(&host, text);
        let dir = loaded.workspace_dir(&AgentId::parse(id).unwrap());
        (dir.value.display().to_string(), from(&dir.from))
    };
    let two = "agents: { list: [{ id: 'a' }, { id: 'b' }] ";
    assert_eq!(path("{}", None, "main").0, "/home/me/.chela/workspace");
    assert_eq!(
        path("{}", Some("ws"), "main"),
        (
            "/tmp/here/ws".into(),
            "environment variable CHELA_WORKSPACE".into()
        )
    );
    assert_eq!(
        path(&format!("{{ {two} }} }}"), Some("ws"), "b").0,
        "/home/me/.chela/workspace-b"
    );
    let set = "{ agents: { defaults: { workspace: 'ws' }, list: [{ id: 'a' }, { id: 'b' }, { id: 'c', workspace: '~/c' }] } }";
    assert_eq!(path(set, Some("/env"), "a").0, "/home/me/.chela/ws");
    assert_eq!(
        path(set, None, "b"),
        (
            "/home/me/.chela/workspace-b".into(),
            "the state folder, by the agent's id".into()
        )
    );
    assert_eq!(path(set, None, "c").0, "/home/me/c");
    assert_eq!(
        path(set, None, "stranger").0,
        "/home/me/.chela/workspace-stranger"
    );
    assert_eq!(
        path(
            "{ agents: { defaults: { workspace: '/abs' } } }",
            None,
            "main"
        )
        .0,
        "/abs"
    );
}

#[test]
fn heartbeats_are_off_unless_configured() {
    let every = |text: &str, id: &str| {
        let view = view(&loaded(text), id);
        view.heartbeat.value.every.map(|every| every.as_secs() / 60)
    };
    let with = |defaults: &str, a: &str, b: &str| {
        format!(
            "{{ agents: {{ defaults: {{ {defaults} }}, list: [{{ id: 'a' {a} }}, {{ id: 'b' {b} }}] }} }}"
        )
    };
    assert_eq!(every("{}", "main"), None);
    assert_eq!(every(&with("heartbeat: {}", "", ""), "a"), Some(30));
    assert_eq!(every(&with("heartbeat: {}", "", ""), "b"), None);
    assert_eq!(
        every(&with("heartbeat: { every: '0m' }", "", ""), "a"),
        None
    );
    assert_eq!(
        every(&with("heartbeat: { every: 45 }", "", ""), "a"),
        Some(45)
    );
    assert_eq!(
        every(
            &with("heartbeat: { agentId: 'b', every: '2h' }", "", ""),
            "b"
        ),
        Some(120)
    );
    assert_eq!(
        every(&with("heartbeat: { agentId: 'b' }", "", ""), "a"),
        None
    );
    // A block of its own: only such agents have them, and the rest is inherited.
    let own = with(
        "heartbeat: { every: '2h' }",
        "",
        ", heartbeat: { prompt: 'look' }",
    );
    assert_eq!(every(&own, "a"), None);
    assert_eq!(every(&own, "b"), Some(120));
    assert_eq!(
        view(&loaded(&own), "b").heartbeat.value.prompt.as_deref(),
        Some("look")
    );
}

#[test]
fn time_zone_comes_from_the_config_or_the_machine() {
    let mut host = Host::fixed("/home/me");
    host.facts.time_zone = Some("Asia/Tokyo".into());
    let zone = |text: &str| {
        let view = view(&load_text(&host, text), "main");
        (
            view.user_timezone.value.unwrap(),
            view.user_timezone.from.is_set(),
        )
    };
    assert_eq!(zone("{}"), ("Asia/Tokyo".into(), false));
    assert_eq!(
        zone("{ agents: { defaults: { userTimezone: 'UTC' } } }"),
        ("UTC".into(), true)
    );
}

#[test]
fn limits_of_skills_come_from_three_places() {
    let text = "{ skills: { limits: { maxSkillsPromptChars: 30000, maxSkillsInPrompt: 9 } }, agents: { list: [{ id: 'a', skills: [], skillsLimits: { maxSkillsPromptChars: 5 } }] } }";
    let view = view(&loaded(text), "a");
    assert_eq!(view.skills_limits.value.max_skills_prompt_chars, 5);
    assert_eq!(view.skills_limits.value.max_skills_in_prompt, 9);
    assert_eq!(view.skills.value, Some(Vec::new()));
}

#[test]
fn secrets_are_not_listed() {
    let text = "{ agents: { defaults: { memorySearch: { remote: { apiKey: 'sk-very-secret' } } } }, commands: { ownerDisplaySecret: 'hush' } }";
    let loaded = loaded(text);
    let view = view(&loaded, "main");
    let listed = format!("{:?}", view.entries());
    assert!(listed.contains("memorySearch.remote.apiKey"), "{listed}");
    assert!(!listed.contains("very-secret") && !format!("{view:?}").contains("hush"));
}

#[test]
fn the_duration_of_a_heartbeat_is_a_duration() {
    let view = view(
        &loaded("{ agents: { defaults: { heartbeat: { every: '1h30m' } } } }"),
        "main",
    );
    assert_eq!(view.heartbeat.value.every, Some(Duration::from_secs(5_400)));
    let listed = view
        .entries()
        .iter()
        .find(|entry| entry.name == "heartbeat")
        .unwrap();
    assert_eq!(listed.value, json!("every 90m"));
}
