//! How much of a result a model gets to read.
//!
//! One limit for all tools, from the model's window. What does not fit goes to a file in the
//! session's spool folder, and the model is told where it is and how to page through it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::cut::{CutLimit, CutRequest, cut};
use chela_core::secret::Redactor;
use chela_core::{Trust, grouped, ok_or_debug, ok_or_warn, tokens};
use chela_files::{create_private_folder, restrict_to_owner};
use chela_guard::LabelledText;
use serde_json::{Value, json};

use crate::{CallSuccess, OutputPiece, ToolOutput};

/// The limit, and where the rest goes.
#[derive(Debug, Clone)]
pub struct OutputBound {
    chars: usize,
    tokens: Option<usize>,
    spool: Option<PathBuf>,
    redactor: Arc<Redactor>,
}

/// Text that fits, and what became of the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedOutput {
    pub text: String,
    /// The runtime's words about what was left out; not part of the text.
    pub note: Option<String>,
    /// Where all of it lies.
    pub spooled: Option<PathBuf>,
}

/// A window from which on results may be longer.
const LARGE_WINDOW: u64 = 100_000;
const HUGE_WINDOW: u64 = 200_000;
/// More of a single result is not kept, not even on disk.
const MOST_SPOOLED: usize = 64 * 1024 * 1024;

impl OutputBound {
    /// The limit for a model with this window, in tokens. The spool folder is made when it is
    /// needed.
    pub fn new(window: Option<u64>, spool: Option<PathBuf>) -> Self {
        let by_window = match window {
            Some(HUGE_WINDOW..) => 64_000,
            Some(LARGE_WINDOW..) => 32_000,
            Some(_) | None => 16_000,
        };
        // Never more than three tenths of the window; English has about four characters a token.
        let tokens = window.map(|window| (window.saturating_mul(3) / 10) as usize);
        Self {
            chars: tokens.map_or(by_window, |tokens| by_window.min(tokens.saturating_mul(4))),
            tokens,
            spool,
            redactor: Arc::default(),
        }
    }

    /// As long as the operator wants, within the share of the window.
    #[must_use]
    pub fn as_wanted(self, chars: Option<u64>) -> Self {
        let Some(wanted) = chars.and_then(|chars| usize::try_from(chars).ok()) else {
            return self;
        };
        let share = self.tokens.map(|tokens| tokens.saturating_mul(4));
        Self {
            chars: share.map_or(wanted, |share| wanted.min(share)),
            ..self
        }
    }

    /// Keeps what does not fit without its secrets.
    #[must_use]
    pub fn hiding(self, redactor: Arc<Redactor>) -> Self {
        Self { redactor, ..self }
    }

    /// Most characters of a result.
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// The folder for what does not fit.
    pub fn spool(&self) -> Option<&Path> {
        self.spool.as_deref()
    }

    pub fn fits(&self, text: &str) -> bool {
        let short = text.len() <= self.chars || text.chars().nth(self.chars).is_none();
        short
            && self.tokens.is_none_or(|most| {
                text.len() <= most || tokens::count_at_most(text, most).is_some()
            })
    }

    /// Cuts text that is too long and keeps all of it in a file. `name` becomes part of the
    /// file's name; the trust goes with it, so that reading the rest later says the same.
    pub fn fit(&self, name: &str, text: String, trust: Trust) -> FittedOutput {
        if self.fits(&text) {
            return FittedOutput {
                text,
                note: None,
                spooled: None,
            };
        }
        let spooled = self
            .spool
            .as_deref()
            .and_then(|spool| keep(spool, name, &self.redactor.redact(&text), trust));
        let shown = spooled
            .as_ref()
            .map_or_else(|| name.to_owned(), |path| path.display().to_string());
        let chars = text.chars().count();
        tracing::debug!(name, chars, kept = spooled.is_some(), "a result is cut");
        let cut_text = self.cut(&shown, &text);
        let lines = text.lines().count();
        let note = match &spooled {
            Some(_) => format!(
                "[The result has {} characters in {} lines; the middle is left out above. All of it is in {shown}: call read with that path and offset/limit.]",
                grouped(chars),
                grouped(lines)
            ),
            None => format!(
                "[The result has {} characters in {} lines; the middle is left out above and was not kept. Ask for less at once.]",
                grouped(chars),
                grouped(lines)
            ),
        };
        FittedOutput {
            text: cut_text,
            note: Some(note),
            spooled,
        }
    }

    /// The text of a result as an [`ToolOutput`]: cut where it must be, labelled, the note apart.
    pub fn output(
        &self,
        name: &str,
        text: String,
        trust: Trust,
        label: impl FnOnce(String) -> LabelledText,
    ) -> ToolOutput {
        let fitted = self.fit(name, text, trust);
        let mut content = vec![OutputPiece::Text(label(fitted.text))];
        content.extend(
            fitted
                .note
                .map(|note| OutputPiece::Text(LabelledText::runtime(note))),
        );
        ToolOutput {
            content,
            details: match fitted.spooled {
                Some(path) => json!({ "spooled": path }),
                None => Value::Null,
            },
            success: CallSuccess::Done,
            written: None,
        }
    }

    fn cut(&self, name: &str, text: &str) -> String {
        let request = |text, limit| CutRequest {
            name,
            text,
            first_line: 1,
            limit,
            pinned_headings: &[],
        };
        let by_chars = cut(&request(text, CutLimit::Chars(self.chars)))
            .text
            .into_owned();
        match self.tokens {
            Some(most) if tokens::count_at_most(&by_chars, most).is_none() => {
                let by_tokens = cut(&request(text, CutLimit::Tokens(most)));
                by_tokens.text.into_owned()
            }
            _ => by_chars,
        }
    }
}

/// How far text in the spool is trusted: its name says so, and only the runtime names it.
pub fn spool_trust(path: &Path) -> Trust {
    let name = path
        .file_stem()
        .and_then(|stem| Path::new(stem).extension());
    match name.and_then(|word| word.to_str()) {
        Some("operator") => Trust::Operator,
        Some("owner") => Trust::Owner,
        Some("agent") => Trust::Agent,
        Some("plugin") => Trust::Plugin,
        _ => Trust::External,
    }
}

/// A name in the spool folder that says how far its text is trusted.
pub fn spool_name(name: &str, number: u32, trust: Trust) -> String {
    const LONGEST: usize = 64;
    let plain: String = name
        .chars()
        .take(LONGEST)
        .map(|c| match c.is_ascii_alphanumeric() || c == '-' {
            true => c,
            false => '_',
        })
        .collect();
    let again = match number {
        0 => String::new(),
        number => format!("-{number}"),
    };
    format!("{plain}{again}.{}.txt", trust.as_str())
}

/// Writes a text to a new file of the spool. A full disk is no reason to lose the result.
fn keep(spool: &Path, name: &str, text: &str, trust: Trust) -> Option<PathBuf> {
    const MOST_OF_ONE_NAME: u32 = 1_000;
    ok_or_warn!(
        create_private_folder(spool),
        "what does not fit into a result is not kept"
    )?;
    for number in 0..MOST_OF_ONE_NAME {
        let path = spool.join(spool_name(name, number, trust));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        match restrict_to_owner(&mut options).open(&path) {
            Ok(mut file) => {
                let bytes = text.as_bytes();
                let bytes = bytes.get(..MOST_SPOOLED).unwrap_or(bytes);
                let written = file.write_all(bytes);
                if ok_or_warn!(written, "what does not fit into a result is not kept").is_some() {
                    return Some(path);
                }
                ok_or_debug!(std::fs::remove_file(&path), "half a result stays behind");
                return None;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                tracing::warn!(%error, "what does not fit into a result is not kept");
                return None;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
