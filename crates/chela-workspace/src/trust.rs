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

mod entry;
mod judgement;
mod trust_records;
mod versions;

pub use entry::{
    DeletedFile, FileEntry, FileVersion, HeldVersion, RootEntry, ScanFinding, SuspicionLevel,
    VersionWriter,
};
pub use judgement::{
    AbsentFile, FileJudgement, FolderGround, JudgedVersion, OnChange, TrustAct, TrustPolicies,
    TrustStanding, VersionCase, judge, judge_absent,
};
pub(crate) use trust_records::key;
pub use trust_records::{TrustError, TrustRecords, WrittenVersion};
pub use versions::VersionCopies;
