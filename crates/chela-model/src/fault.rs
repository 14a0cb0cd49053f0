//! What went wrong, from what an endpoint says about it.

mod complaint;
mod judge;
mod retry_after;
mod words;

pub use complaint::Complaint;
pub use judge::judge;
pub use retry_after::retry_after;
pub use words::Fault;
