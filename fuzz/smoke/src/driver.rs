//! Calls a target with one input after the other.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::mutate::Mutator;

/// How long a target is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// So many inputs, always the same ones.
    Inputs(u32),
    /// As many as fit.
    Time(Duration),
}

impl Budget {
    /// `CHELA_FUZZ_SECONDS` for each target, or a number of inputs that takes a moment.
    pub fn asked() -> Self {
        std::env::var("CHELA_FUZZ_SECONDS")
            .ok()
            .and_then(|seconds| seconds.parse().ok())
            .map_or(Self::Inputs(500), |seconds| {
                Self::Time(Duration::from_secs(seconds))
            })
    }

    fn is_left(self, inputs: u32, since: Instant) -> bool {
        match self {
            Self::Inputs(most) => inputs < most,
            Self::Time(most) => since.elapsed() < most,
        }
    }
}

/// An input a target does not hold for.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    pub target: String,
    pub input: Vec<u8>,
    /// Where it was kept.
    pub kept: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fuzz target {} does not hold for ", self.target)?;
        match &self.kept {
            Some(path) => write!(f, "{}", path.display()),
            None => write!(f, "{:?}", String::from_utf8_lossy(&self.input)),
        }
    }
}

/// The inputs a target starts from: the files in its folder. None is none, not a fault.
pub fn read_seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = fuzz_folder().join("seeds").join(target);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

/// Runs the seeds and what chance makes of them, until the first that fails.
pub fn drive(
    target: &str,
    seeds: &[Vec<u8>],
    budget: Budget,
    run: impl Fn(&[u8]),
) -> Result<u32, Failure> {
    let mut mutator = Mutator::new(target, seeds);
    let since = Instant::now();
    let mut inputs = 0;
    let seeds = seeds.iter().cloned().map(Some);
    let mut queue = seeds.chain(std::iter::repeat_with(|| None));
    while budget.is_left(inputs, since) {
        let input = queue
            .next()
            .flatten()
            .unwrap_or_else(|| mutator.next_input());
        if catch_unwind(AssertUnwindSafe(|| run(&input))).is_err() {
            return Err(Failure {
                kept: keep(target, &input),
                target: target.to_owned(),
                input,
            });
        }
        inputs += 1;
    }
    Ok(inputs)
}

/// Beside the inputs libFuzzer keeps, under a name that says where it is from.
fn keep(target: &str, input: &[u8]) -> Option<PathBuf> {
    let folder = fuzz_folder().join("artifacts").join(target);
    std::fs::create_dir_all(&folder).ok()?;
    let path = folder.join(format!("smoke-{:016x}", crate::mutate::hash(input)));
    std::fs::write(&path, input).ok()?;
    Some(path)
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    use super::{Budget, drive};

    #[test]
    fn a_fault_near_a_seed_is_found_and_kept() {
        let seeds = [b"*** Begin Patch\n*** End Patch\n".to_vec()];
        let found = drive("of_the_driver", &seeds, Budget::Inputs(5_000), |input| {
            assert!(
                input.iter().filter(|byte| **byte == b'*').count() < 14,
                "planted"
            );
        });
        let failure = found.expect_err("the planted fault");
        let kept = failure.kept.as_ref().expect("it was kept");
        assert_eq!(std::fs::read(kept).expect("the input"), failure.input);
        assert!(failure.to_string().contains("of_the_driver"));
        std::fs::remove_file(kept).expect("the input");
        drop(std::fs::remove_dir(kept.parent().expect("a folder")));
    }

    #[test]
    fn the_same_inputs_come_again_and_none_is_left_out() {
        let inputs = |target: &str| {
            let seen = std::sync::Mutex::new(Vec::new());
            let ran = drive(target, &[b"seed".to_vec()], Budget::Inputs(50), |input| {
                seen.lock().expect("no panic").push(input.to_vec());
            });
            assert_eq!(ran, Ok(50));
            seen.into_inner().expect("no panic")
        };
        let first = inputs("one");
        assert_eq!(first, inputs("one"));
        assert_ne!(first, inputs("other"));
        assert_eq!(first[0], b"seed");
        assert!(
            first
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len()
                > 40
        );
    }
}
