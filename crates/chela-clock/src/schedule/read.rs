//! Schedules as people and agents write them.

use jiff::civil::{DateTime, Time};
use jiff::{Timestamp, ToSpan, Zoned};

use super::{JobSchedule, ScheduleError, parse_cron};
use crate::local_time::{LocalZone, unix_millis};
use crate::{UnixMillis, moment_in_words, parse_duration};

/// A leap day is within eight years of it, whatever the century.
const FIRST_LOOK: UnixMillis = 1_700_000_000_000;

impl JobSchedule {
    /// Once: a date with its offset or zone, one without in `zone`, a time of day, or a length of
    /// time from now.
    pub fn read_at(text: &str, zone: &LocalZone, now: UnixMillis) -> Result<Self, ScheduleError> {
        let text = text.trim();
        let at = moment_of(text, zone, now)?;
        if at <= now {
            return Err(ScheduleError::Passed(moment_in_words(at, zone)));
        }
        Ok(Self::At { at })
    }

    /// Every so often, counted from now.
    pub fn read_every(text: &str, now: UnixMillis) -> Result<Self, ScheduleError> {
        let every = parse_duration(text)?;
        if every < 1_000 {
            return Err(ScheduleError::TooOften(text.trim().to_owned()));
        }
        Ok(Self::Every { every, anchor: now })
    }

    /// A cron expression of five or six fields.
    pub fn read_cron(expression: &str, zone: &LocalZone) -> Result<Self, ScheduleError> {
        let expression = expression.split_whitespace().collect::<Vec<_>>().join(" ");
        let cron = parse_cron(&expression)?;
        let first = zone.at(FIRST_LOOK);
        if cron.find_next_occurrence(&first, false).is_err() {
            return Err(ScheduleError::Never(expression));
        }
        Ok(Self::Cron {
            expression,
            zone: zone.name().to_owned(),
        })
    }
}

fn moment_of(text: &str, zone: &LocalZone, now: UnixMillis) -> Result<UnixMillis, ScheduleError> {
    let unreadable = || ScheduleError::NoMoment(text.to_owned());
    if let Ok(zoned) = text.parse::<Zoned>() {
        return unix_millis(zoned.timestamp()).ok_or_else(unreadable);
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return unix_millis(moment).ok_or_else(unreadable);
    }
    if let Some(time) = time_of_day(text) {
        return next_time(time, zone, now).ok_or_else(unreadable);
    }
    if let Ok(local) = text.parse::<DateTime>() {
        let zoned = local
            .to_zoned(zone.zone().clone())
            .map_err(|_| unreadable())?;
        return unix_millis(zoned.timestamp()).ok_or_else(unreadable);
    }
    let from_now = text.strip_prefix("in ").unwrap_or(text);
    let from_now = from_now.strip_prefix('+').unwrap_or(from_now);
    // A bare number could be a year, an hour or minutes.
    if from_now.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unreadable());
    }
    let length = parse_duration(from_now).map_err(|_| unreadable())?;
    now.checked_add(length).ok_or_else(unreadable)
}

fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    Time::new(hour, minute, 0, 0).ok()
}

/// Today at this time, or tomorrow once it has passed.
fn next_time(time: Time, zone: &LocalZone, now: UnixMillis) -> Option<UnixMillis> {
    let today = zone.at(now);
    let at = |day: &Zoned| {
        let at = day.date().to_datetime(time);
        at.to_zoned(zone.zone().clone()).ok()
    };
    let first = at(&today)?;
    let later = match first > today {
        true => first,
        false => at(&today.checked_add(1.day()).ok()?)?,
    };
    unix_millis(later.timestamp())
}
