//! Becoming a command that may do everything but change what Chela keeps.

use std::io;

use rustix::process::getuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::order::{HelperOrder, SandboxNamespaces};

use super::{enclose, filter, mounts, namespaces};

/// Rights of root with which mounts are unmade or gone around: by mounting, by another process's
/// tree, by handles of files, by devices and by the kernel itself.
const AROUND_MOUNTS: &[CapabilitySet] = &[
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::MKNOD,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::BPF,
    CapabilitySet::PERFMON,
];

/// Everything that holds for the command and all it starts.
pub fn fence(order: &HelperOrder) -> Result<(), String> {
    enclose::no_open_files();
    let terminal = || filter::refuse_terminal_input();
    match (&order.walls, order.namespaces) {
        // Bubblewrap has made the mounts.
        (None, _) => {
            no_new_rights()?;
            enclose::apart_from_others();
            terminal()
        }
        (Some(walls), SandboxNamespaces::Given) => {
            no_new_rights()?;
            enclose::keep_files(walls, order.landlock)?;
            terminal()
        }
        (Some(walls), SandboxNamespaces::Own) => {
            let failed = |error: &dyn std::fmt::Display| {
                format!("the command cannot be kept from Chela's own files: {error}")
            };
            let by = own_mounts().map_err(|error| failed(&error))?;
            mounts::keep(walls, &order.over)?;
            match by {
                MountRight::Root => {
                    enclose::apart_from_others();
                    terminal()?;
                    give_up(AROUND_MOUNTS).map_err(|error| failed(&error))
                }
                MountRight::OwnUser => {
                    enclose::no_privileges()?;
                    enclose::apart_from_others();
                    terminal()
                }
            }
        }
    }
}

/// By which right mounts are made.
enum MountRight {
    /// Root of the machine, which keeps its other rights.
    Root,
    /// A namespace of users of its own, in which this user is the same and nobody else is there.
    OwnUser,
}

fn own_mounts() -> io::Result<MountRight> {
    let rights = capabilities(None)?.effective;
    match getuid().is_root() && rights.contains(CapabilitySet::SYS_ADMIN) {
        true => {
            namespaces::leave(UnshareFlags::NEWNS)?;
            Ok(MountRight::Root)
        }
        false => {
            namespaces::as_same_user(UnshareFlags::NEWNS)?;
            Ok(MountRight::OwnUser)
        }
    }
}

fn give_up(rights: &[CapabilitySet]) -> io::Result<()> {
    let mut kept = capabilities(None)?;
    for right in rights {
        // One this kernel does not know need not be given up.
        let _ = remove_capability_from_bounding_set(*right);
        kept.effective -= *right;
        kept.permitted -= *right;
        kept.inheritable -= *right;
    }
    clear_ambient_capability_set()?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept.effective,
            permitted: kept.permitted,
            inheritable: kept.inheritable,
        },
    )?;
    Ok(())
}

fn no_new_rights() -> Result<(), String> {
    set_no_new_privs(true)
        .map_err(|error| format!("the command may gain rights by what it runs: {error}"))
}
