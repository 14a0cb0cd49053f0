//! Schedules: once, every so often, or by a cron expression. Pure: from one planned moment to
//! the next.

mod read;

use chela_core::ok_or_warn;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
use serde::{Deserialize, Serialize};

use crate::local_time::{LocalZone, ZoneError, unix_millis};
use crate::{DurationError, UnixMillis, duration_in_words, moment_in_words};

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum JobSchedule {
    /// Once.
    At { at: UnixMillis },
    /// Every so many milliseconds, counted from a moment.
    #[serde(rename_all = "camelCase")]
    Every { every: u64, anchor: UnixMillis },
    /// As a cron expression of five or six fields says, in a zone.
    Cron { expression: String, zone: String },
}

/// Why a schedule cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error(
        "`{0}` is not a moment: write it as 2026-03-09T08:00, 2026-03-09T08:00:00+01:00, 08:00 or 20m (from now)"
    )]
    NoMoment(String),
    #[error("{0} has passed")]
    Passed(String),
    #[error("every {0} is too often: a second is the least")]
    TooOften(String),
    #[error("`{expression}` is not a cron expression: {why}")]
    NoCron { expression: String, why: String },
    #[error("`{0}` never comes: no date fits it")]
    Never(String),
    #[error(transparent)]
    Duration(#[from] DurationError),
    #[error(transparent)]
    Zone(#[from] ZoneError),
}

impl JobSchedule {
    /// The first planned moment after another one.
    pub fn next_after(&self, moment: UnixMillis) -> Option<UnixMillis> {
        match self {
            Self::At { at } => Some(*at).filter(|at| *at > moment),
            Self::Every { every, anchor } => {
                let every = (*every).max(1);
                match moment.checked_sub(*anchor) {
                    None => Some(*anchor),
                    Some(since) => anchor.checked_add((since / every + 1).checked_mul(every)?),
                }
            }
            Self::Cron { expression, zone } => {
                let (zone, cron) = read_again(expression, zone)?;
                let later = |at: &Zoned| cron.find_next_occurrence(at, false).ok();
                let mut next = later(&zone.at(moment))?;
                while !is_meant(&cron, &next) {
                    next = later(&next)?;
                }
                unix_millis(next.timestamp())
            }
        }
    }

    /// The last planned moment up to another one.
    pub fn last_until(&self, moment: UnixMillis) -> Option<UnixMillis> {
        match self {
            Self::At { at } => Some(*at).filter(|at| *at <= moment),
            Self::Every { every, anchor } => {
                let since = moment.checked_sub(*anchor)?;
                let every = (*every).max(1);
                Some(anchor + since / every * every)
            }
            Self::Cron { expression, zone } => {
                let (zone, cron) = read_again(expression, zone)?;
                let earlier =
                    |at: &Zoned, inclusive| cron.find_previous_occurrence(at, inclusive).ok();
                let mut last = earlier(&zone.at(moment), true)?;
                while !is_meant(&cron, &last) {
                    last = earlier(&last, false)?;
                }
                unix_millis(last.timestamp())
            }
        }
    }

    /// The next moments, for people. Reading them plans nothing.
    pub fn preview(&self, after: UnixMillis, count: usize) -> Vec<UnixMillis> {
        let first = self.next_after(after);
        std::iter::successors(first, |moment| self.next_after(*moment))
            .take(count)
            .collect()
    }

    pub fn is_once(&self) -> bool {
        matches!(self, Self::At { .. })
    }

    /// When it is due, in plain words.
    pub fn in_words(&self, zone: &LocalZone) -> String {
        match self {
            Self::At { at } => format!("once, {}", moment_in_words(*at, zone)),
            Self::Every { every, .. } => format!("every {}", duration_in_words(*every)),
            Self::Cron {
                expression,
                zone: own,
            } => match parse_cron(expression) {
                Ok(cron) => format!("{} ({own})", cron.describe().trim_end_matches('.')),
                Err(_) => format!("{expression} ({own})"),
            },
        }
    }
}

/// Whether an expression means a moment that was found for it. Where the clocks go forward, what
/// falls into the hour that is left out comes at its end; times before that hour are found there
/// once more, and are not meant.
fn is_meant(cron: &Cron, found: &Zoned) -> bool {
    if cron.is_time_matching(found).unwrap_or(true) {
        return true;
    }
    let Ok(before) = found.checked_sub(1.second()) else {
        return true;
    };
    let left_out = found.offset().seconds() - before.offset().seconds();
    // As if the clocks had not been changed.
    let unchanged = before.with_time_zone(TimeZone::fixed(before.offset()));
    let next = cron.find_next_occurrence(&unchanged, false);
    next.is_ok_and(|next| {
        next.timestamp().as_second() < found.timestamp().as_second() + i64::from(left_out)
    })
}

/// A kept schedule, which was read when it was made.
fn read_again(expression: &str, zone: &str) -> Option<(LocalZone, Cron)> {
    let known = ok_or_warn!(LocalZone::named(zone), "a job is never due", expression)?;
    let cron = ok_or_warn!(parse_cron(expression), "a job is never due", expression)?;
    Some((known, cron))
}

fn parse_cron(expression: &str) -> Result<Cron, ScheduleError> {
    let parser = CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Disallowed)
        .build();
    parser
        .parse(expression)
        .map_err(|error| ScheduleError::NoCron {
            expression: expression.to_owned(),
            why: error.to_string(),
        })
}

#[cfg(test)]
mod tests;
