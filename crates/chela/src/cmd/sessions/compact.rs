//! `chela sessions compact`: a conversation made short, or whole again.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::conversation::ConversationAsk;
use chela_core::{OwnerProof, Speaker};
use chela_store::block_on;
use serde_json::json;

use super::{Place, explained, short};
use crate::cmd::{Outcome, Setup};
use crate::fail::{Exit, Fail};
use crate::process_log;
use crate::screen::Screen;

/// What is to be done, as typed.
pub struct Wish {
    pub session: String,
    /// What the summary should keep.
    pub keep: Option<String>,
    pub json: bool,
}

pub fn run(setup: Setup, place: &Place<'_>, screen: &mut Screen, wish: &Wish) -> Outcome {
    let (sessions, session) = place.find(&wish.session)?;
    let id = short(session.id.as_str()).to_owned();
    let is_current = block_on(sessions.look_up(&session.key))
        .map_err(explained)?
        .is_some_and(|current| current.id == session.id);
    if !is_current {
        return Err(
            Fail::new(format!("session {id} is over: nothing more is said in it"))
                .hint("only a conversation that goes on can be made shorter"),
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fail::new(format!("cannot start: {error}")))?;
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded));
    process_log::hide_with(agents.redactor());
    let talk = block_on(agents.conversation(ConversationAsk {
        agent: Some(place.agent.clone()),
        session: Some(session.key.clone()),
        ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
    }))
    .map_err(explained)?;
    let done = runtime.block_on(async {
        talk.know_models().await;
        talk.compact(wish.keep.as_deref()).await
    });
    let done = done.map_err(explained)?;
    if wish.json {
        screen.json(&json!({
            "session": session.id.as_str(),
            "messages": done.messages,
            "tokensBefore": done.tokens_before,
            "tokensAfter": done.tokens_after,
        }))?;
    } else {
        let text = done.in_words();
        let hint = format!("`chela sessions compact {id} --undo` takes it back.");
        screen.line(text.replace("/undo takes it back.", &hint))?;
    }
    Ok(Exit::Fine)
}

pub fn undo(place: &Place<'_>, screen: &mut Screen, wish: &Wish) -> Outcome {
    let (sessions, session) = place.find(&wish.session)?;
    let id = short(session.id.as_str());
    let Some(back) = block_on(sessions.undo_compaction(&session)).map_err(explained)? else {
        let compacted = block_on(sessions.last_compaction(&session)).map_err(explained)?;
        return Err(match compacted {
            Some(_) => Fail::new(format!(
                "something was said in {id} since it was made shorter"
            ))
            .hint("`/undo` in the chat takes messages back, one at a time"),
            None => Fail::new(format!("session {id} was never made shorter")),
        });
    };
    if wish.json {
        screen.json(&json!({
            "session": session.id.as_str(),
            "undone": back.entry,
            "tokens": back.tokens_before,
        }))?;
    } else {
        screen.line(format!("{id} is whole again."))?;
    }
    Ok(Exit::Fine)
}
