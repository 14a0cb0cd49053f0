//! Servers that speak TLS: one in front of the scripted endpoint, one that speaks HTTP/2 alone.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use chela_testkit::ScriptedEndpoint;
use h2::Reason;
use h2::server::SendResponse;
use http::{Request, Response};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A file of `tls/certificates`, which `make.sh` there makes.
pub fn certificate(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/certificates");
    PathBuf::from(folder).join(name)
}

/// A server on this machine that goes when it is dropped.
pub struct TlsServer {
    address: SocketAddr,
    /// What was agreed on with each client: the protocol, then what it asked for.
    seen: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What an HTTP/2 server does to a question.
#[derive(Clone, Copy)]
pub enum H2Answer {
    Whole,
    /// Resets the stream of the first question in the middle of the answer.
    ResetOnce,
    /// Resets each.
    Reset,
}

impl TlsServer {
    /// With this certificate, in front of an endpoint that speaks HTTP/1.1.
    pub fn before(endpoint: &ScriptedEndpoint, certificate: &str) -> Self {
        let port = endpoint.port();
        Self::start(
            certificate,
            &["http/1.1"],
            move |mut stream, _| async move {
                let inner = TcpStream::connect(("127.0.0.1", port)).await;
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut inner.unwrap()).await;
            },
        )
    }

    /// HTTP/2 and nothing else.
    pub fn only_h2(certificate: &str, answer: H2Answer) -> Self {
        Self::start(certificate, &["h2"], move |stream, seen| async move {
            let Ok(mut connection) = h2::server::handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, respond))) = connection.accept().await {
                let seen = Arc::clone(&seen);
                tokio::spawn(async move { answer_h2(request, respond, answer, seen).await });
            }
        })
    }

    fn start<W, F>(name: &str, protocols: &[&str], work: W) -> Self
    where
        W: Fn(TlsStream<TcpStream>, Arc<Mutex<Vec<String>>>) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let acceptor = TlsAcceptor::from(Arc::new(settings(name, protocols)));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(TcpListener::bind(("127.0.0.1", 0)))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A client that does not trust the certificate goes here.
                if let Ok(stream) = acceptor.accept(stream).await {
                    let agreed = stream.get_ref().1.alpn_protocol().unwrap_or(b"nothing");
                    let agreed = String::from_utf8_lossy(agreed).into_owned();
                    noted.lock().unwrap().push(agreed);
                    tokio::spawn(work(stream, Arc::clone(&noted)));
                }
            }
        };
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            seen,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The server by this name of the machine.
    pub fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/v1", self.address.port())
    }

    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn settings(name: &str, protocols: &[&str]) -> ServerConfig {
    let chain = CertificateDer::pem_file_iter(certificate(&format!("{name}.pem"))).unwrap();
    let chain = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(certificate(&format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut settings = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    settings.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    settings
}

async fn answer_h2(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<bytes::Bytes>,
    answer: H2Answer,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let asked = format!("{:?} {}", request.version(), request.uri().path());
    let is_question = request.method() == "POST" && asked.ends_with("/chat/completions");
    let mut body = request.into_body();
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
    }
    let earlier = {
        let mut seen = seen.lock().unwrap();
        seen.push(asked.clone());
        seen.iter().filter(|one| **one == asked).count() - 1
    };
    if !is_question {
        let nothing = Response::builder().status(404).body(()).unwrap();
        let _ = respond.send_response(nothing, true);
        return;
    }
    let head = Response::builder()
        .header("content-type", "text/event-stream")
        .body(())
        .unwrap();
    let Ok(mut stream) = respond.send_response(head, false) else {
        return;
    };
    let said = |delta: &str, rest: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{delta}}}{rest}}}]}}\n\n").into()
    };
    let _ = stream.send_data(said("\"content\":\"half \"", ""), false);
    let resets = match answer {
        H2Answer::Whole => false,
        H2Answer::ResetOnce => earlier == 0,
        H2Answer::Reset => true,
    };
    if resets {
        // A reset takes along what was not sent: the connection gets its turns first.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        stream.send_reset(Reason::INTERNAL_ERROR);
        return;
    }
    let _ = stream.send_data(said("\"content\":\"and half\"", ""), false);
    let _ = stream.send_data(said("", ",\"finish_reason\":\"stop\""), false);
    let _ = stream.send_data("data: [DONE]\n\n".into(), true);
}
