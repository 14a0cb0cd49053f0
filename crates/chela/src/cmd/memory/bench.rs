//! `chela memory bench`: how good the search is.

use std::path::Path;

use chela_memory::MemorySettings;
use chela_memory::bench::{self, BenchError, BenchRequest, SetReport};
use chela_memory::embed::LocalTable;
use chela_memory::search::Weights;
use chela_memory::settings::QueryMode;
use serde_json::json;

use super::explained;
use crate::cli::BenchMode;
use crate::cmd::Outcome;
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted, grouped};

pub fn run(screen: &mut Screen, dir: &Path, mode: BenchMode, as_json: bool) -> Outcome {
    let mut settings = MemorySettings::default();
    settings.query.mode = match mode {
        BenchMode::Best => QueryMode::Best,
        BenchMode::Keyword => QueryMode::Keyword,
        BenchMode::Vector => QueryMode::Vector,
        BenchMode::Compat => QueryMode::Compat,
    };
    if mode == BenchMode::Compat {
        settings.cut = chela_memory::chunk::Cut::Fixed {
            tokens: 400,
            overlap: 80,
        };
    }
    let weights = Weights::default();
    let request = BenchRequest {
        settings: &settings,
        weights: &weights,
        embedder: Some(&LocalTable),
    };
    let reports = bench::run(dir, &request).map_err(|error| match error {
        BenchError::NoSet { .. } => Fail::usage(error),
        _ => explained(error),
    })?;
    if as_json {
        // One set is one object; a folder of sets is a list.
        match reports.as_slice() {
            [only] => screen.json(only)?,
            all => screen.json(&json!({ "sets": all }))?,
        }
        return Ok(Exit::Fine);
    }
    for report in &reports {
        table(screen, report)?;
    }
    Ok(Exit::Fine)
}

fn table(screen: &mut Screen, report: &SetReport) -> std::io::Result<()> {
    let paint = screen.paint;
    screen.line(paint.bold(&report.set))?;
    screen.line(paint.dim(format!(
        "  {}, {}, {}, {}; mode {}",
        counted(report.groups, "group"),
        counted(report.docs, "text"),
        counted(report.chunks, "chunk"),
        counted(report.queries, "question"),
        report.mode,
    )))?;
    let head = ["", "all", "tuned on", "held out"]
        .map(str::to_owned)
        .to_vec();
    let row = |name: &str, figure: fn(&bench::Figures) -> f64| {
        vec![
            name.to_owned(),
            format!("{:.3}", figure(&report.all)),
            format!("{:.3}", figure(&report.tuned)),
            format!("{:.3}", figure(&report.held_out)),
        ]
    };
    screen.table(
        "  ",
        &[
            head,
            row("recall@5", |f| f.recall_at_5),
            row("recall@6", |f| f.recall_at_6),
            row("recall@10", |f| f.recall_at_10),
            row("MRR", |f| f.mrr),
            row("nDCG@10", |f| f.ndcg_at_10),
            row("recall in 1,500 chars", |f| f.recall_in_1500),
            row("recall in 4,200 chars", |f| f.recall_in_4200),
            row("recall in 8,400 chars", |f| f.recall_in_8400),
        ],
    )?;
    screen.line(format!(
        "  {:.2} ms per question, {} chunks indexed per second",
        report.ms_per_query,
        grouped(report.index_chunks_per_second as usize),
    ))?;
    screen.blank()
}
