//! How large the program is that people are handed, and of what.

use std::path::Path;

use crate::{ChoreOutcome, say};

/// What the stripped program may weigh, in bytes: 30 MB for an agent at a terminal and the gateway, 4 for
/// servers of tools and plugins. Whoever adds what needs more says why where this is raised.
const BUDGET: usize = 34_000_000;
/// Sections smaller than this are added up.
const SMALL: u64 = 100_000;

/// What `cargo xtask dist` makes.
pub const PROGRAM: &str = "target/dist/chela";

/// Prints the sections of a program and fails when it is over the budget.
pub fn check(path: &str) -> ChoreOutcome {
    check_within(path, BUDGET)
}

fn check_within(path: &str, budget: usize) -> ChoreOutcome {
    let program = std::fs::read(path)
        .map_err(|error| format!("{path}: {error}; `cargo xtask dist` makes it"))?;
    let sections = loaded_sections(&program).ok_or_else(|| {
        format!("{path} is no 64-bit ELF file: its sections cannot be told apart")
    })?;
    say(&table(&sections, program.len()));
    let name = Path::new(path).file_name().unwrap_or_default();
    match program.len().checked_sub(budget) {
        None | Some(0) => Ok(()),
        Some(over) => Err(format!(
            "{} is {} over its budget of {} (xtask/src/size.rs)",
            name.to_string_lossy(),
            megabytes(over as u64),
            megabytes(budget as u64)
        )),
    }
}

/// A part of a program that lies in its file and in its memory.
#[derive(Debug, PartialEq, Eq)]
struct LoadedSection {
    name: String,
    bytes: u64,
}

fn table(sections: &[LoadedSection], whole: usize) -> String {
    let (large, small): (Vec<_>, Vec<_>) = sections.iter().partition(|of| of.bytes >= SMALL);
    let small: u64 = small.iter().map(|of| of.bytes).sum();
    let listed: u64 = sections.iter().map(|of| of.bytes).sum();
    let mut rows: Vec<(&str, u64)> = (large.iter())
        .map(|of| (of.name.as_str(), of.bytes))
        .collect();
    rows.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    rows.push(("smaller ones", small));
    rows.push(("not loaded", (whole as u64).saturating_sub(listed)));
    rows.push(("the file", whole as u64));
    let lines = rows
        .iter()
        .map(|(name, bytes)| format!("{name:<20} {:>9}", megabytes(*bytes)));
    lines.collect::<Vec<_>>().join("\n")
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}

/// `None` for what is no little-endian 64-bit ELF file.
fn loaded_sections(program: &[u8]) -> Option<Vec<LoadedSection>> {
    const HEADER_BYTES: usize = 64;
    const ALLOCATED: u64 = 2;
    const NO_BITS: u64 = 8;
    if !program.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = program.get(at..at.checked_add(length)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |n, byte| n << 8 | u64::from(*byte)),
        )
    };
    let start = usize::try_from(number(0x28, 8)?).ok()?;
    let count = usize::try_from(number(0x3C, 2)?).ok()?;
    let names = usize::try_from(number(0x3E, 2)?).ok()?;
    let header = |of: usize| start + of * HEADER_BYTES;
    let names = usize::try_from(number(header(names) + 0x18, 8)?).ok()?;
    let mut sections = Vec::new();
    for of in 0..count {
        let at = header(of);
        let (kind, flags) = (number(at + 4, 4)?, number(at + 8, 8)?);
        if flags & ALLOCATED == 0 || kind == NO_BITS {
            continue;
        }
        let name = names + usize::try_from(number(at, 4)?).ok()?;
        let name = program.get(name..)?.split(|byte| *byte == 0).next()?;
        sections.push(LoadedSection {
            name: String::from_utf8_lossy(name).into_owned(),
            bytes: number(at + 0x20, 8)?,
        });
    }
    Some(sections)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{check, check_within, loaded_sections};

    #[test]
    fn the_sections_of_a_program_are_found() {
        let own = std::fs::read("/proc/self/exe").expect("this program");
        let sections = loaded_sections(&own).expect("sections");
        let bytes = |name: &str| {
            sections
                .iter()
                .find(|of| of.name == name)
                .map(|of| of.bytes)
        };
        assert!(bytes(".text") > Some(100_000), "{sections:?}");
        assert!(bytes(".rodata").is_some() && bytes(".bss").is_none());
        let all: u64 = sections.iter().map(|of| of.bytes).sum();
        assert!(all < own.len() as u64);
    }

    #[test]
    fn what_is_no_program_or_too_large_is_refused() {
        assert_eq!(loaded_sections(b"#!/bin/sh"), None);
        assert_eq!(loaded_sections(b"\x7fELF\x02\x01"), None);
        let own = std::fs::read("/proc/self/exe").expect("this program");
        assert_eq!(check_within("/proc/self/exe", own.len()), Ok(()));
        let budget = own.len() - 1_000_000;
        let why = check_within("/proc/self/exe", budget).expect_err("over the budget");
        assert!(why.contains("exe is 1.00 MB over its budget of"), "{why}");
        assert!(check("/no/such/program").is_err());
    }
}
