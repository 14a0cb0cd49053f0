//! What is read off the gateway's process.

use std::time::Duration;

/// A process that is looked at.
pub struct ProcessMeter(u32);

impl ProcessMeter {
    pub fn of(pid: u32) -> Self {
        Self(pid)
    }

    /// Resident memory in megabytes.
    pub fn memory(&self) -> f64 {
        self.status("VmRSS:")
    }

    pub fn peak(&self) -> f64 {
        self.status("VmHWM:")
    }

    /// CPU time of all its threads.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        let after = stat.rsplit(')').next().unwrap_or_default();
        let ticks = after.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        // The kernel counts a hundred ticks a second for programs, whatever its own are.
        Duration::from_millis(ticks * 10)
    }

    fn status(&self, name: &str) -> f64 {
        let path = format!("/proc/{}/status", self.0);
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.unwrap_or(f64::NAN) / 1024.0
    }
}
