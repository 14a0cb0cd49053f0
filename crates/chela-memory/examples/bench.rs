//! Runs the question sets in a folder: `cargo run --release --example bench -- DIR [MODE] [KEY=VALUE]…`
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use chela_memory::bench::{self, BenchRequest};
use chela_memory::embed::{Embedder, LocalTable};
use chela_memory::search::{Shares, Weights};
use chela_memory::settings::{MemorySettings, QueryMode};

fn main() {
    let mut settings = MemorySettings::default();
    let mut weights = Weights::default();
    let mut dir = String::from(".");
    let mut only = String::new();
    #[cfg_attr(
        not(feature = "minilm"),
        expect(unused_mut, reason = "set by a feature")
    )]
    let mut embedder: Box<dyn Embedder> = Box::new(LocalTable);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "keyword" => settings.query.mode = QueryMode::Keyword,
            "vector" => settings.query.mode = QueryMode::Vector,
            "compat" => settings.query.mode = QueryMode::Compat,
            other => match other.split_once('=') {
                Some(("only", name)) => only = name.to_owned(),
                #[cfg(feature = "minilm")]
                Some(("minilm", path)) => {
                    embedder = Box::new(chela_memory::embed::minilm::MiniLm::new(path));
                }
                Some((key, value)) => set(&mut weights, key, value.parse().unwrap_or_default()),
                None => dir = other.to_owned(),
            },
        }
    }
    let request = BenchRequest {
        settings: &settings,
        weights: &weights,
        embedder: Some(embedder.as_ref()),
    };
    let dir = if only.is_empty() {
        dir
    } else {
        format!("{dir}/{only}")
    };
    match bench::run(dir.as_ref(), &request) {
        Ok(reports) => {
            for report in reports {
                let (all, a, b) = (report.all, report.tuned, report.held_out);
                println!(
                    "{:20} r5 {:.3} ({:.3}/{:.3}) r6 {:.3} r10 {:.3} mrr {:.3} ndcg {:.3} | chars {:.3} {:.3} {:.3} ({:.3} {:.3} {:.3} / {:.3} {:.3} {:.3}) | {:.2} ms/q, {} chunks, {:.0} chunks/s",
                    report.set,
                    all.recall_at_5,
                    a.recall_at_5,
                    b.recall_at_5,
                    all.recall_at_6,
                    all.recall_at_10,
                    all.mrr,
                    all.ndcg_at_10,
                    all.recall_in_1500,
                    all.recall_in_4200,
                    all.recall_in_8400,
                    a.recall_in_1500,
                    a.recall_in_4200,
                    a.recall_in_8400,
                    b.recall_in_1500,
                    b.recall_in_4200,
                    b.recall_in_8400,
                    report.ms_per_query,
                    report.chunks,
                    report.index_chunks_per_second,
                );
            }
        }
        Err(error) => eprintln!("{error}"),
    }
}

fn set(weights: &mut Weights, key: &str, value: f32) {
    match key {
        "k1" => weights.k1 = value,
        "k1long" => weights.k1_long = value,
        "blong" => weights.b_long = value,
        "b" => weights.b = value,
        "pages" => both(weights, |shares| shares.pages = value),
        "prose" => both(weights, |shares| shares.prose = value),
        "names" => both(weights, |shares| shares.names = value),
        "code" => both(weights, |shares| shares.code = value),
        "before" => weights.before = value,
        "after" => weights.after = value,
        "section" => weights.section = value,
        "day" => weights.asked_day = value,
        "closer" => weights.closer = value as usize,
        "closersubject" => weights.closer_subject = value as usize,
        "coverage" => weights.coverage = value,
        "pairs" => weights.pairs = value,
        "soft" => weights.soft = value,
        "coveragesubject" => weights.coverage_subject = value,
        "softsubject" => weights.soft_subject = value,
        "subjectfrom" => weights.subject_from = value,
        "close" => weights.close = value,
        "title" => weights.title = value,
        "aw" => weights.agreed_words = value,
        "am" => weights.agreed_meaning = value,
        "common" => weights.common_name = value,
        other => eprintln!("no weight {other}"),
    }
}

/// One model is asked: whichever shares are its own.
fn both(weights: &mut Weights, change: impl Fn(&mut Shares)) {
    change(&mut weights.table);
    change(&mut weights.network);
}
