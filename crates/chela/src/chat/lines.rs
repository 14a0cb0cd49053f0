//! The chat line by line: for dumb terminals, screen readers and programs that talk to it.

use std::io::{self, IsTerminal};

use chela_agent::conversation::{Conversation, InboundMessage};
use chela_agent::slash::{self, CommandAnswer, CommandContext, ParsedLine, SurfaceAction};

use super::for_now::ForNow;
use super::gateway_talk::GatewayTalk;
use super::line_questions;
use super::once::{AfterAnswer, OneShotRequest, OutputForm, WaitAfter, print_markdown, run_once};
use super::room::ChatLeave;
use super::stop_signals::StopSignals;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Reads messages from standard input, one a line, until it ends.
pub async fn run_line_chat(
    talk: &Conversation,
    gateway: Option<&GatewayTalk>,
    screen: &mut Screen,
    notes: &[String],
    wait: WaitAfter,
) -> Result<ChatLeave, CommandError> {
    talk.agents().scan_skills_beside();
    for note in notes {
        print_markdown(screen, note)?;
    }
    let prompt = if io::stdin().is_terminal() { "> " } else { "" };
    loop {
        screen.flush()?;
        // Anew each time: one that stopped a turn has been heard.
        let mut signals = StopSignals::listen()
            .map_err(|error| CommandError::new(format!("cannot listen for signals: {error}")))?;
        let line = tokio::select! {
            line = line_questions::ask_line_and_wait(prompt) => line,
            () = signals.next() => None,
        };
        let Some(line) = line else {
            return Ok(ChatLeave::Over(CommandExit::Fine));
        };
        let step = match slash::parse(&line) {
            _ if line.trim().is_empty() => continue,
            ParsedLine::Command { command, args } => slash::run(talk, command, &args).await,
            ParsedLine::Directives(directives) => {
                for directive in &directives {
                    print_markdown(screen, &slash::apply(talk, directive).await.text)?;
                }
                continue;
            }
            ParsedLine::Unknown { name, args } => match slash::find("skill") {
                Some(skill) if talk.is_skill(&name) => {
                    slash::run(talk, skill, &format!("{name} {args}")).await
                }
                _ => CommandAnswer::text(slash::help(&name)),
            },
            ParsedLine::Message {
                text, directives, ..
            } => {
                let mut for_now = ForNow::new(talk);
                let mut told = Vec::new();
                for directive in &directives {
                    told.push(for_now.direct(directive).await);
                }
                let said = match told
                    .iter()
                    .try_for_each(|told| print_markdown(screen, told))
                {
                    Ok(()) => say(talk, gateway, screen, text, wait).await,
                    Err(fail) => Err(fail),
                };
                for_now.put_back().await;
                said?;
                continue;
            }
        };
        if !step.text.is_empty() {
            print_markdown(screen, &step.text)?;
        }
        match step.then {
            SurfaceAction::Say(text) | SurfaceAction::Begun(Some(text)) => {
                say(talk, gateway, screen, text, wait).await?
            }
            SurfaceAction::UseSkill(called) => {
                let mut for_now = ForNow::new(talk);
                for_now.answered_by(called.model.as_deref()).await;
                let said = say(talk, gateway, screen, called.message, wait).await;
                for_now.put_back().await;
                said?;
            }
            SurfaceAction::Leave => return Ok(ChatLeave::Over(CommandExit::Fine)),
            SurfaceAction::Resume(id) => return Ok(ChatLeave::Resume(id)),
            SurfaceAction::Folder(folder) => return Ok(ChatLeave::Folder(folder)),
            SurfaceAction::Choose(rows) => {
                print_markdown(screen, &slash::list_conversations(&rows))?;
            }
            SurfaceAction::Compact(keep) => {
                let told = match talk.compact(keep.as_deref()).await {
                    Ok(compacted) => compacted.in_words(),
                    Err(error) => error.to_string(),
                };
                print_markdown(screen, &told)?;
            }
            SurfaceAction::Edit(text) => print_markdown(screen, &text)?,
            SurfaceAction::Copy => print_markdown(screen, "Copying needs a terminal.")?,
            SurfaceAction::Approve { id, .. } => {
                print_markdown(screen, &format!("There is no open question `{id}`."))?;
            }
            SurfaceAction::Nothing | SurfaceAction::Begun(None) | SurfaceAction::Stop => {}
        }
    }
}

async fn say(
    talk: &Conversation,
    gateway: Option<&GatewayTalk>,
    screen: &mut Screen,
    text: String,
    wait: WaitAfter,
) -> Result<(), CommandError> {
    let asked = OneShotRequest {
        message: InboundMessage {
            text,
            ..InboundMessage::default()
        },
        form: OutputForm::Plain,
        wait,
        afterwards: AfterAnswer::ChatGoesOn,
    };
    match run_once(talk, gateway, screen, asked).await {
        Ok(_) => Ok(()),
        Err(fail) if fail.silent => Err(fail),
        Err(fail) => {
            let hint = fail
                .hint
                .map(|hint| format!("\n\n{hint}"))
                .unwrap_or_default();
            print_markdown(screen, &format!("{}{hint}", fail.message))
        }
    }
}
