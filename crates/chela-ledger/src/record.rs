//! Requests on record: what was sent, byte for byte, and what came of it.

mod diff;
mod read;
mod write;

pub use diff::{DifferenceSide, RequestChange, RequestDifference};
pub use write::{DraftedRequest, OpenedRequest};

#[cfg(test)]
mod tests;
