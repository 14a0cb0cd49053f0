//! What was used, summed up.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use chela_core::Origin;
use rusqlite::Connection;
use serde::Serialize;

use crate::blob;
use crate::mark::{SectionMark, ToolMark};
use crate::store::{Ledger, LedgerError, Trouble};

/// What to sum by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    Agent,
    Model,
    /// Which part of the prompt: sections, tools, conversation. Input only, by their share of
    /// the request.
    Section,
    /// Why the cached prefix was not longer.
    Cause,
    Day,
}

/// Which requests, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageRange {
    pub since: Option<u64>,
    pub until: Option<u64>,
}

/// One line of the sums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageSum {
    pub name: String,
    pub requests: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// By our own count: what was read again because a prefix broke.
    pub reread: u64,
    /// Micro-dollars of the requests whose price is known.
    pub cost: u64,
    /// Requests for which the endpoint reported nothing, so that our own counts stand in.
    pub estimated: u64,
}

/// A request, as far as sums are concerned.
struct Line {
    agent: String,
    model: String,
    cause: Option<String>,
    at: u64,
    length: u64,
    sections: i64,
    tools: i64,
    sum: UsageSum,
}

impl Ledger {
    /// Sums over requests, the largest input first; by day in order of days. `day` names the day
    /// of a moment in the owner's time zone.
    pub async fn usage(
        &self,
        by: UsageBy,
        range: UsageRange,
        day: &dyn Fn(u64) -> String,
    ) -> Result<Vec<UsageSum>, LedgerError> {
        let (lines, parts) = self.scan(move |tx| read_lines(tx, by, range)).await?;
        let mut sums: BTreeMap<String, UsageSum> = BTreeMap::new();
        for line in lines {
            let name = match by {
                UsageBy::Agent => line.agent,
                UsageBy::Model => line.model,
                UsageBy::Cause => line.cause.unwrap_or_else(|| "none".to_owned()),
                UsageBy::Day => day(line.at),
                UsageBy::Section => {
                    parts.share(&line, &mut sums);
                    continue;
                }
            };
            add(&mut sums, name, line.sum);
        }
        let mut sums: Vec<UsageSum> = sums.into_values().collect();
        if by != UsageBy::Day {
            sums.sort_by_key(|sum| std::cmp::Reverse(sum.input));
        }
        Ok(sums)
    }
}

fn read_lines(
    tx: &Connection,
    by: UsageBy,
    range: UsageRange,
) -> Result<(Vec<Line>, Parts), Trouble> {
    let mut parts = Parts::default();
    let mut statement = tx.prepare_cached(
        "SELECT sessions.agent, model, cause, at, length, records.sections, tools, tokens, \
         input, output, cache_read, cache_write, reread, cost, estimated FROM records \
         JOIN sessions ON sessions.row = records.session \
         WHERE (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at <= ?2)",
    )?;
    let mut rows = statement.query([range.since, range.until])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let line = Line::of(row)?;
        if by == UsageBy::Section {
            parts.learn(tx, &line)?;
        }
        lines.push(line);
    }
    Ok((lines, parts))
}

impl Line {
    fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let counted: u64 = row.get(7)?;
        let reported: Option<u64> = row.get(8)?;
        let estimated = reported.is_none() || row.get::<_, Option<bool>>(14)? == Some(true);
        let or_none = |at| Ok::<u64, rusqlite::Error>(row.get::<_, Option<u64>>(at)?.unwrap_or(0));
        Ok(Self {
            agent: row.get(0)?,
            model: row.get(1)?,
            cause: row.get(2)?,
            at: row.get(3)?,
            length: row.get(4)?,
            sections: row.get(5)?,
            tools: row.get(6)?,
            sum: UsageSum {
                name: String::new(),
                requests: 1,
                input: reported.unwrap_or(counted),
                output: or_none(9)?,
                cache_read: or_none(10)?,
                cache_write: or_none(11)?,
                reread: row.get(12)?,
                cost: or_none(13)?,
                estimated: u64::from(estimated),
            },
        })
    }
}

fn add(sums: &mut BTreeMap<String, UsageSum>, name: String, more: UsageSum) {
    let sum = sums.entry(name.clone()).or_default();
    sum.name = name;
    sum.requests += more.requests;
    sum.input += more.input;
    sum.output += more.output;
    sum.cache_read += more.cache_read;
    sum.cache_write += more.cache_write;
    sum.reread += more.reread;
    sum.cost += more.cost;
    sum.estimated += more.estimated;
}

/// The bytes of the parts of prompts; most requests share theirs.
#[derive(Default)]
struct Parts {
    sections: HashMap<i64, Vec<(String, u64)>>,
    tools: HashMap<i64, u64>,
}

impl Parts {
    /// Reads what a request was made of, unless another was made of the same.
    fn learn(&mut self, tx: &Connection, line: &Line) -> Result<(), Trouble> {
        if let Entry::Vacant(place) = self.sections.entry(line.sections) {
            let marks: Vec<SectionMark> = serde_json::from_slice(&blob::get(tx, line.sections)?)?;
            place.insert(apart(&marks));
        }
        if let Entry::Vacant(place) = self.tools.entry(line.tools) {
            let marks: Vec<ToolMark> = serde_json::from_slice(&blob::get(tx, line.tools)?)?;
            place.insert(marks.iter().map(|mark| mark.bytes).sum());
        }
        Ok(())
    }

    /// Divides the input of a request among its parts; what is left is the conversation.
    fn share(&self, line: &Line, sums: &mut BTreeMap<String, UsageSum>) {
        let sections = self.sections.get(&line.sections).into_iter().flatten();
        let tools = self.tools.get(&line.tools).copied().unwrap_or(0);
        let mut left = line.sum.input;
        let tools = [("tools".to_owned(), tools)];
        for (name, bytes) in sections.chain(&tools) {
            let share =
                u128::from(line.sum.input) * u128::from(*bytes) / u128::from(line.length.max(1));
            let share = u64::try_from(share).unwrap_or(left).min(left);
            left -= share;
            add(sums, name.clone(), part(share, line));
        }
        add(sums, "conversation".to_owned(), part(left, line));
    }
}

fn part(input: u64, line: &Line) -> UsageSum {
    UsageSum {
        requests: 1,
        input,
        estimated: line.sum.estimated,
        ..UsageSum::default()
    }
}

/// The parts and their own bytes: files count by themselves, not with the section they stand in.
fn apart(marks: &[SectionMark]) -> Vec<(String, u64)> {
    let is_file = |mark: &SectionMark| matches!(mark.origin, Origin::File { .. });
    marks
        .iter()
        .enumerate()
        .map(|(at, mark)| {
            let within: u64 = marks[at + 1..]
                .iter()
                .take_while(|next| !is_file(mark) && is_file(next) && next.id == mark.id)
                .map(|file| file.bytes)
                .sum();
            (named(mark), mark.bytes.saturating_sub(within))
        })
        .collect()
}

fn named(mark: &SectionMark) -> String {
    match &mark.origin {
        Origin::File { path, .. } => path.clone(),
        _ => mark.id.clone(),
    }
}
