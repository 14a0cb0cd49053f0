//! `!` and a command: run for the person, shown to the agent with the next message.

use std::io::Write;

use chela_agent::conversation::OwnerCommandOutcome;

use super::{ChatRoom, ChatWork};
use crate::chat::clean::{clean, clean_line};
use crate::chat::ink::{StyledLine, look, without_tabs};

/// Lines of the output that stay on the screen.
const MOST_SHOWN: usize = 60;

impl<W: Write> ChatRoom<'_, W> {
    /// Whether a line is a command for the machine.
    pub(super) fn owner_command(text: &str) -> Option<&str> {
        let command = text.strip_prefix('!')?.trim();
        (!command.is_empty()).then_some(command)
    }

    pub(super) fn run_owner_command(&mut self, line: &str) {
        self.next = Some(ChatWork::Command(line.to_owned()));
    }

    pub(super) fn is_running_command(&self) -> bool {
        self.busy.is_some() && self.is_command
    }

    pub(super) async fn command_stopped(&mut self) {
        self.busy = None;
        self.has_work = false;
        self.view.broke();
        self.view.say(StyledLine::new("■ stopped", look::WARN));
        self.view.say(StyledLine::default());
        self.run_held_lines().await;
    }

    /// Shows what a command printed and keeps it for the next message.
    pub(super) fn show_ran(&mut self, line: &str, outcome: Result<OwnerCommandOutcome, String>) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(why) => {
                let why = clean_line(&why);
                return self
                    .view
                    .say(StyledLine::new(format!("✗ {why}"), look::BAD));
            }
        };
        let printed = clean(&outcome.printed);
        let lines: Vec<&str> = printed.trim_end().lines().collect();
        let skipped = lines.len().saturating_sub(MOST_SHOWN);
        if skipped > 0 {
            let told = format!("… {skipped} earlier lines");
            self.view.say(StyledLine::new(told, look::DIM));
        }
        for shown in lines.iter().skip(skipped) {
            self.view
                .say(StyledLine::new(without_tabs(shown), look::PLAIN));
        }
        let told = format!("· {}; sent with your next message", outcome.ended);
        self.view.say(StyledLine::new(told, look::DIM));
        let block = printed_block(line, &printed);
        self.ran.push(RanCommand {
            told: format!("I ran this command ({}):\n\n{block}", outcome.ended),
            own_output: outcome.is_own.then_some(block),
        });
    }

    /// What commands printed since the last message, before its words, and which of that nobody
    /// else can have written.
    pub(super) fn with_ran(&mut self, text: String) -> (String, Vec<String>) {
        let (mut told, mut own_output) = (Vec::new(), Vec::new());
        for ran in std::mem::take(&mut self.ran) {
            told.push(ran.told);
            own_output.extend(ran.own_output);
        }
        told.push(text);
        (told.join("\n\n"), own_output)
    }
}

/// A command the person typed, as the next message tells of it.
pub(super) struct RanCommand {
    told: String,
    /// What it printed, where somebody answers for all of that.
    own_output: Option<String>,
}

/// The command is the person's word; what it printed stands in a fence, which names nothing.
fn printed_block(line: &str, printed: &str) -> String {
    let fence = longest_fence(printed);
    format!("{fence}\n$ {line}\n{}\n{fence}", printed.trim_end())
}

/// A fence that nothing in the text closes.
fn longest_fence(text: &str) -> String {
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(ticks.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::printed_block;

    #[test]
    fn what_was_printed_closes_no_fence() {
        assert_eq!(
            printed_block("cat x", "a\n```\nb\n"),
            "````\n$ cat x\na\n```\nb\n````"
        );
    }
}
