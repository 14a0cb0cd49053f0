//! What a probe found, kept for the next process: building walls to see whether they stand costs
//! more than everything else at a start.
//!
//! Only walls that stood are kept, and only while everything the outcome depends on is the same:
//! this run of the machine, the user, the programs, what the kernel lets its users do. A memo that
//! lies gains nobody anything: a command whose walls cannot be built does not run.

use std::fs;
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_debug};
use chela_files::{FileMode, FileStamp, this_boot, this_user, write_file};
use serde::{Deserialize, Serialize};

use super::SandboxBackend;

/// What an administrator switches while the machine runs.
const SWITCHES: &[&str] = &[
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/self/attr/current",
];

/// The file a probe is remembered in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProbeMemo(PathBuf);

#[derive(Serialize, Deserialize)]
struct KeptProbe {
    depends_on: String,
    backend: SandboxBackend,
}

impl ProbeMemo {
    /// `None` where nothing is kept yet: looking makes no home.
    pub(super) fn of(host: &Host) -> Option<Self> {
        let folder = host.state_dir().join("state");
        folder
            .is_dir()
            .then(|| Self(folder.join("sandbox-probe.json")))
    }

    /// The walls these programs built, if nothing has changed since.
    pub(super) fn recall(&self, programs: &[&Path]) -> Option<SandboxBackend> {
        let text = fs::read(&self.0).ok()?;
        let kept: KeptProbe =
            ok_or_debug!(serde_json::from_slice(&text), "reading the sandbox probe")?;
        (Some(kept.depends_on) == fingerprint(programs)).then_some(kept.backend)
    }

    pub(super) fn keep(&self, programs: &[&Path], backend: &SandboxBackend) {
        let Some(depends_on) = fingerprint(programs) else {
            return;
        };
        let kept = KeptProbe {
            depends_on,
            backend: backend.clone(),
        };
        let Some(text) = ok_or_debug!(serde_json::to_vec(&kept), "writing the sandbox probe")
        else {
            return;
        };
        // A home that cannot be written is probed each time.
        let written = write_file(&self.0, &text, FileMode::Private);
        ok_or_debug!(written, "keeping the sandbox probe");
    }
}

/// Everything the outcome of a probe depends on; `None` where that cannot be said.
fn fingerprint(programs: &[&Path]) -> Option<String> {
    let boot = this_boot();
    if boot.is_empty() {
        return None;
    }
    let mut parts = vec![boot.to_owned(), this_user()?.user.to_string()];
    for space in ["user", "mnt", "pid"] {
        let link = fs::read_link(format!("/proc/self/ns/{space}")).ok()?;
        parts.push(link.display().to_string());
    }
    for program in programs {
        let file = fs::metadata(program).ok()?;
        parts.push(format!("{}:{}", program.display(), FileStamp::of(&file)));
    }
    for switch in SWITCHES {
        parts.push(fs::read_to_string(switch).unwrap_or_default());
    }
    Some(parts.join("\n"))
}
