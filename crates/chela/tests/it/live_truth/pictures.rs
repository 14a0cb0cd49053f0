//! `image` is offered where somebody can look, and the configured image model does.

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use super::{agreeing, last_message, last_request, when};
use crate::scene::{APIS, ScriptedHome};

/// The smallest picture there is.
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn d8_without_eyes_there_is_no_image_tool() {
    let scene = agreeing(json!({}));
    scene.chat("hello").ok();
    let request = last_request(&scene);
    assert!(
        !tool_names(&request).contains(&"image".to_owned()),
        "{request}"
    );
    assert!(!request["messages"][0].to_string().contains("- image:"));
    let shown = scene.home.run(&["prompt"]).ok();
    assert!(!shown.contains("- image:"), "the preview agrees");
}

#[test]
fn d8_the_image_model_looks_for_a_model_that_cannot_see() {
    let look = json!({ "path": "x.gif", "prompt": "Which animal?" });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            ScriptStep::reply("A red fox.").when(StepRule {
                model: Some("eyes".into()),
                ..StepRule::default()
            }),
            when("what is on it", ScriptStep::tool("image", look)),
            when(
                "read it",
                ScriptStep::tool("read", json!({ "path": "x.gif" })),
            ),
        ])
    };
    let more = json!({
        "agents": { "defaults": { "imageModel": "kit/eyes" } },
        "models": { "providers": { "kit": { "models": [
            { "id": "scripted", "contextWindow": 64_000 },
            { "id": "eyes", "contextWindow": 64_000, "input": ["text", "image"],
              "cost": { "input": 1.0, "output": 2.0 } },
        ] } } },
    });
    let scene = ScriptedHome::without_canary(APIS[0], script, more);
    std::fs::write(scene.home.path(".chela/workspace/x.gif"), PIXEL).unwrap();
    for ask in ["what is on it", "read it"] {
        let before = scene.endpoint.calls().len();
        scene.chat(ask).ok();
        let told = last_message(&scene);
        assert!(
            told.contains("A red fox.") && told.contains("EXTERNAL"),
            "{told}"
        );
        let calls = scene.endpoint.calls();
        let to_eyes: Vec<Value> = calls[before..]
            .iter()
            .map(|call| call.json())
            .filter(|request| request["model"] == "eyes")
            .collect();
        assert_eq!(to_eyes.len(), 1, "{ask}");
        let sent = to_eyes[0].to_string();
        assert!(
            sent.contains("image_url") && sent.contains("cannot see it"),
            "{sent}"
        );
        assert!(!last_request(&scene).to_string().contains("image_url"));
    }
    assert!(
        scene
            .endpoint
            .calls()
            .iter()
            .any(|call| call.body.contains("Which animal?"))
    );
    // It is on record, and what it cost is counted.
    let turns = scene.home.run(&["turn", "list", "--json"]).ok();
    assert!(turns.contains("kit/eyes"), "{turns}");
    let used = scene.home.run(&["usage", "--by", "model", "--json"]).ok();
    assert!(used.contains("kit/eyes"), "{used}");
}

fn eyes(image_model: bool) -> ScriptedHome {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([ScriptStep::reply("A red fox.").when(StepRule {
            model: Some("eyes".into()),
            ..StepRule::default()
        })])
    };
    let defaults = match image_model {
        true => json!({ "imageModel": "kit/eyes" }),
        false => json!({}),
    };
    let more = json!({
        "agents": { "defaults": defaults },
        "models": { "providers": { "kit": { "models": [
            { "id": "scripted", "contextWindow": 64_000 },
            { "id": "eyes", "contextWindow": 64_000, "input": ["text", "image"] },
        ] } } },
    });
    ScriptedHome::without_canary(APIS[0], script, more)
}

#[test]
fn an_attached_picture_is_described_to_a_model_that_cannot_see() {
    let scene = eyes(true);
    let picture = scene.home.path("x.gif");
    std::fs::write(&picture, PIXEL).unwrap();
    let run = scene.home.run(&[
        "chat",
        "-m",
        "Which animal is it?",
        "--image",
        &picture.display().to_string(),
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    let told = "kit/scripted cannot read images; kit/eyes describes them to it";
    assert!(run.err.contains(told), "{}", run.err);
    let calls: Vec<Value> = scene.endpoint.calls().iter().map(|c| c.json()).collect();
    let (to_eyes, to_model): (Vec<_>, Vec<_>) =
        calls.iter().partition(|request| request["model"] == "eyes");
    assert_eq!((to_eyes.len(), to_model.len()), (1, 1));
    let looked = to_eyes[0].to_string();
    assert!(
        looked.contains("image_url") && looked.contains("Which animal is it?"),
        "{looked}"
    );
    let asked = to_model[0]["messages"].to_string();
    assert!(!asked.contains("image_url"), "{asked}");
    assert!(
        asked.contains("What kit/eyes sees in the attached picture")
            && asked.contains("A red fox.")
            && asked.contains("EXTERNAL"),
        "{asked}"
    );

    // What it said stays, and nobody looks a second time.
    scene.chat("and its colour?").ok();
    let calls = scene.endpoint.calls();
    assert_eq!(calls.len(), 3);
    assert!(calls[2].body.contains("A red fox."));
    // Nobody knows who wrote what a picture says.
    let status = scene.home.run(&["chat", "-m", "/status"]).ok();
    assert!(!status.contains("no untrusted content"), "{status}");
}

#[test]
fn without_an_image_model_the_way_to_one_is_told() {
    let scene = eyes(false);
    std::fs::write(scene.home.path("x.gif"), PIXEL).unwrap();
    let picture = scene.home.path("x.gif").display().to_string();
    let run = scene
        .home
        .run(&["chat", "-m", "Which animal?", "--image", &picture]);
    assert!(
        run.err.contains("agents.defaults.imageModel"),
        "{}",
        run.err
    );
    assert_eq!(scene.endpoint.calls().len(), 1);
}
