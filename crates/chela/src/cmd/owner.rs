//! Whether it is the owner who runs a command, or an agent.

use chela_core::Host;

use crate::fail::Fail;

/// Commands an agent runs carry this in their environment.
const MARK: &str = "CHELA_SHELL";

/// Refuses what only the owner may do, when a command of an agent asks for it.
pub fn only(host: &Host, what: &str) -> Result<(), Fail> {
    match is_agent(host) {
        false => Ok(()),
        true => Err(
            Fail::new(format!("{what} by the owner, not by a command of an agent"))
                .hint("run it in a terminal of your own"),
        ),
    }
}

/// Whether this runs as a command of an agent: it, or whoever started it, carries the mark.
/// Taking the mark out of one's own environment does not help.
pub fn is_agent(host: &Host) -> bool {
    host.var(MARK).is_some() || ancestors().any(has_mark)
}

/// The processes above this one, the nearest first.
fn ancestors() -> impl Iterator<Item = u32> {
    const MOST: usize = 64;
    let parent = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        line.trim().parse().ok().filter(|pid| *pid > 1)
    };
    let own = std::process::id();
    std::iter::successors(parent(&own), parent).take(MOST)
}

fn has_mark(pid: u32) -> bool {
    let start = format!("{MARK}=");
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(start.as_bytes()))
    })
}
