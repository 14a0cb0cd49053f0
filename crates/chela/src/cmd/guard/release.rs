//! `chela guard release` and `withheld`: what only the owner lets through.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::conversation::{Conversation, ConversationAsk};
use chela_agent::slash::CommandContext;
use chela_agent::withheld::{WithheldError, WithheldText};
use chela_core::{AgentId, Host, OwnerProof, SessionKey, Speaker};
use chela_store::block_on;
use chela_tools::approvals::shown;

use crate::cli::AgentArg;
use crate::cmd::time::utc;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::process_log;
use crate::screen::{Screen, shorten};

/// Lets a session act on what it read so far.
pub fn release_session(
    host: &Host,
    screen: &mut Screen,
    session: Option<&str>,
    agent: &AgentArg,
) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    let agent = setup.agent(agent.agent.as_deref())?;
    let session = session
        .map(SessionKey::parse)
        .transpose()
        .map_err(CommandError::usage)?;
    let talk = open(setup, agent, session)?;
    let key = talk.key().to_string();
    match block_on(talk.release()).map_err(CommandError::new)? {
        Some(by) => screen.line(format!(
            "{key}: released; it had read untrusted content from {by}."
        ))?,
        None => screen.line(format!("{key} has read no untrusted content."))?,
    }
    Ok(CommandExit::Fine)
}

/// Lets a model read a text that was withheld.
pub fn release_text(host: &Host, screen: &mut Screen, id: &str) -> CommandOutcome {
    let mut held = WithheldText::find(host, id)?;
    let setup = CommandSetup::load(host);
    let agent = setup.agent(Some(&held.agent))?;
    let key = SessionKey::parse(&held.session).map_err(CommandError::new)?;
    let talk = open(setup, agent, Some(key))?;
    if !held.released {
        block_on(talk.release_text(&held)).map_err(CommandError::new)?;
        held.released = true;
        held.save(host)?;
    }
    screen.line(format!(
        "Released: {} reads it with your next message, as untrusted content.",
        shown(&held.session)
    ))?;
    Ok(CommandExit::Fine)
}

pub fn list_held_texts(host: &Host, screen: &mut Screen, json: bool) -> CommandOutcome {
    let all = WithheldText::list(host);
    if json {
        screen.json(&all)?;
        return Ok(CommandExit::Fine);
    }
    if all.is_empty() {
        screen.line("Nothing is withheld.")?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|held| {
            let state = match held.released {
                true => "released".to_owned(),
                false => paint.warn("withheld"),
            };
            vec![
                paint.accent(&held.id),
                state,
                shown(&held.tool),
                shorten(&shown(&held.why), 60),
                paint.dim(utc(held.at / 1000)),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}

fn open(
    setup: CommandSetup,
    agent: AgentId,
    session: Option<SessionKey>,
) -> Result<Conversation, CommandError> {
    let host = setup.host.clone();
    let agents = Agents::open(&host, Arc::new(setup.loaded));
    process_log::hide_with(agents.redactor());
    block_on(agents.conversation(ConversationAsk {
        agent: session.is_none().then_some(agent),
        session,
        ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
    }))
    .map_err(CommandError::new)
}

impl From<WithheldError> for CommandError {
    fn from(error: WithheldError) -> Self {
        CommandError::new(error)
    }
}
