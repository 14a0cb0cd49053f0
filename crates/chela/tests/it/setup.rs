//! `chela setup`: from nothing to a model that answers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::os::unix::fs::PermissionsExt;

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};

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
fn the_secret_store_of_the_system_comes_first() {
    let (endpoint, home) = locked();
    // A store that keeps what it is given in a file the sweep is told of.
    let script = "#!/bin/sh\ncase \"$1\" in\nstore) cat > \"$HOME/.keyring-$6\";;\nlookup) cat \"$HOME/.keyring-$5\";;\nesac\n";
    let tool = home.write("bin/secret-tool", script);
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        home.path("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let home = home.env("PATH", &path);
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
