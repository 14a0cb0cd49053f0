//! What reaches a person, and the ways of saying nothing.

/// What reaches the person. Silence is not a text that is filtered: it is another case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Deliver(ReplyDelivery),
    Silent { why: Silence },
}

impl Reply {
    /// The words to deliver; none for silence.
    pub fn text(&self) -> &str {
        match self {
            Self::Deliver(delivery) => &delivery.text,
            Self::Silent { .. } => "",
        }
    }
}

/// A reply as it is shown or sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyDelivery {
    pub text: String,
    /// From `MEDIA:` lines: paths or URLs.
    pub media: Vec<String>,
    pub reply_to: Option<ReplyTo>,
    pub audio_as_voice: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyTo {
    Current,
    Id(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The model said `NO_REPLY`.
    NoReply,
    /// The model said `HEARTBEAT_OK`.
    HeartbeatOk,
    /// It said nothing at all.
    Empty,
}
