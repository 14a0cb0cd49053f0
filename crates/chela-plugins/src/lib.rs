//! Who else may contribute? Packages that people install, and the hooks in them.
//!
//! A [`PluginPackage`] is a folder as its author wrote it: Agent Plugins, Claude's or OpenClaw's. What is
//! installed stands in the [`PluginLock`] by the hash of its files, what it may do in the config, as
//! [`GrantSet`]. A [`PluginHost`] asks its hooks, in a program that is kept warm in the sandbox or in commands
//! that are started for one question; what they answer is checked against the grants before anybody
//! else sees it ([`answer`]).
//!
//! Nothing here knows what a turn, a prompt or a tool is.

// This crate reads bytes of strangers: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

pub mod answer;
mod claude_events;
mod command_hooks;
mod grant;
mod hook_name;
mod hosting;
mod installed;
mod lock;
mod manifest;
mod openclaw;
mod package;
mod staging;

pub use command_hooks::{CommandHook, read_command_hooks};
pub use grant::{GrantError, GrantSet, PluginGrant, PromptPlace};
pub use hook_name::HookName;
pub use hosting::{HookFault, HookQuestion, PluginHost, log_prefix};
pub use installed::{InstalledPlugin, PluginStanding, installed_plugins};
pub use lock::{LockedPlugin, PluginFaults, PluginLock, PluginLockError};
pub use manifest::{ManifestError, PackageForm, PluginManifest, PluginProgram};
pub use package::{PackageError, PluginPackage, RunnablePart};
pub use staging::{FileChange, InstallError, StagedPlugin, remove_files, stage};
