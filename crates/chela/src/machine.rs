//! What the command asks of the machine it runs on, besides what every embedder does.

use chela_core::Host;

use crate::fail::CommandError;

/// A profile becomes part of a folder's name, so it must be a plain word.
pub fn check(host: &Host) -> Result<(), CommandError> {
    match host.profile() {
        Some(profile) if !is_plain_word(profile) => Err(CommandError::usage(format!(
            "`{profile}` is not a valid profile name"
        ))
        .hint("use letters, digits, `-` and `_`")),
        _ => Ok(()),
    }
}

fn is_plain_word(text: &str) -> bool {
    text.len() <= 64
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Memory and environment hold keys, and the commands this program starts run as the same user:
/// the kernel is asked to show them neither.
#[cfg(target_os = "linux")]
pub fn hide_memory() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Other systems let a user's programs read each other only with rights they ask for.
#[cfg(not(target_os = "linux"))]
pub fn hide_memory() -> std::io::Result<()> {
    Ok(())
}
