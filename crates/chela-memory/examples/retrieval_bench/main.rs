//! How good the search of memory is: `cargo xtask retrieval-bench DIR [MODE] [json] [KEY=VALUE]…`
//!
//! DIR is a set or a folder of sets: `queries.jsonl` beside `docs.jsonl` or beside folders of
//! notes. MODE is best, keyword, vector or compat. `only=NAME` takes one set of a folder; other keys
//! are weights of the ranking.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use std::error::Error;

use chela_memory::bench::{self, BenchRequest, SetReport};
use chela_memory::chunk::ChunkCut;
use chela_memory::embed::{Embedder, LocalTable};
use chela_memory::search::{RankWeights, VectorShares};
use chela_memory::settings::{MemorySettings, QueryMode};

fn main() -> Result<(), Box<dyn Error>> {
    let mut settings = MemorySettings::default();
    let mut weights = RankWeights::default();
    let mut dir = String::from(".");
    let mut only = String::new();
    let mut json = false;
    let mut each = false;
    let mut features = false;
    #[cfg_attr(
        not(feature = "minilm"),
        expect(unused_mut, reason = "set by a feature")
    )]
    let mut embedder: Box<dyn Embedder> = Box::new(LocalTable);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "keyword" => settings.query.mode = QueryMode::Keyword,
            "vector" => settings.query.mode = QueryMode::Vector,
            "compat" => {
                settings.query.mode = QueryMode::Compat;
                settings.cut = ChunkCut::Fixed {
                    tokens: 400,
                    overlap: 80,
                };
            }
            "best" => settings.query.mode = QueryMode::Best,
            "json" => json = true,
            "questions" => each = true,
            "features" => features = true,
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
    let reports = bench::run(dir.as_ref(), &request)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        reports.iter().for_each(print_report);
    }
    for asked in reports
        .iter()
        .filter(|_| features)
        .flat_map(|r| &r.made.asked)
    {
        let e = &asked.evidence;
        println!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            u8::from(asked.fits),
            u8::from(asked.held_out),
            e.known,
            e.coverage,
            e.third_coverage,
            e.cosine,
            e.keyword,
            e.pairs
        );
    }
    for (question, recall) in reports.iter().filter(|_| each).flat_map(|r| &r.questions) {
        println!("{recall:.2}\t{question}");
    }
    Ok(())
}

fn print_report(report: &SetReport) {
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
    let made = &report.made;
    println!(
        "{:20} right days {:?} of {}, with slip {:?}, confidence {:?}, wrong notes {:?}, held out {:?}",
        "",
        made.right_days,
        made.date_questions,
        made.recall_with_slip,
        made.confidence_right,
        made.confidence_wrong_notes,
        made.confidence_held_out
    );
}

fn set(weights: &mut RankWeights, key: &str, value: f32) {
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
        "beforeanswer" => weights.before_answer = value,
        "mbefore" => weights.meant_before = value,
        "mafter" => weights.meant_after = value,
        "after" => weights.after = value,
        "section" => weights.section = value,
        "day" => weights.asked_day = value,
        "closer" => weights.closer = value as usize,
        "closersubject" => weights.closer_subject = value as usize,
        "coverage" => weights.coverage = value,
        "pairs" => weights.pairs = value,
        "soft" => weights.soft = value,
        "softpages" => weights.soft_pages = value,
        "softprose" => weights.soft_prose = value,
        "user" => weights.said_by_user = value,
        "wish" => weights.wish = value,
        "named" => weights.named_speaker = value,
        "core" => weights.core = value,
        "time" => weights.tells_time = value,
        "number" => weights.tells_number = value,
        "asks" => weights.only_asks = value,
        "begins" => weights.forms.begins = value,
        "slip" => weights.forms.one_slip = value,
        "slips" => weights.forms.two_slips = value,
        "meaning" => weights.forms.meaning = value,
        "part" => weights.forms.part = value,
        "joined" => weights.forms.joined = value,
        "enough" => weights.enough_coverage = value,
        "telling" => weights.telling_coverage = value,
        "others" => weights.from_other_days = value as usize,
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
fn both(weights: &mut RankWeights, change: impl Fn(&mut VectorShares)) {
    change(&mut weights.table);
    change(&mut weights.network);
}
