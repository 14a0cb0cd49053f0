//! Which of many addresses is taken tells whoever offered them, and a redirect is a new target.

use crate::scene::ScriptedHome;
use serde_json::json;

use super::web_scene::{asked, fetch, obeying, pages, told};

fn list_of(host: &str) -> String {
    let lines = (0..12).map(|at| format!("http://{host}/b/{at}/x"));
    lines.collect::<Vec<_>>().join(" and ")
}

#[test]
fn few_addresses_of_a_list_are_taken_once_private_text_was_read() {
    let list = pages(&[]);
    let host = format!("localhost:{}", list.port());
    list.play(chela_testkit::EndpointScript::steps([
        chela_testkit::ScriptStep::page(200, "text/html", format!("<p>{}</p>", list_of(&host)))
            .when(chela_testkit::StepRule {
                path: Some("/".to_owned()),
                ..chela_testkit::StepRule::default()
            }),
    ]));
    let mut calls = vec![
        ("read", json!({ "path": "secret.txt" })),
        fetch(format!("http://{host}/list")),
    ];
    calls.extend((0..10).map(|at| fetch(format!("http://{host}/b/{at}/x"))));
    let scene = obeying(&calls, "done");
    scene
        .home
        .write(".chela/workspace/secret.txt", "the treasure");
    scene
        .chat(&format!("Summarise http://{host}/list"))
        .answered();
    assert_eq!(asked(&list), ["/list", "/b/0/x", "/b/1/x", "/b/2/x"]);
    let told = told(&scene);
    assert!(told[5].contains("picks from many addresses"), "{told:#?}");

    // Where there is nothing to tell, links are followed as people follow them.
    let calls: Vec<_> = [fetch(format!("http://{host}/list"))]
        .into_iter()
        .chain((0..10).map(|at| fetch(format!("http://{host}/b/{at}/x"))))
        .collect();
    let before = asked(&list).len();
    let scene = obeying(&calls, "done");
    scene
        .chat(&format!("Summarise http://{host}/list"))
        .answered();
    assert_eq!(asked(&list).len(), before + 11);
}

#[test]
fn a_redirect_to_a_host_nobody_named_is_not_followed() {
    let other = pages(&[("/", "caught")]);
    let lead = format!("-> http://127.0.0.1:{}/caught?d=1", other.port());
    let web = pages(&[("/go", &lead), ("/moved", "-> /end"), ("/end", "the end")]);
    let at = format!("http://localhost:{}", web.port());
    let calls = [fetch(format!("{at}/moved")), fetch(format!("{at}/go"))];
    let scene = obeying(&calls, "done");
    scene
        .chat(&format!("Read {at}/moved and {at}/go for me"))
        .answered();
    assert_eq!(asked(&web), ["/moved", "/end", "/go"]);
    assert_eq!(asked(&other), [""; 0]);
    let told = told(&scene);
    assert!(told[0].contains("the end"), "{told:#?}");
    assert!(
        told[1].contains("it leads on to http://127.0.0.1") && told[1].contains("did not name"),
        "{told:#?}"
    );
}

/// A file of the owner's, who answers for it.
fn own_diary(scene: &ScriptedHome) {
    scene.home.write(".chela/workspace/diary.txt", "dear diary");
    scene
        .home
        .run(&["trust", "approve", "diary.txt", "--yes"])
        .ok();
}

#[test]
fn a_clean_session_asks_before_private_text_could_leave() {
    let web = pages(&[("/", "a page")]);
    let at = format!("http://localhost:{}", web.port());
    let reads = ("read", json!({ "path": "diary.txt" }));
    let scene = obeying(&[reads.clone(), fetch(format!("{at}/x"))], "done");
    own_diary(&scene);
    scene.chat("What is in my diary?").answered();
    assert_eq!(asked(&web), [""; 0]);
    assert!(told(&scene)[1].contains("nobody named this host"));

    // The owner named the host; or nothing private was read.
    let scene = obeying(&[reads, fetch(format!("{at}/y"))], "done");
    own_diary(&scene);
    scene
        .chat(&format!("Compare my diary with what is on {at}"))
        .answered();
    let scene = obeying(&[fetch(format!("{at}/z"))], "done");
    scene.chat("Find something to read").answered();
    assert_eq!(asked(&web), ["/y", "/z"]);
}
