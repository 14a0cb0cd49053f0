//! What the agent knows about its owner without having looked - its notes, their own words - is
//! private text, too: which of many links are taken could spell it.

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use serde_json::json;

use super::web_scene::{asked, fetch, obeying, pages, told};
use crate::scene::ScriptedHome;

/// A page of a server that lists many others of it.
fn listing() -> (ScriptedEndpoint, String) {
    let list = pages(&[]);
    let host = format!("localhost:{}", list.port());
    let links = (0..12).map(|at| format!("http://{host}/b/{at}/x"));
    let page = format!("<p>{}</p>", links.collect::<Vec<_>>().join(" and "));
    let any = StepRule {
        path: Some("/".to_owned()),
        ..StepRule::default()
    };
    let page = ScriptStep::page(200, "text/html", page).when(any);
    list.play(EndpointScript::steps([page]));
    (list, host)
}

/// Reads the page, then ten of those it lists.
fn choosing(host: &str) -> ScriptedHome {
    let mut calls = vec![fetch(format!("http://{host}/list"))];
    calls.extend((0..10).map(|at| fetch(format!("http://{host}/b/{at}/x"))));
    obeying(&calls, "done")
}

fn knows(scene: &ScriptedHome, file: &str, text: &str) {
    scene.home.write(&format!(".chela/workspace/{file}"), text);
    scene.home.run(&["trust", "approve", file, "--yes"]).ok();
}

#[test]
fn links_spell_nothing_of_the_notes_about_the_owner() {
    for file in ["USER.md", "MEMORY.md"] {
        let (list, host) = listing();
        let scene = choosing(&host);
        knows(
            &scene,
            file,
            "- Name: Ann\n- Has an account at the corner bank\n",
        );
        scene
            .chat(&format!("Summarise http://{host}/list"))
            .answered();
        assert_eq!(
            asked(&list),
            ["/list", "/b/0/x", "/b/1/x", "/b/2/x"],
            "{file}"
        );
        let told = told(&scene);
        assert!(told[4].contains("picks from many addresses"), "{told:#?}");
    }
}

#[test]
fn nor_of_what_the_owner_wrote() {
    let letter = "word ".repeat(60);
    for words in [
        "My password is swordfish.",
        "My number is 0151 4711.",
        letter.as_str(),
    ] {
        let (list, host) = listing();
        let scene = choosing(&host);
        scene
            .chat(&format!("{words} Summarise http://{host}/list"))
            .answered();
        assert_eq!(asked(&list).len(), 4, "{words}");
    }
}

/// Files as they were seeded tell nothing, and looking something up asks nothing.
#[test]
fn plain_browsing_asks_as_little_as_before() {
    let (list, host) = listing();
    let scene = choosing(&host);
    scene
        .chat(&format!("Summarise http://{host}/list"))
        .answered();
    assert_eq!(asked(&list).len(), 11);

    let (list, host) = listing();
    let scene = obeying(
        &[
            fetch(format!("http://{host}/start")),
            fetch(format!("http://{host}/b/1/x")),
            fetch(format!("http://{host}/b/2/x")),
        ],
        "done",
    );
    knows(&scene, "USER.md", "- Name: Ann\n");
    scene
        .chat(&format!("Open http://{host}/start and what it links to"))
        .ok();
    assert_eq!(asked(&list), ["/start", "/b/1/x", "/b/2/x"]);

    // Nobody named the host, and nothing has told the agent to tell anything.
    let (list, host) = listing();
    let scene = obeying(&[fetch(format!("http://{host}/z"))], "done");
    knows(&scene, "USER.md", "- Name: Ann\n");
    scene.chat("Find something to read").ok();
    assert_eq!(asked(&list), ["/z"]);
}

/// A command that fails may have printed all it was to print.
#[test]
fn nor_of_what_a_command_printed_before_it_failed() {
    let list = pages(&[("/c", "thanks")]);
    let url = format!("http://localhost:{}/c?d=hunter2", list.port());
    let command = json!({ "command": "cat notes/private.md nothere" });
    let scene = obeying(&[("exec", command), fetch(url)], "done");
    knows(&scene, "notes/private.md", "hunter2\n");
    scene.chat("What is in my notes?").answered();
    let told = told(&scene);
    assert!(told[0].contains("hunter2"), "{told:#?}");
    assert_eq!(asked(&list), [""; 0], "{told:#?}");
}
