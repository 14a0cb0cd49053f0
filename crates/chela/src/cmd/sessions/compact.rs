//! `chela sessions compact`: a conversation made short, or whole again.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::conversation::ConversationAsk;
use chela_core::{OwnerProof, Speaker};
use chela_store::block_on;
use serde_json::json;

use super::{SessionOwner, explained, short};
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::process_log;
use crate::screen::Screen;

/// What is to be done, as typed.
pub struct CompactRequest {
    pub session: String,
    /// What the summary should keep.
    pub keep: Option<String>,
    pub json: bool,
}

pub fn run(
    setup: CommandSetup,
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    request: &CompactRequest,
) -> CommandOutcome {
    let (sessions, session) = owner.find(&request.session)?;
    let id = short(session.id.as_str()).to_owned();
    let is_current = block_on(sessions.look_up(&session.key))
        .map_err(explained)?
        .is_some_and(|current| current.id == session.id);
    if !is_current {
        return Err(CommandError::new(format!("conversation {id} has ended"))
            .hint("only an active conversation can be compacted"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded));
    process_log::hide_with(agents.redactor());
    let talk = block_on(agents.conversation(ConversationAsk {
        agent: Some(owner.agent.clone()),
        session: Some(session.key.clone()),
        ..ConversationAsk::new(Speaker::Owner(OwnerProof::terminal()))
    }))
    .map_err(explained)?;
    let done = runtime.block_on(async {
        talk.know_models().await;
        talk.compact(request.keep.as_deref()).await
    });
    let done = done.map_err(explained)?;
    if request.json {
        screen.json(&json!({
            "session": session.id.as_str(),
            "messages": done.messages,
            "tokensBefore": done.tokens_before,
            "tokensAfter": done.tokens_after,
        }))?;
    } else {
        let text = done.in_words();
        let hint = format!("Undo with `chela sessions compact {id} --undo`.");
        screen.line(text.replace("Undo with /undo.", &hint))?;
    }
    Ok(CommandExit::Fine)
}

pub fn undo(
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    request: &CompactRequest,
) -> CommandOutcome {
    let (sessions, session) = owner.find(&request.session)?;
    let id = short(session.id.as_str());
    let Some(back) = block_on(sessions.undo_compaction(&session)).map_err(explained)? else {
        let compacted = block_on(sessions.last_compaction(&session)).map_err(explained)?;
        return Err(match compacted {
            Some(_) => CommandError::new(format!("{id} has new messages since it was compacted"))
                .hint("`/undo` in the chat undoes messages one at a time"),
            None => CommandError::new(format!("conversation {id} was never compacted")),
        });
    };
    if request.json {
        screen.json(&json!({
            "session": session.id.as_str(),
            "undone": back.entry,
            "tokens": back.tokens_before,
        }))?;
    } else {
        screen.line(format!("{id} is restored in full."))?;
    }
    Ok(CommandExit::Fine)
}
