use chela_core::Host;
use serde_json::json;

use super::{KeyExplanation, ValueSource, explain};
use crate::key_path::KeyPath;
use crate::load::load_text;

fn explained(text: &str, path: &str) -> KeyExplanation {
    let mut host = Host::fixed("/home/me");
    host.env.insert("KEY".into(), "sk-real-secret".into());
    explain(&load_text(&host, text), &KeyPath::parse(path).unwrap()).unwrap()
}

#[test]
fn an_unset_key_shows_its_default() {
    let it = explained("{}", "agents.defaults.contextInjection");
    assert_eq!(it.value, Some(json!("always")));
    assert_eq!(it.source, ValueSource::Default);
    assert_eq!(it.kind, "`always`, `continuation-skip`, `never`");
    assert_eq!(
        it.allowed[2],
        ("never".to_owned(), "No files at all.".to_owned())
    );
    assert_eq!(
        it.doc.as_deref(),
        Some("When workspace files are injected.")
    );
    let unset = explained("{}", "agents.defaults.model");
    assert_eq!((unset.value, unset.source), (None, ValueSource::Unset));
}

#[test]
fn a_set_key_shows_its_line_and_who_overrides_it() {
    let text = "{ agents: {\n defaults: { bootstrapMaxChars: 9 },\n list: [{ id: 'a' }, { id: 'b', bootstrapMaxChars: 7 }] } }";
    let it = explained(text, "agents.defaults.bootstrapMaxChars");
    assert_eq!(
        (it.value, it.default),
        (Some(json!(9)), Some(json!(20_000)))
    );
    let ValueSource::File {
        place: Some(place), ..
    } = &it.source
    else {
        panic!("{:?}", it.source)
    };
    assert_eq!((place.line, place.column), (2, 33));
    assert_eq!(it.overridden_by.len(), 1);
    assert_eq!(it.overridden_by[0].agent.as_str(), "b");
    assert_eq!(it.overridden_by[0].value, json!(7));
}

#[test]
fn older_names_lead_to_the_key_and_back() {
    let text = "{ agent: { workspace: 'w' }, agents: { entries: { a: { name: 'A' } } } }";
    for path in ["agent.workspace", "agents.defaults.workspace"] {
        let it = explained(text, path);
        assert_eq!(it.path.to_string(), "agents.defaults.workspace");
        let ValueSource::Migrated {
            from, migration, ..
        } = &it.source
        else {
            panic!("{:?}", it.source)
        };
        assert_eq!(
            (from.to_string().as_str(), *migration),
            ("agent.workspace", "agent-root")
        );
    }
    for path in [
        "agents.entries.a.name",
        "agents.list[0].name",
        "agents.list.a.name",
    ] {
        assert_eq!(explained(text, path).value, Some(json!("A")), "{path}");
    }
}

#[test]
fn secrets_show_their_variable_at_most() {
    let text = "{ gateway: { auth: { token: '${KEY}' } }, models: { providers: { x: { apiKey: 'plain' } } } }";
    let token = explained(text, "gateway.auth.token");
    assert_eq!(token.value, Some(json!("${KEY}")));
    assert_eq!(token.kind, "secret");
    assert_eq!(
        explained(text, "models.providers.x").value,
        Some(json!({ "apiKey": "••••" }))
    );
    assert!(!format!("{:?}", explained(text, "gateway")).contains("real-secret"));
}

#[test]
fn there_is_no_such_key() {
    let loaded = load_text(&Host::fixed("/home/me"), "{}");
    assert_eq!(
        explain(&loaded, &KeyPath::parse("agents.nonsense").unwrap()),
        None
    );
}
