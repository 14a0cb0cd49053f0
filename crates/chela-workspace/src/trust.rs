//! Who wrote the files that shape the agent: a record by hash, kept apart from the files.
//!
//! A version of a file is trusted when Chela knows who wrote it: the owner through a command, the
//! agent in a turn that had read nothing foreign, or Chela itself. What anybody else wrote is
//! shown to the owner, and used or set aside as the policy for its folder says. What the agent
//! wrote in a turn that had read foreign text waits for the owner.
//!
//! The record lies in `state/trust.json`, beside the lock of the skills, where no tool of the
//! agent can write. Trusted versions are kept next to it, so that the last one can stand in for a
//! file that is set aside, and be put back.

mod book;
mod custody;
mod entry;
mod judgement;
mod noting;
mod versions;
mod watched;

pub use book::{TrustBook, TrustError};
pub use custody::{Absent, Custody, CustodySettings, Judged, Scanner};
pub(crate) use custody::{Reads, Ruling};
pub use entry::{FileEntry, Found, Gone, Held, RootEntry, Suspicion, Version, Writer};
pub use judgement::{Act, Case, Ground, Judgement, OnChange, Policies, State, judge, judge_absent};
pub(crate) use noting::record_seeded;
pub use noting::{Hand, Wrote};
pub use versions::Versions;
pub use watched::{Kind, Watched};
