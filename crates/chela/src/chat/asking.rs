//! Questions on a plain line: before the chat is open, and where there is no chat.

use std::io::{self, BufRead, Write};

use chela_tools::{Approval, ApprovalRequest};

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
pub async fn permission(request: &ApprovalRequest, paint: Paint) -> Approval {
    let mut text = format!(
        "{} {}\n",
        paint.warn("?"),
        paint.bold(clean_line(&request.summary))
    );
    for row in clean(&request.exact).lines() {
        text.push_str(&format!("  {} {row}\n", paint.warn("│")));
    }
    if !request.why.trim().is_empty() {
        text.push_str(&format!("  {}\n", paint.dim(clean_line(&request.why))));
    }
    text.push_str("  y once, s this session, a always, n no: ");
    let asked = tokio::task::spawn_blocking(move || line(&text));
    match tokio::time::timeout(request.expires_after, asked).await {
        Ok(Ok(Some(answer))) => match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" | "once" => Approval::AllowOnce,
            "s" | "session" => Approval::AllowSession,
            "a" | "always" => Approval::AllowAlways,
            _ => Approval::Deny,
        },
        _ => Approval::Unanswered,
    }
}
