//! When a session starts anew.

use chela_config::LoadedConfig;
use chela_config::model::{ResetMode, SessionReset};
use chela_core::{ChatType, SessionForm, SessionKey};

const MINUTE: u64 = 60_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// The pause of `mode: idle` when none is given.
const DEFAULT_IDLE_MINUTES: u64 = 60;

/// The rules for one session. With none set, a session goes on for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResetRules {
    pub daily: Option<DailyReset>,
    pub idle_minutes: Option<u64>,
}

/// Every day at an hour of local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyReset {
    pub at_hour: u8,
    /// How far local time is ahead of UTC.
    pub utc_offset_minutes: i32,
}

/// Why a session started anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetReason {
    /// The person said so.
    Asked,
    /// The hour of the daily reset has passed since it began.
    Daily,
    /// Nobody wrote for long enough.
    Idle,
}

impl ResetReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Daily => "daily",
            Self::Idle => "idle",
        }
    }
}

impl ResetRules {
    /// The rules the config has for a key: those of the channel, else of the kind of chat, else
    /// the general ones. `channel` is the one the message came through, where the key names none.
    pub fn of(
        loaded: &LoadedConfig,
        key: &SessionKey,
        channel: Option<&str>,
        utc_offset_minutes: i32,
    ) -> Self {
        let conversation = matches!(
            key.form,
            SessionForm::Global | SessionForm::Main { .. } | SessionForm::Chat { .. }
        );
        if !conversation {
            return Self::default();
        }
        let session = &loaded.config.session;
        let by_channel = key.channel().or(channel).and_then(|channel| {
            session
                .reset_by_channel
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(channel))
                .map(|(_, reset)| reset)
        });
        let by_type = &session.reset_by_type;
        let by_type = match (&key.thread, key.chat_type()) {
            (Some(_), _) if by_type.thread.is_some() => by_type.thread.as_ref(),
            (_, ChatType::Group | ChatType::Room) => by_type.group.as_ref(),
            (_, ChatType::Direct) => by_type.direct.as_ref(),
        };
        let general = SessionReset {
            idle_minutes: session.reset.idle_minutes.or(session.idle_minutes),
            ..session.reset.clone()
        };
        Self::from_config(
            by_channel.or(by_type).unwrap_or(&general),
            utc_offset_minutes,
        )
    }

    fn from_config(reset: &SessionReset, utc_offset_minutes: i32) -> Self {
        let idle_by_mode = (reset.mode == ResetMode::Idle).then_some(DEFAULT_IDLE_MINUTES);
        Self {
            daily: (reset.mode == ResetMode::Daily).then_some(DailyReset {
                at_hour: reset.at_hour,
                utc_offset_minutes,
            }),
            idle_minutes: reset.idle_minutes.or(idle_by_mode),
        }
    }

    /// Whether a session that began and was last written to at these times is over. All times in
    /// milliseconds since 1970; whichever rule expires first wins.
    pub fn due(&self, started: u64, interacted: u64, now: u64) -> Option<ResetReason> {
        if let Some(daily) = self.daily
            && started < daily.latest_before(now)
        {
            return Some(ResetReason::Daily);
        }
        let idle = self.idle_minutes?.saturating_mul(MINUTE);
        (now.saturating_sub(interacted) > idle).then_some(ResetReason::Idle)
    }
}

impl DailyReset {
    /// The last time the hour struck.
    fn latest_before(self, now: u64) -> u64 {
        let offset = i64::from(self.utc_offset_minutes) * 60_000;
        let local = i64::try_from(now)
            .unwrap_or(i64::MAX)
            .saturating_add(offset);
        let today = local.div_euclid(DAY) * DAY + i64::from(self.at_hour) * HOUR;
        let struck = if today <= local { today } else { today - DAY };
        u64::try_from(struck - offset).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
