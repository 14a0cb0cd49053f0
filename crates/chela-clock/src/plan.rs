//! What is to be done about planned moments that have come. Pure.

use serde::{Deserialize, Serialize};

use crate::job::MissedPolicy;
use crate::{JobSchedule, UnixMillis};

/// So late a job is still on time.
const ON_TIME: u64 = 60_000;
/// The most that are caught up with at once.
const MOST_CAUGHT_UP: usize = 100;
/// The most that are put on record as left out.
const MOST_RECORDED: usize = 20;

/// A job whose time has come.
#[derive(Debug, Clone, Copy)]
pub struct DueAsk<'a> {
    pub schedule: &'a JobSchedule,
    /// The moment it was planned for: the first that nothing was decided about.
    pub planned: UnixMillis,
    pub missed: MissedPolicy,
    /// So late a missed moment is still caught up with.
    pub grace: u64,
    pub now: UnixMillis,
}

/// What follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DuePlan {
    /// Moments to be worked on now, in order.
    pub send: Vec<UnixMillis>,
    /// Moments that are left out: the newest of them, in order.
    pub skipped: Vec<(UnixMillis, SkipReason)>,
    /// The next planned moment, which lies ahead.
    pub next: Option<UnixMillis>,
}

/// Why a planned moment is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// Nothing ran at that time, and the job does not catch up.
    Missed,
    /// Nothing ran at that time, and by now it is too late.
    TooLate,
    /// Nothing ran at that time, and a later moment stands for it.
    Superseded,
    /// The run before is still under way.
    Busy,
}

impl SkipReason {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Missed => "missed while nothing ran; the job does not catch up",
            Self::TooLate => "missed while nothing ran; too late to catch up",
            Self::Superseded => "missed while nothing ran; a later one stands for it",
            Self::Busy => "the run before was still under way",
        }
    }
}

/// What is to be done at `now` about a job that was planned for a moment that has come. The next
/// one follows from the schedule and the planned moments, and from nothing else.
pub fn plan_due(ask: DueAsk<'_>) -> DuePlan {
    let newest = ask.schedule.last_until(ask.now).unwrap_or(ask.planned);
    let newest = newest.max(ask.planned);
    let mut plan = DuePlan {
        next: ask.schedule.next_after(newest),
        ..DuePlan::default()
    };
    let late = ask.now.saturating_sub(newest);
    let earlier = earlier_moments(&ask, newest);
    let reason_of = |moment: UnixMillis| match ask.missed {
        MissedPolicy::Skip => SkipReason::Missed,
        _ if ask.now.saturating_sub(moment) > ask.grace => SkipReason::TooLate,
        _ => SkipReason::Superseded,
    };
    match ask.missed {
        MissedPolicy::All => {
            let is_in_time = |moment: &UnixMillis| ask.now.saturating_sub(*moment) <= ask.grace;
            let (send, left): (Vec<_>, Vec<_>) = earlier.into_iter().partition(is_in_time);
            plan.send = send;
            plan.skipped = left
                .into_iter()
                .map(|moment| (moment, reason_of(moment)))
                .collect();
        }
        MissedPolicy::Once | MissedPolicy::Skip => {
            plan.skipped = earlier
                .into_iter()
                .map(|moment| (moment, reason_of(moment)))
                .collect();
        }
    }
    let catches_up = ask.missed != MissedPolicy::Skip && late <= ask.grace;
    match late <= ON_TIME || catches_up {
        true => plan.send.push(newest),
        false => plan.skipped.push((newest, reason_of(newest))),
    }
    let surplus = plan.skipped.len().saturating_sub(MOST_RECORDED);
    plan.skipped.drain(..surplus);
    plan
}

/// The planned moments before the newest one, in order: as many of the last as can matter.
fn earlier_moments(ask: &DueAsk<'_>, newest: UnixMillis) -> Vec<UnixMillis> {
    let mut moments = Vec::new();
    let mut before = newest;
    while moments.len() < MOST_CAUGHT_UP && before > ask.planned {
        let earlier = ask.schedule.last_until(before - 1).unwrap_or(ask.planned);
        before = earlier.max(ask.planned);
        moments.push(before);
    }
    moments.reverse();
    moments
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: u64 = 3_600_000;

    fn hourly() -> JobSchedule {
        JobSchedule::Every {
            every: HOUR,
            anchor: 0,
        }
    }

    fn plan(missed: MissedPolicy, planned: u64, now: u64) -> DuePlan {
        plan_due(DueAsk {
            schedule: &hourly(),
            planned: planned * HOUR,
            missed,
            grace: 2 * HOUR,
            now,
        })
    }

    #[test]
    fn what_is_on_time_is_sent_whatever_the_policy() {
        for missed in [MissedPolicy::Skip, MissedPolicy::Once, MissedPolicy::All] {
            let due = plan(missed, 5, 5 * HOUR + 900);
            assert_eq!(due.send, [5 * HOUR]);
            assert_eq!((due.skipped, due.next), (vec![], Some(6 * HOUR)));
        }
    }

    #[test]
    fn what_was_missed_follows_the_policy_and_the_grace() {
        // Off from before 5 until half past 9.
        let now = 9 * HOUR + HOUR / 2;
        let skip = plan(MissedPolicy::Skip, 5, now);
        assert_eq!(skip.send, [0; 0]);
        assert_eq!(skip.skipped.len(), 5);
        let once = plan(MissedPolicy::Once, 5, now);
        assert_eq!(once.send, [9 * HOUR]);
        assert_eq!(once.skipped.first(), Some(&(5 * HOUR, SkipReason::TooLate)));
        assert_eq!(
            once.skipped.last(),
            Some(&(8 * HOUR, SkipReason::Superseded))
        );
        let all = plan(MissedPolicy::All, 5, now);
        assert_eq!(all.send, [8 * HOUR, 9 * HOUR]);
        assert_eq!(all.skipped.len(), 3);
        for due in [skip, once, all] {
            assert_eq!(due.next, Some(10 * HOUR));
        }
    }

    #[test]
    fn a_daily_job_that_is_three_hours_late_is_left_out() {
        let daily = JobSchedule::Every {
            every: 24 * HOUR,
            anchor: 0,
        };
        let due = plan_due(DueAsk {
            schedule: &daily,
            planned: 24 * HOUR,
            missed: MissedPolicy::Once,
            grace: 2 * HOUR,
            now: 27 * HOUR,
        });
        assert_eq!(due.send, [0; 0]);
        assert_eq!(due.skipped, [(24 * HOUR, SkipReason::TooLate)]);
        assert_eq!(due.next, Some(48 * HOUR));
    }

    #[test]
    fn a_long_absence_is_bounded() {
        let schedule = JobSchedule::Every {
            every: 1_000,
            anchor: 0,
        };
        let due = plan_due(DueAsk {
            schedule: &schedule,
            planned: 1_000,
            missed: MissedPolicy::All,
            grace: u64::MAX,
            now: 400 * 24 * HOUR,
        });
        assert_eq!(due.send.len(), 101);
        assert_eq!(due.next, Some(400 * 24 * HOUR + 1_000));
    }

    proptest! {
        /// However time passes between two looks, every planned moment is decided about once and
        /// in order.
        #[test]
        fn no_moment_is_decided_about_twice(
            steps in prop::collection::vec(1_u64..5 * HOUR, 1..40),
            missed in prop::sample::select(&[MissedPolicy::Skip, MissedPolicy::Once, MissedPolicy::All][..]),
        ) {
            let schedule = hourly();
            let (mut now, mut planned) = (0, HOUR);
            let mut decided = Vec::new();
            for step in steps {
                now += step;
                if planned > now {
                    continue;
                }
                let due = plan_due(DueAsk { schedule: &schedule, planned, missed, grace: 2 * HOUR, now });
                let mut both: Vec<u64> = due.send.iter().copied()
                    .chain(due.skipped.iter().map(|(moment, _)| *moment)).collect();
                both.sort_unstable();
                decided.extend(both);
                planned = due.next.unwrap();
                prop_assert!(planned > now);
            }
            let expected: Vec<u64> = (1..).map(|hour| hour * HOUR).take_while(|moment| *moment < planned).collect();
            prop_assert_eq!(decided, expected);
        }
    }
}
