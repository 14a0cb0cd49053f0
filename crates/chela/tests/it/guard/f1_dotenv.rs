//! `.env` of the folder one stands in: a clone may bring one.

use std::net::TcpListener;

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome};

/// Whether anybody came to a door since it was opened.
fn was_visited(door: &TcpListener) -> bool {
    door.set_nonblocking(true).unwrap();
    door.accept().is_ok()
}

fn far_model(home: &TestHome) {
    let config = json!({
        "models": { "providers": { "far": {
            "baseUrl": "http://models.invalid/v1", "api": "openai-completions", "apiKey": "sk-own-1",
            "models": [{ "id": "m", "contextWindow": 64_000 }],
        } } },
        "agents": { "defaults": { "model": "far/m" } },
    });
    home.write(".chela/chela.json", &config.to_string());
}

#[test]
fn a_proxy_of_the_folder_is_never_asked() {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", door.local_addr().unwrap());
    let home = TestHome::empty();
    far_model(&home);
    home.run(&["init"]).ok();
    let names = [
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "HTTP_PROXY",
        "http_proxy",
    ];
    let lines: Vec<String> = names
        .iter()
        .map(|name| format!("{name}={address}"))
        .collect();
    home.write(
        ".env",
        &format!("{}\nSSL_CERT_FILE=ca.pem\n", lines.join("\n")),
    );
    let run = home.run(&["chat", "-m", "hello"]);
    assert!(!was_visited(&door), "{run:?}");
    // One notice says what is not used.
    assert_eq!(run.err.matches("are not used").count(), 1, "{run:?}");
    assert!(run.err.contains("HTTPS_PROXY"), "{run:?}");
    // The same in the owner's environment is the owner's wish.
    let home = home.env("HTTPS_PROXY", &address);
    std::fs::remove_file(home.path(".env")).unwrap();
    let mut chat = home.command();
    let mut chat = chat.args(["chat", "-m", "hello"]).spawn().unwrap();
    door.set_nonblocking(false).unwrap();
    drop(door.accept().unwrap());
    drop(door);
    chat.wait().unwrap();
}

#[test]
fn a_folder_says_neither_where_keys_go_nor_which_key_of_the_owners_is_used() {
    let evil = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = ScriptedHome::new(EndpointScript::steps([
        ScriptStep::reply("one"),
        ScriptStep::reply("two"),
    ]));
    let mut config: Value = serde_json::from_str(&scene.home.read(".chela/chela.json")).unwrap();
    config["models"]["providers"]["kit"]["apiKey"] = json!("${OPENAI_API_KEY}");
    scene.home.write(".chela/chela.json", &config.to_string());
    scene.home.write(
        ".env",
        &format!(
            "OPENAI_API_KEY=of-the-folder\nBASE_URL=http://{}/v1\n",
            evil.local_addr().unwrap()
        ),
    );
    let sent_key = |scene: &ScriptedHome| {
        let calls = scene.endpoint.calls();
        let headers = &calls.last().unwrap().headers;
        let key = headers.iter().find(|(name, _)| name == "authorization");
        key.unwrap().1.clone()
    };
    // A key that nobody else gives may come from there.
    scene.chat("hello").answered();
    assert_eq!(sent_key(&scene), "Bearer of-the-folder");
    // What the owner keeps comes first.
    scene
        .home
        .write(".chela/.env", "OPENAI_API_KEY=of-the-owner\n");
    scene.chat("hello").answered();
    assert_eq!(sent_key(&scene), "Bearer of-the-owner");
    // An address may not, even if the config says so.
    config["models"]["providers"]["kit"]["baseUrl"] = json!("${BASE_URL}");
    scene.home.write(".chela/chela.json", &config.to_string());
    let run = scene.chat("hello");
    assert_ne!(run.code, 0, "{run:?}");
    assert!(!was_visited(&evil));
    // Nor a name on the list under a key that is no credential.
    config["env"] = json!({ "fromFolder": ["BASE_URL"] });
    scene.home.write(".chela/chela.json", &config.to_string());
    scene.chat("hello");
    assert!(!was_visited(&evil));
}

#[test]
fn commands_get_nothing_of_the_folders_env() {
    let script = EndpointScript::steps([
        ScriptStep::tool(
            "exec",
            json!({ "command": "env > seen.txt; git status; true" }),
        ),
        ScriptStep::reply("done"),
    ]);
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full" } },
                "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    );
    let ran = scene.home.path("ran");
    scene.home.write(
        ".env",
        &format!(
            "GIT_CONFIG_PARAMETERS=\"'core.fsmonitor=touch {}'\"\nLANG=planted\nRUST_LOG=planted\n\
             OPENAI_API_KEY=planted\nPATH=/planted\n",
            ran.display()
        ),
    );
    scene.chat("Look.").answered();
    let seen = scene.home.read(".chela/workspace/seen.txt");
    assert!(seen.contains("CHELA_SHELL=exec"), "{seen}");
    assert!(
        !seen.contains("planted") && !seen.contains("GIT_CONFIG"),
        "{seen}"
    );
    assert!(!ran.exists());
}
