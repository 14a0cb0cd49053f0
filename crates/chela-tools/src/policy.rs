//! Who may use which tool.
//!
//! A [`ToolRules`] is a row of steps, each of which can only take tools away: profile, profile for
//! the provider, allow and deny (everywhere, for the provider, for the agent), the sender's set,
//! switches, sandbox, sub-agent. The same steps answer whether a tool is there and why not.

mod names;
mod sender;
mod steps;

use std::path::PathBuf;

use chela_config::{AgentView, LoadedConfig};
use chela_core::SessionKey;
use serde::Serialize;

pub use chela_core::Sender;
pub use chela_sandbox::SandboxChoice;
pub use names::{ToolNames, is_built_in};
pub use steps::tools_closed;

/// What decides a policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyAsk<'a> {
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    /// The provider and its model, such as `anthropic` and `claude-sonnet-5`.
    pub provider: Option<&'a str>,
    pub model: Option<&'a str>,
    pub sender: Option<&'a Sender>,
    pub sandboxed: SandboxChoice,
}

/// Which tools there are, and why.
#[derive(Debug, Clone)]
pub struct ToolRules {
    steps: Vec<PolicyStep>,
    /// Why there are none at all.
    closed: Option<String>,
    warnings: Vec<String>,
    /// Folders whose files may be read whatever the steps after this many say.
    readable: Option<(usize, Vec<PathBuf>)>,
}

/// One step; it takes away or leaves.
#[derive(Debug, Clone)]
struct PolicyStep {
    /// The key, or the fact, that makes it.
    from: String,
    rule: PolicyRule,
}

#[derive(Debug, Clone)]
enum PolicyRule {
    Only(ToolNames),
    Never(ToolNames),
}

/// Whether a tool may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "lowercase")]
pub enum PolicyVerdict {
    /// May be used; names what let it in.
    In(String),
    /// May not; names what keeps it out.
    Out(String),
}

impl PolicyVerdict {
    pub fn is_in(&self) -> bool {
        matches!(self, Self::In(_))
    }

    pub fn why(&self) -> &str {
        match self {
            Self::In(why) | Self::Out(why) => why,
        }
    }
}

impl ToolRules {
    pub fn of(ask: &PolicyAsk<'_>) -> Self {
        let steps = steps::steps(ask);
        let warnings = steps
            .iter()
            .flat_map(|step| {
                let (PolicyRule::Only(names) | PolicyRule::Never(names)) = &step.rule;
                let unknown = names.unknown_groups();
                unknown.map(|group| format!("{}: there is no tool group `{group}`", step.from))
            })
            .collect();
        Self {
            closed: steps::broken(ask.loaded),
            steps,
            warnings,
            readable: None,
        }
    }

    /// Everything that exists may be used.
    pub fn open() -> Self {
        Self {
            steps: Vec::new(),
            closed: None,
            warnings: Vec::new(),
            readable: None,
        }
    }

    /// What narrows from here on leaves the reading of files in these folders as it is.
    #[must_use]
    pub fn reading_in(mut self, folders: Vec<PathBuf>) -> Self {
        self.readable = (!folders.is_empty()).then_some((self.steps.len(), folders));
        self
    }

    /// The folders in which a tool that is out may be used to read all the same.
    pub fn readable_with(&self, tool: &str) -> &[PathBuf] {
        match &self.readable {
            Some((steps, folders)) if self.explain_by(tool, *steps).is_in() => folders,
            _ => &[],
        }
    }

    /// The same, and of that only these tools: what narrows from outside the config. Nothing is
    /// ever added by it. `from` says in a refusal what narrowed.
    #[must_use]
    pub fn only(mut self, from: impl Into<String>, names: ToolNames) -> Self {
        self.steps.push(PolicyStep {
            from: from.into(),
            rule: PolicyRule::Only(names),
        });
        self
    }

    pub fn allows(&self, tool: &str) -> bool {
        self.explain(tool).is_in()
    }

    /// Whether a tool may be used, and what decided.
    pub fn explain(&self, tool: &str) -> PolicyVerdict {
        self.explain_by(tool, self.steps.len())
    }

    /// The same by the first steps alone.
    fn explain_by(&self, tool: &str, steps: usize) -> PolicyVerdict {
        if let Some(why) = &self.closed {
            return PolicyVerdict::Out(why.clone());
        }
        let mut admitted = None;
        for step in self.steps.iter().take(steps) {
            match &step.rule {
                PolicyRule::Never(names) => {
                    if let Some(name) = names.denying(tool) {
                        return PolicyVerdict::Out(named(&step.from, name, tool));
                    }
                }
                PolicyRule::Only(names) => match names.allowing(tool) {
                    Some(name) => admitted = Some(named(&step.from, name, tool)),
                    None => return PolicyVerdict::Out(format!("{} does not name it", step.from)),
                },
            }
        }
        PolicyVerdict::In(admitted.unwrap_or_else(|| "nothing limits it".to_owned()))
    }

    /// What the operator should know about the config behind it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// `tools.deny names it`, or through which group or pattern it does.
fn named(from: &str, name: &str, tool: &str) -> String {
    match name.eq_ignore_ascii_case(tool) || name.is_empty() {
        true => from.to_owned(),
        false => format!("{from} (`{name}`)"),
    }
}

#[cfg(test)]
mod tests;
