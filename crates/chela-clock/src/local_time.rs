//! Moments where the owner is.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::UnixMillis;

/// A zone by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalZone {
    name: String,
    zone: TimeZone,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone `{0}`; write it as in Europe/Berlin or UTC")]
pub struct ZoneError(pub String);

impl LocalZone {
    pub fn named(name: &str) -> Result<Self, ZoneError> {
        let name = name.trim();
        let zone = match name.eq_ignore_ascii_case("utc") {
            true => TimeZone::UTC,
            false => TimeZone::get(name).map_err(|_| ZoneError(name.to_owned()))?,
        };
        Ok(Self {
            name: zone.iana_name().unwrap_or(name).to_owned(),
            zone,
        })
    }

    /// The first zone of these that is known, else UTC.
    pub fn first_of<'a>(names: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut known = names.into_iter().flatten();
        known
            .find_map(|name| Self::named(name).ok())
            .unwrap_or_else(Self::utc)
    }

    pub fn utc() -> Self {
        Self {
            name: "UTC".to_owned(),
            zone: TimeZone::UTC,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub(crate) fn at(&self, moment: UnixMillis) -> Zoned {
        timestamp(moment).to_zoned(self.zone.clone())
    }

    /// Minutes since midnight there.
    pub fn minute_of_day(&self, moment: UnixMillis) -> u16 {
        let at = self.at(moment);
        let (hour, minute) = (at.hour().unsigned_abs(), at.minute().unsigned_abs());
        u16::from(hour) * 60 + u16::from(minute)
    }

    /// `2026-11-15`.
    pub fn day(&self, moment: UnixMillis) -> String {
        self.at(moment).date().to_string()
    }
}

pub(crate) fn timestamp(moment: UnixMillis) -> Timestamp {
    let millis = i64::try_from(moment).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

pub(crate) fn unix_millis(moment: Timestamp) -> Option<UnixMillis> {
    u64::try_from(moment.as_millisecond()).ok()
}

/// `Mon 9 March 2026, 08:00 (Europe/Berlin)`; with seconds where there are any.
pub fn moment_in_words(moment: UnixMillis, zone: &LocalZone) -> String {
    let at = zone.at(moment);
    let format = match at.second() {
        0 => "%a %-d %B %Y, %H:%M",
        _ => "%a %-d %B %Y, %H:%M:%S",
    };
    format!("{} ({})", at.strftime(format), zone.name())
}
