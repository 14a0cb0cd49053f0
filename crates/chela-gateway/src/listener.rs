//! Connections: how many, how long a request may take to arrive, and their end when the process
//! shuts down.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsStream;

use crate::caller_process::is_from_command;
use crate::gateway_state::GatewayState;
use crate::request_guard::ConnectionEnds;
use crate::tls::{GatewayStream, ServerCertificate};

/// More connections than this are closed as they come.
const MOST_CONNECTIONS: usize = 512;
/// So long the head of a request may take; an idle connection is closed after it as well.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// The largest head of a request.
const HEAD_BYTES: usize = 32 * 1024;

/// Serves connections until `stopping` says so; those that are open end their request.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    state: Arc<GatewayState>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: they come back.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if state.connections.load(Ordering::SeqCst) >= MOST_CONNECTIONS {
            state.turned_away.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%peer, "too many connections: one more is turned away");
            continue;
        }
        state.connections.fetch_add(1, Ordering::SeqCst);
        let (router, state, stopping) = (router.clone(), Arc::clone(&state), stopping.clone());
        tokio::spawn(async move {
            serve_one(stream, peer, router, &state, stopping).await;
            state.connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn serve_one(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    state: &Arc<GatewayState>,
    mut stopping: watch::Receiver<bool>,
) {
    let host = state.lanes.host().clone();
    let local = stream.local_addr();
    let is_command = tokio::task::spawn_blocking(move || {
        local.is_ok_and(|local| is_from_command(&host, peer, local))
    });
    let ends = ConnectionEnds {
        peer,
        // Who cannot be looked at is not let in as the owner.
        is_command: is_command.await.unwrap_or(true),
    };
    let stream = match &state.certificate {
        None => GatewayStream::Plain(stream),
        Some(certificate) => match encrypted(stream, certificate).await {
            Ok(stream) => stream,
            Err(why) => {
                tracing::debug!(%why, %peer, "a connection was not encrypted");
                return;
            }
        },
    };
    let router = TowerToHyperService::new(router);
    // One router serves all: what is known of a connection goes along with each request.
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(ends));
        router.call(request)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(true);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stopping.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

/// What a client reads that does not encrypt.
const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 50\r\n\r\nthis gateway encrypts: say https:// or wss:// here";

/// Agrees on encryption within the time a head may take.
async fn encrypted(
    mut stream: TcpStream,
    certificate: &ServerCertificate,
) -> io::Result<GatewayStream> {
    let agree = async {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // A request begins with a letter, what agrees on encryption with a number.
        if first[0].is_ascii_uppercase() {
            stream.write_all(SPEAKS_TLS).await?;
            return Err(io::Error::other("it speaks plain HTTP"));
        }
        let made = certificate.acceptor().accept(stream).await?;
        Ok(GatewayStream::Tls(Box::new(TlsStream::Server(made))))
    };
    let agreed = tokio::time::timeout(HEAD_TIME, agree).await;
    agreed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
