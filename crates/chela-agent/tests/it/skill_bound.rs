//! The bound a skill sets, as the conversation holds it.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use chela_tools::ApprovalScope;
use serde_json::json;

use super::guarding::{Home, Owner};

const BODY: &str = "Mix the colours before you begin to paint.\nWash the brushes with plenty of water.\nLet the first coat dry for one hour.\n";

/// With a skill that asks for these tools.
fn home(tools: &str) -> Home {
    let full = json!({ "tools": { "exec": { "mode": "full" } } });
    let home = Home::with([], full);
    let folder = home.host.state_dir().join("workspace/skills/paint");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = format!(
        "---\nname: paint\ndescription: Paints.\nmetadata: {{chela: {{onlyTools: {tools}}}}}\n---\n{BODY}"
    );
    std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
    home
}

fn play(home: &Home, steps: impl IntoIterator<Item = ScriptStep>) {
    home.endpoint.play(EndpointScript {
        otherwise: Some(ScriptStep::reply("Done.")),
        ..EndpointScript::steps(steps)
    });
}

fn write() -> ScriptStep {
    ScriptStep::tool("write", json!({ "path": "x.txt", "content": "x" }))
}

fn is_written(home: &Home) -> bool {
    let file = home.host.state_dir().join("workspace/x.txt");
    file.exists() && std::fs::remove_file(file).is_ok()
}

/// What the model was told last.
fn last(home: &Home) -> String {
    let calls = home.endpoint.calls();
    calls.last().expect("a call").json()["messages"].to_string()
}

#[test]
fn w05_a_skill_is_found_by_what_was_read_whatever_the_way() {
    let read = |path: &str| ScriptStep::tool("read", json!({ "path": path }));
    let exec = |command: &str| ScriptStep::tool("exec", json!({ "command": command }));
    let absolute = |home: &Home| {
        let path = home
            .host
            .state_dir()
            .join("workspace/skills/paint/SKILL.md");
        path.display().to_string()
    };
    let ways: [(&str, Option<ScriptStep>); 9] = [
        ("plain", Some(read("skills/paint/SKILL.md"))),
        ("absolute", None),
        ("detour", Some(read("./skills/paint/../paint/SKILL.md"))),
        ("link", Some(read("link.md"))),
        ("linked folder", Some(read("linked/SKILL.md"))),
        ("cat", Some(exec("cat skills/paint/SKILL.md"))),
        ("cd", Some(exec("cd skills/paint && cat SKILL.md"))),
        ("glob", Some(exec("head -n 50 skills/*/SKILL.md"))),
        ("failing", Some(exec("cat skills/paint/SKILL.md; false"))),
    ];
    for (name, way) in ways {
        let home = home("[Read]");
        let workspace = home.host.state_dir().join("workspace");
        let link = std::os::unix::fs::symlink::<&str, _>;
        link("skills/paint/SKILL.md", workspace.join("link.md")).expect("a link");
        link("skills/paint", workspace.join("linked")).expect("a link");
        let way = way.unwrap_or_else(|| read(&absolute(&home)));
        play(
            &home,
            [
                way,
                write(),
                ScriptStep::reply("ok"),
                write(),
                ScriptStep::reply("ok"),
            ],
        );
        let talk = home.open();
        let owner = Owner::says(Some(ApprovalScope::Once));
        home.say(&talk, "Paint the door.", &owner).expect("a turn");
        assert!(!is_written(&home), "{name}: {}", last(&home));
        assert!(last(&home).contains("onlyTools"), "{name}: {}", last(&home));
        home.say(&talk, "Now write it down.", &owner)
            .expect("a turn");
        assert!(is_written(&home), "{name}: the next message is free");
    }
}

/// A list or a search that shows a line of it is no use of it.
#[test]
fn w05_a_skill_that_is_only_listed_binds_nothing() {
    for look in [
        ScriptStep::tool("exec", json!({ "command": "ls skills/paint" })),
        ScriptStep::tool(
            "exec",
            json!({ "command": "head -n 3 skills/paint/SKILL.md" }),
        ),
        ScriptStep::tool("ls", json!({ "path": "skills/paint" })),
    ] {
        let home = home("[Read]");
        play(&home, [look, write(), ScriptStep::reply("ok")]);
        home.say(
            &home.open(),
            "Look.",
            &Owner::says(Some(ApprovalScope::Once)),
        )
        .expect("a turn");
        assert!(is_written(&home), "{}", last(&home));
    }
}

/// The work goes on in another process: what bound it still does.
#[test]
fn w05_the_bound_outlives_the_process() {
    let home = home("[Read, Bash]");
    // Called by the person, and read by the model: both are kept.
    for called in [true, false] {
        let read = ScriptStep::tool("read", json!({ "path": "skills/paint/SKILL.md" }));
        let first = (!called).then_some(read);
        play(&home, first.into_iter().chain([ScriptStep::reply("ok")]));
        let talk = home.open();
        let owner = Owner::says(Some(ApprovalScope::Once));
        let message = match called {
            true => "/skill paint the door".to_owned(),
            false => "Paint the door.".to_owned(),
        };
        home.say(&talk, &message, &owner).expect("a turn");
        drop(talk);

        // Another process: something it started ends, and the agent is woken.
        play(
            &home,
            [
                write(),
                ScriptStep::reply("ok"),
                write(),
                ScriptStep::reply("ok"),
            ],
        );
        let talk = home.open();
        let calls = home.endpoint.calls().len();
        home.wake(&talk, &owner);
        assert!(home.endpoint.calls().len() > calls, "woken");
        assert!(!is_written(&home), "{called}: {}", last(&home));
        home.say(&talk, "Now write it down.", &owner)
            .expect("a turn");
        assert!(is_written(&home), "{called}: the next message is free");
    }
}

#[test]
fn w05_w01_sub_agents_of_a_skill_in_use_have_no_more_than_it_asked_for() {
    let home = home("[Read, Task]");
    let inside = |step: ScriptStep, after_tool| {
        step.when(StepRule {
            body: Some("[Subagent Task]".to_owned()),
            after_tool: Some(after_tool),
            ..StepRule::default()
        })
    };
    play(
        &home,
        [
            inside(write(), false),
            inside(ScriptStep::reply("Done."), true),
            ScriptStep::tool("read", json!({ "path": "skills/paint/SKILL.md" })),
            ScriptStep::tool("sessions_spawn", json!({ "task": "write it" })),
            ScriptStep::reply("Started."),
        ],
    );
    let talk = home.open();
    let owner = Owner::says(Some(ApprovalScope::Once));
    home.say(&talk, "Paint the door.", &owner).expect("a turn");
    home.settle(&talk, &owner);
    assert!(!is_written(&home));
    let calls = home.endpoint.calls();
    let childs = calls
        .iter()
        .map(chela_testkit::ReceivedRequest::json)
        .find(|call| call["messages"].to_string().contains("[Subagent Task]"))
        .expect("a sub-agent");
    let tools: Vec<&str> = childs["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    assert!(tools.contains(&"read"), "{tools:?}");
    assert!(
        !tools.contains(&"write") && !tools.contains(&"exec"),
        "{tools:?}"
    );
}

/// A word in between does not set the agent free.
#[test]
fn w05_a_message_while_a_skill_is_in_use_does_not_end_it() {
    let home = home("[Read]");
    play(
        &home,
        [
            ScriptStep::tool("read", json!({ "path": "skills/paint/SKILL.md" })),
            write(),
            ScriptStep::reply("ok"),
        ],
    );
    let talk = home.open();
    talk.steer("And quickly.");
    home.say(
        &talk,
        "Paint the door.",
        &Owner::says(Some(ApprovalScope::Once)),
    )
    .expect("a turn");
    assert!(!is_written(&home), "{}", last(&home));
}
