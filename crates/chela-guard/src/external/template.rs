//! The tokens with which chat templates tell speakers apart.
//!
//! A model server that does not escape them turns foreign text into a turn of its own. Each
//! becomes one space: a space is part of none of them, so that taking one out cannot join the
//! pieces around it to another.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use chela_core::scan::{ByteMask, below, is, sieve, within};

/// Tokens that are words of their own. Those between `<|` and `|>` need no list.
const WORDS: &[&str] = &[
    // Llama 2, Mistral
    "<s>",
    "</s>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]",
    "[/TOOL_CONTENT]",
    "[CALL_ID]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "[MODEL_SETTINGS]",
    "[/MODEL_SETTINGS]",
    // Gemma
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<|turn>",
    "<turn|>",
    "<|channel>",
    "<channel|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_response>",
    "<tool_response|>",
    // Hermes, Qwen
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    // GLM
    "[gMASK]",
    "[sMASK]",
    "<sop>",
    "<eop>",
    // InternLM, Baichuan, Seed, MiniMax
    "<eoh>",
    "<eoa>",
    "<reserved_106>",
    "<reserved_107>",
    "<seed:bos>",
    "<seed:eos>",
    "]~!b[",
    "]~b]",
    "[e~[",
];

/// Openings of tokens that have a name inside, and what closes them: ChatML, Llama 3 and 4, Phi,
/// GPT-OSS, Command R, Granite, Kimi, GLM; EXAONE; DeepSeek.
const FRAMES: &[(&str, &str)] = &[("<|", "|>"), ("[|", "|]"), ("<｜", "｜>")];

const LONGEST_NAME: usize = 48;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let openings = FRAMES.iter().map(|(open, _)| *open);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .start_kind(StartKind::Anchored)
        .build(openings.chain(WORDS.iter().copied()))
        .ok()
});

/// The text without template tokens, and how many there were.
pub fn remove(text: &str) -> (Cow<'_, str>, usize) {
    let Some(finder) = &*FINDER else {
        return (Cow::Borrowed(text), 0);
    };
    let mut kept = String::new();
    let mut copied = 0;
    let mut found = 0;
    let mut at = 0;
    while let Some(start) = sieve(text.as_bytes(), at, may_begin_token, may_be_token) {
        let here = Input::new(text).range(start..).anchored(Anchored::Yes);
        let Some(hit) = finder.find(here) else {
            at = start + 1;
            continue;
        };
        let opened = hit.end();
        let end = match FRAMES.get(hit.pattern().as_usize()) {
            Some((_, close)) => match framed(text.get(opened..).unwrap_or_default(), close) {
                Some(length) => opened + length,
                None => {
                    // Only the first character is passed over: what follows may open a token.
                    at = start + 1;
                    continue;
                }
            },
            None => opened,
        };
        kept.push_str(text.get(copied..start).unwrap_or_default());
        kept.push(' ');
        (copied, at) = (end, end);
        found += 1;
    }
    if found == 0 {
        return (Cow::Borrowed(text), 0);
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    (Cow::Owned(kept), found)
}

/// Whether a byte may begin a token, for a sieve.
#[inline(always)]
fn may_begin_token(a: u8) -> ByteMask {
    is(a, b'<') | is(a, b'[') | is(a, b']')
}

/// Whether three bytes may. Most tags of HTML do not.
#[inline(always)]
fn may_be_token(a: u8, b: u8, c: u8) -> ByteMask {
    let closing = is(b, b'/') & (is(c, b's') | is(c, b't') | is(c, b'S'));
    let from_s = is(b, b's') & (is(c, b'>') | is(c, b't') | is(c, b'o') | is(c, b'e'));
    let from_e = is(b, b'e') & (is(c, b'n') | is(c, b'o'));
    let from_t = is(b, b't') & (is(c, b'u') | is(c, b'o'));
    let others = is(b, b'b') & is(c, b'o')
        | is(b, b'p') & is(c, b'a')
        | is(b, b'u') & is(c, b'n')
        | is(b, b'c') & is(c, b'h')
        | is(b, b'r') & is(c, b'e');
    let tag =
        is(b, b'<') | is(b, b'|') | below(0x7F, b) | closing | from_s | from_e | from_t | others;
    let bracket = is(b, b'|')
        | is(b, b'/')
        | within(b, b'A', 26) & (within(c, b'A', 26) | is(c, b'_'))
        | (is(b, b'g') | is(b, b's')) & is(c, b'M')
        | is(b, b'e') & is(c, b'~');
    is(a, b'<') & tag | is(a, b'[') & bracket | is(a, b']') & is(b, b'~')
}

/// Length of a name and its closing, when one stands here.
fn framed(text: &str, close: &str) -> Option<usize> {
    let mut length = 0;
    for c in text.chars().take(LONGEST_NAME) {
        if length > 0 && text.get(length..).unwrap_or_default().starts_with(close) {
            return Some(length + close.len());
        }
        let of_a_name = c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '.' | '▁');
        if !of_a_name {
            return None;
        }
        length += c.len_utf8();
    }
    text.get(length..)?
        .starts_with(close)
        .then_some(length + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_gets_through_the_sieve() {
        let frames = FRAMES.iter().map(|(open, close)| format!("{open}a{close}"));
        for token in frames.chain(WORDS.iter().map(|word| (*word).to_owned())) {
            let bytes = token.as_bytes();
            let first = may_begin_token(bytes[0]);
            assert_ne!(
                first & may_be_token(bytes[0], bytes[1], bytes[2]),
                0,
                "{token}"
            );
            assert_eq!(remove(&token), (Cow::Borrowed(" "), 1), "{token}");
        }
    }
}
