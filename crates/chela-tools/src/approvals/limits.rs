//! What happens with a command that is on the list, and with one that is not.

use chela_config::model::{Exec, ExecAsk, ExecMode, ExecSecurity};
use chela_core::AgentId;

use super::document::{ApprovalsDocument, EVERY_AGENT};

/// From loose to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleAnswer {
    Run,
    Ask,
    Deny,
}

/// The rules that hold for a command. Of two sets of rules the stricter answer counts, each for
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRules {
    /// For what is on the list.
    pub listed: RuleAnswer,
    /// For what is not.
    pub unlisted: RuleAnswer,
    /// When a person should be asked and nobody answers.
    pub fallback: ExecSecurity,
}

impl CommandRules {
    /// Nothing configured: the sandbox decides, and what is not free and not on the list asks.
    const DEFAULT_MODE: ExecMode = ExecMode::Auto;

    /// What the config and the approvals document say of an agent, whichever is stricter.
    pub fn of(config: &Exec, document: &ApprovalsDocument, agent: &AgentId) -> Self {
        let mode = config.mode.unwrap_or(Self::DEFAULT_MODE);
        Self::of_mode(mode).within(config, document, agent)
    }

    /// The same for a command that is free in mode `auto`: one that only looks, or stays in the
    /// sandbox. Other modes know no such commands.
    pub fn of_free(config: &Exec, document: &ApprovalsDocument, agent: &AgentId) -> Self {
        let mode = match config.mode.unwrap_or(Self::DEFAULT_MODE) {
            ExecMode::Auto => ExecMode::Full,
            mode => mode,
        };
        Self::of_mode(mode).within(config, document, agent)
    }

    /// As strict as everything that is said besides the mode.
    fn within(self, config: &Exec, document: &ApprovalsDocument, agent: &AgentId) -> Self {
        let mut rules = self;
        rules.fallback = config.ask_fallback.unwrap_or(ExecSecurity::Deny);
        if config.ask == Some(ExecAsk::Always) {
            rules = rules.stricter(Self::ALWAYS_ASK);
        }
        let of_agent = |id: &str| {
            let found = document.agents.get(id);
            found.map(|found| (found.security, found.ask, found.ask_fallback))
        };
        let defaults = &document.defaults;
        let layers = [
            Some((defaults.security, defaults.ask, defaults.ask_fallback)),
            of_agent(EVERY_AGENT),
            of_agent(agent.as_str()),
        ];
        for (security, ask, fallback) in layers.into_iter().flatten() {
            if security.is_some() || ask.is_some() {
                rules = rules.stricter(Self::of_pair(security, ask));
            }
            if let Some(fallback) = fallback {
                rules.fallback = stricter(rules.fallback, fallback);
            }
        }
        rules
    }

    /// Asks about everything, also what was approved before.
    pub const ALWAYS_ASK: Self = Self {
        listed: RuleAnswer::Ask,
        unlisted: RuleAnswer::Ask,
        fallback: ExecSecurity::Full,
    };

    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            listed: self.listed.max(other.listed),
            unlisted: self.unlisted.max(other.unlisted),
            fallback: stricter(self.fallback, other.fallback),
        }
    }

    fn of_mode(mode: ExecMode) -> Self {
        let (listed, unlisted) = match mode {
            ExecMode::Deny => (RuleAnswer::Deny, RuleAnswer::Deny),
            ExecMode::Allowlist => (RuleAnswer::Run, RuleAnswer::Deny),
            ExecMode::Ask | ExecMode::Auto => (RuleAnswer::Run, RuleAnswer::Ask),
            ExecMode::Full => (RuleAnswer::Run, RuleAnswer::Run),
        };
        Self {
            listed,
            unlisted,
            fallback: ExecSecurity::Full,
        }
    }

    /// The pair `security` and `ask` of the document. With only one of them set, the other is
    /// the one that leaves its meaning: everything may run, misses are asked about.
    fn of_pair(security: Option<ExecSecurity>, ask: Option<ExecAsk>) -> Self {
        let (listed, unlisted) = match (security, ask) {
            (Some(ExecSecurity::Deny), _) => (RuleAnswer::Deny, RuleAnswer::Deny),
            (_, Some(ExecAsk::Always)) => (RuleAnswer::Ask, RuleAnswer::Ask),
            (Some(ExecSecurity::Allowlist), Some(ExecAsk::Off)) => {
                (RuleAnswer::Run, RuleAnswer::Deny)
            }
            (Some(ExecSecurity::Allowlist), _) => (RuleAnswer::Run, RuleAnswer::Ask),
            (Some(ExecSecurity::Full) | None, _) => (RuleAnswer::Run, RuleAnswer::Run),
        };
        Self {
            listed,
            unlisted,
            fallback: ExecSecurity::Full,
        }
    }
}

fn stricter(one: ExecSecurity, other: ExecSecurity) -> ExecSecurity {
    let rank = |security| match security {
        ExecSecurity::Deny => 0,
        ExecSecurity::Allowlist => 1,
        ExecSecurity::Full => 2,
    };
    match rank(one) <= rank(other) {
        true => one,
        false => other,
    }
}
