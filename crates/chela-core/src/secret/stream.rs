//! Secrets in text that comes in pieces.

use std::sync::Arc;

use super::{Redactor, starts_like_one};

/// So much of what went on before is looked at again: a name says that its value is secret.
const CONTEXT: usize = 2_048;
/// The longest word that is waited for.
const MOST_WORD: usize = 4_096;
/// More is never held back. A private key is shorter.
const MOST_HELD: usize = 64 * 1024;
/// A word this short that begins like no key may be shown before it ends.
const HARMLESS: usize = 20;
/// So many letters of a known value are its beginning.
const BEGUN: usize = 3;

/// Takes secrets out of text that comes in pieces. What may be the beginning of one is held back
/// until it is known how it goes on.
#[derive(Debug, Default)]
pub struct SecretStream {
    redactor: Arc<Redactor>,
    /// The end of what was passed on, as it came.
    context: Vec<u8>,
    held: Vec<u8>,
    lines: SecretLines,
}

/// What becomes of the line ends in a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretLines {
    #[default]
    Dropped,
    /// They follow its stand-in, so that what comes after keeps its number.
    Counted,
}

impl SecretStream {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_lines(self, lines: SecretLines) -> Self {
        Self { lines, ..self }
    }

    /// Takes a piece; gives what can be passed on.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.release(Until::Safe)
    }

    /// Nothing has come for a while: what is held back goes on, unless it may be a secret.
    pub fn settle(&mut self) -> Vec<u8> {
        let word = String::from_utf8_lossy(&self.held);
        let harmless = self.held.len() < HARMLESS
            && !starts_like_one(word.trim_start())
            && self.redactor.known().begun(&self.held) < BEGUN;
        match harmless {
            true => self.release(Until::End),
            false => Vec::new(),
        }
    }

    /// There is no more.
    pub fn finish(&mut self) -> Vec<u8> {
        self.release(Until::End)
    }

    fn release(&mut self, until: Until) -> Vec<u8> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let begin = self.context.len();
        let mut text = std::mem::take(&mut self.context);
        text.append(&mut self.held);
        let hits = self.redactor.find(&text);
        let end = match until {
            Until::End => text.len(),
            Until::Safe => self.safe_end(&text, begin, &hits),
        };
        if end <= begin {
            self.held = text.split_off(begin);
            self.context = text;
            return Vec::new();
        }
        let mut clean = Vec::with_capacity(end - begin);
        let mut at = begin;
        for hit in hits.iter().filter(|hit| hit.range.start < end) {
            if hit.range.end <= at {
                continue;
            }
            clean.extend_from_slice(&text[at..hit.range.start.max(at)]);
            match self.lines {
                SecretLines::Dropped => {
                    clean.extend(self.redactor.stand_in(hit, &text).into_bytes())
                }
                SecretLines::Counted => clean.extend(self.redactor.stand_in_by_line(hit, &text)),
            }
            at = hit.range.end;
        }
        let at = at.min(text.len());
        clean.extend_from_slice(text.get(at..end.max(at)).unwrap_or_default());
        self.held = text.split_off(end.max(at));
        let old = text.len().saturating_sub(CONTEXT);
        text.drain(..old);
        self.context = text;
        clean
    }

    /// Up to where nothing that follows can make a secret of it.
    fn safe_end(&self, text: &[u8], begin: usize, hits: &[super::SecretHit]) -> usize {
        let new = &text[begin..];
        let word = open_word(new).max(open_title(new));
        let begun = self.redactor.known().begun(new);
        let mut end = text.len() - word.min(MOST_WORD).max(begun);
        // The last first: one that is cut moves the end before the one that reaches into it.
        for hit in hits.iter().rev() {
            let goes_on = hit.range.end == text.len();
            let cut = hit.range.start < end && end < hit.range.end;
            if goes_on || cut {
                end = end.min(hit.range.start.max(begin));
            }
        }
        match text.len() - end > MOST_HELD {
            true => text.len(),
            false => end,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Safe,
    End,
}

/// The last word, as far as keys go. A colon ends a question, unless digits stand before it.
fn open_word(text: &[u8]) -> usize {
    let goes_on = |at: &usize| match text[*at] {
        b':' => *at > 0 && text[*at - 1].is_ascii_digit(),
        byte => {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~' | b'%' | b'@' | b'\\'
                )
        }
    };
    (0..text.len()).rev().take_while(goes_on).count()
}

/// The first line of a private key, while it is not whole.
fn open_title(text: &[u8]) -> usize {
    const TITLE: &[u8] = b"-----BEGIN ";
    const LONGEST: usize = 80;
    let end = &text[text.len().saturating_sub(LONGEST)..];
    let line = end
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let line = &end[line..];
    let title = line.windows(TITLE.len()).rposition(|part| part == TITLE);
    title.map_or(0, |at| line.len() - at)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::SecretStream;
    use crate::secret::{KnownSecret, Redactor};

    fn redactor() -> Arc<Redactor> {
        let secret = |name: &str, value: &str| KnownSecret {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        Arc::new(Redactor::new(
            None,
            vec![
                secret("phrase", "correct horse battery staple"),
                secret("odd", "a$b!c d\n(e)"),
            ],
        ))
    }

    fn streamed(text: &[u8], cuts: &[usize]) -> Vec<u8> {
        let mut stream = SecretStream::new(redactor());
        let mut out = Vec::new();
        let mut at = 0;
        for cut in cuts {
            let next = (at + cut).min(text.len());
            out.extend(stream.push(&text[at..next]));
            at = next;
        }
        out.extend(stream.push(&text[at..]));
        out.extend(stream.finish());
        out
    }

    fn samples() -> Vec<String> {
        let token = format!("ghp_{}", "q7Rt2Xw9Lk4Zp8Vb3Nc6Md1Hs5Jf0GyB8c2K");
        let key = format!(
            "-----BEGIN OPENSSH PRIVATE{}-----\n{}\n{}\n-----END OPENSSH PRIVATE KEY-----",
            " KEY",
            "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
            "AAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQAAACBq"
        );
        vec![
            format!("one {token} two\n"),
            "say correct horse battery staple now, correct horse".to_owned(),
            "x a$b!c d\n(e) y".to_owned(),
            format!("{key}\nafter"),
            "password: hunter2hunter2 ok\nBearer q7Rt2Xw9Lk4Zp8Vb3Nc6 end".to_owned(),
            "https://me:s3cretpw@host/x and 123456789:AAq7Rt2Xw9Lk4Zp8Vb3Nc6Md1Hs5Jf0Gyab!"
                .to_owned(),
        ]
    }

    #[test]
    fn whatever_the_pieces_no_secret_gets_through() {
        let redactor = redactor();
        for sample in samples() {
            let whole = redactor.redact(&sample).into_owned();
            assert_ne!(whole, sample);
            for cut in 0..=sample.len() {
                let out = String::from_utf8(streamed(sample.as_bytes(), &[cut])).unwrap();
                assert!(redactor.find(out.as_bytes()).is_empty(), "{cut}: {out}");
                for hit in redactor.find(sample.as_bytes()) {
                    // Not even most of it.
                    let value = &sample[hit.range];
                    let most = &value[..value.len() * 2 / 3];
                    assert!(!out.contains(most), "cut at {cut}: {out}");
                }
            }
            let bytes: Vec<usize> = vec![1; sample.len()];
            let out = String::from_utf8(streamed(sample.as_bytes(), &bytes)).unwrap();
            assert_eq!(out, whole);
        }
    }

    #[test]
    fn lines_can_be_counted() {
        let mut stream = SecretStream::new(redactor()).with_lines(super::SecretLines::Counted);
        let mut out = stream.push(b"one\na$b!c d\n(e)\nthree\n");
        out.extend(stream.finish());
        assert_eq!(out, b"one\n[secret:odd]\n\nthree\n");
    }

    #[test]
    fn what_is_no_secret_comes_at_once_or_when_it_is_quiet() {
        let mut stream = SecretStream::new(redactor());
        assert_eq!(stream.push(b"Go on? "), b"Go on? ");
        assert_eq!(stream.push(b"Name:"), b"Name:");
        assert_eq!(stream.push(b" your name"), b" your ");
        assert_eq!(stream.settle(), b"name");
        assert_eq!(stream.push(b"ghp_abc"), b"");
        assert_eq!(stream.settle(), b"");
        assert_eq!(stream.push(b" x "), b"ghp_abc x ");
        assert_eq!(stream.push(b"correct horse"), b"");
        assert_eq!(stream.settle(), b"");
        assert_eq!(stream.finish(), b"correct horse");
        // One endless word is not held for ever.
        let long = "ab0".repeat(100_000);
        let mut stream = SecretStream::new(redactor());
        let out = stream.push(long.as_bytes());
        assert!(out.len() >= long.len() - super::MOST_HELD);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn text_without_secrets_is_passed_on_as_it_is(
            text in "[ -~\n]{0,400}",
            cuts in proptest::collection::vec(0_usize..40, 0..20),
        ) {
            prop_assume!(redactor().find(text.as_bytes()).is_empty());
            let out = streamed(text.as_bytes(), &cuts);
            prop_assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
