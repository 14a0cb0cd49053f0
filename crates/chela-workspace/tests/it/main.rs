//! One binary, so that linking happens once.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on should stop; the lint spares test functions only, not what they share"
)]

mod bad_input;
mod extension;
mod history;
mod home;
mod limits;
mod loading;
mod notices;
mod seeding;
mod trust;
mod words;
