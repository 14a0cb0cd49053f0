//! `chela setup`: from nothing to a model that answers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod terminal;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};

use crate::chat::terminal::ChatTerminal;
use crate::home::TestHome;

const KEY: &str = "sk-setup-9QmZ4tR8wLk2VbN6";

fn locked() -> (ScriptedEndpoint, TestHome) {
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        key: Some(KEY.to_owned()),
        models: vec!["alpha".to_owned(), "beta".to_owned()],
        ..EndpointScript::always(ScriptStep::reply("pong"))
    })
    .unwrap();
    let mut home = TestHome::empty().baited("/keys/mine.key");
    home.watches(KEY);
    (endpoint, home)
}

fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = [
        "setup",
        "--provider",
        "mine",
        "--base-url",
        url,
        "--key-stdin",
        "--no-chat",
    ];
    [&base[..], more].concat()
}

#[test]
fn a_key_is_kept_tested_and_used() {
    let (endpoint, home) = locked();
    let url = format!("{}/v1", endpoint.url());
    let told = home
        .run_with_input(&args(&url, &["--keep", "file"]), &format!("{KEY}\n"))
        .ok();
    assert!(told.contains("mine/alpha answers"), "{told}");
    let file = home.path(".chela/keys/mine.key");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let config = home.read(".chela/chela.json");
    assert!(
        !config.contains(KEY) && config.contains("mine-key-file"),
        "{config}"
    );
    assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "pong\n");
    // Once more, with another model: the rest stays.
    let more = ["--keep", "file", "--model", "beta", "--json"];
    let told = home.run_with_input(&args(&url, &more), KEY).json();
    assert_eq!(told["model"], "mine/beta");
    assert_eq!(
        home.run(&["chat", "-m", "hi", "--json"]).json()["model"],
        "mine/beta"
    );
}

#[test]
fn a_key_that_is_refused_changes_nothing() {
    let (endpoint, home) = locked();
    let url = format!("{}/v1", endpoint.url());
    let run = home.run_with_input(
        &args(&url, &["--model", "alpha"]),
        "sk-wrong-1234567890abcdef",
    );
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("the API key was rejected"), "{run:?}");
    assert!(
        run.err.contains("nothing was changed in the config"),
        "{run:?}"
    );
    assert!(!home.exists(".chela/chela.json"), "no config was written");
    assert!(!home.exists(".chela/keys/mine.key"), "nor is the key left");
}

#[test]
fn a_server_of_ones_own_is_asked_for_a_key_that_may_be_none() {
    let (endpoint, home) = locked();
    let url = format!("{}/v1", endpoint.url());
    let folder = home.path("").display().to_string();
    let words = [
        "setup",
        "--provider",
        "mine",
        "--base-url",
        &url,
        "--keep",
        "file",
        "--no-chat",
    ];
    let mut terminal = ChatTerminal::open_command(&home, &folder, &words);
    terminal.sees("press Enter if it needs none");
    terminal.types(&format!("{KEY}\n"));
    terminal.sees("Which?");
    terminal.types("2\n");
    terminal.sees("mine/beta answers");
    assert!(terminal.ends().success());
    assert!(!terminal.passed().contains(KEY), "it is not shown");
    assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "pong\n");
    // Nothing typed is no key.
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        models: vec!["open".to_owned()],
        ..EndpointScript::always(ScriptStep::reply("free"))
    })
    .unwrap();
    let url = format!("{}/v1", endpoint.url());
    let words = [
        "setup",
        "--provider",
        "own",
        "--base-url",
        &url,
        "--keep",
        "file",
        "--no-chat",
    ];
    let mut terminal = ChatTerminal::open_command(&home, &folder, &words);
    terminal.sees("press Enter if it needs none");
    terminal.types("\n");
    terminal.sees("own/open answers");
    assert!(terminal.ends().success());
    assert!(!home.exists(".chela/keys/own.key"));
}

/// With a secret store that keeps what it is given in a file the sweep is told of.
fn with_keyring(home: TestHome) -> TestHome {
    let script = "#!/bin/sh\ncase \"$1\" in\nstore) cat > \"$HOME/.keyring-$6\";;\nlookup) cat \"$HOME/.keyring-$5\";;\nesac\n";
    let tool = home.write("bin/secret-tool", script);
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        home.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    home.env("PATH", &path)
}

#[test]
fn a_key_that_is_refused_takes_no_others_place() {
    for keep in ["file", "keyring"] {
        let (endpoint, home) = locked();
        let home = with_keyring(home);
        let url = format!("{}/v1", endpoint.url());
        let more = ["--model", "alpha", "--keep", keep];
        home.run_with_input(&args(&url, &more), KEY).ok();
        let config = home.read(".chela/chela.json");
        let run = home.run_with_input(&args(&url, &more), "sk-wrong-1234567890abcdef");
        assert_eq!(run.code, 3, "{keep}: {run:?}");
        assert_eq!(home.read(".chela/chela.json"), config, "{keep}");
        assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "pong\n", "{keep}");
    }
}

#[test]
fn the_secret_store_of_the_system_comes_first() {
    let (endpoint, home) = locked();
    let home = with_keyring(home);
    let url = format!("{}/v1", endpoint.url());
    let told = home.run_with_input(&args(&url, &[]), KEY).ok();
    assert!(told.contains("the system's secret store"), "{told}");
    assert_eq!(home.read(".keyring-mine"), KEY);
    assert!(!home.exists(".chela/keys"));
    assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "pong\n");
}

#[test]
fn without_a_key_it_says_what_is_missing() {
    let home = TestHome::empty();
    let told = home
        .run(&["setup", "--provider", "openrouter", "--no-chat"])
        .fails(2);
    assert!(
        told.contains("needs a key") && told.contains("--key-stdin"),
        "{told}"
    );
    let told = home
        .run_with_input(&["setup", "--provider", "../x", "--key-stdin"], KEY)
        .fails(2);
    assert!(told.contains("letters, digits"), "{told}");
}

#[test]
fn a_server_is_found_however_its_url_is_typed_and_what_it_lacks_is_said() {
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        models: vec!["alpha".to_owned()],
        ..EndpointScript::always(ScriptStep::reply("pong"))
    })
    .unwrap();
    let set_up = |home: &TestHome, url: &str| {
        let words = [
            "setup",
            "--provider",
            "mine",
            "--base-url",
            url,
            "--no-chat",
        ];
        home.run(&words)
    };
    let place = endpoint.url().replace("http://", "");
    for url in [place.clone(), format!("{place}/"), format!("{place}/v1")] {
        let home = TestHome::empty();
        assert!(
            set_up(&home, &url).ok().contains("mine/alpha answers"),
            "{url}"
        );
        assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "pong\n", "{url}");
    }
    let home = TestHome::empty();
    let told = set_up(&home, &server_without_models()).fails(3);
    assert!(told.contains("has no models"), "{told}");
    let told = set_up(&home, "ftp://localhost/v1").fails(2);
    assert!(told.contains("http:// or https://"), "{told}");
    // A port where nobody listens.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap().to_string();
    drop(free);
    let told = set_up(&home, &nobody).fails(3);
    assert!(
        told.contains(&nobody) && told.contains("no server at"),
        "{told}"
    );
    assert!(!home.exists(".chela/chela.json"));
}

/// The place of a server that lists no models, whatever it is asked.
fn server_without_models() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // One piece holds the whole of a question this short.
            let is_asked = stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0);
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                          content-length: 11\r\nconnection: close\r\n\r\n{\"data\":[]}";
            if is_asked {
                // Whoever asked may be gone.
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    place
}
