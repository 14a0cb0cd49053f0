//! The one gate between what a model says and what reaches a person.
//!
//! Every path goes through it: the stream, the final text, what a tool sends. It takes the stream
//! in whatever chunks it comes and gives back what is safe to show at once; what might still turn
//! out to be a tag, a directive or the word for silence waits until it is clear.
//!
//! A model says that it has nothing to say with `NO_REPLY` or `HEARTBEAT_OK`. Those words are a
//! way of speaking to the runtime and never reach a person, but for the last row. What counts when they
//! come with other text follows what people reported:
//!
//! | the model said | what becomes of it |
//! | --- | --- |
//! | the word alone, however dressed | silence |
//! | `NO_REPLY`, then text | silence: the text was not meant for anyone |
//! | text, then `NO_REPLY`, in a chat with one person | the text, without the word |
//! | the same in a group or an unattended run ([`WithWord::Silence`]) | silence: the text was thinking aloud |
//! | either word in the middle | the text, without the word |
//! | `HEARTBEAT_OK` at the start or end of a heartbeat, and little else | silence |
//! | the same with more than `ackMaxChars` | the text, without the word |
//! | `NO_REPLY` at the start or end of a heartbeat | silence |
//! | `HEARTBEAT_OK` and text, outside of a heartbeat | the text, without the word |
//! | `HEARTBEAT_OK` and nothing else, to somebody who asked | the word: only heartbeats end with it |
//! | any of these with `MEDIA:` | the media is delivered |

// This crate reads bytes of others: no text of theirs may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod code;
mod delivery;
mod directives;
mod fold;
mod part;
mod scrub;
mod tags;
mod whole;
mod word;

use directives::DirectiveReader;
use scrub::{ScrubCare, SilenceScrub};
use tags::{FinalTag, TagPiece, TagReader};

pub use delivery::{Reply, ReplyDelivery, ReplyTo, Silence};
pub use whole::{is_silence, silence};

/// `heartbeat.ackMaxChars`, unless the config says otherwise.
pub const ACK_MAX_CHARS: usize = 300;

/// With what a heartbeat says that there is nothing to say.
const HEARTBEAT_OK: &str = "HEARTBEAT_OK";

/// What kind of reply is awaited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateSettings {
    /// The turn is a heartbeat; how many characters beside the word still count as nothing.
    pub heartbeat: Option<usize>,
    /// The model was told to think in `<think>` and to answer in `<final>`.
    pub tag_reasoning: bool,
    /// What text that comes with `NO_REPLY` is.
    pub with_word: WithWord,
}

/// What text that ends with `NO_REPLY` is worth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WithWord {
    /// It is delivered: somebody asked, and has seen it stream by.
    #[default]
    Deliver,
    /// It is not: nobody waits for it. Nothing is shown before the end.
    Silence,
}

/// What may be shown now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownPiece {
    Text(String),
    Reasoning(String),
    /// The text shown so far was reasoning and does not count.
    Retracted,
}

/// The end of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedReply {
    /// What was still held back.
    pub shown: Vec<ShownPiece>,
    pub reply: Reply,
}

/// Reads one reply.
#[derive(Debug)]
pub struct ReplyGate {
    settings: GateSettings,
    tags: TagReader,
    directives: DirectiveReader,
    scrub: SilenceScrub,
    aside: SilenceScrub,
    text: String,
}

impl ReplyGate {
    pub fn new(settings: GateSettings) -> Self {
        let final_tag = if settings.tag_reasoning {
            FinalTag::Expected
        } else {
            FinalTag::Optional
        };
        Self {
            settings,
            tags: TagReader::new(final_tag),
            directives: DirectiveReader::default(),
            scrub: SilenceScrub::new(settings.care()),
            aside: SilenceScrub::new(ScrubCare::Aside),
            text: String::new(),
        }
    }

    /// Takes the next chunk; gives what is safe to show.
    pub fn push(&mut self, chunk: &str) -> Vec<ShownPiece> {
        let pieces = self.tags.push(chunk);
        self.pass(pieces)
    }

    /// What the endpoint itself declared to be reasoning.
    pub fn push_reasoning(&mut self, chunk: &str) -> Vec<ShownPiece> {
        self.pass(vec![TagPiece::Reasoning(chunk.to_owned())])
    }

    /// The reply as a whole.
    pub fn finish(mut self) -> FinishedReply {
        let pieces = self.tags.finish();
        let mut shown = self.pass(pieces);
        let rest = self.directives.finish();
        let mut last = self.scrub.push(&rest);
        last.push_str(&self.scrub.finish());
        self.text.push_str(&last);
        let aside = self.aside.finish();
        if !aside.is_empty() {
            shown.push(ShownPiece::Reasoning(aside));
        }
        let reply = self.decide();
        match &reply {
            Reply::Deliver(delivery) if self.settings.gathers() => {
                if !delivery.text.is_empty() {
                    shown.push(ShownPiece::Text(delivery.text.clone()));
                }
            }
            // Said outside of a heartbeat it is a word like any other, and was held back so far.
            Reply::Deliver(delivery) if delivery.text == HEARTBEAT_OK => {
                shown.push(ShownPiece::Text(HEARTBEAT_OK.to_owned()));
            }
            Reply::Deliver(_) => {
                if !last.trim_end().is_empty() {
                    shown.push(ShownPiece::Text(last.trim_end().to_owned()));
                }
            }
            Reply::Silent { .. } => {}
        }
        FinishedReply { shown, reply }
    }

    fn pass(&mut self, pieces: Vec<TagPiece>) -> Vec<ShownPiece> {
        let mut shown = Vec::new();
        for piece in pieces {
            match piece {
                TagPiece::Text(text) => {
                    let text = self.directives.push(&text);
                    let text = self.scrub.push(&text);
                    if !text.is_empty() && !self.settings.gathers() {
                        shown.push(ShownPiece::Text(text.clone()));
                    }
                    self.text.push_str(&text);
                }
                TagPiece::Reasoning(text) => {
                    let text = self.aside.push(&text);
                    if !text.is_empty() {
                        shown.push(ShownPiece::Reasoning(text));
                    }
                }
                TagPiece::Retract => {
                    if !self.text.trim().is_empty() && !self.settings.gathers() {
                        shown.push(ShownPiece::Retracted);
                    }
                    self.text.clear();
                    self.directives = DirectiveReader::default();
                    self.scrub = SilenceScrub::new(self.settings.care());
                }
            }
        }
        shown
    }

    fn decide(&mut self) -> Reply {
        let found = self.scrub.found();
        let asked = std::mem::take(&mut self.directives.asked);
        let text = self.text.trim();
        let at_edge =
            |which| found.at_start == Some(which) || (found.at_end && found.last == Some(which));
        let leftovers = found.last.is_some() && (whole::is_leftover(text) || is_silence(text));
        let no_reply = at_edge(Silence::NoReply)
            && (found.at_start == Some(Silence::NoReply) || self.settings.gathers());
        let ack = self
            .settings
            .heartbeat
            .is_some_and(|most| at_edge(Silence::HeartbeatOk) && text.chars().count() <= most);
        let delivery = ReplyDelivery {
            text: if leftovers || no_reply || ack {
                String::new()
            } else {
                text.to_owned()
            },
            media: asked.media,
            reply_to: asked.reply_to,
            audio_as_voice: asked.audio_as_voice,
        };
        let is_bare = delivery.text.is_empty() && delivery.media.is_empty();
        // Somebody asked, and this is no heartbeat: then the word is all there is to say.
        let is_answer = text.is_empty()
            && found.at_start == Some(Silence::HeartbeatOk)
            && found.last == Some(Silence::HeartbeatOk)
            && !self.settings.gathers();
        if is_bare && is_answer {
            return Reply::Deliver(ReplyDelivery {
                text: HEARTBEAT_OK.to_owned(),
                ..delivery
            });
        }
        if is_bare {
            Reply::Silent {
                why: found.last.unwrap_or(Silence::Empty),
            }
        } else {
            Reply::Deliver(delivery)
        }
    }
}

impl GateSettings {
    /// Whether nothing is shown before the whole is known.
    fn gathers(&self) -> bool {
        self.heartbeat.is_some() || self.with_word == WithWord::Silence
    }

    fn care(&self) -> ScrubCare {
        if self.gathers() {
            ScrubCare::Gathered
        } else {
            ScrubCare::Reply
        }
    }
}

/// A whole text at once: what a tool sends, what a hook wrote.
pub fn gate(settings: GateSettings, text: &str) -> Reply {
    let mut gate = ReplyGate::new(settings);
    gate.push(text);
    gate.finish().reply
}

#[cfg(test)]
mod tests;
