//! `chela memory bench`: how good search is, on sets of questions with known answers.

use std::path::Path;

use chela_memory::MemorySettings;
use chela_memory::bench::{self, BenchRequest, SetReport};
use chela_memory::embed::LocalTable;
use chela_memory::search::RankWeights;

use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(screen: &mut Screen, folder: &Path, as_json: bool) -> CommandOutcome {
    let request = BenchRequest {
        settings: &MemorySettings::default(),
        weights: &RankWeights::default(),
        embedder: Some(&LocalTable),
    };
    let reports = bench::run(folder, &request).map_err(|error| {
        CommandError::new(error).hint("chela memory bench --help says what a set is")
    })?;
    if as_json {
        screen.json(&serde_json::json!(reports))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(
        "set                    questions  in 4,200  held out  at 5    right days  a slip  confidence",
    )?;
    for report in &reports {
        screen.line(row(report))?;
    }
    screen.blank()?;
    screen.line(screen.paint.dim(
        "in 4,200: the share of what was asked for within 4,200 characters, the default; held out: the same for \
         what no weight was chosen by; at 5: within five results. Made from the questions: right days, of \
         questions that name days; a slip, with one typing error in each; confidence, whether it tells the \
         right notes from the wrong ones.",
    ))?;
    Ok(CommandExit::Fine)
}

fn row(report: &SetReport) -> String {
    let made = |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.3}"));
    format!(
        "{:22} {:>9}  {:>8.3}  {:>8.3}  {:<6.3}  {:>10}  {:>6}  {:>10}",
        report.set,
        report.queries,
        report.all.recall_in_4200,
        report.held_out.recall_in_4200,
        report.all.recall_at_5,
        made(report.made.right_days),
        made(report.made.recall_with_slip),
        made(report.made.confidence_right),
    )
}
