//! `chela guard release`: the owner lifts the taint of a session.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::conversation::ConversationAsk;
use chela_agent::slash::Talk;
use chela_core::{Host, SessionKey};

use crate::cli::AgentArg;
use crate::cmd::{Outcome, Setup};
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, session: Option<&str>, agent: &AgentArg) -> Outcome {
    if host.var("CHELA_SHELL").is_some() {
        return Err(
            Fail::new("only the owner releases a session, not a command of an agent")
                .hint("run it in a terminal of your own"),
        );
    }
    let setup = Setup::load(host);
    let agent = setup.agent(agent.agent.as_deref())?;
    let session = session
        .map(SessionKey::parse)
        .transpose()
        .map_err(Fail::usage)?;
    let agents = Agents::open(host, Arc::new(setup.loaded));
    let talk = agents
        .conversation(ConversationAsk {
            agent: session.is_none().then_some(agent),
            session,
            ..ConversationAsk::default()
        })
        .map_err(Fail::new)?;
    let key = talk.key().to_string();
    match talk.release().map_err(Fail::new)? {
        Some(by) => screen.line(format!("{key}: released; it had read text from {by}."))?,
        None => screen.line(format!("{key} has read nothing from outside."))?,
    }
    Ok(Exit::Fine)
}
