//! What tests run beside the program: what is on the machine, and what the repository's scripts
//! put into `target/`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the machine.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = files.find(|file| file.is_file());
    found.ok_or_else(|| format!("{name} is not installed"))
}

/// The place a script prints last, or why what it installs cannot be had here.
pub fn installed_by(script: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Command::new(root.join("scripts").join(script))
        .output()
        .unwrap();
    let last = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        text.trim().lines().last().unwrap_or_default().to_owned()
    };
    if made.status.code() == Some(75) {
        return Err(last(&made.stderr));
    }
    assert!(made.status.success(), "{made:?}");
    Ok(PathBuf::from(last(&made.stdout)))
}
