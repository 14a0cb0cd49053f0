//! Servers other people wrote, unchanged, in both eras of the protocol.

use std::path::{Path, PathBuf};

use chela_testkit::{ScriptStep, find_part};
use serde_json::{Value, json};

use super::{McpHome, call};
use crate::home::text;

/// Where `scripts/mcp-servers.sh` puts them.
fn folder() -> Result<PathBuf, String> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().map(|target| target.join("mcp-servers"));
    let folder = folder.filter(|folder| folder.join("node/node_modules/.bin/conformance").exists());
    folder.ok_or_else(|| "scripts/mcp-servers.sh installs them".to_owned())
}

/// A home with this server.
fn home_with(name: &str, more: &[&str], command: &[&str], folder: &Path) -> McpHome {
    let home = McpHome::new();
    let mut words = vec![
        "mcp",
        "add",
        name,
        "--read",
        text(folder),
        "--effect",
        "*=read",
    ];
    words.extend_from_slice(more);
    if crate::scene::is_sandbox_unwanted() {
        words.push("--no-sandbox");
    }
    words.push("--");
    words.extend_from_slice(command);
    let told = home.home().run(&words).ok();
    assert!(told.contains(&format!("{name} answers")), "{told}");
    home
}

fn node(folder: &Path, server: &str) -> (String, String) {
    let node = folder.join("node/node_modules/.bin/node");
    let main = folder.join(format!(
        "node/node_modules/@modelcontextprotocol/{server}/dist/index.js"
    ));
    (node.display().to_string(), main.display().to_string())
}

/// What the model is told of one call.
fn ask(home: &McpHome, tool: &str, arguments: Value) -> String {
    home.say(
        "Do it.",
        [call(tool, arguments), ScriptStep::reply("Done.")],
    )
    .ok();
    home.results().last().unwrap().clone()
}

#[test]
fn everything_answers_with_every_kind_of_content() {
    let Some(folder) = find_part("mcp-servers", folder()) else {
        return;
    };
    let (node, main) = node(&folder, "server-everything");
    let home = home_with("every", &[], &[&node, &main], &folder);
    assert!(ask(&home, "every__echo", json!({ "message": "hi" })).contains("Echo: hi"));
    let sum = ask(&home, "every__get-sum", json!({ "a": 2, "b": 3 }));
    assert!(sum.contains('5'), "{sum}");
    // A picture, for a model that cannot see.
    let image = ask(&home, "every__get-tiny-image", json!({}));
    assert!(
        image.contains("image") || image.contains("Image"),
        "{image}"
    );
    let resources = ask(&home, "mcp__read", json!({ "server": "every" }));
    assert!(
        resources.contains("resource ") && resources.contains("prompt "),
        "{resources}"
    );
    let prompt = ask(
        &home,
        "mcp__read",
        json!({ "server": "every", "prompt": "simple-prompt" }),
    );
    assert!(prompt.contains("[user]"), "{prompt}");
    let read = ask(
        &home,
        "mcp__read",
        json!({ "server": "every", "uri": "demo://resource/static/document/architecture.md" }),
    );
    assert!(read.contains("Architecture"), "{read}");
}

#[test]
fn filesystem_sees_the_folder_it_was_given() {
    let Some(folder) = find_part("mcp-servers", folder()) else {
        return;
    };
    let (node, main) = node(&folder, "server-filesystem");
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    std::fs::write(place.join("a.txt"), "in the folder\n").unwrap();
    let given = text(&place).to_owned();
    let home = home_with(
        "files",
        &["--write", &given],
        &[&node, &main, &given],
        &folder,
    );
    let read = ask(
        &home,
        "files__read_text_file",
        json!({ "path": format!("{given}/a.txt") }),
    );
    assert!(read.contains("in the folder"), "{read}");
    let outside = ask(
        &home,
        "files__read_text_file",
        json!({ "path": "/etc/hostname" }),
    );
    assert!(outside.contains("Access denied"), "{outside}");
    ask(
        &home,
        "files__write_file",
        json!({ "path": format!("{given}/b.txt"), "content": "new" }),
    );
    assert_eq!(std::fs::read_to_string(place.join("b.txt")).unwrap(), "new");
}

#[test]
fn memory_remembers_beyond_the_process() {
    let Some(folder) = find_part("mcp-servers", folder()) else {
        return;
    };
    let (node, main) = node(&folder, "server-memory");
    let place = tempfile::tempdir().unwrap();
    let given = place.path().canonicalize().unwrap();
    let file = format!("MEMORY_FILE_PATH={}", given.join("memory.json").display());
    let home = home_with(
        "graph",
        &["--write", text(&given), "--env", &file],
        &[&node, &main],
        &folder,
    );
    ask(
        &home,
        "graph__create_entities",
        json!({ "entities": [
        { "name": "Ada", "entityType": "person", "observations": ["likes tea"] },
    ] }),
    );
    let found = ask(&home, "graph__search_nodes", json!({ "query": "tea" }));
    assert!(found.contains("Ada"), "{found}");
}

#[test]
fn the_servers_of_the_newer_era_answer() {
    let Some(folder) = find_part("mcp-servers", folder()) else {
        return;
    };
    let program = |name: &str| {
        folder
            .join(format!("python/bin/{name}"))
            .display()
            .to_string()
    };
    let time = home_with("time", &[], &[&program("mcp-server-time")], &folder);
    let now = ask(
        &time,
        "time__get_current_time",
        json!({ "timezone": "Europe/Berlin" }),
    );
    assert!(now.contains("Europe/Berlin"), "{now}");
    let record = time.home().read(".chela/state/mcp.json");
    assert!(record.contains("2026-07-28"), "{record}");
    let place = tempfile::tempdir().unwrap();
    let given = place.path().canonicalize().unwrap();
    let given = text(&given).to_owned();
    for words in [
        ["init", "-q"].as_slice(),
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "the first",
        ],
    ] {
        let git = std::process::Command::new("git")
            .arg("-C")
            .arg(&given)
            .args(words)
            .status();
        assert!(git.unwrap().success());
    }
    let git = home_with(
        "git",
        &["--read", &given],
        &[&program("mcp-server-git"), "--repository", &given],
        &folder,
    );
    let log = ask(&git, "git__git_log", json!({ "repo_path": given }));
    assert!(log.contains("the first"), "{log}");
}

#[test]
fn fetch_reaches_the_hosts_it_was_given_and_no_other() {
    let Some(folder) = find_part("mcp-servers", folder()) else {
        return;
    };
    if crate::scene::is_sandbox_unwanted() {
        return;
    }
    let page = ScriptStep::page(200, "text/html", "<p>a page of this machine</p>");
    let pages = chela_testkit::ScriptedEndpoint::start(chela_testkit::EndpointScript::always(page))
        .unwrap();
    let host = format!("127.0.0.1:{}", pages.port());
    let program = folder
        .join("python/bin/mcp-server-fetch")
        .display()
        .to_string();
    let home = home_with(
        "fetch",
        &["--host", "example.org"],
        &[&program, "--ignore-robots-txt"],
        &folder,
    );
    let told = ask(
        &home,
        "fetch__fetch",
        json!({ "url": format!("http://{host}/") }),
    );
    assert!(!told.contains("a page of this machine"), "{told}");
    assert!(pages.requests().is_empty());
}
