//! Tells a reply from the model's thinking and from scaffolding that leaked into it.
//!
//! Tags are read outside of code only. `<think>` and its kin mark reasoning, `<final>` the reply;
//! tool-call markup and reminders of the runtime are dropped with what they enclose; the special
//! tokens of chat templates are dropped by themselves. A thought that is never closed is a
//! thought to the end, and a `</think>` that was never opened makes everything before it one.

use super::code::CodeTracker;
use crate::part::{head, tail};

/// What a piece of the stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagPiece {
    Text(String),
    Reasoning(String),
    /// What was text so far was reasoning.
    Retract,
}

/// Whether only what stands in `<final>` counts as the reply, once there is such a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalTag {
    Optional,
    Expected,
}

#[derive(Debug)]
pub struct TagReader {
    final_tag: FinalTag,
    held: String,
    code: CodeTracker,
    state: State,
    stage: Stage,
    last: Option<char>,
    /// With [`FinalTag::Expected`]: what was said outside, in case no such tag comes.
    outside: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Reply,
    Thinking {
        depth: u32,
        blank: bool,
    },
    /// Inside of scaffolding, until it is closed by this name.
    Dropping {
        name: String,
        depth: u32,
    },
    /// After the token that opens a special section, until the one that closes it.
    DroppingTokens,
    /// After `<|channel|>`: its name.
    ChannelName {
        name: String,
    },
    /// In a channel that is not the final one.
    ChannelThought,
    /// After a token that is followed by a role.
    Role {
        name: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Inside,
    After,
}

const THOUGHTS: [&str; 6] = [
    "think",
    "thinking",
    "thought",
    "antthinking",
    "antml:thinking",
    "reasoning",
];
const FINAL: &str = "final";
const SCAFFOLDS: [&str; 22] = [
    "tool_call",
    "tool_calls",
    "toolcall",
    "tool_use",
    "tool_code",
    "tool_result",
    "tool_results",
    "tool_response",
    "tool_outputs",
    "function_call",
    "function_calls",
    "function_result",
    "function_results",
    "antml:function_calls",
    "antml:invoke",
    "antml:parameter",
    "invoke",
    "minimax:tool_call",
    "system-reminder",
    "system_reminder",
    "system-message",
    "relevant-memories",
];
/// Tokens of chat templates that are written like tags.
const LONE: [&str; 6] = ["start_of_turn", "end_of_turn", "bos", "eos", "pad", "sop"];
const BRACKETED: [&str; 6] = [
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "<<SYS>>",
    "<</SYS>>",
];
const LONGEST_TAG: usize = 2_000;
const LONGEST_TOKEN: usize = 64;
const ROLES: [&str; 6] = ["assistant", "user", "system", "tool", "model", "developer"];

enum Sign {
    /// Just text.
    None,
    /// Too early to say.
    Unclear,
    Open {
        name: String,
        len: usize,
        closed: bool,
    },
    Close {
        name: String,
        len: usize,
    },
    Token {
        name: String,
        len: usize,
    },
    Bracketed {
        name: &'static str,
        len: usize,
    },
}

impl TagReader {
    pub fn new(final_tag: FinalTag) -> Self {
        Self {
            final_tag,
            held: String::new(),
            code: CodeTracker::default(),
            state: State::Reply,
            stage: Stage::Before,
            last: None,
            outside: String::new(),
        }
    }

    pub fn push(&mut self, text: &str) -> Vec<TagPiece> {
        self.held.push_str(text);
        self.step(false)
    }

    pub fn finish(&mut self) -> Vec<TagPiece> {
        let mut pieces = self.step(true);
        if self.stage == Stage::Before && !self.outside.is_empty() {
            pieces.push(TagPiece::Text(std::mem::take(&mut self.outside)));
        }
        pieces
    }

    fn step(&mut self, finished: bool) -> Vec<TagPiece> {
        let mut pieces = Vec::new();
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        while let Some(c) = rest.chars().next() {
            let sign = match c {
                '<' | '[' if !(self.in_reply() && self.code.in_fence()) => sign(rest),
                _ => Sign::None,
            };
            let sign = match sign {
                Sign::Unclear if finished => Sign::None,
                sign => sign,
            };
            let len = match &sign {
                Sign::Unclear => break,
                Sign::None => {
                    // Up to the next place where a sign may begin, but in fences line by line.
                    let next = tail(rest, c.len_utf8())
                        .find(['<', '[', '\n'])
                        .map_or(rest.len(), |at| at + c.len_utf8());
                    self.plain(head(rest, next), &mut pieces);
                    rest = tail(rest, next);
                    continue;
                }
                Sign::Open { len, .. }
                | Sign::Close { len, .. }
                | Sign::Token { len, .. }
                | Sign::Bracketed { len, .. } => *len,
            };
            if self.in_reply() && self.last == Some('`') {
                // `<think>` in backticks is talked about, not used.
                match tail(rest, len).chars().next() {
                    None if !finished => break,
                    Some('`') => {
                        self.plain(head(rest, len), &mut pieces);
                        rest = tail(rest, len);
                        continue;
                    }
                    _ => {}
                }
            }
            if !self.sign(&sign, &mut pieces) {
                self.plain(head(rest, len), &mut pieces);
            }
            rest = tail(rest, len);
        }
        self.held = rest.to_owned();
        pieces
    }

    fn in_reply(&self) -> bool {
        matches!(self.state, State::Reply | State::Role { .. })
    }

    /// Text that is no sign, by where it stands.
    fn plain(&mut self, text: &str, pieces: &mut Vec<TagPiece>) {
        match &mut self.state {
            State::Thinking { blank, .. } => {
                *blank &= text.trim().is_empty();
                push(pieces, TagPiece::Reasoning(text.to_owned()));
            }
            State::ChannelThought => push(pieces, TagPiece::Reasoning(text.to_owned())),
            State::Dropping { .. } | State::DroppingTokens => {}
            State::ChannelName { name } => name.push_str(text),
            State::Role { name } => {
                let word = text
                    .find(|c: char| !c.is_ascii_alphabetic() && c != '_')
                    .unwrap_or(text.len());
                name.push_str(head(text, word));
                if word == text.len() && name.len() < 16 {
                    return;
                }
                let name = std::mem::take(name);
                self.state = State::Reply;
                let known = ROLES.contains(&name.as_str());
                let shown = if known {
                    tail(text, word).to_owned()
                } else {
                    format!("{name}{}", tail(text, word))
                };
                self.reply(&shown, pieces);
            }
            State::Reply => self.reply(text, pieces),
        }
    }

    fn reply(&mut self, text: &str, pieces: &mut Vec<TagPiece>) {
        for c in text.chars() {
            self.code.feed(c);
            self.last = Some(c);
        }
        match (self.final_tag, self.stage) {
            (FinalTag::Optional, _) | (_, Stage::Inside) => {
                push(pieces, TagPiece::Text(text.to_owned()));
            }
            (FinalTag::Expected, Stage::Before) => self.outside.push_str(text),
            (FinalTag::Expected, Stage::After) => {}
        }
    }

    /// Acts on a sign; `false` when it means nothing here.
    fn sign(&mut self, sign: &Sign, pieces: &mut Vec<TagPiece>) -> bool {
        match sign {
            Sign::None | Sign::Unclear => false,
            Sign::Open { name, closed, .. } => self.open(name, *closed),
            Sign::Close { name, .. } => self.close(name, pieces),
            Sign::Token { name, .. } => self.token(name),
            Sign::Bracketed { name, .. } => self.bracketed(name),
        }
    }

    fn open(&mut self, name: &str, closed: bool) -> bool {
        let thought = THOUGHTS.contains(&name);
        match &mut self.state {
            State::Dropping { name: own, depth } => {
                *depth += u32::from(own == name && !closed);
                true
            }
            State::Thinking { depth, blank } if thought => {
                // Said twice by mistake, or really one inside the other.
                *depth += u32::from(!*blank && !closed);
                *blank = true;
                true
            }
            // Whoever begins the reply has stopped thinking.
            State::Thinking { .. } | State::ChannelThought if name == FINAL => {
                self.state = State::Reply;
                self.stage = Stage::Inside;
                true
            }
            State::Reply | State::Role { .. } if closed && (thought || name == FINAL) => true,
            State::Reply | State::Role { .. } if thought => {
                self.state = State::Thinking {
                    depth: 1,
                    blank: true,
                };
                true
            }
            State::Reply | State::Role { .. } if name == FINAL => {
                self.stage = Stage::Inside;
                true
            }
            State::Reply | State::Role { .. } if SCAFFOLDS.contains(&name) => {
                if !closed {
                    self.state = State::Dropping {
                        name: name.to_owned(),
                        depth: 1,
                    };
                }
                true
            }
            State::Reply | State::Role { .. } if LONE.contains(&name) => {
                if name == "start_of_turn" {
                    self.state = State::Role {
                        name: String::new(),
                    };
                }
                true
            }
            State::DroppingTokens | State::ChannelName { .. } => true,
            _ => false,
        }
    }

    fn close(&mut self, name: &str, pieces: &mut Vec<TagPiece>) -> bool {
        let thought = THOUGHTS.contains(&name);
        match &mut self.state {
            State::Dropping { name: own, depth } => {
                if own == name {
                    *depth -= 1;
                    if *depth == 0 {
                        self.state = State::Reply;
                    }
                }
                true
            }
            State::Thinking { depth, blank } if thought => {
                *blank = false;
                *depth -= 1;
                if *depth == 0 {
                    self.state = State::Reply;
                }
                true
            }
            State::Reply | State::Role { .. } if thought => {
                self.outside.clear();
                self.code = CodeTracker::default();
                self.state = State::Reply;
                pieces.push(TagPiece::Retract);
                true
            }
            State::Reply | State::Role { .. } if name == FINAL => {
                if self.stage == Stage::Inside {
                    self.stage = Stage::After;
                }
                true
            }
            // The end of something whose beginning was lost.
            State::Reply | State::Role { .. } => SCAFFOLDS.contains(&name) || LONE.contains(&name),
            State::DroppingTokens | State::ChannelName { .. } => true,
            _ => false,
        }
    }

    fn token(&mut self, name: &str) -> bool {
        let about_tools = name.contains("tool") || name == "python_tag";
        self.state = match &self.state {
            State::Dropping { .. } => return true,
            State::DroppingTokens if !(about_tools && is_end(name)) => return true,
            State::ChannelName { name: channel } if name == "message" => {
                if channel.trim().starts_with(FINAL) {
                    State::Reply
                } else {
                    State::ChannelThought
                }
            }
            _ if name == "channel" => State::ChannelName {
                name: String::new(),
            },
            State::Thinking { .. } => return true,
            State::ChannelThought if name == "message" => return true,
            _ if about_tools && !is_end(name) => State::DroppingTokens,
            _ if matches!(name, "start" | "im_start" | "start_header_id" | "im_middle") => {
                State::Role {
                    name: String::new(),
                }
            }
            _ => State::Reply,
        };
        true
    }

    fn bracketed(&mut self, name: &str) -> bool {
        if !self.in_reply() {
            return false;
        }
        if name.starts_with("[TOOL") {
            self.state = State::DroppingTokens;
        }
        true
    }
}

fn is_end(name: &str) -> bool {
    name.contains("end") || name.contains('/')
}

/// Joins a piece to the last one where they are of a kind.
fn push(pieces: &mut Vec<TagPiece>, piece: TagPiece) {
    match (pieces.last_mut(), &piece) {
        (Some(TagPiece::Text(before)), TagPiece::Text(text))
        | (Some(TagPiece::Reasoning(before)), TagPiece::Reasoning(text)) => before.push_str(text),
        _ => pieces.push(piece),
    }
}

/// What a text that starts with `<` or `[` begins with.
fn sign(text: &str) -> Sign {
    for name in BRACKETED {
        if text.starts_with(name) {
            return Sign::Bracketed {
                name,
                len: name.len(),
            };
        }
    }
    if BRACKETED.iter().any(|name| name.starts_with(text)) {
        return Sign::Unclear;
    }
    let Some(inner) = text.strip_prefix('<') else {
        return Sign::None;
    };
    for bar in ['|', '｜'] {
        if let Some(token) = inner.strip_prefix(bar) {
            return token_sign(token, bar, text);
        }
    }
    let (slash, body) = match inner.strip_prefix('/') {
        Some(body) => (true, body),
        None => (false, inner),
    };
    let end = body
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':')))
        .unwrap_or(body.len());
    let name = head(body, end).to_ascii_lowercase();
    let known = THOUGHTS
        .iter()
        .chain(&SCAFFOLDS)
        .chain(&LONE)
        .chain(std::iter::once(&FINAL));
    if end == body.len() {
        let may_be = known.into_iter().any(|known| known.starts_with(&name));
        return if may_be { Sign::Unclear } else { Sign::None };
    }
    if !known.into_iter().any(|known| *known == name) {
        return Sign::None;
    }
    // Attributes up to the bracket; one that does not come soon makes it text.
    match tail(body, end).find('>') {
        Some(close) => {
            let len = text.len() - body.len() + end + close + 1;
            let closed = head(tail(body, end), close).trim_end().ends_with('/');
            if slash {
                Sign::Close { name, len }
            } else {
                Sign::Open { name, len, closed }
            }
        }
        None if body.len() < LONGEST_TAG => Sign::Unclear,
        None => Sign::None,
    }
}

/// `<|name|>`, in the narrow and the wide form.
fn token_sign(token: &str, bar: char, text: &str) -> Sign {
    let end = token.find(|c: char| !(c.is_ascii_alphanumeric() || "_-/. ▁".contains(c)));
    let Some(end) = end else {
        return if token.len() < LONGEST_TOKEN {
            Sign::Unclear
        } else {
            Sign::None
        };
    };
    let rest = tail(token, end);
    let Some(after) = rest.strip_prefix(bar) else {
        return Sign::None;
    };
    match after.chars().next() {
        None => Sign::Unclear,
        Some('>') if end > 0 => Sign::Token {
            name: head(token, end).to_ascii_lowercase().replace('▁', "_"),
            len: text.len() - after.len() + 1,
        },
        Some(_) => Sign::None,
    }
}
