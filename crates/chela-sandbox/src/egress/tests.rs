use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use chela_core::Host;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

use super::{EgressHosts, EgressProxy, EgressTarget};
use crate::{HostLookup, SystemLookup};

/// A name service that somebody else controls.
#[derive(Debug)]
struct Rebinding;

impl HostLookup for Rebinding {
    fn addresses<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])])))
    }
}

struct Scene {
    _folder: tempfile::TempDir,
    proxy: EgressProxy,
    port: u16,
}

/// A server on the machine, and a proxy that lists `{port}` as its port.
async fn scene(list: &[&str], lookup: Arc<dyn HostLookup>) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = server.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                let length = client.read(&mut buffer).await.unwrap_or(0);
                let echo = format!("served:{}", String::from_utf8_lossy(&buffer[..length]));
                let _ = client.write_all(echo.as_bytes()).await;
            });
        }
    });
    let list: Vec<String> = list
        .iter()
        .map(|text| text.replace("{port}", &port.to_string()))
        .collect();
    let host = Host::fixed(folder.path());
    let hosts = EgressHosts::of(&list, &mut Vec::new());
    Scene {
        proxy: EgressProxy::with(&host, hosts, lookup).unwrap(),
        _folder: folder,
        port,
    }
}

async fn ask(scene: &Scene, text: &str) -> String {
    let text = text.replace("{port}", &scene.port.to_string());
    let mut stream = UnixStream::connect(scene.proxy.socket()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    // A tunnel stays open: what is there after the server closed its side is the answer.
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        answer.extend(&buffer[..length]);
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn listed_hosts_are_reached_both_ways() {
    let scene = scene(&["127.0.0.1:{port}"], Arc::new(SystemLookup)).await;
    let tunnel = ask(&scene, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello").await;
    assert!(tunnel.starts_with("HTTP/1.1 200"), "{tunnel}");
    assert!(tunnel.ends_with("served:hello"), "{tunnel}");
    let plain = ask(
        &scene,
        "GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n",
    )
    .await;
    assert!(plain.starts_with("served:GET /a?b HTTP/1.1"), "{plain}");
    assert!(plain.contains(&format!("Host: 127.0.0.1:{}", scene.port)));
    assert!(
        !plain.contains("elsewhere") && !plain.contains("Proxy-"),
        "{plain}"
    );
}

#[tokio::test]
async fn everything_else_is_refused_with_a_reason() {
    let scene = scene(&["127.0.0.1:{port}"], Arc::new(SystemLookup)).await;
    for wanted in [
        "CONNECT example.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n",
        "CONNECT 127.0.0.2:{port} HTTP/1.1\r\n\r\n",
        "GET http://localhost:{port}/ HTTP/1.1\r\n\r\n",
    ] {
        let answer = ask(&scene, wanted).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{wanted}: {answer}");
        assert!(answer.contains("sandbox.egress"), "{answer}");
    }
    let odd = ask(&scene, "SSH-2.0-x y z\r\n\r\n").await;
    assert!(odd.starts_with("HTTP/1.1 400"), "{odd}");
}

#[tokio::test]
async fn a_listed_name_cannot_be_pointed_at_the_machine() {
    let scene = scene(&["listed.test:{port}"], Arc::new(Rebinding)).await;
    let answer = ask(&scene, "CONNECT listed.test:{port} HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(answer.contains("private network"), "{answer}");
}

#[tokio::test]
async fn the_proxy_goes_with_its_owner() {
    let scene = scene(&["127.0.0.1:{port}"], Arc::new(SystemLookup)).await;
    let socket = scene.proxy.socket().to_owned();
    drop(scene.proxy);
    assert!(!socket.exists());
}

#[test]
fn targets_are_read_strictly() {
    for bad in [
        "CONNECT a@b:443 HTTP/1.1\r\n\r\n",
        "CONNECT example.org HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET https://example.org/ HTTP/1.1\r\n\r\n",
        "GET http://a/ HTTP/2\r\n\r\n",
        "CONNECT exa mple.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]example.org:443 HTTP/1.1\r\n\r\n",
        // Some servers take a line feed alone for the end of a line: another Host for them.
        "GET http://a/\nHost:b HTTP/1.1\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nAccept: x\nHost: b\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nAccept: x\rHost: b\r\n\r\n",
    ] {
        assert!(EgressTarget::read(bad.as_bytes()).is_err(), "{bad}");
    }
    let six = EgressTarget::read(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!((six.host.as_str(), six.port), ("::1", 443));
}
