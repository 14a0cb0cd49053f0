//! Who may use which tool.
//!
//! A [`Policy`] is a row of steps, each of which can only take tools away: profile, profile for
//! the provider, allow and deny (everywhere, for the provider, for the agent), the sender's set,
//! switches, sandbox, sub-agent. The same steps answer whether a tool is there and why not.

mod names;
mod sender;
mod steps;

use chela_config::{AgentView, Loaded};
use chela_core::SessionKey;
use serde::Serialize;

pub use chela_core::Sender;
pub use chela_sandbox::Sandboxed;
pub use names::{Names, is_built_in};

/// What decides a policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyAsk<'a> {
    pub loaded: &'a Loaded,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    /// The provider and its model, such as `anthropic` and `claude-sonnet-5`.
    pub provider: Option<&'a str>,
    pub model: Option<&'a str>,
    pub sender: Option<&'a Sender>,
    pub sandboxed: Sandboxed,
}

/// Which tools there are, and why.
#[derive(Debug, Clone)]
pub struct Policy {
    steps: Vec<Step>,
    /// Why there are none at all.
    closed: Option<String>,
    warnings: Vec<String>,
}

/// One step; it takes away or leaves.
#[derive(Debug, Clone)]
struct Step {
    /// The key, or the fact, that makes it.
    from: String,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    Only(Names),
    Never(Names),
}

/// Whether a tool may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "lowercase")]
pub enum Verdict {
    /// May be used; names what let it in.
    In(String),
    /// May not; names what keeps it out.
    Out(String),
}

impl Verdict {
    pub fn is_in(&self) -> bool {
        matches!(self, Self::In(_))
    }

    pub fn why(&self) -> &str {
        match self {
            Self::In(why) | Self::Out(why) => why,
        }
    }
}

impl Policy {
    pub fn of(ask: &PolicyAsk<'_>) -> Self {
        let steps = steps::steps(ask);
        let warnings = steps
            .iter()
            .flat_map(|step| {
                let (Rule::Only(names) | Rule::Never(names)) = &step.rule;
                let unknown = names.unknown_groups();
                unknown.map(|group| format!("{}: there is no tool group `{group}`", step.from))
            })
            .collect();
        Self {
            closed: steps::broken(ask.loaded),
            steps,
            warnings,
        }
    }

    /// Everything that exists may be used.
    pub fn open() -> Self {
        Self {
            steps: Vec::new(),
            closed: None,
            warnings: Vec::new(),
        }
    }

    /// The same, and of that only these tools: what narrows from outside the config. Nothing is
    /// ever added by it. `from` says in a refusal what narrowed.
    #[must_use]
    pub fn only(mut self, from: impl Into<String>, names: Names) -> Self {
        self.steps.push(Step {
            from: from.into(),
            rule: Rule::Only(names),
        });
        self
    }

    pub fn allows(&self, tool: &str) -> bool {
        self.explain(tool).is_in()
    }

    /// Whether a tool may be used, and what decided.
    pub fn explain(&self, tool: &str) -> Verdict {
        if let Some(why) = &self.closed {
            return Verdict::Out(why.clone());
        }
        let mut admitted = None;
        for step in &self.steps {
            match &step.rule {
                Rule::Never(names) => {
                    if let Some(name) = names.denying(tool) {
                        return Verdict::Out(named(&step.from, name, tool));
                    }
                }
                Rule::Only(names) => match names.allowing(tool) {
                    Some(name) => admitted = Some(named(&step.from, name, tool)),
                    None => return Verdict::Out(format!("{} does not name it", step.from)),
                },
            }
        }
        Verdict::In(admitted.unwrap_or_else(|| "nothing limits it".to_owned()))
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
