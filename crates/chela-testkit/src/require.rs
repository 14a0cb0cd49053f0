//! What a machine may lack, and whether a test may do without it.
//!
//! A test that needs bubblewrap passes where there is none, and says so. With `CHELA_REQUIRE` set
//! it fails there: `all`, or names from [`MACHINE_PARTS`] with commas between them.

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

/// Names what must be there, so that a test without it fails.
pub const REQUIRE: &str = "CHELA_REQUIRE";

/// What tests look for and may not find.
pub const MACHINE_PARTS: [&str; 18] = [
    "binutils",
    "bubblewrap",
    "cgroups",
    "clients",
    "curl",
    "dpkg",
    "guard-traces",
    "independent-mock",
    "landlock",
    "mcp-servers",
    "namespaces",
    "npm",
    "otel-proto",
    "pip",
    "promtool",
    "real-model",
    "ssh-keygen",
    "systemd-analyze",
];

/// What was looked for; `None` where it is missing and may be.
///
/// # Panics
///
/// When it is missing and `CHELA_REQUIRE` names it, or names something nobody knows.
#[expect(clippy::panic, reason = "it fails the test that calls it")]
pub fn find_part<T, E: Display>(part: &str, found: Result<T, E>) -> Option<T> {
    let asked = std::env::var(REQUIRE).unwrap_or_default();
    match look(&asked, part, found) {
        Ok(Ok(found)) => Some(found),
        Ok(Err(note)) => {
            // Past the test harness, which keeps what passing tests print to itself.
            drop(writeln!(std::io::stderr(), "{note}"));
            None
        }
        Err(failure) => panic!("{failure}"),
    }
}

/// Outside: whether the test fails. Inside: what was found, or what to say instead.
fn look<T, E: Display>(
    asked: &str,
    part: &str,
    found: Result<T, E>,
) -> Result<Result<T, String>, String> {
    let mut names = asked
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    if let Some(unknown) = names
        .clone()
        .chain([part])
        .find(|name| *name != "all" && !MACHINE_PARTS.contains(name))
    {
        return Err(format!(
            "{REQUIRE} cannot name `{unknown}`; it knows all, {}",
            MACHINE_PARTS.join(", ")
        ));
    }
    let required = names.any(|name| name == "all" || name == part);
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(why) if required => Err(format!("{REQUIRE} names {part}, and it is missing: {why}")),
        Err(why) => Ok(Err(format!("left out without {part}: {why}"))),
    }
}

/// Waits for what another process or thread is about to do. A test that would wait for ever
/// fails after so many looks that no machine is that busy.
///
/// # Panics
///
/// When it never happens.
#[expect(clippy::panic, reason = "it fails the test that calls it")]
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    const LOOKS: u32 = 12_000;
    for _ in 0..LOOKS {
        if happened() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never happened: {what}");
}
