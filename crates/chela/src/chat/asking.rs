//! Questions on a plain line: before the chat is open, and where there is no chat.

use std::io::{self, BufRead, Write};

use chela_tools::{Question, Scope};

use super::clean::{clean, clean_line};
use crate::screen::Paint;

/// Asks on standard error and reads a line. `None` when nobody is there.
pub fn line(question: &str) -> Option<String> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question}").ok()?;
    stderr.flush().ok()?;
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

/// Yes unless they say otherwise.
pub fn yes(question: &str) -> bool {
    match line(&format!("{question} [Y/n] ")) {
        Some(answer) => matches!(answer.to_ascii_lowercase().as_str(), "" | "y" | "yes" | "j"),
        None => false,
    }
}

/// Asks for permission. The answer is awaited on another thread: the turn's clock runs on.
/// `None` when nobody answers.
pub async fn permission(question: &Question, paint: Paint) -> Option<Scope> {
    let mut text = String::new();
    for call in &question.calls {
        text.push_str(&format!(
            "{} {}\n",
            paint.warn("?"),
            paint.bold(clean_line(&call.summary))
        ));
        for (name, value) in &call.exact {
            let name = paint.dim(clean_line(name));
            text.push_str(&format!("  {} {name}: {}\n", paint.warn("│"), clean(value)));
        }
        if !call.why.trim().is_empty() {
            text.push_str(&format!("  {}\n", paint.dim(clean_line(&call.why))));
        }
        if let Some(passage) = &call.passage {
            text.push_str(&format!(
                "  {} {}{}{}\n",
                paint.warn("from outside:"),
                paint.dim(clean_line(&passage.before)),
                paint.bold(clean_line(&passage.marked)),
                paint.dim(clean_line(&passage.after)),
            ));
        }
    }
    text.push_str("  y once, s this session, a always, n no: ");
    let asked = tokio::task::spawn_blocking(move || line(&text));
    match tokio::time::timeout(question.lasts(), asked).await {
        Ok(Ok(Some(answer))) => Some(match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" | "once" => Scope::Once,
            "s" | "session" => Scope::Session,
            "a" | "always" => Scope::Always,
            _ => Scope::Deny,
        }),
        _ => None,
    }
}
