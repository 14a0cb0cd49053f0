//! When is something due? Schedules, jobs, every time they were due, and what is planned next.
//!
//! Nothing here reads a clock: whoever asks says what time it is. A schedule is a pure function
//! from one planned moment to the next ([`JobSchedule`]); what is to be done about moments that
//! have come is decided by [`plan_due`]; [`JobClock`] writes that down, each decision in one
//! transaction of the store; [`JobBook`] is what people and agents change jobs with.

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod duration;
mod heartbeat;
mod job;
mod job_book;
mod job_clock;
mod job_delivery;
mod job_request;
mod local_time;
mod plan;
mod reminder;
mod run_note;
mod schedule;
mod work_form;

pub use duration::{DurationError, duration_in_words, parse_duration};
pub use heartbeat::{
    BeatAnswer, BeatAsk, BeatFacts, BeatSettings, BeatSkip, BeatState, BeatVerdict,
    HeartbeatChecklist, HeartbeatTask, judge_beat,
};
pub use job::{
    ContextLine, JobEnd, JobMaker, JobOrigin, JobPayload, JobSpec, JobState, LastRun, MissedPolicy,
    SessionTarget, USUAL_GRACE,
};
pub use job_book::{BookError, JobBook, JobRow, RunRow};
pub use job_clock::{JobClock, TickReport};
pub use job_delivery::{DeliveryMode, JobDelivery};
pub use job_request::{JobRequest, RequestError, RequestGround};
pub use local_time::{LocalZone, ZoneError, moment_in_words};
pub use plan::{DueAsk, DuePlan, SkipReason, plan_due};
pub use reminder::{ReminderText, reminder_text};
pub use run_note::{RunNote, RunStatus};
pub use schedule::{JobSchedule, ScheduleError};
pub use work_form::{ClockSettings, DueWork, RunOutcome, WorkForm};

/// Milliseconds since 1970.
pub type UnixMillis = u64;
