//! What does the agent know how to do?
//!
//! Skills are folders with a SKILL.md. This crate finds them in every place people keep them,
//! says which of them the machine can run and why the others are hidden, lists them in a prompt
//! within a budget, ranks them for a message, and keeps track of which of them the owner trusts.
//! It does not know how a prompt is made, what a tool may do or how a session runs.
//!
//! Begin with [`SkillLibrary::open`]; ask it [`SkillLibrary::for_agent`] for a snapshot, and that for the
//! [`AgentSkills::listing`].

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod agent_skills;
mod archive;
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
mod mention;
mod name;
mod one_line;
mod origin;
mod package;
mod roots;
mod scan;
mod scan_report;
mod settings;
mod shown_skill;
mod signature;
mod skill;
mod source;
mod stamp;
mod tree;
mod trust;
mod uses;
mod watch;
mod xml;

pub use agent_skills::{AgentSkill, AgentSkills, SkillPresence};
pub use author::{
    AddError, AddRequest, AddSource, AddedSkill, CheckedSkill, FetchError, FileDifference,
    InstallPlan, InstallStep, InstallWishes, MoveError, NewError, NewSkill, RegistryName,
    RemovedSkill, StagedSkill, StagedSkills, accept, add, check_folder, create, differences,
    install_steps, missing_programs, remove, replace, stage,
};
pub use bundled::{BUNDLED, BundledSkill};
pub use catalog::{CatalogEntry, ShadowedSkill, SkillCatalog};
pub use eligibility::{GateContext, HiddenReason, PathPrograms, SkillGate, SkillPlatform, hidden};
pub use finding::SkillFinding;
pub use front_matter::{
    CommandDispatch, FrontMatter, FrontMatterError, SkillContext, SkillGating, SkillNeeds,
    SkillText, read as read_skill_text,
};
pub use inspect::{SkillPackage, inspect};
pub use invoke::{LoadError, LoadedSkill, SkillCall, SkillResource, fill_in, parse_call};
pub use library::{RefreshOutcome, SkillLibrary};
pub use listing::{
    ListingReport, ListingRequest, SkillChanges, SkillListing, describe, entry_tokens, is_partial,
    list,
};
pub use name::{command_names, is_valid_name};
pub use origin::{GitSource, SkillOrigin};
pub use package::{FetchedPackage, PackageFiles, fetch_package, package_files};
pub use roots::{SkillPlaces, SkillRoot, roots};
pub use scan::{RootReport, RootScan, RootState, SkipReason, SkippedFolder};
pub use settings::{
    LoadSettings, OnChange, PluginSkills, SkillCredential, SkillEntry, SkillLimits, SkillNewcomers,
    SkillRanking, SkillsSettings, WatchSetting, WorkspaceStanding, config_is_on,
};
pub use signature::{
    BrokenSignature, KeyError, ManifestDifference, ManifestError, PublicKey, SecretKey, SignError,
    SkillManifest, SkillSignature, TrustedPublishers, UnusablePublisher, VerifyError, new_key,
    sign, verify, verify_list, verify_signature,
};
pub use skill::{MAX_DESCRIPTION_CHARS, Skill};
pub use source::{PluginState, SkillSource, SourceStanding};
pub use tree::{FileKind, SkillFile, TreeError};
pub use trust::{
    AgentWriter, FileChange, FileChangeKind, FirstLook, LockEntry, LockError, LookRecord,
    ScanReport, ScanVerdict, SkillContents, SkillLook, SkillScanner, SkillTrust, TrustLock,
    TrustNews, TrustNotice, TrustPolicy, TrustState, TrustVoucher, TrustedBy, changes, judge,
};
pub use uses::{SkillUse, SkillUses};
pub use watch::{SkillsWatch, WatchError, watch};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
