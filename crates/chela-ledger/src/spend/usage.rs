//! What was used, summed up.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use chela_core::Origin;
use chela_store::{RequestLine, RequestParts, RequestQuery};
use serde::Serialize;

use crate::ledger::{Ledger, LedgerError};
use crate::mark::{SectionMark, ToolMark};

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
    /// Requests that were answered by a model whose price is not known.
    pub unpriced: u64,
}

/// Requests that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope<'a> {
    /// Of a conversation, by its id.
    Session(&'a str),
    /// Of one turn of it.
    Turn { session: &'a str, turn: &'a str },
    /// Of every agent, from a moment on, in milliseconds since 1970.
    Since(u64),
}

impl UsageSum {
    /// All lines in one, named `all`.
    pub fn total(sums: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> u64| sums.iter().map(of).sum();
        Self {
            name: "all".to_owned(),
            requests: sum(|sum| sum.requests),
            input: sum(|sum| sum.input),
            output: sum(|sum| sum.output),
            cache_read: sum(|sum| sum.cache_read),
            cache_write: sum(|sum| sum.cache_write),
            reread: sum(|sum| sum.reread),
            cost: sum(|sum| sum.cost),
            estimated: sum(|sum| sum.estimated),
            unpriced: sum(|sum| sum.unpriced),
        }
    }
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
        let query = RequestQuery {
            since: range.since,
            until: range.until,
            ..RequestQuery::default()
        };
        let mut sums: BTreeMap<String, UsageSum> = BTreeMap::new();
        if by == UsageBy::Section {
            self.share_out(self.store.request_parts(query).await?, &mut sums)?;
        } else {
            for line in self.store.requests(query).await? {
                let sum = sum_of(&line);
                let name = match by {
                    UsageBy::Agent => line.agent,
                    UsageBy::Model => line.model,
                    UsageBy::Day => day(line.at),
                    UsageBy::Cause | UsageBy::Section => {
                        line.reuse.cause.unwrap_or_else(|| "none".to_owned())
                    }
                };
                add(&mut sums, name, sum);
            }
        }
        let mut sums: Vec<UsageSum> = sums.into_values().collect();
        if by != UsageBy::Day {
            sums.sort_by_key(|sum| std::cmp::Reverse(sum.input));
        }
        Ok(sums)
    }

    /// What such requests come to, in one line.
    pub async fn usage_of(&self, scope: UsageScope<'_>) -> Result<UsageSum, LedgerError> {
        let (session, since) = match scope {
            UsageScope::Session(session) | UsageScope::Turn { session, .. } => {
                (Some(session), None)
            }
            UsageScope::Since(since) => (None, Some(since)),
        };
        let query = RequestQuery {
            session: session.map(str::to_owned),
            since,
            ..RequestQuery::default()
        };
        let lines = self.store.requests(query).await?;
        let belongs = |line: &&RequestLine| match scope {
            UsageScope::Turn { turn, .. } => line.turn == turn,
            _ => true,
        };
        let sums: Vec<UsageSum> = lines.iter().filter(belongs).map(sum_of).collect();
        Ok(UsageSum::total(&sums))
    }

    /// Divides the input of each request among its parts; what is left is the conversation.
    fn share_out(
        &self,
        found: RequestParts,
        sums: &mut BTreeMap<String, UsageSum>,
    ) -> Result<(), LedgerError> {
        let (mut sections, mut tools) = (HashMap::new(), HashMap::new());
        for (line, sections_at, tools_at) in &found.requests {
            let sections = match sections.entry(*sections_at) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let marks: Vec<SectionMark> = self.parsed(found.list(*sections_at))?;
                    place.insert(apart(&marks))
                }
            };
            let tools = match tools.entry(*tools_at) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => {
                    let marks: Vec<ToolMark> = self.parsed(found.list(*tools_at))?;
                    *place.insert(marks.iter().map(|mark| mark.bytes).sum::<u64>())
                }
            };
            share(line, sections, tools, sums);
        }
        Ok(())
    }
}

fn sum_of(line: &RequestLine) -> UsageSum {
    let usage = line.usage.unwrap_or_default();
    UsageSum {
        name: String::new(),
        requests: 1,
        input: line.usage.map_or(line.reuse.tokens, |usage| usage.input),
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        reread: line.reuse.reread_tokens,
        cost: line.cost.unwrap_or(0),
        estimated: u64::from(line.usage.is_none_or(|usage| usage.estimated)),
        unpriced: u64::from(line.usage.is_some() && line.cost.is_none()),
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
    sum.unpriced += more.unpriced;
}

fn share(
    line: &RequestLine,
    sections: &[(String, u64)],
    tools: u64,
    sums: &mut BTreeMap<String, UsageSum>,
) {
    let sum = sum_of(line);
    let part = |input| UsageSum {
        requests: 1,
        input,
        estimated: sum.estimated,
        ..UsageSum::default()
    };
    let mut left = sum.input;
    let tools = [("tools".to_owned(), tools)];
    for (name, bytes) in sections.iter().chain(&tools) {
        let share = u128::from(sum.input) * u128::from(*bytes) / u128::from(line.length.max(1));
        let share = u64::try_from(share).unwrap_or(left).min(left);
        left -= share;
        add(sums, name.clone(), part(share));
    }
    add(sums, "conversation".to_owned(), part(left));
}

/// The parts and their own bytes: files count by themselves, not with the section they stand in.
fn apart(marks: &[SectionMark]) -> Vec<(String, u64)> {
    let is_file = |mark: &SectionMark| matches!(mark.origin, Origin::File { .. });
    marks
        .iter()
        .enumerate()
        .map(|(at, mark)| {
            let within: u64 = marks
                .get(at + 1..)
                .unwrap_or_default()
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
