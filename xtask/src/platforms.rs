//! Whether the workspace compiles for systems this machine is not.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ChoreOutcome, cargo_bin, run, say};

/// The systems the code is checked for. `scripts/platforms.sh` installs their libraries.
const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu"];

/// The word in `CHELA_REQUIRE` by which one that is missing fails, and is not skipped.
const REQUIRED: &str = "platforms";

/// Checks every platform whose standard library is here.
pub fn check() -> ChoreOutcome {
    let libraries = target_libraries()?;
    let wishes = std::env::var("CHELA_REQUIRE").unwrap_or_default();
    let is_required = wishes
        .split(',')
        .any(|wish| ["all", REQUIRED].contains(&wish));
    let mut failed = Vec::new();
    for target in TARGETS {
        if !has_library(&libraries, target) {
            say(&format!(
                "{target}: not installed, skipped; scripts/platforms.sh installs it"
            ));
            if is_required {
                failed.push(format!("{target} is not installed"));
            }
            continue;
        }
        match check_one(target) {
            Ok(()) => say(&format!("{target}: ok")),
            Err(why) => failed.push(format!("{target}: {why}")),
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

fn check_one(target: &str) -> ChoreOutcome {
    let mut command = Command::new(cargo_bin());
    command.args(["check", "--target", target]);
    command.args(["--workspace", "--exclude", "xtask"]);
    // A check links nothing, so what C dependencies would be compiled to is never read.
    let underscored = target.replace('-', "_");
    for tool in ["CC", "CXX", "AR", "RANLIB"] {
        command.env(format!("{tool}_{underscored}"), "true");
    }
    run(&mut command)
}

/// Where the compiler keeps the libraries of its targets.
fn target_libraries() -> Result<PathBuf, String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|error| format!("{rustc} --print sysroot: {error}"))?;
    let sysroot = String::from_utf8_lossy(&output.stdout);
    Ok(Path::new(sysroot.trim()).join("lib").join("rustlib"))
}

fn has_library(libraries: &Path, target: &str) -> bool {
    let library = libraries.join(target).join("lib");
    std::fs::read_dir(library).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::has_library;

    #[test]
    fn a_target_is_there_when_its_library_is() {
        let folder = std::env::temp_dir().join(format!("chela-targets-{}", std::process::id()));
        let library = folder.join("some-target").join("lib");
        assert!(!has_library(&folder, "some-target"));
        std::fs::create_dir_all(&library).expect("a folder");
        // What rustup leaves behind of one that was taken away.
        assert!(!has_library(&folder, "some-target"));
        std::fs::write(library.join("libstd.rlib"), "").expect("a file");
        assert!(has_library(&folder, "some-target"));
        std::fs::remove_dir_all(folder).expect("a folder");
    }
}
