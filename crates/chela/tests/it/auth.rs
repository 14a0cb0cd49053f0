//! `chela auth`: logins at an authorization server, kept like keys and renewed.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chela_core::ContentHash;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::{Value, json};

use crate::chat::terminal::ChatTerminal;
use crate::home::TestHome;

const ACCESS: &str = "at-Tq8Lm2Xw9Rk4Zp7Vb3Nc";
const RENEWED: &str = "at-renewed-Hs5Jf0Gy6Md1Kd";
const REFRESH: &str = "rt-Zx1Cv5Bn8Ml3Kj6Hg9Fd";

type Form = BTreeMap<String, String>;

/// An authorization server that offers some ways to log in.
struct LoginServer {
    url: String,
    forms: Arc<Mutex<Vec<Form>>>,
}

impl LoginServer {
    fn start(offers_devices: bool, lasts: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let forms: Arc<Mutex<Vec<Form>>> = Arc::default();
        let (own, seen) = (url.clone(), Arc::clone(&forms));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &own, &seen, offers_devices, lasts);
            }
        });
        Self { url, forms }
    }
}

fn answer(mut stream: TcpStream, url: &str, seen: &Mutex<Vec<Form>>, devices: bool, lasts: u64) {
    let (path, body) = read_request(&stream);
    let form: Form = body
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| {
            (
                name.to_owned(),
                value.replace("%3A", ":").replace("%2F", "/"),
            )
        })
        .collect();
    let pending = {
        let mut seen = seen.lock().unwrap();
        seen.push(form.clone());
        seen.iter()
            .filter(|form| form.contains_key("device_code"))
            .count()
            < 2
    };
    let grant = form.get("grant_type").map_or("", String::as_str);
    let given = json!({ "access_token": ACCESS, "refresh_token": REFRESH, "expires_in": lasts });
    let (status, told) = match path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let mut told = json!({
                "issuer": url,
                "token_endpoint": format!("{url}/token"),
                "authorization_endpoint": format!("{url}/authorize"),
            });
            if devices {
                told["device_authorization_endpoint"] = format!("{url}/device").into();
            }
            (200, told)
        }
        "/device" => (
            200,
            json!({ "device_code": "dev-1", "user_code": "WDJB-MJHT", "interval": 1,
                    "verification_uri": format!("{url}/activate"), "expires_in": 60 }),
        ),
        "/token" if grant.ends_with("device_code") && pending => {
            (400, json!({ "error": "authorization_pending" }))
        }
        "/token" if grant == "refresh_token" && form["refresh_token"] == REFRESH => {
            (200, json!({ "access_token": RENEWED, "expires_in": 3600 }))
        }
        "/token" if grant == "authorization_code" && form["code"] != "the-code" => {
            (400, json!({ "error": "invalid_grant" }))
        }
        "/token" => (200, given),
        _ => (404, json!({})),
    };
    let text = told.to_string();
    let reply = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(reply.as_bytes()).unwrap();
}

fn read_request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (path, String::from_utf8(body).unwrap())
}

/// A home, and a model endpoint that takes this token alone.
fn scene(token: &str) -> (ScriptedEndpoint, TestHome, String) {
    let endpoint = ScriptedEndpoint::start(EndpointScript {
        key: Some(token.to_owned()),
        ..EndpointScript::always(ScriptStep::reply("pong"))
    })
    .unwrap();
    let mut home = TestHome::empty()
        .baited("/keys/work.key")
        .baited("/keys/work.oauth.json");
    for secret in [ACCESS, RENEWED, REFRESH] {
        home.watches(secret);
    }
    let models = format!("{}/v1", endpoint.url());
    (endpoint, home, models)
}

#[test]
fn a_code_typed_in_elsewhere_logs_in() {
    let (_endpoint, home, models) = scene(ACCESS);
    let server = LoginServer::start(true, 3600);
    let login = [
        "auth",
        "login",
        "work",
        "--issuer",
        &server.url,
        "--client-id",
        "chela",
        "--base-url",
        &models,
    ];
    let run = home.run(&login);
    assert!(run.err.contains("WDJB-MJHT"), "{run:?}");
    assert_eq!(run.ok(), "Logged in to work.\n");
    for file in ["work.key", "work.oauth.json"] {
        let mode = std::fs::metadata(home.path(".chela/keys").join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let told = home
        .run(&["chat", "--model", "work/scripted", "-m", "hi"])
        .ok();
    assert_eq!(told, "pong\n");
    let listed = home.run(&["auth", "list", "--json"]).json();
    assert_eq!(listed["stored"][0]["kind"], "login");
    home.run(&["auth", "logout", "work"]).ok();
    home.run(&["auth", "logout", "work"]).fails(1);
    assert!(!home.exists(".chela/keys/work.key"));
}

#[test]
fn a_login_that_has_run_out_is_renewed_before_a_chat() {
    let (_endpoint, home, models) = scene(RENEWED);
    let server = LoginServer::start(true, 1);
    let login = [
        "auth",
        "login",
        "work",
        "--issuer",
        &server.url,
        "--client-id",
        "chela",
        "--base-url",
        &models,
    ];
    home.run(&login).ok();
    let told = home
        .run(&["chat", "--model", "work/scripted", "-m", "hi"])
        .ok();
    assert_eq!(told, "pong\n");
    // The way to renew it is kept although no new one came.
    let kept: Value = serde_json::from_str(&home.read(".chela/keys/work.oauth.json")).unwrap();
    assert_eq!(kept["refreshToken"], REFRESH);
}

#[test]
fn a_chat_that_is_open_uses_a_login_that_was_renewed() {
    let (endpoint, home, models) = scene(ACCESS);
    let server = LoginServer::start(true, 3600);
    let login = [
        "auth",
        "login",
        "work",
        "--issuer",
        &server.url,
        "--client-id",
        "chela",
        "--base-url",
        &models,
    ];
    home.run(&login).ok();
    let mut terminal = ChatTerminal::open(&home, &["--model", "work/scripted"]);
    terminal.sees("/help lists commands");
    terminal.types("first\r");
    terminal.sees("pong");
    // The first token has run out, and is taken no longer.
    endpoint.play(EndpointScript {
        key: Some(RENEWED.to_owned()),
        ..EndpointScript::always(ScriptStep::reply("still here"))
    });
    let kept = home.read(".chela/keys/work.oauth.json");
    let mut kept: Value = serde_json::from_str(&kept).unwrap();
    kept["expiresAt"] = 1.into();
    home.write(".chela/keys/work.oauth.json", &kept.to_string());
    terminal.types("second\r");
    terminal.sees("still here");
    // A login of another process counts with the next message, too.
    endpoint.play(EndpointScript {
        key: Some(ACCESS.to_owned()),
        ..EndpointScript::always(ScriptStep::reply("and again"))
    });
    home.write(".chela/keys/work.key", ACCESS);
    terminal.types("third\r");
    terminal.sees("and again");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
}

#[test]
fn a_browser_comes_back_with_a_code_that_only_we_can_use() {
    let (_endpoint, home, models) = scene(ACCESS);
    let server = LoginServer::start(false, 3600);
    let mut child = home
        .command()
        .args([
            "auth",
            "login",
            "work",
            "--issuer",
            &server.url,
            "--client-id",
            "chela",
            "--base-url",
            &models,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let query: Form = line
        .trim()
        .split_once('?')
        .unwrap()
        .1
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| {
            (
                name.to_owned(),
                value.replace("%3A", ":").replace("%2F", "/"),
            )
        })
        .collect();
    let back = query["redirect_uri"].strip_prefix("http://").unwrap();
    let (address, _) = back.split_once('/').unwrap();
    let visit = |query: String| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /callback?{query} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        told
    };
    let told = visit("code=the-code&state=somebody-elses".to_owned());
    assert!(told.contains("400"), "{told}");
    let told = visit(format!("code=the-code&state={}", query["state"]));
    assert!(told.contains("Logged in"), "{told}");
    assert!(child.wait().unwrap().success());
    let forms = server.forms.lock().unwrap();
    let asked = forms
        .iter()
        .find(|form| form.contains_key("code_verifier"))
        .unwrap();
    let challenge = URL_SAFE_NO_PAD.encode(ContentHash::of(&asked["code_verifier"]).as_bytes());
    assert_eq!(challenge, query["code_challenge"]);
    drop(forms);
    assert_eq!(
        home.run(&["chat", "--model", "work/scripted", "-m", "hi"])
            .ok(),
        "pong\n"
    );
}

#[test]
fn tokens_go_to_no_plain_address() {
    let home = TestHome::empty();
    let told = home
        .run(&[
            "auth",
            "login",
            "work",
            "--issuer",
            "http://login.example.org",
            "--client-id",
            "x",
        ])
        .fails(2);
    assert!(told.contains("not an https URL"), "{told}");
    let told = home.run(&["auth", "login", "work"]).fails(2);
    assert!(told.contains("--issuer is needed"), "{told}");
}
