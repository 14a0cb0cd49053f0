//! How good the search is: question sets run against it, figures out.
//!
//! A set is a folder with `queries.jsonl` and either `docs.jsonl` (texts already cut) or one
//! folder of Markdown notes per group. A question is searched only in its own group. What counts
//! is the share of the right places among the first results, and within a number of characters
//! shown - the fair measure when units differ in size.

#![expect(
    clippy::indexing_slicing,
    reason = "questions are numbered by the lists they come from; no untrusted content gets here"
)]

mod dates;
mod figures;
mod made;
mod runner;
mod sets;

pub use figures::Figures;
pub use made::{AskedConfidence, MadeFigures};
pub use runner::{BenchError, BenchRequest, SetReport, run};

#[cfg(test)]
mod tests;
