//! What the machine itself takes, in the same run: a request to the same endpoint, and one write
//! that is on the disk when it returns.

use std::io::Write;
use std::time::{Duration, Instant};

use chela_testkit::bench::BenchEffort;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::home::runtime;
use crate::meter::Spread;
use crate::model::InstantModel;

fn rounds() -> usize {
    BenchEffort::asked().pick(300, 3)
}
/// As long as the request of a short message in a fresh home.
const BODY_BYTES: usize = 24_000;

pub fn print() {
    let request = Spread::of(round_trips());
    println!(
        "baseline: a bare request of {} KB       p50 {:>8.2} ms   p99 {:>8.2} ms",
        BODY_BYTES / 1000,
        request.at(50),
        request.at(99)
    );
    let written = Spread::of(synced_writes());
    println!(
        "baseline: 4 KB appended and fsynced     p50 {:>8.2} ms   p99 {:>8.2} ms",
        written.at(50),
        written.at(99)
    );
}

/// What a turn's latency is compared with.
pub fn round_trips() -> Vec<Duration> {
    let model = InstantModel::start();
    let body = format!("{{\"messages\":\"{}\"}}", "x".repeat(BODY_BYTES));
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    runtime(1).block_on(async {
        let mut stream = TcpStream::connect(model.address()).await.expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        let mut times = Vec::with_capacity(rounds());
        for _ in 0..rounds() {
            let start = Instant::now();
            stream.write_all(request.as_bytes()).await.expect("sent");
            let mut answer = Vec::new();
            while !answer.ends_with(b"[DONE]\n\n") {
                assert_ne!(stream.read_buf(&mut answer).await.expect("an answer"), 0);
            }
            times.push(start.elapsed());
        }
        times
    })
}

fn synced_writes() -> Vec<Duration> {
    let mut file = tempfile::tempfile().expect("a file");
    let block = [7_u8; 4096];
    (0..rounds())
        .map(|_| {
            let start = Instant::now();
            file.write_all(&block).expect("written");
            file.sync_data().expect("on the disk");
            start.elapsed()
        })
        .collect()
}
