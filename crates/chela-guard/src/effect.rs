//! What a call does to the world, and the arguments through which it does.

use std::borrow::Cow;

use chela_config::model::GuardEffect;
use serde::Serialize;

use crate::self_running::{RunsWhen, runs_when};

/// The kind of effect a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads what the owner or the agent wrote.
    Read,
    /// Brings in text from outside.
    ReadUntrusted,
    /// Sends something to another machine.
    Egress,
    /// Changes something here that can be put back.
    WriteReversible,
    /// Changes something others see: a message, a post.
    WriteOutward,
    /// Cannot be undone: deletion, payment, a command.
    Irreversible,
    /// Changes who the agent is: persona, memory.
    Persona,
    /// Changes what the agent may do.
    Config,
    /// Changes a file that runs when a folder is opened, a shell starts or a time comes.
    RunsOnOpen,
    /// Changes a file that runs when the owner builds.
    RunsOnBuild,
}

/// An argument through which a call reaches the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallSink {
    /// Name of the argument.
    pub argument: Cow<'static, str>,
    pub kind: SinkKind,
}

impl CallSink {
    /// Of a tool that is part of the program.
    pub const fn new(argument: &'static str, kind: SinkKind) -> Self {
        Self {
            argument: Cow::Borrowed(argument),
            kind,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SinkKind {
    Recipient,
    Url,
    Path,
    Command,
    Amount,
    /// A password, a key, a code that opens something.
    Secret,
    /// Free text that leaves the machine or stays in a file.
    Text,
    /// A name or id of something here.
    Name,
}

impl From<GuardEffect> for Effect {
    fn from(effect: GuardEffect) -> Self {
        match effect {
            GuardEffect::Irreversible => Self::Irreversible,
            GuardEffect::WriteOutward => Self::WriteOutward,
            GuardEffect::WriteReversible => Self::WriteReversible,
            GuardEffect::Egress => Self::Egress,
            GuardEffect::Persona => Self::Persona,
            GuardEffect::Config => Self::Config,
        }
    }
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadUntrusted => "read_untrusted",
            Self::Egress => "egress",
            Self::WriteReversible => "write_reversible",
            Self::WriteOutward => "write_outward",
            Self::Irreversible => "irreversible",
            Self::Persona => "persona",
            Self::Config => "config",
            Self::RunsOnOpen => "runs_on_open",
            Self::RunsOnBuild => "runs_on_build",
        }
    }

    /// What writing to a path really changes: files that shape the agent are not mere files.
    #[must_use]
    pub fn when_writing(self, path: &str) -> Self {
        if self != Self::WriteReversible {
            return self;
        }
        let path = path.replace('\\', "/").to_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        let within = |folders: &[&str]| {
            let mut above = path.split('/').rev().skip(1);
            above.any(|part| folders.contains(&part))
        };
        if CONFIG_FILES.contains(&name) || within(CONFIG_FOLDERS) {
            Self::Config
        } else if PERSONA_FILES.contains(&name)
            || within(&["skills"])
            || within(&["memory"]) && name.ends_with(".md")
        {
            Self::Persona
        } else {
            match runs_when(&path) {
                Some(RunsWhen::Opened) => Self::RunsOnOpen,
                Some(RunsWhen::Built) => Self::RunsOnBuild,
                None => self,
            }
        }
    }

    /// How grave a change of files is: of several the gravest counts.
    pub fn gravity_of_writing(self) -> u8 {
        match self {
            Self::Config => 4,
            Self::Persona => 3,
            Self::RunsOnOpen => 2,
            Self::RunsOnBuild => 1,
            _ => 0,
        }
    }
}

/// Read into every prompt, or into those of scheduled turns, or obeyed when the gateway starts.
const PERSONA_FILES: &[&str] = &[
    "agents.md",
    "soul.md",
    "identity.md",
    "user.md",
    "tools.md",
    "heartbeat.md",
    "bootstrap.md",
    "boot.md",
    "memory.md",
    "skill.md",
];

/// What this program obeys. What other programs run by themselves stands in the table of
/// [`runs_when`], so that file tools and the look around commands go by the same rows.
const CONFIG_FILES: &[&str] = &["chela.json", "trust.json", "exec-approvals.json", ".env"];

/// What no file tool has business in. The hooks of a workspace are known by their place in it, not
/// by a name that projects use for folders of their own.
const CONFIG_FOLDERS: &[&str] = &[".git"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_shape_the_agent_are_not_mere_files() {
        let writing = |path| Effect::WriteReversible.when_writing(path);
        assert_eq!(writing("notes/plan.md"), Effect::WriteReversible);
        assert_eq!(writing("workspace/SOUL.md"), Effect::Persona);
        assert_eq!(writing("Heartbeat.MD"), Effect::Persona);
        assert_eq!(writing("workspace/BOOT.md"), Effect::Persona);
        assert_eq!(writing("memory/2026-02-01.md"), Effect::Persona);
        assert_eq!(writing("a\\memory\\b.md"), Effect::Persona);
        assert_eq!(writing("skills/mail/run.sh"), Effect::Persona);
        assert_eq!(writing("/home/x/.chela/chela.json"), Effect::Config);
        assert_eq!(writing("/home/x/.bashrc"), Effect::RunsOnOpen);
        assert_eq!(writing("/home/x/.ssh/authorized_keys"), Effect::RunsOnOpen);
        assert_eq!(writing("repo/.git/hooks/post-commit"), Effect::Config);
        assert_eq!(
            writing("app/src/hooks/useOnline.ts"),
            Effect::WriteReversible
        );
        assert_eq!(writing("app/plugins/vite.ts"), Effect::WriteReversible);
        assert_eq!(writing("app/hooks/pre-commit"), Effect::RunsOnOpen);
        assert_eq!(writing("app/.envrc"), Effect::RunsOnOpen);
        assert_eq!(writing("app/Makefile"), Effect::RunsOnBuild);
        assert_eq!(Effect::Read.when_writing("SOUL.md"), Effect::Read);
    }
}
