//! Leaving the sandbox for single commands.
//!
//! The level comes from the session or `agents.defaults.elevatedDefault`, but nobody has it by
//! default: it must be switched on, the sender must be one the operator listed for the channel,
//! and no text from elsewhere may have come into the turn.

use chela_config::model::{Elevated, ElevatedLevel};
use chela_guard::flow::SessionTaint;

use crate::policy::Sender;

/// Who asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElevationRequester<'a> {
    /// The person at the terminal of this machine.
    Terminal,
    /// Somebody on a channel, as far as the channel says.
    Sender(&'a Sender),
    /// Nobody: a timer, a hook, another agent.
    Nobody,
}

/// What decides.
#[derive(Debug, Clone, Copy)]
pub struct ElevationAsk<'a> {
    /// `tools.elevated`.
    pub global: &'a Elevated,
    /// The agent's own block; it can only restrict.
    pub own: Option<&'a Elevated>,
    /// `elevatedDefault`.
    pub default: ElevatedLevel,
    /// What was chosen for the session.
    pub session: Option<ElevatedLevel>,
    pub who: ElevationRequester<'a>,
    /// Whether text from elsewhere came in.
    pub taint: SessionTaint,
}

/// Whether a command may run outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElevationState {
    /// `Off` when it may not.
    pub level: ElevatedLevel,
    /// What stands against it.
    pub why_not: Option<String>,
}

impl ElevationState {
    /// Before anyone has asked.
    pub fn none() -> Self {
        Self::denied("nothing was said about it yet")
    }

    fn denied(why: impl Into<String>) -> Self {
        Self {
            level: ElevatedLevel::Off,
            why_not: Some(why.into()),
        }
    }

    pub fn is_allowed(&self) -> bool {
        self.level != ElevatedLevel::Off
    }
}

/// How far a command may leave the sandbox now.
pub fn elevation(ask: &ElevationAsk<'_>) -> ElevationState {
    if ask.global.enabled != Some(true) {
        return ElevationState::denied("tools.elevated.enabled is not on");
    }
    if ask.own.is_some_and(|own| own.enabled == Some(false)) {
        return ElevationState::denied("the agent's tools.elevated.enabled is off");
    }
    if let Some(why) = unverified(ask) {
        return ElevationState::denied(why);
    }
    if ask.taint == SessionTaint::Tainted {
        return ElevationState::denied("untrusted content is in this turn");
    }
    match ask.session.unwrap_or(ask.default) {
        ElevatedLevel::Off => ElevationState::denied("it is turned off for this session"),
        level => ElevationState {
            level,
            why_not: None,
        },
    }
}

/// Why the sender is not known to be one who may.
fn unverified(ask: &ElevationAsk<'_>) -> Option<String> {
    let sender = match ask.who {
        ElevationRequester::Terminal => return None,
        ElevationRequester::Nobody => return Some("no person asked for it".to_owned()),
        ElevationRequester::Sender(sender) => sender,
    };
    let Some(channel) = &sender.channel else {
        return Some("the sender's channel is not known".to_owned());
    };
    let listed = |block: &Elevated| {
        block.allow_from.iter().any(|(name, ids)| {
            name.eq_ignore_ascii_case(channel)
                // A name can be chosen by anyone, and `*` verifies nobody.
                && ids.iter().any(|id| id.0 != "*" && is(sender, &id.0))
        })
    };
    // A block of the agent's own without a list for anyone narrows nothing.
    let own = ask.own.filter(|own| !own.allow_from.is_empty());
    let both = listed(ask.global) && own.is_none_or(listed);
    (!both).then(|| format!("the sender is not in tools.elevated.allowFrom.{channel}"))
}

fn is(sender: &Sender, id: &str) -> bool {
    let id = id.trim();
    !id.is_empty()
        && [&sender.id, &sender.e164]
            .into_iter()
            .flatten()
            .any(|known| known == id)
}

#[cfg(test)]
mod tests;
