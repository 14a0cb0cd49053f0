//! Text of several lines that has been cleaned, and a type that proves it.

use std::borrow::Cow;
use std::fmt;

use chela_core::sanitize;

/// A text without hidden characters and in the prompt's normal form: lines end in LF, no line
/// ends in blanks, no blank lines at either end.
///
/// It can only be made by cleaning, so the renderer copies it without looking at it again. A
/// loader that keeps its files keeps them in this form.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct CleanText(String);

impl CleanText {
    /// Cleans a text. What is taken out is lost.
    pub fn new(raw: &str) -> Self {
        let (visible, _) = sanitize::content(raw);
        let body = without_blank_start(visible.trim_end());
        if is_plain(body.as_bytes()) {
            return Self(body.to_owned());
        }
        let mut text = String::with_capacity(body.len());
        for line in unified_breaks(body).split('\n') {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for CleanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<&str> for CleanText {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

/// From the first line on that is not blank; that one keeps its indentation.
fn without_blank_start(body: &str) -> &str {
    let text = body.trim_start();
    let blank = body.strip_suffix(text).unwrap_or_default();
    let mut lines = blank.rsplit(['\n', '\r', '\u{2028}', '\u{2029}']);
    let indent = lines.next().unwrap_or_default();
    &body[body.len() - text.len() - indent.len()..]
}

/// Whether a text is ASCII and already in normal form inside: one pass that needs no branches.
fn is_plain(bytes: &[u8]) -> bool {
    let odd = bytes
        .iter()
        .fold(false, |odd, &byte| odd | (byte >= 0x7F) | (byte == b'\r'));
    let ragged = bytes
        .iter()
        .zip(bytes.iter().skip(1))
        .fold(false, |ragged, (&byte, &next)| {
            ragged | ((next == b'\n') & ((byte == b' ') | (byte == b'\t')))
        });
    !(odd | ragged)
}

fn unified_breaks(text: &str) -> Cow<'_, str> {
    if !text.contains(['\r', '\u{2028}', '\u{2029}']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.replace("\r\n", "\n")
            .replace(['\r', '\u{2028}', '\u{2029}'], "\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::CleanText;

    #[test]
    fn takes_the_normal_form() {
        let text =
            CleanText::new("\n \r\n  one  \r\ntwo\t\n\n\nthree\rfour\u{2028}five\u{a0}\n \n");
        assert_eq!(text.as_str(), "  one\ntwo\n\n\nthree\nfour\nfive");
    }

    #[test]
    fn blank_text_is_empty() {
        for blank in ["", " ", "\n\n", "\r\n \t\r\n", "\u{feff}"] {
            assert!(CleanText::new(blank).is_empty(), "{blank:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn cleaning_twice_changes_nothing(raw in "[ -~\\n\\r\\t\u{2028}\u{a0}é中]{0,60}") {
            let once = CleanText::new(&raw);
            assert_eq!(CleanText::new(once.as_str()).as_str(), once.as_str());
            assert!(once.as_str().lines().all(|line| line == line.trim_end()), "{once:?}");
            assert!(!once.as_str().contains(['\r', '\u{2028}']), "{once:?}");
            assert!(!once.as_str().starts_with('\n') && !once.as_str().ends_with('\n'));
        }
    }
}
