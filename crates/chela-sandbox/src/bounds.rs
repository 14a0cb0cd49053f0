//! How much a sandboxed command may use.

use chela_config::model::SandboxDocker;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Limits of one command and all it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandBounds {
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of memory, of each process and of all together.
    pub memory: u64,
    /// Bytes of memory and swap together, where swap is counted.
    pub memory_and_swap: u64,
    /// Share of the processors, 100 for one; `None`: all there are.
    pub processor_percent: Option<u64>,
    /// Files one process may have open.
    pub open_files: u64,
    /// Seconds of processor time of one process.
    pub cpu_seconds: u64,
    /// Bytes of one file that is written.
    pub file_bytes: u64,
}

impl std::fmt::Display for CommandBounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} processes, {} MiB of memory, {} open files, {} s of processor time",
            self.processes,
            self.memory >> 20,
            self.open_files,
            self.cpu_seconds
        )?;
        match self.processor_percent {
            Some(100) => f.write_str(", 1 processor"),
            Some(percent) => write!(f, ", {} processors", percent as f64 / 100.0),
            None => Ok(()),
        }
    }
}

/// A config that says nothing usable.
const MEMORY: u64 = 1 << 30;
const OPEN_FILES: u64 = 1_024;
const FILE_BYTES: u64 = 8 << 30;
/// Less than this no shell starts.
const LEAST_MEMORY: u64 = 16 << 20;

impl CommandBounds {
    /// For a helper that runs nothing.
    pub(super) fn none() -> Self {
        Self {
            processes: 0,
            memory: 0,
            memory_and_swap: 0,
            processor_percent: None,
            open_files: 0,
            cpu_seconds: 0,
            file_bytes: 0,
        }
    }

    /// The same for the owner's own work: room for a compiler.
    #[must_use]
    pub fn roomy(self) -> Self {
        let memory = (machine_memory() / 4 * 3).max(self.memory);
        Self {
            processes: self.processes.max(4_096),
            memory,
            memory_and_swap: memory.max(self.memory_and_swap),
            processor_percent: None,
            open_files: self.open_files.max(65_536),
            file_bytes: self.file_bytes.max(64 << 30),
            ..self
        }
    }

    /// What `sandbox.docker` says, and what of it could not be read.
    pub fn of(settings: &SandboxDocker, timeout_seconds: u64, notes: &mut Vec<String>) -> Self {
        let memory = match bytes(&plain(&settings.memory.0)) {
            Some(memory) => memory.max(LEAST_MEMORY),
            None => {
                notes.push(format!(
                    "sandbox.docker.memory `{}` is not a size such as `512m`; using 1g",
                    plain(&settings.memory.0)
                ));
                MEMORY
            }
        };
        let limit = |name: &str| settings.ulimits.get(name).and_then(hard);
        let cpu = limit("cpu").unwrap_or(u64::MAX).min(timeout_seconds);
        Self {
            processes: u64::from(settings.pids_limit)
                .min(limit("nproc").unwrap_or(u64::MAX))
                .max(1),
            memory,
            memory_and_swap: memory_and_swap(settings, memory),
            processor_percent: processor_percent(settings, notes),
            open_files: limit("nofile").unwrap_or(OPEN_FILES).max(16),
            cpu_seconds: cpu.max(1),
            file_bytes: limit("fsize").unwrap_or(FILE_BYTES),
        }
    }
}

/// Bytes of memory this machine has; 0 where that is not known.
fn machine_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let words = total.and_then(|total| total.split_whitespace().next());
    words
        .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
        .unwrap_or(0)
        .saturating_mul(1024)
}

/// `sandbox.docker.cpus`.
pub(super) fn processor_percent(settings: &SandboxDocker, notes: &mut Vec<String>) -> Option<u64> {
    match settings.cpus {
        cpus if cpus.is_finite() && cpus > 0.0 => Some((cpus.min(4_096.0) * 100.0).ceil() as u64),
        0.0 => None,
        cpus => {
            notes.push(format!(
                "sandbox.docker.cpus `{cpus}` is not a number of processors; using 1"
            ));
            Some(100)
        }
    }
}

/// `sandbox.docker.memorySwap`, the most of memory and swap together.
pub(super) fn memory_and_swap(settings: &SandboxDocker, memory: u64) -> u64 {
    match bytes(&plain(&settings.memory_swap.0)) {
        Some(both) => both.max(memory),
        // Docker's word for no limit is -1. Here the memory alone is meant.
        None => memory,
    }
}

/// A plain value as it would be written.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A limit as a number or as `{ soft, hard }`.
fn hard(value: &Value) -> Option<u64> {
    match value {
        Value::Object(both) => both.get("hard").or_else(|| both.get("soft"))?.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    }
}

/// `512m`, `1g`, `1.5gb`, bare bytes.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let number_ends = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(number_ends);
    let scale: f64 = match unit.trim().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1.0,
        "k" => 1_024.0,
        "m" => 1_048_576.0,
        "g" => 1_073_741_824.0,
        "t" => 1_099_511_627_776.0,
        _ => return None,
    };
    let amount = number.parse::<f64>().ok()? * scale;
    (1.0..1e18).contains(&amount).then_some(amount as u64)
}

#[cfg(test)]
mod tests {
    use chela_config::model::{SandboxDocker, ScalarValue};
    use serde_json::json;

    use super::{CommandBounds, bytes};

    #[test]
    fn amounts_as_people_write_them() {
        assert_eq!(bytes("1g"), Some(1 << 30));
        assert_eq!(bytes("512M"), Some(512 << 20));
        assert_eq!(bytes("1.5 GiB"), Some(3 << 29));
        assert_eq!(bytes("4096"), Some(4096));
        for wrong in ["", "much", "-1g", "1x", "0"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn unreadable_limits_are_told_and_the_default_holds() {
        let settings = SandboxDocker {
            memory: ScalarValue("plenty".into()),
            pids_limit: 10,
            ulimits: [("nofile".to_owned(), json!({ "soft": 64, "hard": 128 }))].into(),
            ..SandboxDocker::default()
        };
        let mut notes = Vec::new();
        let bounds = CommandBounds::of(&settings, 60, &mut notes);
        assert_eq!(bounds.memory, 1 << 30);
        assert_eq!(bounds.processes, 10);
        assert_eq!(bounds.open_files, 128);
        assert_eq!(bounds.cpu_seconds, 60);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
}
