//! What a session has read and been told, as the guard sees it.
//!
//! It is made from the transcript and nothing else: taint outlives a compaction, a turn and the
//! process, and what a later process judges is what this one judges.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chela_core::{ContentHash, Origin, Trust};
use chela_guard::approval::Scope;
use chela_guard::flow::{Deed, Provenance, Span, Standing, Taint};
use chela_ledger::SectionMark;
use chela_model::{Message, Part, ToolCall};
use chela_tools::{Effect, Toolbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Conversation;
use crate::agent::OpenError;
use crate::turn::{BlockKind, Sent};
use crate::withheld::Withheld;
use chela_session::{
    Body, Custom, CustomMessage, Entry, EntryId, Meta, Sender, Session, SessionError, SessionId,
    Source, SpeakerMark,
};

/// The kind of entry that keeps what the owner decided.
const MARK: &str = "guard";

/// Something the owner decided about this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum GuardMark {
    /// A call was allowed.
    Allowed {
        call: String,
        shape: ContentHash,
        scope: Scope,
        /// The question it answers, by its id in the audit chain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    Refused {
        call: String,
        shape: ContentHash,
    },
    /// What was read so far is no reason to ask any more.
    Released,
}

impl GuardMark {
    /// The mark an entry keeps, if it keeps one.
    pub(crate) fn of(body: &Body) -> Option<Self> {
        match body {
            Body::Custom(custom) if custom.custom_type == MARK => {
                serde_json::from_value(custom.data.clone()).ok()
            }
            _ => None,
        }
    }
}

impl From<GuardMark> for Body {
    fn from(mark: GuardMark) -> Self {
        Self::Custom(Custom {
            custom_type: MARK.to_owned(),
            data: serde_json::to_value(mark).unwrap_or_default(),
        })
    }
}

/// The provenance of a session, kept up with its transcript.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Reading>);

#[derive(Default)]
struct Reading {
    /// What a sub-agent began with.
    inherited: Option<Provenance>,
    seen: Provenance,
    session: Option<SessionId>,
    read: usize,
    last: Option<EntryId>,
    /// A message said who spoke: from there on one that does not is nobody's.
    names_speakers: bool,
    /// Calls by id, for the marks about them.
    calls: HashMap<String, ToolCall>,
}

/// How entries are understood.
struct Ear<'a> {
    toolbox: &'a Toolbox,
    /// Ids of the owner.
    owners: &'a [String],
    /// The trust of the prompt's own files; the lowest counts.
    prompt: Trust,
}

impl Seen {
    /// Begins with what a parent had seen: the same text, the same taint.
    pub fn inheriting(parent: Option<Provenance>) -> Self {
        Self(Mutex::new(Reading {
            seen: parent.clone().unwrap_or_default(),
            inherited: parent,
            ..Reading::default()
        }))
    }

    /// What a sub-agent that is started now begins with.
    pub fn child(&self) -> Provenance {
        self.with(|seen| seen.child())
    }

    pub fn taint(&self) -> Taint {
        self.with(|seen| seen.taint())
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Provenance) -> T) -> T {
        look(&mut self.lock().seen)
    }

    /// Reads what is new in the transcript; all of it when it is another one, or was taken back.
    fn catch_up(&self, session: &Session, branch: &[Entry], ear: &Ear<'_>) {
        let mut reading = self.lock();
        let goes_on = reading.session.as_ref() == Some(&session.id)
            && match reading.read {
                0 => true,
                read => branch.get(read - 1).map(|entry| entry.id) == reading.last,
            };
        if !goes_on {
            *reading = Reading {
                seen: reading.inherited.clone().unwrap_or_default(),
                inherited: reading.inherited.take(),
                session: Some(session.id.clone()),
                ..Reading::default()
            };
        }
        if ear.prompt < Trust::Agent {
            reading.seen.taint_with(Taint::Tainted);
        }
        let from = reading.read;
        for entry in branch.get(from..).unwrap_or_default() {
            reading.read_entry(&entry.body, ear);
        }
        reading.read = branch.len();
        reading.last = branch.last().map(|entry| entry.id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    fn read_entry(&mut self, body: &Body, ear: &Ear<'_>) {
        match body {
            Body::Message { message, meta } => self.read_message(message, meta, ear),
            Body::CustomMessage(note) => {
                let trust = trust_of_blocks(&note.details);
                self.add_kept(&note.content, trust);
            }
            Body::Custom(custom) if custom.custom_type == MARK => {
                if let Ok(mark) = serde_json::from_value(custom.data.clone()) {
                    self.apply(mark, ear.toolbox);
                }
            }
            // Summaries are the model's words.
            Body::Compaction(compaction) => self.seen.said_by_model(&compaction.summary),
            Body::BranchSummary(branch) => self.seen.said_by_model(&branch.summary),
            Body::Custom(_)
            | Body::ToolStarted { .. }
            | Body::TurnEnded { .. }
            | Body::Unknown { .. } => {}
        }
    }

    fn read_message(&mut self, message: &Message, meta: &Meta, ear: &Ear<'_>) {
        match message {
            Message::User { content } => {
                let lead = usize::try_from(meta.lead).unwrap_or(0).min(content.len());
                let (runtime, told) = content.split_at(lead);
                self.add_kept(runtime, trust_of_blocks(&meta.details));
                self.names_speakers |= meta.speaker.is_some();
                let speaker = speaker_of(meta, self.names_speakers);
                let (trust, origin) = told_by(meta, speaker, ear.owners);
                self.seen.add(Span {
                    text: text_of(told),
                    trust,
                    origin,
                });
            }
            Message::Assistant { content, .. } => {
                self.seen.said_by_model(&text_of(content));
                for call in message.tool_calls() {
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    self.seen.said_by_model(&arguments);
                    self.calls.insert(call.id.clone(), call.clone());
                }
            }
            Message::ToolResult { tool, content, .. } => {
                let label = meta.label.as_ref();
                let span = Span {
                    text: text_of(content),
                    // What has no label is from nobody known.
                    trust: label.map_or(Trust::External, |label| label.trust),
                    origin: label.map_or(Origin::Runtime, |label| label.origin.clone()),
                };
                let fetches = ear
                    .toolbox
                    .get(tool)
                    .is_some_and(|tool| tool.spec().effect == Effect::ReadUntrusted);
                match fetches {
                    true => self.seen.add(span),
                    false => self.seen.add_kept(span),
                };
            }
        }
    }

    fn add_kept(&mut self, parts: &[Part], trust: Trust) {
        if !parts.is_empty() {
            self.seen.add_kept(Span {
                text: text_of(parts),
                trust,
                origin: Origin::Runtime,
            });
        }
    }

    fn apply(&mut self, mark: GuardMark, toolbox: &Toolbox) {
        match mark {
            GuardMark::Released => self.seen.release(),
            GuardMark::Refused { shape, .. } => self.seen.refuse_shape(shape),
            GuardMark::Allowed {
                call, shape, scope, ..
            } => {
                if scope != Scope::Once {
                    self.seen.approve_shape(shape);
                }
                let Some(call) = self.calls.get(&call) else {
                    return;
                };
                let Ok(prepared) = toolbox.prepare(&call.name, &call.arguments) else {
                    return;
                };
                let spec = prepared.tool.spec();
                Deed {
                    tool: &spec.name,
                    effect: spec.effect,
                    sinks: &spec.sinks,
                    arguments: &prepared.arguments,
                    standing: Standing::Unlisted,
                    words: None,
                    binds: None,
                }
                .approve(&mut self.seen);
            }
        }
    }
}

impl Conversation {
    /// Reads what the transcript has gained since the guard last looked.
    pub(crate) async fn catch_up(
        &self,
        session: &Session,
        toolbox: &Toolbox,
        prompt: &[SectionMark],
    ) -> Result<(), SessionError> {
        let branch = self.sessions.branch(session).await?;
        let prompt = prompt.iter().map(|section| section.trust);
        let ear = Ear {
            toolbox,
            owners: &self.view.owner_allow_from.value,
            prompt: prompt.fold(Trust::Operator, Trust::join),
        };
        self.seen.catch_up(session, &branch, &ear);
        Ok(())
    }

    /// The same outside of a turn. A session in which nothing was said has read nothing.
    pub(crate) async fn look_again(&self) -> Result<(), OpenError> {
        let session = self.session();
        if self.sessions.branch(&session).await?.is_empty() {
            return Ok(());
        }
        let prefix = self.prefix().await?;
        self.catch_up(&session, &prefix.toolbox, &prefix.sections)
            .await?;
        Ok(())
    }

    /// The owner lets the model read a text that was held back: it comes with the next message,
    /// as what it is.
    pub async fn release_text(&self, text: &Withheld) -> Result<(), SessionError> {
        let sent = Sent {
            kind: BlockKind::Events,
            hash: ContentHash::of(&text.text),
            origin: Origin::Runtime,
            trust: Trust::External,
        };
        let told = format!(
            "The owner released {}, which {} brought:\n{}",
            text.id, text.tool, text.text
        );
        let note = CustomMessage {
            custom_type: "released".to_owned(),
            content: vec![Part::text(told)],
            display: false,
            details: serde_json::json!({ "runtime": [sent] }),
        };
        self.sessions
            .append(&self.session(), Body::CustomMessage(note))
            .await
            .map(drop)
    }

    /// Where the text came from that tainted this session.
    pub fn tainted_by(&self) -> Option<String> {
        self.seen.with(|seen| match seen.taint() {
            Taint::Clean => None,
            Taint::Tainted => Some(
                seen.tainted_by()
                    .and_then(|id| seen.span(id))
                    .map_or("what it was started with".to_owned(), |span| {
                        chela_core::sanitize::literal(&span.origin.to_string()).into_owned()
                    }),
            ),
        })
    }
}

/// Who spoke, by the record. Before speakers were recorded there was only the terminal, and what
/// made a message other than a person was the runtime.
fn speaker_of(meta: &Meta, names_speakers: bool) -> SpeakerMark {
    match (meta.speaker, &meta.sender) {
        (Some(speaker), _) => speaker,
        (None, _) if names_speakers => SpeakerMark::Unreadable,
        (None, _) if meta.source != Source::Person => SpeakerMark::Runtime,
        (None, Some(_)) => SpeakerMark::Sender,
        (None, None) => SpeakerMark::Owner,
    }
}

/// Whose words a message is. Only the owner's own name anything; what does not fit together is
/// nobody's known.
fn told_by(meta: &Meta, speaker: SpeakerMark, owners: &[String]) -> (Trust, Origin) {
    let channel = |name: &str| Origin::Channel {
        channel: name.to_owned(),
        message: String::new(),
        hash: ContentHash::of(""),
    };
    let sender = meta.sender.as_ref();
    let of_sender = sender.and_then(|sender| sender.channel.as_deref());
    match (&meta.label, meta.source, speaker) {
        // A session that writes to another is an agent, however far it is trusted.
        (Some(label), _, _) => (label.trust.min(Trust::Agent), label.origin.clone()),
        (None, Source::Session, _) => (Trust::External, channel("session")),
        (None, Source::Person, SpeakerMark::Owner) => {
            (Trust::Owner, channel(of_sender.unwrap_or("terminal")))
        }
        (None, Source::Person, SpeakerMark::Sender)
            if sender.is_some_and(|sender| is_owner(sender, owners)) =>
        {
            (Trust::Owner, channel(of_sender.unwrap_or("terminal")))
        }
        (None, Source::Heartbeat | Source::Cron, SpeakerMark::Runtime) => {
            (Trust::Operator, Origin::config("heartbeat"))
        }
        (None, Source::Event, SpeakerMark::Runtime) => (Trust::Operator, Origin::Runtime),
        (None, _, _) => (Trust::External, channel(of_sender.unwrap_or("unknown"))),
    }
}

/// Whether a sender is the owner: `commands.ownerAllowFrom` names `channel:id` or `id`.
pub(crate) fn is_owner(sender: &Sender, owners: &[String]) -> bool {
    let full = sender
        .channel
        .as_ref()
        .map(|channel| format!("{channel}:{}", sender.id));
    !sender.id.is_empty()
        && owners.iter().any(|owner| {
            let owner = owner.trim();
            owner == sender.id || full.as_deref() == Some(owner)
        })
}

/// The lowest trust of the blocks the runtime sent. A label that cannot be read means foreign;
/// where none was written, the words are the runtime's own.
fn trust_of_blocks(details: &Value) -> Trust {
    let Some(marks) = details.get("runtime") else {
        return Trust::Operator;
    };
    let sent: Vec<Sent> = match serde_json::from_value(marks.clone()) {
        Ok(sent) => sent,
        Err(error) => {
            tracing::warn!(%error, "the labels of runtime text cannot be read: it counts as foreign");
            return Trust::External;
        }
    };
    sent.iter()
        .map(|block| block.trust)
        .fold(Trust::Operator, Trust::join)
}

fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
