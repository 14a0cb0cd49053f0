//! What can a command reach?
//!
//! [`standing`] says whether a session is sandboxed and how; a [`SandboxPlan`] turns a [`BareCommand`]
//! into one that starts inside walls the kernel holds. Two backends build them: bubblewrap with
//! namespaces of its own, and Landlock with seccomp where there is no bubblewrap. Both go through
//! the [`helper`]: the program starts itself again under a hidden name, gives up what the command
//! must not have, and becomes the command. What is said of a sandbox, in the prompt and by `chela
//! sandbox explain`, comes from the same [`SandboxPlan`].
//!
//! The walls are Linux's. On other systems the same types are there and say that there is no
//! sandbox: a session that must have one runs no command. What is known of processes and
//! addresses of the machine is here too, so that the rest of the house need not ask which system
//! it runs on.

// This crate reads bytes of others: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod bounds;
mod bubblewrap;
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "there are no control groups to join")
)]
mod cgroup;
mod decide;
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "there is no sandbox that could have a way out")
)]
mod egress;
mod family;
mod fence;
mod folder;
#[cfg_attr(not(target_os = "linux"), path = "no_helper.rs")]
pub mod helper;
mod kept;
mod lineage;
mod machine;
mod mount_table;
mod order;
mod plan;
mod prune;
mod reachable;
mod service;
mod settings;
mod signals;
mod toolchains;
mod walls;
#[cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        reason = "there is no sandbox whose commands could be noted"
    )
)]
mod written;

pub use bounds::CommandBounds;
pub use cgroup::{Cgroup, CgroupParent};
pub use decide::{
    FolderAccess, SandboxAsk, SandboxChoice, SandboxStanding, WorkFolder, check_work_folder,
    is_auto, opens_too_much, standing, wants,
};
pub use egress::{EgressHosts, EgressProxy, read_proxy_head};
pub use family::{FamilyLeader, FamilyWatch, MARK, ProcessFamily};
pub use fence::{FenceAsk, FenceKind, FencePlan, FenceSwitch, StateFence, becomes_other_user};
pub use kept::WorkspaceDoors;
pub use lineage::{
    CommandOrigin, CommandRecord, RunningCommand, command_origin, commands_quiet_since,
    end_surviving_commands, forget_old_commands, may_come_from_command, may_command_live,
    others_run_commands, running_commands,
};
pub use machine::{SandboxBackend, SandboxMachine, is_known};
pub use order::{HELPER_COMMAND, HELPER_FAILED, HelperOrder, SandboxNamespaces};
pub use plan::{BareCommand, NetworkAccess, SandboxPlan, WrappedCommand};
pub use prune::{StaleSandbox, WorkFate, prune, remove, stale};
pub use reachable::{HostLookup, SystemLookup, is_public};
pub use service::ServiceAsk;
pub use settings::keys_without_effect;
pub use signals::{ProcessSignal, signal_group, signal_process};
pub use walls::PathAccess;
pub use written::WriteRecord;
