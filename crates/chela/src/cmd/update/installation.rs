//! The program that runs: where it lies, who put it there, and how another takes its place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use chela_core::ok_or_warn;
use chela_files::{FileDraft, FileMode, write_file};

use crate::fail::CommandError;

/// Where packages leave the word of who installed them, seen from the folder of `bin`.
const MARKER: &str = "share/chela/installed-by";
/// What `install.sh` put under the prefix, a path a line.
const FILE_LIST: &str = "share/chela/installed-files";
/// How an archive's own installer signs.
const ARCHIVE: &str = "archive";
/// The program before the last update.
const PREVIOUS: &str = "chela.previous";

/// Who looks after the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallMethod {
    /// `install.sh`, or whoever copied it there: it replaces itself.
    Own,
    /// A package manager, and the command that updates it there.
    Other { name: String, command: String },
}

#[derive(Debug)]
pub struct ProgramInstallation {
    program: PathBuf,
    pub installer: InstallMethod,
}

impl ProgramInstallation {
    pub fn find() -> Result<Self, CommandError> {
        let program = std::env::current_exe()
            .and_then(fs::canonicalize)
            .map_err(|error| {
                CommandError::new(format!("cannot find this program: {error}"))
                    .hint("it may have been replaced while it ran; start it again")
            })?;
        let installer = installer_of(&program);
        Ok(Self { program, installer })
    }

    /// Refuses where a package manager would lose track.
    pub fn require_own(&self) -> Result<(), CommandError> {
        match &self.installer {
            InstallMethod::Own => Ok(()),
            InstallMethod::Other { name, command } => Err(CommandError::new(format!(
                "this Chela was installed with {name}, which also updates it"
            ))
            .hint(command)),
        }
    }

    /// A new program beside this one, with its rights; gone again unless it is put in place.
    pub fn write_beside(&self, bytes: &[u8]) -> Result<FileDraft, CommandError> {
        let draft = FileDraft::beside(&self.program, bytes, FileMode::KeepOrUsual)
            .map_err(|error| self.unwritable(error))?;
        draft
            .take_rights_of(&self.program)
            .map_err(|error| self.unwritable(error))?;
        Ok(draft)
    }

    /// Keeps the program that runs as the previous one, by a second name. An older one goes.
    pub fn keep_previous(&self) -> Result<PathBuf, CommandError> {
        let previous = self.previous();
        let draft = self.spare_name();
        link(&self.program, &draft).map_err(|error| self.unwritable(error))?;
        fs::rename(&draft, &previous).map_err(|error| self.unwritable(error))?;
        Ok(previous)
    }

    /// Brings completions and pages up to date, where `install.sh` put them. The program is in place
    /// by then: what cannot be written stays as it was.
    pub fn refresh_shared(&self, shared: &[(PathBuf, Vec<u8>)]) {
        let Some(prefix) = self.program.parent().and_then(Path::parent) else {
            return;
        };
        let list = prefix.join(FILE_LIST);
        let Ok(listed) = fs::read_to_string(&list) else {
            return;
        };
        let mut names: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
        for (path, bytes) in shared {
            let written = write_file(&prefix.join(path), bytes, FileMode::KeepOrUsual);
            if ok_or_warn!(written, "a page or completion script stays as it was").is_some() {
                names.insert(path.display().to_string());
            }
        }
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        let written = write_file(&list, lines.as_bytes(), FileMode::KeepOrUsual);
        ok_or_warn!(written, "the list of installed files stays as it was");
    }

    /// Puts the previous program in place of this one, and this one in its place. Gives its
    /// version.
    pub async fn roll_back(&self) -> Result<String, CommandError> {
        let previous = self.previous();
        if !previous.is_file() {
            return Err(CommandError::new("there is no older program to go back to")
                .hint(format!("`chela update` keeps one as {PREVIOUS}")));
        }
        let version = version_of(&previous).await?;
        let spare = self.spare_name();
        link(&self.program, &spare).map_err(|error| self.unwritable(error))?;
        let swapped =
            fs::rename(&previous, &self.program).and_then(|()| fs::rename(&spare, &previous));
        if let Err(error) = swapped {
            ok_or_warn!(
                fs::remove_file(&spare),
                "a second name of the program stays"
            );
            return Err(self.unwritable(error));
        }
        Ok(version)
    }

    fn previous(&self) -> PathBuf {
        self.program.with_file_name(PREVIOUS)
    }

    fn spare_name(&self) -> PathBuf {
        self.program
            .with_file_name(format!(".chela.{}", std::process::id()))
    }

    fn unwritable(&self, error: impl std::fmt::Display) -> CommandError {
        let folder = self.program.parent().unwrap_or(&self.program);
        CommandError::new(format!("the program was not replaced: {error}")).hint(format!(
            "whoever may write to {} can update it; or install your own: install.sh --prefix DIR",
            folder.display()
        ))
    }
}

/// A second name for a program, or a copy where the file system knows no second names.
fn link(program: &Path, name: &Path) -> std::io::Result<()> {
    match fs::hard_link(program, name) {
        Ok(()) => Ok(()),
        Err(error) => {
            tracing::debug!(%error, "copied instead of linked");
            fs::copy(program, name).map(drop)
        }
    }
}

/// Starts a new program before it is trusted with the name: it must run here, and be what the
/// index says.
pub async fn require_version(program: &Path, wanted: &str) -> Result<(), CommandError> {
    let version = version_of(program).await?;
    match version == wanted {
        true => Ok(()),
        false => Err(CommandError::new(format!(
            "the new program says it is {version}, but the index says {wanted}"
        ))
        .hint("nothing was replaced")),
    }
}

async fn version_of(program: &Path) -> Result<String, CommandError> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let refused = |why: String| {
        CommandError::new(format!("the other program does not run here: {why}"))
            .hint("nothing was replaced")
    };
    let started = tokio::process::Command::new(program)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(PATIENCE, started).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(refused(error.to_string())),
        Err(_) => {
            return Err(refused(format!(
                "no answer within {} s",
                PATIENCE.as_secs()
            )));
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    match said.trim().strip_prefix("chela ") {
        Some(version) if output.status.success() => Ok(version.to_owned()),
        _ => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let first = errors.lines().next().unwrap_or_default();
            Err(refused(format!("{} {}", output.status, first)))
        }
    }
}

fn installer_of(program: &Path) -> InstallMethod {
    let other = |name: &str, command: &str| InstallMethod::Other {
        name: name.to_owned(),
        command: command.to_owned(),
    };
    let has = |name: &str| program.iter().any(|part| part == name);
    if let Some(word) = marker_of(program) {
        return match word.as_str() {
            ARCHIVE => InstallMethod::Own,
            "deb" => other(
                "apt or dpkg",
                "sudo apt install --only-upgrade chela, or apt install with the newer .deb",
            ),
            "npm" => other("npm", "npm install -g chela@latest"),
            "pip" => other(
                "pip",
                "pip install --upgrade chela, or the same with pipx or uv",
            ),
            word => other(word, &format!("use {word}")),
        };
    }
    if has("node_modules") {
        return other("npm", "npm install -g chela@latest");
    }
    if program.starts_with("/nix/store") {
        return other("nix", "nix profile upgrade chela");
    }
    if has("Cellar") {
        return other("Homebrew", "brew upgrade chela");
    }
    if program.starts_with("/usr/bin") || program.starts_with("/bin") {
        return other("the package manager of this system", "use that one");
    }
    let from_cargo = program.ends_with(".cargo/bin/chela");
    // `target/debug/chela` and `target/debug/deps/chela-…`. The marks cargo leaves in `target` itself
    // are no help: it leaves out `CACHEDIR.TAG` where somebody else made the folder.
    let in_build = program
        .ancestors()
        .skip(1)
        .take(2)
        .any(|folder| folder.join(".fingerprint").is_dir());
    if from_cargo || in_build {
        return other("cargo", "git pull && cargo install --path crates/chela");
    }
    InstallMethod::Own
}

fn marker_of(program: &Path) -> Option<String> {
    let prefix = program.parent()?.parent()?;
    let text = fs::read_to_string(prefix.join(MARKER)).ok()?;
    let word = text.trim();
    let is_word = !word.is_empty()
        && word.len() <= 40
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    is_word.then(|| word.to_owned())
}
