//! What memory promises when things go wrong.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod faults;
mod languages;
