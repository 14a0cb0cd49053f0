//! What kind of conversation the words of the command, and what was piped in, ask for.

use chela_agent::conversation::InboundMessage;
use chela_core::Host;

use super::message_input;
use crate::cli::ChatArgs;
use crate::fail::CommandError;
use crate::screen::Screen;

/// What kind of conversation it is.
pub enum ChatMode {
    Once(InboundMessage),
    /// In the terminal, with everything.
    Room,
    /// Line by line.
    Lines,
}

impl ChatMode {
    /// How the next conversation is held, after this one was left for it.
    pub fn again(&self) -> Self {
        match self {
            Self::Lines => Self::Lines,
            Self::Once(_) | Self::Room => Self::Room,
        }
    }

    pub fn of(args: &ChatArgs, screen: &Screen, host: &Host) -> Result<Self, CommandError> {
        if args.skill.is_some() && args.message.is_none() {
            return Err(CommandError::usage("--skill needs a message")
                .hint("chela chat --skill NAME -m MESSAGE"));
        }
        let piped = match &args.piped {
            Some(piped) => Some(piped.clone()),
            None => message_input::read_piped_text(args.message.is_some())?,
        };
        match (&args.message, piped) {
            (Some(message), None) if message.trim().is_empty() && args.image.is_empty() => {
                Err(CommandError::usage("the message is empty").hint("chela chat -m MESSAGE"))
            }
            (Some(message), piped) => Ok(Self::Once(InboundMessage {
                text: match &args.skill {
                    Some(skill) => format!("/skill {skill} {message}"),
                    None => message.clone(),
                },
                piped,
                ..InboundMessage::default()
            })),
            (None, Some(piped)) if piped.trim().is_empty() => {
                Err(CommandError::usage("no message: standard input is empty")
                    .hint("chela chat -m MESSAGE"))
            }
            (None, Some(piped)) => Ok(Self::Once(InboundMessage {
                piped: Some(piped),
                ..InboundMessage::default()
            })),
            (None, None) if !args.image.is_empty() => Ok(Self::Once(InboundMessage::default())),
            (None, None) if args.json || args.json_stream => {
                Err(CommandError::usage("--json needs a message")
                    .hint("chela chat -m MESSAGE --json"))
            }
            (None, None) if screen.is_terminal && host.var("TERM") != Some("dumb") => {
                Ok(Self::Room)
            }
            (None, None) => Ok(Self::Lines),
        }
    }
}
