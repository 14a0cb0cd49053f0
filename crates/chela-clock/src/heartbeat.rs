//! Whether a heartbeat has anything to ask a model. Pure: what is found out costs nothing.

mod checklist;

use std::collections::BTreeMap;

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};

use crate::{LocalZone, UnixMillis};

pub use checklist::{HeartbeatChecklist, HeartbeatTask};

/// What is known when a heartbeat is due.
#[derive(Debug, Clone)]
pub struct BeatFacts<'a> {
    pub now: UnixMillis,
    pub zone: &'a LocalZone,
    pub settings: &'a BeatSettings,
    /// What HEARTBEAT.md says; `None`: there is none.
    pub checklist: Option<&'a HeartbeatChecklist>,
    /// A turn of the agent runs.
    pub is_busy: bool,
    pub state: &'a BeatState,
}

/// What the operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeatSettings {
    /// Milliseconds between two beats.
    pub every: u64,
    /// Minutes of the day, from the first to the one after the last.
    pub hours: Option<(u16, u16)>,
    pub hours_zone: Option<LocalZone>,
    /// The operator's own prompt is a standing order: it needs no file.
    pub has_own_prompt: bool,
    /// Most model calls of a day.
    pub most_a_day: u32,
}

/// What is remembered from beat to beat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BeatState {
    /// The text about which the agent last said that nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_clear: Option<ContentHash>,
    /// When each task last came to its end.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, UnixMillis>,
    /// How often in a row there was nothing to say.
    pub quiet: u32,
    /// The day the calls are counted of, and how many there were.
    pub day: String,
    pub calls: u32,
    pub asked_at: UnixMillis,
    /// What was asked and has no answer yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<BeatAsk>,
}

/// What a model is to be asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BeatAsk {
    /// Names of the tasks that are due.
    pub tasks: Vec<String>,
    /// The text besides tasks, where it is news.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<ContentHash>,
    /// The operator's own prompt.
    pub own_prompt: bool,
}

impl BeatAsk {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if !self.tasks.is_empty() {
            parts.push(format!("due: {}", self.tasks.join(", ")));
        }
        if self.text.is_some() {
            parts.push("HEARTBEAT.md has something that was not looked at yet".to_owned());
        }
        if self.own_prompt {
            parts.push("heartbeat.prompt asks each time".to_owned());
        }
        parts.join("; ")
    }
}

/// Why no model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeatSkip {
    OutsideHours,
    /// Nobody could be told of what it finds.
    NoRoute,
    Busy,
    DailyLimit,
    NoFile,
    EmptyFile,
    ListDone,
    Unchanged,
    NoTaskDue,
    ConditionNotMet,
    BackingOff,
    /// The answer to the beat before is still awaited.
    Awaited,
}

impl BeatSkip {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::OutsideHours => "outside of heartbeat.activeHours",
            Self::NoRoute => {
                "heartbeat.target names a channel that is not set up: use owner, last, none or a session key"
            }
            Self::Busy => "the agent is busy",
            Self::DailyLimit => "as many calls today as heartbeat.maxCallsPerDay allows",
            Self::NoFile => "there is no HEARTBEAT.md",
            Self::EmptyFile => "HEARTBEAT.md asks for nothing",
            Self::ListDone => "everything in HEARTBEAT.md is checked off",
            Self::Unchanged => {
                "HEARTBEAT.md is as it was when there was nothing to do; `tasks:` are looked at again and again"
            }
            Self::NoTaskDue => "no task of HEARTBEAT.md is due",
            Self::ConditionNotMet => "the condition of every due task says no",
            Self::BackingOff => "nothing to say several times in a row: asked less often",
            Self::Awaited => "the previous heartbeat is still waiting for its answer",
        }
    }
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeatVerdict {
    Ask(BeatAsk),
    Skip(BeatSkip),
}

/// At most so many times the usual pause.
const LONGEST_PAUSE: u32 = 3;

/// Decides about a beat. `is_met` says whether the condition of a task holds; it is asked only
/// about tasks that are due, when everything else speaks for a call.
pub fn judge_beat(
    facts: &BeatFacts<'_>,
    mut is_met: impl FnMut(&HeartbeatTask) -> bool,
) -> BeatVerdict {
    if let Some(skip) = closed(facts) {
        return BeatVerdict::Skip(skip);
    }
    let mut ask = BeatAsk::default();
    let mut skip = BeatSkip::NoFile;
    if let Some(list) = facts.checklist {
        let due: Vec<&HeartbeatTask> = list
            .tasks
            .iter()
            .filter(|task| is_due(task, facts))
            .collect();
        let met: Vec<&HeartbeatTask> = due.iter().copied().filter(|task| is_met(task)).collect();
        ask.tasks = met.iter().map(|task| task.name.clone()).collect();
        let is_news = list.text.is_some() && list.text != facts.state.all_clear;
        ask.text = list.text.filter(|_| is_news);
        skip = match () {
            () if !due.is_empty() => BeatSkip::ConditionNotMet,
            () if !list.tasks.is_empty() => BeatSkip::NoTaskDue,
            () if list.text.is_some() => BeatSkip::Unchanged,
            () if list.has_done => BeatSkip::ListDone,
            () => BeatSkip::EmptyFile,
        };
    }
    if facts.settings.has_own_prompt {
        match is_backing_off(facts) {
            true if ask.is_empty() => skip = BeatSkip::BackingOff,
            true => {}
            false => ask.own_prompt = true,
        }
    }
    match ask.is_empty() {
        true => BeatVerdict::Skip(skip),
        false => BeatVerdict::Ask(ask),
    }
}

/// What speaks against a call whatever there is to ask.
fn closed(facts: &BeatFacts<'_>) -> Option<BeatSkip> {
    let settings = facts.settings;
    if let Some((start, end)) = settings.hours {
        let zone = settings.hours_zone.as_ref().unwrap_or(facts.zone);
        let minute = zone.minute_of_day(facts.now);
        let is_open = match start <= end {
            true => (start..end).contains(&minute),
            // Over midnight.
            false => minute >= start || minute < end,
        };
        if !is_open {
            return Some(BeatSkip::OutsideHours);
        }
    }
    if facts.is_busy {
        return Some(BeatSkip::Busy);
    }
    if facts.state.asked.is_some() {
        return Some(BeatSkip::Awaited);
    }
    let is_today = facts.state.day == facts.zone.day(facts.now);
    (is_today && facts.state.calls >= settings.most_a_day).then_some(BeatSkip::DailyLimit)
}

fn is_due(task: &HeartbeatTask, facts: &BeatFacts<'_>) -> bool {
    let Some(last) = facts.state.tasks.get(&task.name).copied() else {
        return true;
    };
    let since = facts.now.saturating_sub(last);
    // A clock that was set back does not put a task off for good.
    last > facts.now || since >= task.interval
}

/// A standing order that led to nothing is given less often: twice, four, eight times the pause.
fn is_backing_off(facts: &BeatFacts<'_>) -> bool {
    let steps = facts.state.quiet.min(LONGEST_PAUSE);
    let pause = facts.settings.every.saturating_mul(1 << steps);
    let since = facts.now.saturating_sub(facts.state.asked_at);
    // A beat that comes a moment early counts as one.
    steps > 0 && since.saturating_add(facts.settings.every / 2) < pause
}

impl BeatState {
    /// A model is being asked.
    pub fn begin(&mut self, ask: BeatAsk, facts_day: String, now: UnixMillis) {
        if self.day != facts_day {
            (self.day, self.calls) = (facts_day, 0);
        }
        self.calls = self.calls.saturating_add(1);
        self.asked_at = now;
        self.asked = Some(ask);
    }

    /// It has answered: nothing, or something.
    pub fn end(&mut self, answer: BeatAnswer) {
        let Some(ask) = self.asked.take() else {
            return;
        };
        match answer {
            BeatAnswer::Failed => return,
            BeatAnswer::AllClear => {
                self.quiet = self.quiet.saturating_add(1);
                if ask.text.is_some() {
                    self.all_clear = ask.text;
                }
            }
            BeatAnswer::Alert => self.quiet = 0,
        }
        for task in ask.tasks {
            self.tasks.insert(task, self.asked_at);
        }
    }
}

/// What a model said to a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeatAnswer {
    AllClear,
    Alert,
    Failed,
}

#[cfg(test)]
mod tests;
