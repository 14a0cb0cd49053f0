//! What does the agent know how to do?
//!
//! Skills are folders with a SKILL.md. This crate finds them in every place people keep them,
//! says which of them the machine can run and why the others are hidden, lists them in a prompt
//! within a budget, ranks them for a message, and keeps track of which of them the owner trusts.
//! It does not know how a prompt is made, what a tool may do or how a session runs.
//!
//! Begin with [`Library::open`]; ask it [`Library::for_agent`] for a snapshot, and that for the
//! [`AgentSkills::listing`].

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod agent_skills;
mod author;
mod body;
mod bundled;
mod catalog;
mod disk;
mod eligibility;
mod finding;
#[cfg(test)]
mod fixture;
mod front_matter;
mod inspect;
mod invoke;
mod library;
mod listing;
mod name;
mod rank;
mod scan;
mod scan_report;
mod settings;
mod shown;
mod signature;
mod skill;
mod source;
mod stamp;
mod tree;
mod trust;
mod uses;
mod watch;
mod xml;

pub use agent_skills::{AgentSkill, AgentSkills, Presence};
pub use author::{
    AddError, AddRequest, AddSource, Added, Checked, FetchError, MoveError, NewError, NewSkill,
    Removed, accept, add, check_folder, create, remove,
};
pub use bundled::{BUNDLED, BundledSkill};
pub use catalog::{Catalog, Entry, Shadowed};
pub use eligibility::{Gate, Gates, Hidden, Platform, Programs, hidden};
pub use finding::Finding;
pub use front_matter::{
    CommandDispatch, FrontMatter, FrontMatterError, Gating, Requires, SkillText,
    read as read_skill_text,
};
pub use inspect::{Package, inspect};
pub use invoke::{Call, LoadError, LoadedSkill, Resource, parse_call};
pub use library::{Library, Refreshed};
pub use listing::{ListingReport, ListingRequest, SkillListing, entry_tokens, list};
pub use name::{command_names, is_valid_name};
pub use rank::{DESCRIBED_PER_MESSAGE, RankIndex, Ranked};
pub use scan::{RootReport, RootState, Scan, SkipReason, Skipped};
pub use settings::{
    Credential, LoadSettings, OnChange, PluginSkills, PluginState, Ranking, SkillEntry,
    SkillLimits, SkillsSettings, Watch, config_is_on,
};
pub use signature::{
    BrokenSignature, Difference, KeyError, Manifest, ManifestError, PublicKey, Publishers,
    SecretKey, SignError, Signature, UnusablePublisher, new_key, sign, verify, verify_list,
};
pub use skill::{FileKind, MAX_DESCRIPTION_CHARS, Skill, SkillFile};
pub use source::{Places, Root, Source, Standing, roots};
pub use trust::{
    AgentHand, FileChange, FileChangeKind, FirstLook, LockEntry, LockError, News, Policy,
    ScanReport, ScanVerdict, SkillContents, SkillScanner, TrustLock, TrustNotice, TrustState,
    TrustedBy, Trusting, Voucher, changes, judge,
};
pub use uses::{Use, Uses};
pub use watch::{WatchError, Watching, watch};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
