//! The tokens with which chat templates tell speakers apart.
//!
//! A model server that does not escape them turns foreign text into a turn of its own. Each
//! becomes one space: a space is part of none of them, so that taking one out cannot join the
//! pieces around it to another.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

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
    while let Some(hit) = finder.find(&text.as_bytes()[at..]) {
        let start = at + hit.start();
        let opened = at + hit.end();
        let end = match FRAMES.get(hit.pattern().as_usize()) {
            Some((_, close)) => match framed(&text[opened..], close) {
                Some(length) => opened + length,
                None => {
                    // Only the first character is passed over: what follows may open a token.
                    at = start + 1;
                    continue;
                }
            },
            None => opened,
        };
        kept.push_str(&text[copied..start]);
        kept.push(' ');
        (copied, at) = (end, end);
        found += 1;
    }
    if found == 0 {
        return (Cow::Borrowed(text), 0);
    }
    kept.push_str(&text[copied..]);
    (Cow::Owned(kept), found)
}

/// Length of a name and its closing, when one stands here.
fn framed(text: &str, close: &str) -> Option<usize> {
    let mut length = 0;
    for c in text.chars().take(LONGEST_NAME) {
        if length > 0 && text[length..].starts_with(close) {
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
