//! Encryption: what beyond this machine is not spoken plainly, and how it is trusted.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use chela_testkit::{EndpointScript, ScriptStep, find_part, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{TestGateway, message};
use crate::home::{TestHome, text};
use crate::parts::program;
use crate::scene::{APIS, ScriptedHome};
use crate::tls::server::certificate;

/// A gateway with a certificate of its own, by the names of `localhost` and `127.0.0.1`.
fn scene() -> ScriptedHome {
    let scene = ScriptedHome::with(
        APIS[0],
        EndpointScript::always(ScriptStep::reply("hello")),
        json!({ "gateway": { "tls": { "certPath": "tls/cert.pem", "keyPath": "tls/key.pem" } } }),
    );
    show(&scene.home, "self-signed");
    scene
}

fn show(home: &TestHome, name: &str) {
    for (kind, file) in [("pem", "cert.pem"), ("key", "key.pem")] {
        let bytes = std::fs::read_to_string(certificate(&format!("{name}.{kind}"))).unwrap();
        home.write(&format!(".chela/tls/{file}"), &bytes);
    }
    let key = home.path(".chela/tls/key.pem");
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Another home, whose model is this gateway's agent.
fn client_home(gateway: &TestGateway, trusting: Option<&str>) -> TestHome {
    let config = json!({
        "models": { "providers": { "far": {
            "baseUrl": format!("https://localhost:{}/v1", gateway.port),
            "api": "openai-completions", "apiKey": gateway.token,
            "models": [{ "id": "chela", "contextWindow": 64_000 }],
        } } },
        "agents": { "defaults": { "model": "far/chela" } },
        // The agent there has tools of these names itself, and takes none that shadows them.
        "tools": { "deny": ["*"] },
    });
    let home = TestHome::with_config(&config.to_string());
    home.run(&["init"]).ok();
    match trusting {
        Some(name) => home.env("SSL_CERT_FILE", text(&certificate(name))),
        None => home,
    }
}

#[test]
fn clients_that_trust_the_certificate_are_served_and_others_go() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let told = client_home(&gateway, Some("self-signed.pem"))
        .run(&["chat", "-m", "hi"])
        .ok();
    assert_eq!(told, "hello\n");
    let distrust = client_home(&gateway, None).run(&["chat", "-m", "hi"]);
    assert_eq!(distrust.code, 3, "{distrust:?}");
    assert!(distrust.err.contains("signed by itself"), "{distrust:?}");
    // Whoever does not encrypt is told so, and nothing else.
    let plain = gateway.get("/v1/models");
    assert_eq!(
        (plain.status, plain.body.as_str()),
        (400, "this gateway encrypts: say https:// or wss:// here")
    );
    if let Some(curl) = find_part("curl", program("curl")) {
        let asked = std::process::Command::new(curl)
            .args([
                "--silent",
                "--show-error",
                "--cacert",
                text(&certificate("self-signed.pem")),
            ])
            .args(["-H", &format!("Authorization: Bearer {}", gateway.token)])
            .args(["-d", &message("hi").to_string()])
            .arg(format!(
                "https://localhost:{}/v1/chat/completions",
                gateway.port
            ))
            .output()
            .unwrap();
        let answer: Value = serde_json::from_slice(&asked.stdout).unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], "hello");
    }
}

#[test]
fn the_commands_of_its_own_home_find_it_whatever_its_certificate_says() {
    let scene = scene();
    // By no name of this machine.
    show(&scene.home, "other-name");
    let gateway = TestGateway::start(&scene.home);
    let status = scene.home.run(&["gateway", "status"]).ok();
    assert!(
        status.contains(&format!("https://127.0.0.1:{}", gateway.port)),
        "{status}"
    );
    assert!(status.contains("answers"), "{status}");
    let told = scene.chat_json("hi");
    assert_eq!(told["reply"], "hello", "{told}");
    assert_eq!(scene.endpoint.calls().len(), 1);
    // The turn ran there, over the WebSocket.
    let file = scene.home.read(".chela/state/gateway.json");
    let mut written: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        written["certificate"].as_str().map(str::len),
        Some(64),
        "{file}"
    );
    // Somebody else on that port is not spoken to.
    written["certificate"] = "0".repeat(64).into();
    scene
        .home
        .write(".chela/state/gateway.json", &written.to_string());
    let status = scene.home.run(&["gateway", "status"]);
    assert!(status.out.contains("does not answer"), "{status:?}");
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let shown = || {
        let file = scene.home.read(".chela/state/gateway.json");
        serde_json::from_str::<Value>(&file).unwrap()["certificate"].clone()
    };
    let before = shown();
    // Half of it is there: the pair that fits stays.
    let bytes = std::fs::read_to_string(certificate("good.pem")).unwrap();
    scene.home.write(".chela/tls/cert.pem", &bytes);
    gateway.signal(Signal::HUP);
    wait_until("it says why", || {
        let log = scene.home.run(&["gateway", "logs"]).ok();
        log.contains("the former certificate stays in use")
    });
    assert_eq!(shown(), before);
    show(&scene.home, "good");
    gateway.signal(Signal::HUP);
    wait_until("the new one is in use", || shown() != before);
    let status = scene.home.run(&["gateway", "status"]).ok();
    assert!(status.contains("answers"), "{status}");
    let told = client_home(&gateway, Some("authority.pem"))
        .run(&["chat", "-m", "hi"])
        .ok();
    assert_eq!(told, "hello\n");
}

#[test]
fn what_is_wrong_with_the_files_is_said_with_their_names() {
    let cases = [
        (
            json!({ "enabled": true }),
            "gateway.tls.certPath is not set",
        ),
        (
            json!({ "certPath": "tls/cert.pem" }),
            "gateway.tls.keyPath is not set",
        ),
        (
            json!({ "certPath": "none.pem", "keyPath": "tls/key.pem" }),
            "none.pem cannot be read",
        ),
        (
            json!({ "certPath": "chela.json", "keyPath": "tls/key.pem" }),
            "contains no certificate",
        ),
        (
            json!({ "certPath": "tls/cert.pem", "keyPath": "tls/cert.pem" }),
            "contains no private key",
        ),
        (
            json!({ "certPath": "tls/cert.pem", "keyPath": "tls/other.key" }),
            "cannot be used together",
        ),
    ];
    for (tls, why) in cases {
        let home = TestHome::with_config(&json!({ "gateway": { "tls": tls } }).to_string());
        show(&home, "self-signed");
        let other = std::fs::read_to_string(certificate("good.key")).unwrap();
        home.write(".chela/tls/other.key", &other);
        let run = home.run(&["gateway", "run", "--port", "0"]);
        assert_eq!(run.code, 78, "{run:?}");
        assert!(run.err.contains(why), "{why}: {run:?}");
        let doctor = home.run(&["doctor", "--only", "gateway"]).out;
        assert!(doctor.contains(why), "{why}: {doctor}");
    }
}

#[test]
fn doctor_looks_at_the_certificate_and_at_who_can_read_its_key() {
    let scene = scene();
    let doctor = || scene.home.run(&["doctor", "--only", "gateway"]).out;
    let fine = doctor();
    assert!(!fine.contains("certificate"), "{fine}");
    show(&scene.home, "self-expired");
    let key = scene.home.path(".chela/tls/key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let told = doctor();
    assert!(
        told.contains("certificate of the gateway has expired"),
        "{told}"
    );
    assert!(told.contains("everyone on this machine can read"), "{told}");
    scene.home.run(&["doctor", "--only", "gateway", "--fix"]);
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn beyond_this_machine_it_encrypts_or_something_in_front_of_it_does() {
    let refused = |config: &Value, word: &str| {
        let home = TestHome::with_config(&config.to_string());
        let run = home.run(&["gateway", "run", "--port", "0"]);
        assert_eq!(run.code, 78, "{run:?}");
        assert!(run.err.contains(word), "{word}: {run:?}");
        let doctor = home.run(&["doctor", "--only", "gateway"]).out;
        assert!(
            doctor.contains("will not start") || word == "gateway.auth.token",
            "{doctor}"
        );
    };
    let token = "a-token-of-the-test-0123456789abcdef";
    refused(
        &json!({ "gateway": { "bind": "lan" } }),
        "gateway.tls.certPath",
    );
    refused(
        &json!({ "gateway": { "bind": "lan", "auth": { "token": token } } }),
        "gateway.tls.behindProxy",
    );
    refused(
        &json!({ "gateway": { "bind": "lan", "tls": { "behindProxy": true } } }),
        "gateway.auth.token",
    );
    let proxied = TestHome::with_config(
        &json!({ "gateway": {
            "bind": "lan", "tls": { "behindProxy": true }, "auth": { "token": token },
        } })
        .to_string(),
    );
    let gateway = TestGateway::start(&proxied);
    assert_eq!(gateway.get("/v1/models").status, 200);
    let encrypted = TestHome::with_config(
        &json!({ "gateway": {
            "bind": "lan", "tls": { "certPath": "tls/cert.pem", "keyPath": "tls/key.pem" },
        } })
        .to_string(),
    );
    show(&encrypted, "self-signed");
    let _gateway = TestGateway::start(&encrypted);
    let status = encrypted.run(&["gateway", "status"]).ok();
    assert!(status.contains("https://0.0.0.0"), "{status}");
    assert!(status.contains("answers"), "{status}");
}

#[test]
fn handshakes_that_never_come_to_an_end_are_given_up() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let mut open = Vec::new();
    for begin in [
        &b""[..],
        b"\x16",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        stream.write_all(begin).unwrap();
        open.push(stream);
    }
    assert_eq!(scene.chat_json("hi")["reply"], "hello");
    for mut stream in open {
        // It ends when the gateway closes it.
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
    }
    assert!(
        scene
            .home
            .run(&["gateway", "status"])
            .ok()
            .contains("answers")
    );
}
