//! Twenty things somebody wants in the first hour, each the way they would try it first.
//!
//! Nobody of them has read a page: they type what other programs taught them, or what a message of
//! the program just named. Every one must work at the first try; `docs/book/first-tasks.md` tells
//! them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome, after_tool};

/// An agent that says what it was asked and with which model.
fn newcomer() -> ScriptedHome {
    let script = EndpointScript {
        models: ["scripted", "beta", "dear"].map(str::to_owned).to_vec(),
        ..EndpointScript::always(ScriptStep::reply("You said: {{user}} ({{model}})"))
    };
    let cost = json!({ "models": { "providers": { "kit": { "models": [
        { "id": "scripted", "contextWindow": 64_000, "cost": { "input": 3.0, "output": 15.0 } },
        { "id": "dear", "contextWindow": 64_000, "cost": { "input": 90.0, "output": 300.0 } },
    ] } } } });
    ScriptedHome::without_canary(APIS[0], script, cost)
}

/// The newest request that was sent.
fn last_request(scene: &ScriptedHome) -> Value {
    scene.endpoint.calls().last().unwrap().json()
}

fn asked(scene: &ScriptedHome) -> String {
    let request = last_request(scene);
    request["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string()
}

#[test]
fn t01_it_is_installed_and_started() {
    let home = TestHome::empty();
    assert!(home.run(&["--version"]).ok().starts_with("chela "));
    let told = home.run(&[]).ok();
    assert!(
        told.contains("Welcome") && told.contains("SOUL.md"),
        "{told}"
    );
    // Without a model a question ends with how to get one.
    let run = home.run(&["hello there"]);
    let told = run.fails(3);
    assert!(told.contains("chela setup"), "{told}");
}

#[test]
fn t02_ask_something() {
    let scene = newcomer();
    for words in [
        &["what is new?"][..],
        &["what", "is", "new?"],
        &["-p", "what is new?"],
        &["--print", "what is new?"],
        &["-m", "what is new?"],
        &["chat", "what is new?"],
        &["chat", "-m", "what is new?"],
        &["ask", "what is new?"],
        &["exec", "what is new?"],
    ] {
        let told = scene.home.run(words).ok();
        assert!(told.contains("what is new?"), "{words:?}: {told}");
        assert!(asked(&scene).contains("what is new?"), "{words:?}");
    }
    // One word is a command or a mistake, and never sent.
    let before = scene.endpoint.calls().len();
    let told = scene.home.run(&["staus"]).fails(2);
    assert!(
        told.contains("'status'") && !told.contains("'trust'"),
        "{told}"
    );
    let told = scene.home.run(&["hello"]).fails(2);
    assert!(told.contains("chela chat -m 'hello'"), "{told}");
    scene.home.run(&["memroy", "search", "lease"]).fails(2);
    // Nor is what other programs have as a command, with a name behind it.
    for words in [
        &["allow", "git", "commit"][..],
        &["export", "main"],
        &["import", "talk.jsonl"],
        &["approve", "3f2a"],
    ] {
        let told = scene.home.run(words).fails(2);
        assert!(told.contains("that is `chela "), "{words:?}: {told}");
        assert!(told.contains("chela -p '"), "{words:?}: {told}");
    }
    let told = scene.home.run(&["prompt", "what is new?"]).fails(2);
    assert!(told.contains("chela -p 'what is new?'"), "{told}");
    assert_eq!(scene.endpoint.calls().len(), before);
}

#[test]
fn t03_ask_about_what_is_piped_in() {
    let scene = newcomer();
    scene.home.run_with_input(&[], "how tall is it?\n").ok();
    assert!(asked(&scene).contains("how tall is it?"));
    scene
        .home
        .run_with_input(&["review this"], "fn main() {}\n")
        .ok();
    let request = asked(&scene);
    assert!(
        request.contains("review this") && request.contains("fn main()"),
        "{request}"
    );
    scene.home.run_with_input(&["-p"], "only this\n").ok();
    assert!(asked(&scene).contains("only this"));
    scene.home.run_with_input(&["exec", "-"], "and this\n").ok();
    assert!(asked(&scene).contains("and this"));
    // Nothing piped in is no question.
    assert!(scene.home.run(&[]).ok().contains("chela --help"));
}

#[test]
fn t04_go_on_with_a_conversation() {
    let scene = newcomer();
    scene.home.run(&["plan the trip to lisbon"]).ok();
    let list = scene.home.run(&["sessions", "list", "--json"]).json();
    let trip = list["sessions"][0]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    for words in [
        &["--continue", "and the hotel?"][..],
        &["-c", "-p", "and the hotel?"],
        &["--resume", &trip, "and the hotel?"],
        &["-r", &trip[..8], "-p", "and the hotel?"],
        &["resume", "lisbon", "-m", "and the hotel?"],
        &["resume", "last", "-m", "and the hotel?"],
        &["-c", "and", "the hotel?"],
    ] {
        scene.home.run(words).ok();
        let request = last_request(&scene).to_string();
        assert!(request.contains("trip to lisbon"), "{words:?}");
        assert!(request.contains("and the hotel?"), "{words:?}");
    }
}

#[test]
fn t05_change_the_model() {
    let scene = newcomer();
    scene.home.run(&["--model", "kit/beta", "hello there"]).ok();
    assert_eq!(last_request(&scene)["model"], "beta");
    // What the endpoint has need not be in the config.
    let told = scene.chat("/model beta").ok();
    assert!(told.contains("kit/beta"), "{told}");
    scene.chat("hello again").ok();
    assert_eq!(last_request(&scene)["model"], "beta");
    let told = scene.chat("/model betta").fails(1);
    assert!(
        told.contains("Did you mean") && told.contains("kit/beta"),
        "{told}"
    );
    let listed = scene.chat("/models").ok();
    assert!(
        listed.contains("kit/scripted") && listed.contains("kit/beta"),
        "{listed}"
    );
    scene.chat("/model default").ok();
    scene.chat("hello once more").ok();
    assert_eq!(last_request(&scene)["model"], "scripted");
    // For good, in the config; what nobody provides is said at once.
    let told = scene.home.run(&["models", "use", "kit/beta"]).fails(2);
    assert!(
        told.contains("chela config set agents.defaults.model"),
        "{told}"
    );
    let set = |model: &str| {
        let words = ["config", "set", "agents.defaults.model", model];
        scene.home.run(&words).ok()
    };
    assert!(set("nosuch/x").contains("there is no provider `nosuch`"));
    assert!(!set("kit/beta").contains("note:"));
    scene.chat("and now?").ok();
    assert_eq!(last_request(&scene)["model"], "beta");
}

#[test]
fn t06_see_what_it_costs() {
    let scene = newcomer();
    // Two models with two prices: none of them is that of the whole.
    scene.chat("first").ok();
    scene
        .home
        .run(&["--model", "kit/dear", "-m", "second"])
        .ok();
    let sums = scene.home.run(&["usage", "--json"]).json();
    assert_eq!(sums[0]["requests"], 2);
    assert!(sums[0]["cost"].as_u64().unwrap() > 0, "{sums}");
    let shown = scene.home.run(&["usage"]).ok();
    let cost = shown
        .split_whitespace()
        .find(|word| word.starts_with('$'))
        .unwrap();
    let told = scene.chat("/cost").ok();
    // One sum, wherever it is shown.
    assert_eq!(told.matches(cost).count(), 2, "{cost} in {told}");
    assert!(scene.chat("/status").ok().contains(cost));
    for word in ["cost", "stats", "tokens"] {
        assert!(scene.home.run(&[word]).fails(2).contains("chela usage"));
    }
    let told = scene.home.run(&["usage", "--today"]).fails(2);
    assert!(told.contains("--by day"), "{told}");
}

#[test]
fn t07_take_back_what_it_wrote() {
    let scene = newcomer();
    scene.endpoint.play(EndpointScript {
        otherwise: Some(after_tool(ScriptStep::reply("Done."))),
        ..EndpointScript::steps([ScriptStep::tool(
            "write",
            json!({ "path": "list.md", "content": "milk\n" }),
        )])
    });
    scene.home.run(&["write a list"]).ok();
    assert!(scene.home.exists(".chela/workspace/list.md"));
    scene.home.run(&["undo"]).ok();
    assert!(!scene.home.exists(".chela/workspace/list.md"));
    // And back, by the number it was given; once more by the word people try.
    scene.home.run(&["undo", "2"]).ok();
    assert!(scene.home.exists(".chela/workspace/list.md"));
    scene.endpoint.play(EndpointScript {
        otherwise: Some(after_tool(ScriptStep::reply("Done."))),
        ..EndpointScript::steps([ScriptStep::tool(
            "write",
            json!({ "path": "more.md", "content": "eggs\n" }),
        )])
    });
    scene.home.run(&["write more"]).ok();
    scene.home.run(&["undo", "last"]).ok();
    assert!(!scene.home.exists(".chela/workspace/more.md"));
    assert!(scene.home.run(&["revert"]).fails(2).contains("chela undo"));
}

#[test]
fn t08_add_a_skill() {
    let scene = newcomer();
    scene.home.write(
        ".chela/workspace/skills/greet/SKILL.md",
        "---\nname: greet\ndescription: Greet in Latin.\n---\nSay salve.\n",
    );
    assert!(scene.home.run(&["skills", "list"]).ok().contains("greet"));
    scene.chat("hello").ok();
    assert!(last_request(&scene).to_string().contains("Greet in Latin."));
    let why = scene.home.run(&["skills", "why", "greet"]).ok();
    assert!(why.contains("chela skills trust greet"), "{why}");
    // It was not changed since it was seen: saying yes to it works all the same.
    let told = scene.home.run(&["skills", "trust", "greet", "--yes"]).ok();
    assert!(told.contains("Trusted."), "{told}");
    let why = scene.home.run(&["skills", "why", "greet"]).ok();
    assert!(
        why.contains("since you trusted them") && !why.contains("chela skills trust"),
        "{why}"
    );
    scene.chat("/greet").ok();
    assert!(asked(&scene).contains("Say salve."));
    assert!(scene.chat("/status").ok().contains("no untrusted content"));
    // One that was cloned waits, and says for what.
    scene.home.write(
        ".chela/workspace/skills/cloned/SKILL.md",
        "---\nname: cloned\ndescription: From elsewhere.\n---\nDo it.\n",
    );
    std::fs::create_dir(scene.home.path(".chela/workspace/skills/cloned/.git")).unwrap();
    let list = scene.home.run(&["skills", "list"]).ok();
    assert!(
        list.contains("quarantined") && list.contains("chela skills trust cloned"),
        "{list}"
    );
    scene.home.run(&["skills", "trust", "cloned", "--yes"]).ok();
    let list = scene.home.run(&["skills", "list"]).ok();
    assert!(!list.contains("quarantined"), "{list}");
    // From a folder elsewhere: it is fetched, and waits for a yes.
    scene.home.write(
        "download/wave/SKILL.md",
        "---\nname: wave\ndescription: Wave back.\n---\nWave.\n",
    );
    let told = scene.home.run(&["skills", "add", "download/wave"]).ok();
    assert!(told.contains("chela skills trust wave"), "{told}");
    scene.home.run(&["skills", "trust", "wave", "--yes"]).ok();
    let list = scene.home.run(&["skills", "list"]).ok();
    assert!(
        list.contains("wave") && !list.contains("quarantined"),
        "{list}"
    );
    let told = scene.home.run(&["skills", "install", "x"]).fails(2);
    assert!(told.contains("chela skills add"), "{told}");
}

#[test]
fn t09_work_on_a_project() {
    let scene = newcomer();
    scene.home.write("project/main.txt", "the answer is 42\n");
    let folder = scene.home.path("project").canonicalize().unwrap();
    let file = folder.join("main.txt").display().to_string();
    let read = || EndpointScript {
        otherwise: Some(after_tool(ScriptStep::reply("{{tool}}"))),
        ..EndpointScript::steps([ScriptStep::tool("read", json!({ "path": file }))])
    };
    let folder = folder.display().to_string();
    scene.endpoint.play(read());
    let run = scene.home.run_in(&folder, &["what is in here?"]);
    // It says what to type, and that works.
    assert!(run.err.contains("--add-dir"), "{run:?}");
    scene.endpoint.play(read());
    let told = scene
        .home
        .run_in(&folder, &["--add-dir", ".", "what is in here?"])
        .ok();
    assert!(told.contains("the answer is 42"), "{told}");
    scene.home.run_in(&folder, &["folders", "allow", "."]).ok();
    scene.endpoint.play(read());
    let told = scene.home.run_in(&folder, &["what is in here?"]).ok();
    assert!(told.contains("the answer is 42"), "{told}");
    // From elsewhere, by its name; and a command runs where the files are.
    scene.endpoint.play(EndpointScript {
        otherwise: Some(after_tool(ScriptStep::reply("{{tool}}"))),
        ..EndpointScript::steps([ScriptStep::tool(
            "exec",
            json!({ "command": "cat main.txt" }),
        )])
    });
    let told = scene
        .home
        .run(&["--cd", "project", "-p", "show me main.txt"])
        .ok();
    assert!(told.contains("the answer is 42"), "{told}");
    let told = scene.home.run(&["--dir", "project", "hi there"]).fails(2);
    assert!(told.contains("--cd DIR"), "{told}");
}

#[test]
fn t10_stop_everything() {
    let scene = newcomer();
    scene.home.run(&["stop", "--all"]).ok();
    assert!(
        scene
            .home
            .run(&["status"])
            .ok()
            .contains("chela stop --lift")
    );
    let before = scene.endpoint.calls().len();
    let run = scene.home.run(&["are you there?"]);
    assert_ne!(run.code, 0);
    assert!(run.err.contains("chela stop --lift"), "{run:?}");
    assert_eq!(scene.endpoint.calls().len(), before);
    scene.home.run(&["stop", "--lift"]).ok();
    scene.home.run(&["are you there?"]).ok();
    // Without a word it says how things stand, and how.
    assert!(scene.home.run(&["stop"]).ok().contains("chela stop --all"));
    assert!(scene.home.run(&["kill"]).fails(2).contains("chela stop"));
    scene.chat("/stop all").ok();
    assert_ne!(scene.home.run(&["are you there?"]).code, 0);
}

#[test]
fn t11_update() {
    let home = TestHome::ready();
    // There is no source of versions in this home: it says so, and what to do.
    let told = home.run(&["update", "--check"]).fails(1);
    assert!(told.contains("chela config set update.url"), "{told}");
    assert!(home.run(&["upgrade"]).fails(2).contains("chela update"));
}

#[test]
fn t12_export_a_conversation() {
    let scene = newcomer();
    scene.chat("remember the milk").ok();
    let folder = scene.home.path("").display().to_string();
    let export = |more: &[&str]| {
        let words = [&["sessions", "export", "main"], more].concat();
        scene.home.run_in(&folder, &words).ok()
    };
    export(&["-o", "x.md"]);
    let text = scene.home.read("x.md");
    assert!(
        text.starts_with("# ") && text.contains("## You\n\nremember the milk"),
        "{text}"
    );
    export(&["-o", "x.json"]);
    let whole: Value = serde_json::from_str(&scene.home.read("x.json")).unwrap();
    assert!(!whole["entries"].as_array().unwrap().is_empty());
    export(&["-o", "x.jsonl"]);
    assert!(scene.home.read("x.jsonl").lines().count() > 2);
    export(&["-o", "y.md", "--format", "jsonl"]);
    assert!(scene.home.read("y.md").starts_with('{'));
    assert!(export(&["--format", "md"]).contains("## You"));
    // From the chat.
    let place = scene.home.path("y2.md").display().to_string();
    let told = scene.chat(&format!("/export {place}")).ok();
    assert!(told.contains("y2.md"), "{told}");
    assert!(scene.home.read("y2.md").contains("remember the milk"));
    let told = scene.home.run(&["export"]).fails(2);
    assert!(told.contains("chela sessions export"), "{told}");
}

#[test]
fn t13_a_second_agent() {
    let scene = newcomer();
    scene.home.run(&["agents", "add", "research"]).ok();
    assert!(
        scene
            .home
            .run(&["agents", "list"])
            .ok()
            .contains("research")
    );
    let told = scene
        .home
        .run(&["--agent", "research", "-p", "hello", "--json"])
        .json();
    assert_eq!(told["session"], "agent:research:main");
    let told = scene.home.run(&["agents", "create", "x"]).fails(2);
    assert!(told.contains("chela agents add"), "{told}");
    let told = scene.home.run(&["agents", "add", "main"]).fails(1);
    assert!(told.contains("already exists"), "{told}");
    scene.home.run(&["agents", "rm", "research"]).ok();
    let told = scene
        .home
        .run(&["--agent", "research", "-p", "hi"])
        .fails(1);
    assert!(told.contains("chela agents add research"), "{told}");
}

#[test]
fn t14_forget_a_memory() {
    let scene = newcomer();
    scene.home.write(
        ".chela/workspace/MEMORY.md",
        "# Memory\n\n- The lease ends in May.\n- Tea, not coffee.\n",
    );
    // It has been in a prompt, so it is a version on record.
    scene.chat("hello").ok();
    scene
        .home
        .run(&["trust", "approve", "MEMORY.md", "--yes"])
        .ok();
    let found = scene.home.run(&["memory", "search", "lease"]).ok();
    assert!(found.contains("ends in May"), "{found}");
    scene.home.run(&["memory", "forget", "lease", "--yes"]).ok();
    let left = scene.home.read(".chela/workspace/MEMORY.md");
    assert!(!left.contains("lease") && left.contains("Tea"), "{left}");
    assert!(
        !scene
            .home
            .run(&["memory", "search", "lease"])
            .out
            .contains("ends in May")
    );
    // A version that was trusted before is not kept with it.
    let versions = scene.home.path(".chela/state/file-versions");
    for version in std::fs::read_dir(versions).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(version.path()).unwrap();
        assert!(!text.contains("ends in May"), "{version:?}");
    }
}

#[test]
fn t15_see_what_is_sent() {
    let scene = newcomer();
    scene.chat("hello").ok();
    let prompt = scene.home.run(&["prompt"]).ok();
    let request = last_request(&scene);
    let system = request["messages"][0]["content"].to_string();
    let first = prompt.lines().next().unwrap();
    assert!(system.contains(first), "{first}");
    assert!(
        scene
            .home
            .run(&["context", "list"])
            .ok()
            .contains("SOUL.md")
    );
    let shown = scene.home.run(&["turn", "show", "last"]).ok();
    assert!(
        shown.contains("file:SOUL.md") && shown.contains("--raw"),
        "{shown}"
    );
    let sent = scene.home.run(&["turn", "show", "last", "--raw"]).ok();
    assert!(sent.contains("hello"), "{sent}");
    let told = scene.chat("/context list").ok();
    assert!(
        told.contains("SOUL.md") && told.contains("Tools: "),
        "{told}"
    );
    // Two pages about one thing say the same.
    let list = scene.home.run(&["context", "json"]).json();
    let explained = scene.home.run(&["sandbox", "explain", "--json"]).json();
    for key in ["mode", "sandboxed", "exec"] {
        assert_eq!(list["sandbox"][key], explained[key], "{key}");
    }
}

#[test]
fn t16_change_the_persona() {
    let scene = newcomer();
    scene.home.write(
        ".chela/workspace/SOUL.md",
        "# Soul\n\nYou speak like a pirate.\n",
    );
    scene.chat("hello").ok();
    assert!(last_request(&scene).to_string().contains("like a pirate"));
    assert!(
        scene
            .home
            .run(&["persona"])
            .fails(2)
            .contains("chela workspace edit SOUL.md")
    );
    // With an editor of one's own; it is theirs, and nobody is asked.
    scene
        .home
        .write("edit.sh", "#!/bin/sh\necho 'You whistle.' >> \"$1\"\n");
    let editor = format!("sh {}", scene.home.path("edit.sh").display());
    let mut edit = scene.home.command();
    let edit = edit
        .env("EDITOR", editor)
        .args(["workspace", "edit", "SOUL.md"]);
    assert!(edit.output().unwrap().status.success());
    let other = ["chat", "--new-session", "later", "-m", "hello"];
    scene.home.run(&other).ok();
    assert!(last_request(&scene).to_string().contains("You whistle."));
}

#[test]
fn t17_allow_a_command_for_good_and_take_it_back() {
    let scene = newcomer();
    scene.home.run(&["approvals", "allow", "git commit"]).ok();
    assert!(
        scene
            .home
            .run(&["approvals", "list"])
            .ok()
            .contains("git commit")
    );
    scene.home.run(&["approvals", "revoke", "git commit"]).ok();
    assert!(
        !scene
            .home
            .run(&["approvals", "list"])
            .ok()
            .contains("git commit")
    );
}

#[test]
fn t18_find_an_earlier_conversation() {
    let scene = newcomer();
    scene.chat("plan the trip to lisbon").ok();
    scene.chat("/new").ok();
    scene.chat("something else").ok();
    let list = scene.home.run(&["sessions", "list"]).ok();
    assert!(list.contains("something else"), "{list}");
    assert!(list.contains("1 more conversation has ended"), "{list}");
    assert!(list.contains("chela sessions list --all"), "{list}");
    assert_eq!(
        scene.home.run(&["sessions", "list", "--json"]).json()["endedNotShown"],
        1
    );
    assert_eq!(
        scene
            .home
            .run(&["sessions", "list", "--all"])
            .ok()
            .matches("agent:main:main")
            .count(),
        2
    );
    scene.home.run(&["resume", "lisbon", "-m", "go on"]).ok();
    assert!(last_request(&scene).to_string().contains("trip to lisbon"));
    let told = scene.home.run(&["sessions", "search", "lisbon"]).fails(2);
    assert!(told.contains("chela resume"), "{told}");
    assert!(
        scene
            .home
            .run(&["history"])
            .fails(2)
            .contains("chela sessions list")
    );
}

#[test]
fn t19_use_a_server_of_ones_own() {
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        models: vec!["alpha".to_owned()],
        ..EndpointScript::always(ScriptStep::reply("pong"))
    })
    .unwrap();
    let home = TestHome::empty();
    let url = format!("{}/v1", endpoint.url());
    let told = home
        .run(&[
            "setup",
            "--provider",
            "mine",
            "--base-url",
            &url,
            "--no-chat",
        ])
        .ok();
    assert!(told.contains("mine/alpha answers"), "{told}");
    assert_eq!(home.run(&["are you there?"]).ok(), "pong\n");
    assert!(home.run(&["models", "list"]).ok().contains("mine/alpha"));
    // By the config alone, as a page of a server may tell it.
    let home = TestHome::empty();
    let provider = format!("{{ baseUrl: '{url}', models: [{{ id: 'alpha' }}] }}");
    home.run(&["config", "set", "models.providers.own", &provider])
        .ok();
    home.run(&["config", "set", "agents.defaults.model", "own/alpha"])
        .ok();
    home.run(&["init"]).ok();
    assert_eq!(home.run(&["are you there?"]).ok(), "pong\n");
    let told = home.run(&["models", "add"]).fails(2);
    assert!(told.contains("chela setup"), "{told}");
}

#[test]
fn t20_get_help() {
    let scene = newcomer();
    for words in [&["help"][..], &["--help"], &["-h"]] {
        let told = scene.home.run(words).ok();
        for part in [
            "chela 'what is on my list?'",
            "--continue",
            "chat",
            "doctor",
        ] {
            assert!(told.contains(part), "{words:?}: {part} in {told}");
        }
    }
    assert!(scene.home.run(&["help", "chat"]).ok().contains("--message"));
    assert!(
        scene
            .home
            .run(&["chat", "--help"])
            .ok()
            .contains("[MESSAGE]")
    );
    let told = scene.chat("/help").ok();
    assert!(told.contains("/cost") && told.contains("/model"), "{told}");
    assert!(scene.home.run(&["docs"]).ok().contains("getting-started"));
    assert!(scene.home.run(&["?"]).fails(2).contains("chela help"));
    let page = scene.home.run(&["docs", "first-tasks"]).ok();
    assert!(page.contains("First tasks"), "{page}");
    assert!(scene.home.run(&["doctor"]).code < 2);
    // A second home beside this one, wherever this one is.
    let home = TestHome::empty();
    let place = home.path("here").display().to_string();
    let home = home.env("CHELA_HOME", &place);
    home.run(&["--profile", "work", "init"]).ok();
    assert!(home.exists("here-work/workspace/SOUL.md"));
    assert!(!home.exists("here"));
}

#[test]
fn t21_slash_commands_of_other_programs() {
    let scene = newcomer();
    scene.chat("hello").ok();
    let before = scene.endpoint.calls().len();
    scene.chat("/clear").ok();
    let told = scene.chat("/permissions").fails(2);
    assert!(told.contains("chela approvals list"), "{told}");
    let told = scene.chat("/frobnicate").fails(2);
    assert!(told.contains("/help lists them"), "{told}");
    assert_eq!(scene.endpoint.calls().len(), before, "none was sent");
    // A place is something to speak of.
    scene.chat("/etc").ok();
    assert!(asked(&scene).contains("/etc"));
}
