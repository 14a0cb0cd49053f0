//! The chat line by line: for dumb terminals, screen readers and programs that talk to it.

use std::io::{self, IsTerminal};
use std::time::Duration;

use chela_agent::conversation::{Conversation, Inbound};
use chela_agent::slash::{self, Answer, Parsed, Talk, Then};

use super::asking;
use super::for_now::ForNow;
use super::once::{Asked, Form, once, page};
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

/// Reads messages from standard input, one a line, until it ends.
pub async fn lines(
    talk: &Conversation,
    screen: &mut Screen,
    notes: &[String],
    wait: Duration,
) -> Result<Exit, Fail> {
    for note in notes {
        page(screen, note)?;
    }
    let prompt = if io::stdin().is_terminal() { "> " } else { "" };
    loop {
        screen.flush()?;
        let Some(line) = asking::line(prompt) else {
            return Ok(Exit::Fine);
        };
        let step = match slash::parse(&line) {
            _ if line.trim().is_empty() => continue,
            Parsed::Command { command, args } => slash::run(talk, command, &args),
            Parsed::Directives(directives) => {
                for directive in &directives {
                    page(screen, &slash::apply(talk, directive).text)?;
                }
                continue;
            }
            Parsed::Unknown { name, args } => match slash::find("skill") {
                Some(skill) if is_skill(talk, &name) => {
                    slash::run(talk, skill, &format!("{name} {args}"))
                }
                _ => Answer::text(slash::help(&name)),
            },
            Parsed::Message {
                text, directives, ..
            } => {
                let mut for_now = ForNow::new(talk);
                for directive in &directives {
                    page(screen, &for_now.direct(directive))?;
                }
                say(talk, screen, text, wait).await?;
                continue;
            }
        };
        if !step.text.is_empty() {
            page(screen, &step.text)?;
        }
        match step.then {
            Then::Say(text) | Then::Begun(Some(text)) => say(talk, screen, text, wait).await?,
            Then::Leave => return Ok(Exit::Fine),
            Then::Compact(keep) => {
                let told = match talk.compact(keep.as_deref()).await {
                    Ok(compacted) => compacted.in_words(),
                    Err(error) => error.to_string(),
                };
                page(screen, &told)?;
            }
            Then::Edit(text) => page(screen, &text)?,
            Then::Nothing | Then::Begun(None) | Then::Stop | Then::Approve { .. } => {}
        }
    }
}

async fn say(
    talk: &Conversation,
    screen: &mut Screen,
    text: String,
    wait: Duration,
) -> Result<(), Fail> {
    let asked = Asked {
        message: Inbound {
            text,
            ..Inbound::default()
        },
        form: Form::Plain,
        wait,
    };
    match once(talk, screen, asked).await {
        Ok(_) => Ok(()),
        Err(fail) if fail.silent => Err(fail),
        Err(fail) => {
            let hint = fail
                .hint
                .map(|hint| format!("\n\n{hint}"))
                .unwrap_or_default();
            page(screen, &format!("{}{hint}", fail.message))
        }
    }
}

/// Whether a skill has this command.
pub fn is_skill(talk: &Conversation, name: &str) -> bool {
    talk.skills()
        .iter()
        .any(|skill| skill.command.eq_ignore_ascii_case(name))
}
