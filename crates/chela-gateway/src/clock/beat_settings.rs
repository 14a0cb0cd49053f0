//! How the heartbeat of an agent goes, as the config says.

use chela_agent::prelude::Agents;
use chela_clock::{BeatSettings, LocalZone};
use chela_config::AgentView;
use chela_config::model::{TimeOfDay, parse_time_of_day};

/// How an agent's heartbeat goes; `None` where it is off.
pub fn beat_settings(view: &AgentView) -> Option<BeatSettings> {
    let heartbeat = &view.heartbeat.value;
    let every = u64::try_from(heartbeat.every?.as_millis()).ok()?;
    let settings = &heartbeat.settings;
    let hours = &settings.active_hours;
    let minute =
        |time: &Option<TimeOfDay>| time.as_ref().and_then(|time| parse_time_of_day(&time.0));
    let hours_of = match (minute(&hours.start), minute(&hours.end)) {
        (None, None) => None,
        (start, end) => Some((start.unwrap_or(0), end.unwrap_or(24 * 60))),
    };
    // `user` and what is not known are the owner's zone.
    let zone = hours.timezone.as_deref().filter(|zone| *zone != "user");
    Some(BeatSettings {
        every: every.max(1_000),
        hours: hours_of,
        hours_zone: zone.and_then(|zone| LocalZone::named(zone).ok()),
        has_own_prompt: heartbeat.prompt.is_some(),
        most_a_day: settings.max_calls_per_day,
    })
}

/// The owner's zone.
pub fn owner_zone(agents: &Agents, view: &AgentView) -> LocalZone {
    LocalZone::first_of([
        view.user_timezone.value.as_deref(),
        agents.host().facts.time_zone.as_deref(),
    ])
}
