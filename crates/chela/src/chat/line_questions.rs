//! Questions on a plain line: before the chat is open, and where there is no chat.

use std::io::{self, BufRead, IsTerminal, Write};

use chela_tools::ApprovalQuestion;

use super::clean::{clean, clean_line};
use super::ink::StyledLine;
use super::question_text::{question_rows, value_rows};
use super::terminal;
use crate::screen::ColourMode;

/// Asks on standard error and reads a line. `None` when nobody is there.
pub fn ask_line(question: &str) -> Option<String> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question}").ok()?;
    stderr.flush().ok()?;
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

/// The same, waiting beside other work. Given up, it takes no line that is typed later.
pub async fn ask_line_and_wait(question: &str) -> Option<String> {
    write!(io::stderr(), "{question}").ok()?;
    io::stderr().flush().ok()?;
    wait_for_input().await?;
    ask_line("")
}

/// Until there is something to read. What cannot be watched, such as a file, never keeps one
/// waiting.
#[cfg(unix)]
async fn wait_for_input() -> Option<()> {
    use tokio::io::{Interest, unix::AsyncFd};
    #[expect(
        deprecated,
        reason = "unsound for a file that is closed; this one is open as long as the process"
    )]
    let watched = AsyncFd::with_interest(io::stdin(), Interest::READABLE);
    if let Ok(stdin) = watched {
        stdin.readable().await.ok()?.retain_ready();
    }
    Some(())
}

/// A console cannot be waited for beside other work: the line is read at once.
#[cfg(not(unix))]
async fn wait_for_input() -> Option<()> {
    Some(())
}

/// Asks, and takes nothing for an answer that was typed before the question stood there.
pub fn ask_fresh_line(question: &str) -> Option<String> {
    drop_pending_input();
    ask_line(question)
}

/// No unless they say yes.
pub fn ask_yes_unless_silent(question: &str) -> bool {
    let answer = ask_fresh_line(&format!("{question} [y/N] "));
    answer.is_some_and(|answer| matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Shows a text to its end, page by page. `false` when they did not read on.
pub fn show_to_end(name: &str, text: &str, paint: ColourMode) -> bool {
    let (width, height) = terminal::size();
    let rows = value_rows(name, &clean(text), width.saturating_sub(1).max(20));
    let pages: Vec<&[StyledLine]> = rows.chunks(height.saturating_sub(4).max(4)).collect();
    for (at, page) in pages.iter().enumerate() {
        for row in *page {
            if writeln!(io::stderr(), "{}", row.ansi(paint)).is_err() {
                return false;
            }
        }
        let prompt = page_prompt(at, pages.len());
        while at + 1 < pages.len() {
            match ask_fresh_line(&prompt).as_deref() {
                Some("") => break,
                None => return false,
                Some(line) if is_no(line) => return false,
                Some(_) => {}
            }
        }
    }
    true
}

fn page_prompt(at: usize, pages: usize) -> String {
    format!("  page {} of {pages}: Enter reads on, or no: ", at + 1)
}

/// Yes unless they say otherwise.
pub fn ask_yes_or_no(question: &str) -> bool {
    drop_pending_input();
    match ask_line(&format!("{question} [Y/n] ")) {
        Some(answer) => matches!(answer.to_ascii_lowercase().as_str(), "" | "y" | "yes" | "j"),
        None => false,
    }
}

/// Asks for permission; gives the word of the choice. `None` when nobody answers.
///
/// A line that was typed or pasted before the question stood there is dropped, and a yes needs the
/// question's id: the next line of something pasted answers nothing.
pub async fn ask_permission(
    question: &ApprovalQuestion,
    paint: ColourMode,
    size: (usize, usize),
) -> Option<String> {
    let asking = LineQuestion {
        question,
        paint,
        size,
    };
    let asked = tokio::time::timeout(question.lasts(), asking.ask());
    asked.await.ok().flatten()
}

struct LineQuestion<'a> {
    question: &'a ApprovalQuestion,
    paint: ColourMode,
    size: (usize, usize),
}

impl LineQuestion<'_> {
    async fn ask(&self) -> Option<String> {
        let (width, height) = self.size;
        let rows = question_rows(self.question, width.saturating_sub(1).max(20));
        let pages: Vec<&[StyledLine]> = rows.chunks(height.saturating_sub(4).max(4)).collect();
        let id = clean_line(&self.question.id);
        let head = format!(
            "{} {}",
            self.paint.warn("?"),
            self.paint.bold("Allow this?")
        );
        self.print(&head)?;
        for (at, page) in pages.iter().enumerate() {
            for row in *page {
                self.print(&row.ansi(self.paint))?;
            }
            let is_last = at + 1 == pages.len();
            if !is_last && !self.reads_on(&page_prompt(at, pages.len())).await? {
                return Some(NO.to_owned());
            }
        }
        let yes = self
            .question
            .choices
            .iter()
            .filter(|choice| choice.word != NO);
        let yes: Vec<String> = yes.map(|choice| format!("{id} {}", choice.word)).collect();
        let prompt = format!("  Answer {}, or no: ", yes.join(", "));
        let word = self.choose(&prompt).await?;
        let mut choices = self.question.choices.iter();
        let follows = choices
            .find(|choice| choice.word == word)
            .and_then(|choice| choice.follows.as_deref());
        if let Some(follows) = follows {
            self.print(&format!("  {}", self.paint.bold(clean_line(follows))))?;
            let prompt = format!("  To confirm, type {id} {word}, or no: ");
            if self.choose(&prompt).await? != word {
                return Some(NO.to_owned());
            }
        }
        Some(word)
    }

    async fn reads_on(&self, prompt: &str) -> Option<bool> {
        self.read_answer(prompt, |line| match line {
            "" => Some(true),
            line => is_no(line).then_some(false),
        })
        .await
    }

    /// The word of the choice that is made, with the id in front of any yes.
    async fn choose(&self, prompt: &str) -> Option<String> {
        self.read_answer(prompt, |line| {
            let mut words = line.split_whitespace();
            match (words.next()?, words.next(), words.next()) {
                (no, None, None) if is_no(no) => Some(NO.to_owned()),
                (id, Some(word), None) if id == self.question.id => {
                    let mut choices = self.question.choices.iter();
                    let choice = choices.find(|choice| choice.is_typed(word))?;
                    Some(choice.word.clone())
                }
                _ => None,
            }
        })
        .await
    }

    /// Waits for a line that is an answer. What was there before it was asked for is none.
    async fn read_answer<T>(
        &self,
        prompt: &str,
        answer_in: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        loop {
            drop_pending_input();
            let line = ask_line_and_wait(prompt).await?;
            if let Some(answer) = answer_in(&line) {
                return Some(answer);
            }
            self.print(&self.paint.dim("  Not an answer to this question."))?;
        }
    }

    fn print(&self, line: &str) -> Option<()> {
        writeln!(io::stderr(), "{line}").ok()
    }
}

const NO: &str = "deny";

fn is_no(line: &str) -> bool {
    matches!(line.to_ascii_lowercase().as_str(), "no" | "n" | NO)
}

/// Forgets what was typed or pasted and not read yet.
pub fn drop_pending_input() {
    if io::stdin().is_terminal() {
        chela_core::ok_or_debug!(flush_input(), "what was typed ahead is still there");
    }
}

#[cfg(unix)]
fn flush_input() -> io::Result<()> {
    use rustix::termios::{QueueSelector, tcflush};
    Ok(tcflush(io::stdin(), QueueSelector::IFlush)?)
}

#[cfg(not(unix))]
fn flush_input() -> io::Result<()> {
    use crossterm::event;
    while event::poll(std::time::Duration::ZERO)? {
        event::read()?;
    }
    Ok(())
}
