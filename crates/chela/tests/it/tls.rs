//! Endpoints behind TLS: whose certificate is taken, what is said of the others, and HTTP/2.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

pub(crate) mod server;

use std::io::{Read, Write};
use std::net::TcpListener;

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use serde_json::json;

use crate::home::{CommandRun, TestHome, text};
use server::{H2Answer, TlsServer, certificate};

pub(crate) fn endpoint() -> ScriptedEndpoint {
    ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("Safe and sound."))).unwrap()
}

/// A home whose model is at this address.
fn home_at(url: &str) -> TestHome {
    let config = json!({
        "models": { "providers": { "far": {
            "baseUrl": url, "api": "openai-completions",
            "models": [{ "id": "scripted", "contextWindow": 64_000 }],
        } } },
        "agents": { "defaults": { "model": "far/scripted" } },
    });
    let home = TestHome::with_config(&config.to_string());
    home.run(&["init"]).ok();
    home
}

/// What comes of a message to a server by this name, with this file in `SSL_CERT_FILE`.
fn asked(server: &TlsServer, host: &str, trusting: Option<&str>) -> CommandRun {
    let home = home_at(&server.url(host));
    let home = match trusting {
        Some(name) => home.env("SSL_CERT_FILE", text(&certificate(name))),
        None => home,
    };
    home.run(&["chat", "-m", "hi"])
}

/// Somebody does answer: nobody is sent to look for a server that is not running.
#[track_caller]
fn refused(run: CommandRun, why: &str, advice: &str) {
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("cannot be trusted: "), "{run:?}");
    assert!(run.err.contains(why), "{why}: {run:?}");
    assert!(run.err.contains(advice), "{advice}: {run:?}");
    for wrong in ["nobody answers", "is the server running"] {
        assert!(!run.err.contains(wrong), "{run:?}");
    }
}

#[test]
fn a_certificate_of_ones_own_counts_once_it_is_named() {
    let endpoint = endpoint();
    let server = TlsServer::before(&endpoint, "self-signed");
    let own = "SSL_CERT_FILE=FILE.pem";
    refused(
        asked(&server, "localhost", None),
        "it was signed by itself",
        own,
    );
    // Another one of the same making is not this one.
    let other = asked(&server, "localhost", Some("nameless.pem"));
    refused(other, "it was signed by itself", own);
    for host in ["localhost", "127.0.0.1"] {
        let told = asked(&server, host, Some("self-signed.pem")).ok();
        assert_eq!(told, "Safe and sound.\n", "{host}");
    }
}

#[test]
fn a_certificate_of_ones_own_must_fit_all_the_same() {
    let endpoint = endpoint();
    let nameless = TlsServer::before(&endpoint, "nameless");
    let run = asked(&nameless, "localhost", Some("nameless.pem"));
    refused(run, "it names no host", "-addext subjectAltName=DNS:HOST");
    let expired = TlsServer::before(&endpoint, "self-expired");
    let run = asked(&expired, "localhost", Some("self-expired.pem"));
    refused(run, "it has expired", "must renew it");
    assert!(endpoint.calls().is_empty());
}

#[test]
fn an_authority_counts_once_it_is_named() {
    let endpoint = endpoint();
    let server = TlsServer::before(&endpoint, "good");
    refused(
        asked(&server, "localhost", None),
        "an authority this machine does not know",
        "SSL_CERT_FILE=FILE.pem",
    );
    let told = asked(&server, "localhost", Some("authority.pem")).ok();
    assert_eq!(told, "Safe and sound.\n");
    assert!(server.seen().iter().all(|agreed| agreed == "http/1.1"));
}

#[test]
fn what_an_authority_signed_for_others_or_for_last_year_is_refused() {
    let endpoint = endpoint();
    let other = TlsServer::before(&endpoint, "other-name");
    refused(
        asked(&other, "localhost", Some("authority.pem")),
        "it is for other.example, not for localhost",
        "models.providers.far.baseUrl must name the host",
    );
    let expired = TlsServer::before(&endpoint, "expired");
    refused(
        asked(&expired, "localhost", Some("authority.pem")),
        "it has expired",
        "must renew it",
    );
    assert!(endpoint.calls().is_empty());
}

#[test]
fn a_server_that_speaks_no_tls_is_not_called_absent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    // It says what such servers say to what is no request to them; for as long as it is asked.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let run = home_at(&url).run(&["chat", "-m", "hi"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("no secure connection to https://"),
        "{run:?}"
    );
    assert!(
        run.err.contains("may have to start with http://"),
        "{run:?}"
    );
    assert!(!run.err.contains("nobody answers"), "{run:?}");
}

#[test]
fn a_file_of_certificates_that_is_none_is_said() {
    let endpoint = endpoint();
    let server = TlsServer::before(&endpoint, "good");
    let run = asked(&server, "localhost", Some("no-such.pem"));
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("SSL_CERT_FILE"), "{run:?}");
    assert!(run.err.contains("no-such.pem cannot be used"), "{run:?}");
}

#[test]
fn a_server_that_speaks_http_2_alone_is_understood() {
    let server = TlsServer::only_h2("good", H2Answer::Whole);
    let told = asked(&server, "localhost", Some("authority.pem")).ok();
    assert_eq!(told, "half and half\n");
    let seen = server.seen();
    assert!(seen.contains(&"h2".to_owned()), "{seen:?}");
    let question = "HTTP/2.0 /v1/chat/completions".to_owned();
    assert!(seen.contains(&question), "{seen:?}");
}

#[test]
fn a_stream_that_is_reset_is_asked_for_again_once() {
    let asked_for = |server: &TlsServer| {
        let seen = server.seen().into_iter();
        seen.filter(|one| one.ends_with("/chat/completions"))
            .count()
    };
    let once = TlsServer::only_h2("good", H2Answer::ResetOnce);
    let told = asked(&once, "localhost", Some("authority.pem")).ok();
    assert_eq!(told, "half and half\n");
    assert_eq!(asked_for(&once), 2);
    let always = TlsServer::only_h2("good", H2Answer::Reset);
    let run = asked(&always, "localhost", Some("authority.pem"));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("the answer broke off"), "{run:?}");
    assert_eq!(asked_for(&always), 2);
}

#[test]
fn pages_are_fetched_from_servers_whose_authority_the_owner_named() {
    let page = ScriptStep::page(200, "text/plain", "Behind the company's proxy.");
    let pages = ScriptedEndpoint::start(EndpointScript::steps([page.when(StepRule {
        path: Some("/page.txt".into()),
        ..StepRule::default()
    })]))
    .unwrap();
    let server = TlsServer::before(&pages, "good");
    let url = server.url("localhost").replace("/v1", "/page.txt");
    for (trusting, words) in [
        (None, "UnknownIssuer"),
        (Some("authority.pem"), "Behind the company's proxy."),
        (Some("gone.pem"), "gone.pem cannot be used"),
    ] {
        let fetch = crate::guard::web_scene::fetch(url.clone());
        let mut scene = crate::guard::web_scene::obeying(&[fetch], "{{tool}}");
        if let Some(name) = trusting {
            let file = text(&certificate(name)).to_owned();
            scene.home = scene.home.env("SSL_CERT_FILE", &file);
        }
        let run = scene.chat(&format!("read {url}"));
        assert!(run.out.contains(words), "{trusting:?}: {run:?}");
    }
}
