//! The editor of the person at the terminal.

use std::path::Path;
use std::process::{Command, ExitStatus};

use chela_core::Host;

use crate::fail::CommandError;

/// The program and its arguments, as VISUAL or EDITOR name them.
pub struct OwnerEditor {
    program: String,
    words: Vec<String>,
}

impl OwnerEditor {
    pub fn of(host: &Host) -> Self {
        let named = host.var("VISUAL").or(host.var("EDITOR")).unwrap_or("vi");
        let mut words = named.split_whitespace().map(str::to_owned);
        Self {
            program: words.next().unwrap_or_else(|| "vi".to_owned()),
            words: words.collect(),
        }
    }

    /// What opens a file in it.
    pub fn command(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.words).arg(path);
        command
    }

    /// An error in words, where it did not start or ended badly.
    pub fn check(&self, ended: std::io::Result<ExitStatus>) -> Result<(), CommandError> {
        let program = &self.program;
        let status = ended.map_err(|error| {
            CommandError::new(format!("cannot start {program}: {error}"))
                .hint("set EDITOR to the editor you use")
        })?;
        match status.success() {
            true => Ok(()),
            false => Err(CommandError::new(format!("{program} ended with {status}"))),
        }
    }
}
