//! The second ten: what comes after the first questions.

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::Value;

use super::{asked, last_request, newcomer};
use crate::home::TestHome;

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
    let last = ["sessions", "export", "last", "--format", "md"];
    assert_eq!(scene.home.run(&last).ok(), export(&["--format", "md"]));
    let told = scene.home.run(&["sessions", "export", "main", "z.md"]);
    assert!(told.fails(2).contains("chela sessions export ID -o FILE"));
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
    assert_eq!(scene.home.run(&["turn", "show"]).ok(), shown);
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
        .args(["workspace", "edit", "soul"]);
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
    // Without quotes, as it would be run.
    let unquoted = ["approvals", "allow", "git", "commit"];
    let told = scene.home.run(&unquoted).ok();
    assert!(told.contains("git commit"), "{told}");
    scene
        .home
        .run(&["approvals", "revoke", "git", "commit"])
        .ok();
    let folder = ["approvals", "allow", "/bin/a", "/bin/b"];
    assert!(scene.home.run(&folder).fails(2).contains("in quotes"));
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
    let told = scene.home.run(&["sessions", "list", "lisbon"]).fails(2);
    assert!(told.contains("chela resume WORDS"), "{told}");
    let shown = scene.home.run(&["sessions", "show", "last"]).ok();
    assert!(shown.contains("go on"), "{shown}");
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
    // Without a name it gets one, and a second one asks for another.
    let home = TestHome::empty();
    let told = home.run(&["setup", "--url", &url, "--no-chat"]).ok();
    assert!(told.contains("local/alpha answers"), "{told}");
    assert_eq!(home.run(&["are you there?"]).ok(), "pong\n");
    let other = ["setup", "--base-url", "http://127.0.0.1:1/v1", "--no-chat"];
    let told = home.run(&other).fails(2);
    assert!(
        told.contains("`local` is another server") && told.contains("--provider NAME"),
        "{told}"
    );
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
    // What has no page of its own is told where it stands.
    for (topic, part) in [
        ("skills", "chela skills trust"),
        ("memory", "chela memory search"),
    ] {
        let told = scene.home.run(&["docs", topic]).ok();
        assert!(
            told.contains(part) && told.contains("From `chela docs "),
            "{told}"
        );
    }
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

#[test]
fn t22_set_up_a_tool_server() {
    let scene = newcomer();
    // As other programs have it: the program behind its name, with options of its own.
    let words = [
        "mcp",
        "add",
        "files",
        "--no-test",
        "npx",
        "-y",
        "some-server",
        "--port",
        "1",
    ];
    scene.home.run(&words).ok();
    let set = scene.home.run(&["config", "get", "mcp.servers.files"]).ok();
    for part in ["npx", "some-server", "--port"] {
        assert!(set.contains(part), "{part} in {set}");
    }
    let words = [
        "mcp",
        "add",
        "apart",
        "--no-test",
        "--",
        "uvx",
        "other-server",
    ];
    scene.home.run(&words).ok();
    let words = ["mcp", "add", "docs", "https://127.0.0.1:1/mcp", "--no-test"];
    scene.home.run(&words).ok();
    let list = scene.home.run(&["mcp", "list"]).ok();
    for name in ["files", "apart", "docs"] {
        assert!(list.contains(name), "{list}");
    }
    let told = scene
        .home
        .run(&["mcp", "add", "near", "localhost:8080/mcp"])
        .fails(2);
    assert!(
        told.contains("chela mcp add near http://localhost:8080/mcp"),
        "{told}"
    );
    let told = scene.home.run(&["mcp", "show", "docs"]).fails(2);
    assert!(told.contains("chela mcp tools NAME"), "{told}");
    scene.home.run(&["mcp", "rm", "files"]).ok();
}

#[test]
fn t23_be_reminded_and_look_back() {
    let scene = newcomer();
    let told = scene
        .home
        .run(&["cron", "add", "--in", "20m", "call mom"])
        .ok();
    assert!(told.contains("chela gateway run"), "{told}");
    let told = scene.home.run(&["cron", "add", "call mom"]).fails(2);
    assert!(told.contains("--at 2h"), "{told}");
    let told = scene.home.run(&["heartbeat", "on"]).fails(2);
    let command = "chela config set agents.defaults.heartbeat.every 30m";
    assert!(told.contains(command), "{told}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    scene.home.run(&words).ok();
    assert!(
        scene
            .home
            .run(&["heartbeat", "status"])
            .ok()
            .contains("every 30 minutes")
    );
    // Nothing is on record: no results are announced, and none of other days.
    let told = scene
        .home
        .run(&["memory", "search", "--on", "yesterday"])
        .ok();
    assert!(!told.contains("results of other days"), "{told}");
    let told = scene
        .home
        .run(&["memory", "search", "the quarterly lease"])
        .ok();
    assert!(
        told.contains('#') || !told.contains("nearest entries"),
        "{told}"
    );
    let told = scene
        .home
        .run(&["memory", "search", "--day", "today"])
        .fails(2);
    assert!(told.contains("--on yesterday"), "{told}");
    let told = scene.home.run(&["cache", "why"]).fails(1);
    assert!(told.contains("nothing is recorded yet"), "{told}");
    scene.chat("the lease ends in may").ok();
    scene
        .home
        .run(&["sessions", "export", "--format", "markdown"])
        .ok();
    assert!(scene.home.run(&["version"]).ok().starts_with("chela "));
    // Commands of other programs are no messages.
    let before = scene.endpoint.calls().len();
    for words in [&["tools", "list"][..], &["keys", "add"], &["jobs", "ls"]] {
        let told = scene.home.run(words).fails(2);
        assert!(told.contains("that is `chela "), "{words:?}: {told}");
    }
    assert_eq!(scene.endpoint.calls().len(), before);
    let told = scene.home.run(&["auth", "login", "openai"]).fails(2);
    assert!(told.contains("chela setup --provider openai"), "{told}");
}
