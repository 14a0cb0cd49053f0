//! Mending: only what is safe, and never without a way back.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chela_agent::leftovers;
use chela_config::text::edit::EditError;
use chela_core::AgentId;
use chela_files::{FileFacts as _, set_permission_bits};
use chela_workspace::SeedMode;

use super::DoctorFinding;
use super::checks::is_writable;
use crate::cmd::{CommandSetup, config, init};
use crate::fail::CommandError;
use crate::screen::count_noun;

/// What would mend a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoctorFix {
    /// Write the config in the present form; the old text is kept as a backup.
    Migrate,
    /// Write the missing files of an agent; nothing that exists is touched.
    Seed {
        agent: AgentId,
    },
    Chmod {
        path: PathBuf,
        mode: u32,
    },
    /// Remove what interrupted writes left behind.
    Sweep,
}

/// Applies every remedy once, marks what is mended, and says what was changed and how to go back.
pub fn apply(setup: &CommandSetup, findings: &mut [DoctorFinding]) -> Vec<String> {
    let home = setup.host.state_dir();
    let barred = home.is_dir() && !is_writable(&home);
    if barred && findings.iter().any(|finding| finding.fixable) {
        let shown = setup.host.compact(&home);
        return vec![format!("Could not fix anything: {shown} is not writable.")];
    }
    let remedies: BTreeSet<DoctorFix> = findings
        .iter()
        .filter_map(|finding| finding.remedy.clone())
        .collect();
    let mut changes = Vec::new();
    for remedy in remedies {
        match perform(setup, &remedy) {
            Ok(change) => {
                changes.push(change);
                for finding in findings
                    .iter_mut()
                    .filter(|finding| finding.remedy.as_ref() == Some(&remedy))
                {
                    finding.fixed = true;
                }
            }
            Err(fail) => changes.push(format!("Could not fix: {}", fail.message)),
        }
    }
    changes.dedup();
    changes
}

fn perform(setup: &CommandSetup, remedy: &DoctorFix) -> Result<String, CommandError> {
    match remedy {
        DoctorFix::Migrate => {
            let outcome = config::mend(&setup.host, present_form)?;
            let backup = outcome
                .backup
                .map(|path| setup.host.compact(&path))
                .unwrap_or_default();
            Ok(format!(
                "Updated {} to the current format; the previous text is in {backup}.",
                setup.host.compact(&outcome.path)
            ))
        }
        DoctorFix::Seed { agent } => {
            let report = init::seed_agent(setup, Some(agent.as_str()), SeedMode::Fill)?;
            let created: Vec<&str> = report.created.iter().map(|file| file.name()).collect();
            let what = if created.is_empty() {
                "the repository".to_owned()
            } else {
                created.join(", ")
            };
            Ok(format!(
                "Created {what} in {}.",
                setup.host.compact(&report.dir)
            ))
        }
        DoctorFix::Sweep => {
            let swept = leftovers::sweep(&setup.host, &setup.loaded);
            if swept.is_empty() {
                return Err(CommandError::new(
                    "leftovers of interrupted writes cannot be removed",
                ));
            }
            let what = count_noun(swept.len(), "leftover");
            Ok(format!("Removed {what} left by interrupted writes."))
        }
        DoctorFix::Chmod { path, mode } => {
            let shown = setup.host.compact(path);
            let before = std::fs::metadata(path).map(|meta| meta.permission_bits() & 0o777);
            set_permission_bits(path, *mode).map_err(|error| {
                CommandError::new(format!("cannot change the permissions of {shown}: {error}"))
            })?;
            let before = before
                .map(|mode| format!(" (it was {mode:o})"))
                .unwrap_or_default();
            Ok(format!(
                "Set the permissions of {shown} to {mode:o}{before}."
            ))
        }
    }
}

/// The config in the present shape, with the comments of everything that stays.
fn present_form(source: &str) -> Result<String, EditError> {
    Ok(chela_config::migrated_text(source)?.unwrap_or_else(|| source.to_owned()))
}
