//! Turns of this conversation that run in the gateway: begun here, on another surface, or by
//! themselves.

use std::io::Write;
use std::time::Instant;

use super::ChatRoom;
use crate::chat::clean::clean;
use crate::chat::gateway_talk::GatewayTalk;
use crate::chat::ink::{StyledLine, look};
use crate::chat::relay::ElsewhereNews;
use crate::chat::turn_errors::{self, TurnFailure};

impl<'a, W: Write> ChatRoom<'a, W> {
    /// The gateway, while it is there.
    pub(super) fn gateway_there(&self) -> Option<&'a GatewayTalk> {
        self.gateway.filter(|gateway| gateway.is_there())
    }

    /// Ends the turn under way, wherever it runs.
    pub(super) fn stop_turn(&self) {
        self.talk.stop();
        if let Some(gateway) = self.gateway_there() {
            gateway.stop();
        }
    }

    pub(super) fn hear_elsewhere(&mut self, news: ElsewhereNews) {
        match news {
            ElsewhereNews::Began { by, text } => {
                self.echo_of(&by, &text);
                let now = Instant::now();
                self.is_elsewhere = true;
                self.busy.get_or_insert(now);
                self.view.begin(self.settings(), now);
            }
            ElsewhereNews::Steered { by, text } => self.echo_of(&by, &text),
            ElsewhereNews::Ended(end) => {
                self.leave_elsewhere();
                match *end {
                    Ok(outcome) => self.view.end(&outcome),
                    Err(failure) => {
                        self.view.broke();
                        let width = self.stage.width().saturating_sub(1);
                        let failure = TurnFailure::Gateway(failure);
                        for line in turn_errors::error_lines(&failure, self.talk, width) {
                            self.view.say(line);
                        }
                    }
                }
                self.view.say(StyledLine::default());
            }
            ElsewhereNews::Back { gap } => {
                let told = match gap {
                    false => "· the gateway is back",
                    true => "· the gateway is back; some of what happened is not shown here",
                };
                self.view.say(StyledLine::new(told, look::DIM));
                if gap {
                    self.leave_elsewhere();
                }
            }
            ElsewhereNews::Gone => {
                let was_elsewhere = self.is_elsewhere;
                self.leave_elsewhere();
                if was_elsewhere {
                    self.view.broke();
                }
                let told = "· the gateway has ended; your messages are answered here from now on";
                self.view.say(StyledLine::new(told, look::WARN));
            }
        }
    }

    fn leave_elsewhere(&mut self) {
        if std::mem::take(&mut self.is_elsewhere) && !self.has_work {
            self.busy = None;
        }
    }

    /// What somebody else said here.
    fn echo_of(&mut self, by: &str, text: &str) {
        let lead = format!("{} › ", crate::chat::clean_line(by));
        for (at, line) in clean(text).lines().enumerate() {
            let lead = if at == 0 { lead.as_str() } else { "  " };
            self.view
                .say(StyledLine::new(lead, look::PERSON).with(line, look::BOLD));
        }
        self.view.say(StyledLine::default());
    }
}
