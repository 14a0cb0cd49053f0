//! `chela mcp`: servers are set up, looked at, switched off and removed.

use serde_json::json;

use super::{McpHome, READ_ALL, one_tool};

#[test]
fn a_server_is_set_up_looked_at_and_removed() {
    let home = McpHome::new();
    let told = home.add(
        "kit",
        &one_tool("greet", json!([{ "text": "Hello {{text}}" }])),
        &READ_ALL,
    );
    let told = told.ok();
    assert!(
        told.contains("kit answers: kit 1, protocol 2025-11-25"),
        "{told}"
    );
    assert!(told.contains("kit__greet"), "{told}");
    let list = home.home().run(&["mcp", "list", "--json"]).json();
    let row = &list["servers"][0];
    assert_eq!(
        (&row["name"], &row["tools"], &row["declared"]),
        (&json!("kit"), &json!(1), &json!(1))
    );
    let called = home.home().run(&[
        "mcp",
        "test",
        "kit",
        "--call",
        "greet",
        "--arguments",
        r#"{"text":"you"}"#,
    ]);
    assert_eq!(called.ok().trim(), "Hello you");
    let tools = home.home().run(&["mcp", "tools", "kit", "--json"]).json();
    let tool = &tools["servers"][0]["tools"][0];
    assert_eq!(
        (&tool["effect"], &tool["approved"]),
        (&json!("read_untrusted"), &json!(false))
    );
    let status = home.home().run(&["status"]).ok();
    assert!(status.contains("1 server, 1 tool"), "{status}");
    let matrix = home.home().run(&["agents", "matrix"]).ok();
    assert!(matrix.contains("kit (1 tool;"), "{matrix}");
    home.home().run(&["mcp", "disable", "kit"]).ok();
    let off = home.home().run(&["mcp", "test", "kit"]).fails(1);
    assert!(off.contains("chela mcp enable kit"), "{off}");
    home.home().run(&["mcp", "enable", "kit"]).ok();
    home.home().run(&["mcp", "test", "kit"]).ok();
    home.home().run(&["mcp", "remove", "kit"]).ok();
    let none = home.home().run(&["mcp", "list"]).ok();
    assert!(none.contains("No MCP servers are set up"), "{none}");
    assert!(!home.home().read(".chela/state/mcp.json").contains("greet"));
}

#[test]
fn what_cannot_be_used_says_so_and_what_to_do() {
    let home = McpHome::with(json!({ "mcp": { "servers": {
        "both": { "command": "x", "url": "https://a.example" },
        "missing": { "command": "no-such-program-anywhere" },
    } } }));
    let list = home.home().run(&["mcp", "list"]).ok();
    assert!(list.contains("has both a command and a url"), "{list}");
    let missing = home.home().run(&["mcp", "test", "missing"]).fails(1);
    assert!(missing.contains("was not found"), "{missing}");
    let both = home.home().run(&["mcp", "test", "both"]).fails(78);
    assert!(both.contains("both a command and a url"), "{both}");
    let unknown = home.home().run(&["mcp", "test", "missin"]).fails(1);
    assert!(unknown.contains("did you mean `missing`"), "{unknown}");
    let doctor = home
        .home()
        .run(&["doctor", "--json", "--only", "mcp"])
        .json();
    assert!(
        doctor.to_string().contains("both a command and a url"),
        "{doctor}"
    );
    for wrong in [
        vec!["mcp", "add", "x"],
        vec!["mcp", "add", "x", "not-a-url"],
        vec!["mcp", "add", "a b", "https://a.example"],
        vec!["mcp", "add", "x", "https://a.example", "--effect", "read"],
        vec![
            "mcp",
            "add",
            "x",
            "https://a.example",
            "--header",
            "nothing",
        ],
    ] {
        home.home().run(&wrong).fails(2);
    }
}

#[test]
fn a_variable_of_a_server_is_not_shown() {
    let home = McpHome::new();
    let secret = "sk-kit-mcp-Zx81Lq0pVw7Tn3Yc";
    let env = format!("TOKEN={secret}");
    let script = json!({
        "errors": format!("the token is {secret}\n"),
        "tools": [{ "name": "names", "deeds": ["variables"] }],
    });
    home.add("kit", &script, &["--env", &env]).ok();
    let names = home
        .home()
        .run(&["mcp", "test", "kit", "--call", "names"])
        .ok();
    assert!(names.contains("TOKEN"), "{names}");
    for words in [["mcp", "list", "--json"], ["mcp", "tools", "--json"]] {
        let told = home.home().run(&words).ok();
        assert!(!told.contains(secret), "{told}");
    }
    let log = home.home().run(&["mcp", "logs", "kit"]).ok();
    assert!(
        log.contains("the token is") && !log.contains(secret),
        "{log}"
    );
    assert!(!home.home().read(".chela/state/mcp.json").contains(secret));
}

#[test]
fn an_agents_command_sets_up_no_server() {
    let home = McpHome::new();
    home.add("kit", &one_tool("greet", json!([{ "text": "hi" }])), &[])
        .ok();
    // As a command of an agent would start it.
    for words in [
        ["mcp", "trust", "kit", "--yes"].as_slice(),
        &["mcp", "add", "evil", "https://evil.example"],
        &["mcp", "enable", "kit"],
        &["mcp", "serve"],
        &["mcp", "token", "create", "evil"],
    ] {
        let mut command = home.home().command();
        command.env("CHELA_SHELL", "exec").args(words);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && told.contains("by the owner"),
            "{words:?}: {told}"
        );
    }
}
