//! The questions of `chela setup`, answered at a terminal of its own.

use std::os::unix::fs::PermissionsExt;

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::json;

use super::{KEY, locked, with_keyring};
use crate::chat::terminal::ChatTerminal;
use crate::home::{TestHome, text};
use crate::tls::server::{TlsServer, certificate};

const WRONG: &str = "sk-wrong-Zt7Kp2Vx9Lm4Rb8Q";

/// A setup at a terminal that is its own, so that Ctrl-C is a signal as in real life. Keys go to a
/// file: the secret store of whoever runs the tests is none of ours.
fn wizard(home: &TestHome, more: &[&str]) -> ChatTerminal {
    ChatTerminal::run(home, &[&["setup"], more].concat())
}

/// With the terminal of a login.
fn at_a_terminal(home: TestHome) -> TestHome {
    home.through(&["setsid", "--ctty", "--wait"])
}

/// A home whose provider with a key is the endpoint.
fn provider_at(endpoint: &ScriptedEndpoint, home: TestHome) -> TestHome {
    let config = json!({ "models": { "providers": { "anthropic": {
        "baseUrl": format!("{}/v1", endpoint.url()), "api": "openai-completions",
    } } } });
    home.write(".chela/chela.json", &config.to_string());
    at_a_terminal(home)
}

/// Chooses the row of a menu that holds these words.
#[track_caller]
fn choose(terminal: &mut ChatTerminal, words: &str) {
    terminal.sees(words);
    let before = terminal.passed();
    let row = before.lines().next_back().unwrap();
    let (number, _) = row.trim().split_once('.').unwrap();
    let number = number.to_owned();
    terminal.sees("Which? ");
    terminal.sees("] ");
    terminal.types(&format!("{number}\n"));
}

#[track_caller]
fn types_key(terminal: &mut ChatTerminal, key: &str) {
    terminal.sees("not shown");
    terminal.hides_keys();
    terminal.types(&format!("{key}\r"));
}

/// The chat that follows answers, and is left.
#[track_caller]
fn chats(mut terminal: ChatTerminal) {
    terminal.sees("/help lists commands");
    terminal.types("hello\r");
    terminal.sees("pong");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
    assert!(terminal.is_as_before());
    assert!(!terminal.passed().contains(KEY), "{}", terminal.passed());
}

#[test]
fn a_provider_is_chosen_its_key_typed_unseen_and_the_chat_begins() {
    let (endpoint, home) = locked();
    let home = provider_at(&endpoint, home.baited("/keys/anthropic.key"));
    let mut terminal = wizard(&home, &["--keep", "file"]);
    choose(&mut terminal, "anthropic with a key");
    types_key(&mut terminal, KEY);
    choose(&mut terminal, "beta");
    terminal.sees("anthropic/beta answers and is now the default.");
    chats(terminal);
    let file = home.path(".chela/keys/anthropic.key");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let config = home.read(".chela/chela.json");
    assert!(config.contains("anthropic/beta"), "{config}");
    assert!(!config.contains(KEY), "{config}");
}

#[test]
fn a_wrong_key_is_refused_and_the_one_before_stays() {
    for keep in ["file", "keyring"] {
        let (endpoint, home) = locked();
        let home = with_keyring(home.baited("/keys/anthropic.key"));
        let home = provider_at(&endpoint, home);
        let mut terminal = wizard(&home, &["--keep", keep, "--model", "alpha", "--no-chat"]);
        choose(&mut terminal, "anthropic with a key");
        types_key(&mut terminal, KEY);
        terminal.sees("anthropic/alpha answers");
        assert!(terminal.ends().success());
        let before = home.read(".chela/chela.json");
        let mut terminal = wizard(&home, &["--keep", keep, "--model", "alpha", "--no-chat"]);
        choose(&mut terminal, "anthropic with a key");
        types_key(&mut terminal, WRONG);
        terminal.sees("the API key was rejected");
        terminal.sees("nothing was changed in the config");
        assert_eq!(terminal.ends().code(), Some(3), "{keep}");
        assert!(!terminal.passed().contains(WRONG), "{keep}");
        assert_eq!(home.read(".chela/chela.json"), before, "{keep}");
        let home = home.through(&[]);
        assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "pong\n", "{keep}");
    }
}

#[test]
fn a_server_on_this_machine_is_found() {
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        models: vec!["alpha".to_owned(), "beta".to_owned()],
        ..EndpointScript::always(ScriptStep::reply("pong"))
    })
    .unwrap();
    let config = json!({ "models": { "providers": { "ollama": { "baseUrl": endpoint.url() } } } });
    let home = at_a_terminal(TestHome::with_config(&config.to_string()));
    let mut terminal = wizard(&home, &[]);
    choose(&mut terminal, "ollama/alpha (Ollama at 127.0.0.1:");
    choose(&mut terminal, "beta");
    terminal.sees("ollama/beta answers and is now the default.");
    chats(terminal);
}

#[test]
fn a_server_of_ones_own_is_named_and_given_its_key() {
    let (endpoint, home) = locked();
    let server = TlsServer::before(&endpoint, "self-signed");
    let home = at_a_terminal(home).env("SSL_CERT_FILE", text(&certificate("self-signed.pem")));
    let mut terminal = wizard(&home, &["--keep", "file"]);
    choose(&mut terminal, "your own server");
    terminal.sees("Its URL");
    terminal.sees(": ");
    terminal.types(&format!("{}\n", server.url("localhost")));
    terminal.sees("A short name for it: ");
    terminal.types("mine\n");
    types_key(&mut terminal, KEY);
    choose(&mut terminal, "alpha");
    terminal.sees("mine/alpha answers");
    chats(terminal);
}

#[test]
fn ctrl_c_in_the_middle_leaves_nothing_half_done() {
    let (endpoint, home) = locked();
    let home = provider_at(&endpoint, home);
    let before = home.read(".chela/chela.json");
    for step in ["menu", "key", "model"] {
        let mut terminal = wizard(&home, &["--keep", "file"]);
        if step == "menu" {
            terminal.sees("Which? ");
        } else {
            choose(&mut terminal, "anthropic with a key");
        }
        match step {
            "key" => {
                terminal.sees("not shown");
                terminal.hides_keys();
                terminal.types("sk-half");
            }
            "model" => {
                types_key(&mut terminal, KEY);
                terminal.sees("Which? ");
            }
            _ => {}
        }
        terminal.types("\u{3}");
        assert!(!terminal.ends().success(), "{step}");
        assert!(
            terminal.is_as_before(),
            "{step}: the terminal is left as it was not"
        );
        assert_eq!(home.read(".chela/chela.json"), before, "{step}");
        assert!(!home.exists(".chela/keys/anthropic.key"), "{step}");
    }
}

/// The first thing a newcomer types.
#[test]
fn the_first_run_at_a_terminal_leads_to_a_chat() {
    let endpoint =
        ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("pong"))).unwrap();
    let config = json!({ "models": { "providers": { "ollama": { "baseUrl": endpoint.url() } } } });
    let home = at_a_terminal(TestHome::with_config(&config.to_string()));
    let mut terminal = ChatTerminal::run(&home, &[]);
    terminal.sees("Use ollama/scripted, and remember that? [Y/n] ");
    terminal.types("\n");
    chats(terminal);
    assert!(home.exists(".chela/workspace/SOUL.md"));
}
