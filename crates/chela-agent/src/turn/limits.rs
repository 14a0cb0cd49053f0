//! When a turn has gone on long enough.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use chela_core::ContentHash;
use serde_json::{Map, Value};

use crate::scope::ConversationScope;

/// How far one turn may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Model calls.
    pub steps: u64,
    pub time: Duration,
    pub repeats: RepeatLimits,
}

impl TurnLimits {
    /// As the config says now: limits count at once, in a turn that runs as well.
    pub fn of(scope: &ConversationScope) -> Self {
        let newer = scope.agents.newer();
        let newer_view = newer.as_ref().and_then(|newer| newer.agent(&scope.view.id));
        let view = newer_view.as_ref().unwrap_or(&scope.view);
        let loaded = newer.as_ref().unwrap_or(&scope.agents.loaded);
        let close = view
            .tools
            .value
            .loop_detection
            .as_ref()
            .unwrap_or(&loaded.config.tools.loop_detection)
            .enabled;
        Self {
            steps: view
                .max_steps
                .value
                .min(scope.grant.steps().unwrap_or(u64::MAX)),
            time: Duration::from_secs(view.timeout_seconds.value),
            repeats: if close {
                RepeatLimits::CLOSE
            } else {
                RepeatLimits::WIDE
            },
        }
    }
}

/// How often the very same call with the very same result may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatLimits {
    /// From here on the model is told.
    pub warn: usize,
    /// Here the turn ends.
    pub stop: usize,
}

impl RepeatLimits {
    /// When the operator asks to be watched closely.
    pub const CLOSE: Self = Self { warn: 3, stop: 6 };
    /// Nobody repeats himself this often with a purpose.
    pub const WIDE: Self = Self { warn: 8, stop: 16 };
}

/// What a turn has used up.
#[derive(Debug)]
pub struct TurnSpending {
    limits: TurnLimits,
    began: SystemTime,
    pub steps: u32,
    pub tool_calls: u32,
    /// The newest calls with their results; a loop may be several calls long.
    seen: VecDeque<ContentHash>,
}

/// What a repeated call leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRepetition {
    New,
    /// The model is told that this was the nth time.
    Warned(usize),
    /// The turn ends.
    TooOften(usize),
}

/// Calls looked back at.
const LOOK_BACK: usize = 64;

impl TurnSpending {
    pub fn new(limits: TurnLimits, now: SystemTime) -> Self {
        Self {
            limits,
            began: now,
            steps: 0,
            tool_calls: 0,
            seen: VecDeque::new(),
        }
    }

    /// Other limits count from here on.
    pub fn set_limits(&mut self, limits: TurnLimits) {
        self.limits = limits;
    }

    /// Why no further model call may be made.
    pub fn exhausted(&self, now: SystemTime) -> Option<String> {
        if u64::from(self.steps) >= self.limits.steps {
            return Some(format!(
                "{} model calls in one turn (`maxSteps`)",
                self.limits.steps
            ));
        }
        self.time_left(now).is_zero().then(|| self.out_of_time())
    }

    /// The words for a turn whose time is up.
    pub fn out_of_time(&self) -> String {
        format!(
            "{} seconds for one turn (`timeoutSeconds`)",
            self.limits.time.as_secs()
        )
    }

    /// How long the turn may still run.
    pub fn time_left(&self, now: SystemTime) -> Duration {
        self.limits
            .time
            .saturating_sub(now.duration_since(self.began).unwrap_or_default())
    }

    /// Takes note of a finished call.
    pub fn called(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        result: &str,
    ) -> CallRepetition {
        self.tool_calls += 1;
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        let hash = ContentHash::of(format!("{tool}\0{arguments}\0{result}"));
        self.seen.push_back(hash);
        if self.seen.len() > LOOK_BACK {
            self.seen.pop_front();
        }
        let times = self.seen.iter().filter(|seen| **seen == hash).count();
        match self.limits.repeats {
            limit if times >= limit.stop => CallRepetition::TooOften(times),
            limit if times >= limit.warn => CallRepetition::Warned(times),
            _ => CallRepetition::New,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallRepetition, RepeatLimits, TurnLimits, TurnSpending};
    use serde_json::Map;
    use std::time::{Duration, UNIX_EPOCH};

    fn spent() -> TurnSpending {
        let limits = TurnLimits {
            steps: 2,
            time: Duration::from_secs(10),
            repeats: RepeatLimits::CLOSE,
        };
        TurnSpending::new(limits, UNIX_EPOCH)
    }

    #[test]
    fn steps_and_time_run_out() {
        let mut spent = spent();
        assert_eq!(spent.exhausted(UNIX_EPOCH), None);
        spent.steps = 2;
        assert!(spent.exhausted(UNIX_EPOCH).unwrap().contains("maxSteps"));
        spent.steps = 0;
        let late = UNIX_EPOCH + Duration::from_secs(10);
        assert!(spent.exhausted(late).unwrap().contains("timeoutSeconds"));
        assert_eq!(spent.time_left(late), Duration::ZERO);
    }

    #[test]
    fn the_same_call_with_another_result_is_no_loop() {
        let mut spent = spent();
        for n in 0..20 {
            let result = n.to_string();
            assert_eq!(
                spent.called("poll", &Map::new(), &result),
                CallRepetition::New
            );
        }
    }

    #[test]
    fn two_calls_in_turn_are_a_loop_too() {
        let mut spent = spent();
        let mut last = CallRepetition::New;
        for _ in 0..6 {
            spent.called("a", &Map::new(), "x");
            last = spent.called("b", &Map::new(), "y");
        }
        assert_eq!(last, CallRepetition::TooOften(6));
    }
}
