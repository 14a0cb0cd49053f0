use std::io::Write;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chela_config::model::{WebFetch, WebSearch};
use chela_core::{FixedEntropy, Host, Trust};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::fetch::SharedEntropy;
use super::readable_page::{PageError, PageExtract, PageReduce, read};
use super::{SearchService, WebFetchTool, WebSearchTool};
use crate::{CallSuccess, HeadlessApprover, OutputPiece, RunCall, Tool, ToolOutput};

/// A server that answers each path with the bytes `answer` gives; counts what it was asked.
async fn serve(
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (count, answer) = (Arc::clone(&count), Arc::clone(&answer));
            tokio::spawn(async move {
                let mut request = vec![0; 8_192];
                let length = stream.read(&mut request).await.unwrap_or(0);
                count.fetch_add(1, Ordering::SeqCst);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let _ = stream.write_all(&answer(&request)).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (port, asked)
}

fn page(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn redirect(to: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .into_bytes()
}

/// Every name leads to this machine.
#[derive(Debug)]
struct Here;

impl chela_sandbox::HostLookup for Here {
    fn addresses<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])])))
    }
}

/// A tool for which `good.test` may be read although it leads here.
fn tool(change: impl FnOnce(&mut WebFetch)) -> WebFetchTool {
    let mut config = WebFetch::default();
    config
        .ssrf_policy
        .insert("allowedHostnames".to_owned(), json!(["good.test"]));
    config.timeout_seconds = 5;
    change(&mut config);
    WebFetchTool::with_lookup(&config, Arc::new(FixedEntropy(7)), Arc::new(Here))
}

async fn call(tool: &dyn Tool, arguments: Value) -> ToolOutput {
    let arguments = arguments.as_object().unwrap();
    let call = RunCall {
        id: "c1",
        writes: &crate::CallWrites::Anything,
        arguments,
        progress: &|_| {},
        approver: &HeadlessApprover,
        targets: &tool.targets(arguments),
        redirects: &crate::AnyRedirect,
        bound: None,
    };
    tool.run(call).await
}

#[tokio::test]
async fn a_page_comes_back_readable_and_wrapped() {
    let html = format!(
        "<html><head><title>Bees</title><script>x</script></head><body><nav>menu</nav><article><h1>Bees</h1>{}<ul><li>one</li></ul></article></body></html>",
        "<p>Bees are flying insects closely related to wasps and ants, known for their role in pollination and for making honey. <a href='/h'>Honey</a></p>".repeat(6)
    );
    let (port, asked) = serve(move |_| page("text/html; charset=utf-8", html.as_bytes())).await;
    let tool = tool(|_| {});
    let url = format!("http://good.test:{port}/bees");
    let output = call(&tool, json!({"url": url})).await;
    let text = output.text();
    assert!(
        text.starts_with("<<<EXTERNAL_UNTRUSTED_CONTENT id="),
        "{text}"
    );
    assert!(text.contains(&format!("Source: web_fetch {url}")), "{text}");
    assert!(
        text.contains("# Bees") && text.contains("flying insects") && !text.contains("menu"),
        "{text}"
    );
    let OutputPiece::Text(labelled) = &output.content[0] else {
        unreachable!()
    };
    assert_eq!(labelled.trust(), Trust::External);
    call(&tool, json!({"url": url})).await;
    assert_eq!(asked.load(Ordering::SeqCst), 1, "remembered");
}

#[tokio::test]
async fn names_and_addresses_of_this_machine_are_refused() {
    let (port, asked) = serve(|_| page("text/plain", b"secret")).await;
    let tool = tool(|_| {});
    for host in [
        "127.0.0.1",
        "evil.test",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "2130706433",
        "good.test.evil.test",
        "169.254.169.254",
    ] {
        let output = call(&tool, json!({"url": format!("http://{host}:{port}/")})).await;
        assert_eq!(output.success, CallSuccess::Failed, "{host}");
        assert!(
            output.text().contains("private network"),
            "{host}: {}",
            output.text()
        );
    }
    for url in [
        "file:///etc/passwd",
        "ftp://good.test/",
        "http://u:p@good.test/",
        "nonsense",
        "data:text/plain,x",
    ] {
        let output = call(&tool, json!({"url": url})).await;
        assert_eq!(output.success, CallSuccess::Failed, "{url}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_is_checked_like_the_first_address() {
    let (secret_port, secret_asked) = serve(|_| page("text/plain", b"secret")).await;
    let (port, _) = serve(move |request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        match path {
            "/address" => redirect(&format!("http://127.0.0.1:{secret_port}/")),
            "/name" => redirect(&format!("http://evil.test:{secret_port}/")),
            "/scheme" => redirect("file:///etc/passwd"),
            "/loop" => redirect("/loop"),
            "/fine" => redirect("/end"),
            _ => page("text/plain", b"the end"),
        }
    })
    .await;
    let tool = tool(|_| {});
    for (path, said) in [
        ("address", "private network"),
        ("name", "private network"),
        ("scheme", "only http and https"),
        ("loop", "redirects more than 3 times"),
        ("fine", "the end"),
    ] {
        let output = call(
            &tool,
            json!({"url": format!("http://good.test:{port}/{path}")}),
        )
        .await;
        assert!(output.text().contains(said), "{path}: {}", output.text());
    }
    assert_eq!(secret_asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn long_packed_and_endless_answers_are_bounded() {
    let mut packed = flate2_like_bomb();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        packed.len()
    );
    let mut bomb = head.into_bytes();
    bomb.append(&mut packed);
    let (port, _) = serve(move |request| match request.contains("/bomb") {
        true => bomb.clone(),
        // More is promised than ever comes.
        false => b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n".to_vec(),
    })
    .await;
    let tool = tool(|config| {
        config.timeout_seconds = 1;
        config.max_response_bytes = 50_000;
    });
    let output = call(
        &tool,
        json!({"url": format!("http://good.test:{port}/bomb"), "maxChars": 1000}),
    )
    .await;
    assert!(
        output.text().contains("longer than may be read"),
        "{}",
        output.text()
    );
    assert!(output.text().len() < 2_000);
    let cut_off = call(
        &tool,
        json!({"url": format!("http://good.test:{port}/endless")}),
    )
    .await;
    assert!(cut_off.text().contains("broke off"), "{}", cut_off.text());
}

/// 20 MB of zeros in a few kilobytes of gzip.
fn flate2_like_bomb() -> Vec<u8> {
    let mut command = std::process::Command::new("gzip");
    let mut child = command
        .arg("-9")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        for _ in 0..20 {
            input.write_all(&vec![b'0'; 1 << 20]).unwrap();
        }
    });
    child.wait_with_output().unwrap().stdout
}

#[test]
fn what_is_not_a_page_is_read_or_explained() {
    let read = |body: &[u8], kind: &str| {
        read(
            body,
            kind,
            "https://x.test/",
            PageExtract::Markdown,
            PageReduce::Article,
        )
    };
    assert_eq!(
        read(b"{\"a\":1}", "application/json").unwrap().text,
        "{\"a\":1}"
    );
    assert_eq!(
        read("caf\u{e9}".as_bytes(), "text/plain").unwrap().text,
        "café"
    );
    assert_eq!(
        read(b"caf\xe9", "text/plain; charset=ISO-8859-1")
            .unwrap()
            .text,
        "café"
    );
    assert_eq!(read(b"%PDF-1.7", "text/plain"), Err(PageError::Pdf));
    assert!(matches!(
        read(b"\x89PNG\0", "image/png"),
        Err(PageError::NotText(_))
    ));
    assert!(matches!(
        read(b"a\0b", "text/plain"),
        Err(PageError::NotText(_))
    ));
    let japanese =
        b"<html><head><meta charset=\"shift_jis\"></head><body><p>\x93\xfa\x96{</p></body></html>";
    assert!(read(japanese, "text/html").unwrap().text.contains("日本"));
}

#[test]
fn a_page_made_to_hurt_is_survived() {
    let deep = format!(
        "<body>{}x{}",
        "<div>".repeat(20_000),
        "</div>".repeat(20_000)
    );
    let wide = format!("<body>{}", "<p>x</p>".repeat(40_000));
    let open = format!("<body>{}x", "<b><a href=y>".repeat(20_000));
    let just = format!("<body>{}x{}", "<div>".repeat(150), "</div>".repeat(150));
    for html in [deep, wide, open, just] {
        let page = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || {
                read(
                    html.as_bytes(),
                    "text/html",
                    "https://x.test/",
                    PageExtract::Markdown,
                    PageReduce::Article,
                )
            })
            .unwrap()
            .join()
            .unwrap();
        assert!(page.unwrap().text.contains('x'));
    }
}

#[tokio::test]
async fn searches_are_read_from_both_services() {
    let (port, _) = serve(|request| {
        let body = match request.contains("/brave") {
            true => {
                assert!(request.to_ascii_lowercase().contains("x-subscription-token: key"));
                json!({"web": {"results": [{"title": "Bees", "url": "https://bees.test/", "description": "All <strong>about</strong>\nbees", "age": "2 days ago"}, {"title": "bad", "url": "javascript:x"}]}})
            }
            false => {
                assert!(request.starts_with("GET /search?q=bees+%26+wasps&format=json "), "{request}");
                json!({"results": [{"title": "Bees", "url": "https://bees.test/", "content": "About bees"}]})
            }
        };
        page("application/json", body.to_string().as_bytes())
    })
    .await;
    let ask = async |service| {
        let tool = WebSearchTool::with_service(
            &WebSearch::default(),
            service,
            SharedEntropy(Arc::new(FixedEntropy(7))),
        );
        call(&tool, json!({"query": "bees & wasps"})).await.text()
    };
    let brave = ask(SearchService::Brave {
        key: "key".to_owned(),
        address: format!("http://127.0.0.1:{port}/brave"),
    })
    .await;
    assert!(
        brave.contains("1. Bees (2 days ago)\n   https://bees.test/\n   All about bees"),
        "{brave}"
    );
    assert!(
        brave.contains("Source: web_search bees & wasps") && !brave.contains("javascript"),
        "{brave}"
    );
    let own = ask(SearchService::SearXng {
        base: format!("http://127.0.0.1:{port}/"),
    })
    .await;
    assert!(own.contains("About bees"), "{own}");
}

#[test]
fn a_search_that_is_not_set_up_is_not_there() {
    let mut host = Host::fixed("/home/me");
    let mut config = WebSearch::default();
    assert!(WebSearchTool::new(&config, &host).is_none());
    host.env.insert("BRAVE_API_KEY".to_owned(), "k".to_owned());
    assert!(WebSearchTool::new(&config, &host).is_some());
    config.provider = Some("searxng".to_owned());
    assert!(WebSearchTool::new(&config, &host).is_none());
    config.other.insert(
        "searxng".to_owned(),
        json!({"baseUrl": "http://127.0.0.1:8888"}),
    );
    assert!(WebSearchTool::new(&config, &host).is_some());
    config.enabled = Some(false);
    assert!(WebSearchTool::new(&config, &host).is_none());
}
