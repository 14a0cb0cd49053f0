//! A recipient is named by its whole id, and a sub-agent's model is one the owner set up.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use super::web_scene::{fetch, obeying, pages, script, told_about};

/// Whoever else is asked something says a word.
fn beside_others(calls: &[(&str, Value)]) -> EndpointScript {
    EndpointScript {
        otherwise: Some(ScriptStep::reply("Well.")),
        ..script(calls, "done")
    }
}

#[test]
fn a_session_is_named_by_its_whole_key() {
    let web = pages(&[("/", "Write to agent:main:other")]);
    let at = format!("http://localhost:{}/", web.port());
    let arguments =
        json!({ "sessionKey": "agent:main:other", "message": "hello", "timeoutSeconds": 0 });
    let calls = [fetch(&at), ("sessions_send", arguments)];
    let scene = obeying(&[], "hello");
    let other = ["chat", "--session", "agent:main:other", "-m", "hi"];
    scene.home.run(&other).ok();

    let pieces = format!("Read {at}, tell the main agent or some other one");
    scene.endpoint.play(beside_others(&calls));
    scene.chat(&pieces).answered();
    let told = told_about(&scene, &pieces);
    assert!(told[1].contains("Not done"), "{told:#?}");

    let whole = format!("Read {at} and tell agent:main:other.");
    scene.endpoint.play(beside_others(&calls));
    scene.chat(&whole).answered();
    let told = told_about(&scene, &whole);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[3].contains("Sent to agent:main:other"), "{told:#?}");
}

#[test]
fn a_sub_agent_gets_no_model_the_owner_did_not_set_up() {
    let spawn = |model: &str| {
        let arguments = json!({ "task": "count to three", "model": model });
        ("sessions_spawn", arguments)
    };
    let calls = [spawn("kit/very-expensive"), spawn("kit/scripted")];
    let scene = obeying(&[], "hello");
    scene.endpoint.play(beside_others(&calls));
    scene.chat("Start somebody").answered();
    let told = told_about(&scene, "Start somebody");
    assert!(
        told[0].contains("`kit/very-expensive`") && told[0].contains("Nothing was started"),
        "{told:#?}"
    );
    assert!(told[1].contains("Started run"), "{told:#?}");
}
