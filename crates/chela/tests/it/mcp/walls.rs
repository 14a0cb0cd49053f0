//! A server gets what its owner names, and nothing else.

use std::net::TcpListener;

use serde_json::json;

use super::McpHome;
use crate::scene::is_sandbox_unwanted;

/// Tools that try.
fn prying() -> serde_json::Value {
    json!({ "tools": [
        { "name": "read", "deeds": [{ "readFile": "{{path}}" }] },
        { "name": "write", "deeds": [{ "writeFile": "{{path}}" }] },
        { "name": "connect", "deeds": [{ "connect": "{{to}}" }] },
        { "name": "names", "deeds": ["variables"] },
    ] })
}

#[test]
fn without_grants_it_sees_nothing_of_its_owner() {
    if is_sandbox_unwanted() {
        return;
    }
    let home = McpHome::new();
    home.home().write("diary.txt", "private\n");
    home.home().write("open/read.txt", "shared\n");
    let open = home.home().path("open");
    let open = crate::home::text(&open);
    home.add("kit", &prying(), &["--read", open]).ok();
    let call = |tool: &str, arguments: serde_json::Value| {
        let words = [
            "mcp",
            "test",
            "kit",
            "--call",
            tool,
            "--arguments",
            &arguments.to_string(),
        ];
        home.home().run(&words).ok()
    };
    for hidden in ["diary.txt", ".chela/chela.json", ".chela/state/mcp.json"] {
        let path = home.home().path(hidden);
        let told = call("read", json!({ "path": path.display().to_string() }));
        assert!(told.starts_with("cannot read"), "{hidden}: {told}");
    }
    let shared = format!("{open}/read.txt");
    assert_eq!(call("read", json!({ "path": shared })).trim(), "shared");
    let told = call("write", json!({ "path": format!("{open}/new.txt") }));
    assert!(told.starts_with("cannot write"), "{told}");
    let told = call(
        "write",
        json!({ "path": home.home().path("diary.txt").display().to_string() }),
    );
    assert!(told.starts_with("cannot write"), "{told}");
    assert_eq!(home.home().read("diary.txt"), "private\n");
    // Not even to this very machine.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let told = call("connect", json!({ "to": to }));
    assert!(told.starts_with("cannot connect"), "{told}");
    let names = call("names", json!({}));
    for secret in ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "CHELA_HOME"] {
        assert!(!names.contains(secret), "{names}");
    }
}

#[test]
fn what_is_granted_it_gets() {
    if is_sandbox_unwanted() {
        return;
    }
    let home = McpHome::new();
    home.home().write("out/keep.txt", "");
    let out = home.home().path("out");
    let out = crate::home::text(&out);
    home.add("kit", &prying(), &["--write", out]).ok();
    let path = json!({ "path": format!("{out}/new.txt") }).to_string();
    let told = home
        .home()
        .run(&[
            "mcp",
            "test",
            "kit",
            "--call",
            "write",
            "--arguments",
            &path,
        ])
        .ok();
    assert_eq!(told.trim(), "written");
    assert!(home.home().exists("out/new.txt"));
    let walls = home.home().run(&["mcp", "list", "--json"]).json();
    assert!(
        walls["servers"][0]["walls"]
            .as_str()
            .unwrap()
            .contains("writes ~/out"),
        "{walls}"
    );
}

#[test]
fn without_a_sandbox_it_is_not_started_unless_its_owner_says_so() {
    let home =
        McpHome::with(json!({ "agents": { "defaults": { "sandbox": { "backend": "absent" } } } }));
    home.add("kit", &prying(), &["--no-test"]).ok();
    if !is_sandbox_unwanted() {
        let told = home.home().run(&["mcp", "test", "kit"]).fails(1);
        assert!(
            told.contains("sandbox") && told.contains("sandbox: \"off\""),
            "{told}"
        );
        home.home()
            .run(&["config", "set", "mcp.servers.kit.sandbox", "off"])
            .ok();
    }
    home.home().run(&["mcp", "test", "kit"]).ok();
    let list = home.home().run(&["mcp", "list"]).flat();
    assert!(
        list.contains("no sandbox: it may do what you may"),
        "{list}"
    );
    let doctor = home
        .home()
        .run(&["doctor", "--json", "--only", "mcp"])
        .json();
    assert!(
        doctor.to_string().contains("outside the sandbox"),
        "{doctor}"
    );
}

#[test]
fn what_chela_keeps_can_be_given_to_no_server() {
    if is_sandbox_unwanted() {
        return;
    }
    let home = McpHome::new();
    for folder in [".chela", ".chela/state", "."] {
        let path = home.home().path(folder);
        let path = crate::home::text(&path);
        let name = format!("kit{}", folder.len());
        let told = home.add(&name, &prying(), &["--read", path]).fails(1);
        assert!(told.contains("out of reach"), "{folder}: {told}");
    }
}
