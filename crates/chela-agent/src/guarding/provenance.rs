//! What a session has read and been told, as the guard sees it.
//!
//! It is made from the transcript and nothing else: taint outlives a compaction, a turn and the
//! process, and what a later process judges is what this one judges.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use chela_core::{ContentHash, Origin, Trust, lock, ok_or_debug};
use chela_guard::WebAddress;
use chela_guard::approval::ApprovalScope;
use chela_guard::flow::{HostStanding, ProposedCall, Provenance, SessionTaint, TextSpan};
use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_store::SessionIncarnation;
use chela_tools::{CallTarget, CallWrites, Effect, SinkKind, Toolbox};
use serde_json::Value;

use super::approved_versions::ApprovedVersions;
use crate::entry_trust::{calls_up_memory, foreign_files_of, is_owner};
use crate::guard_mark::{GUARD_MARK, GuardMark};
use crate::order_files::order_names;
use chela_session::{
    EntryBody, EntryId, EntryMeta, ExternalSpans, MessageSource, OpenSession, SessionId,
    SpeakerMark, TranscriptBranch, split_told,
};

/// The provenance of a session, kept up with its transcript.
#[derive(Default)]
pub(crate) struct ProvenanceTracker(Mutex<Reading>);

#[derive(Default)]
struct Reading {
    /// What a sub-agent began with.
    inherited: Option<Provenance>,
    seen: Provenance,
    session: Option<(SessionId, SessionIncarnation)>,
    read: usize,
    last: Option<EntryId>,
    /// A message said who spoke: from there on one that does not is nobody's.
    names_speakers: bool,
    /// Calls by id, for the marks about them.
    calls: HashMap<String, ToolCall>,
    /// Files that tainted it: one the owner says yes to does so no more.
    tainting_files: Vec<Origin>,
    /// The trust of the prompt, as it was last looked at.
    prompt: Option<Trust>,
}

/// How entries are understood.
pub(super) struct EntryInterpreter<'a> {
    pub toolbox: &'a Toolbox,
    /// Ids of the owner.
    pub owners: &'a [String],
    /// The trust of the prompt's own files; the lowest counts.
    pub prompt: Trust,
    /// Whether the prompt tells the agent something about its owner.
    pub prompt_tells: bool,
    pub workspace: &'a Path,
    /// What the owner said yes to meanwhile.
    pub approved: &'a ApprovedVersions,
}

impl ProvenanceTracker {
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

    pub fn taint(&self) -> SessionTaint {
        self.with(|seen| seen.taint())
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Provenance) -> T) -> T {
        look(&mut self.lock().seen)
    }

    /// Where the text came from that tainted this session.
    pub fn tainted_by(&self) -> Option<String> {
        self.with(|seen| match seen.taint() {
            SessionTaint::Clean => None,
            SessionTaint::Tainted => Some(
                seen.tainted_by()
                    .and_then(|id| seen.span(id))
                    .map_or("what it was started with".to_owned(), |span| {
                        chela_core::sanitize::literal(&span.origin.to_string()).into_owned()
                    }),
            ),
        })
    }

    /// Reads what is new in the transcript; all of it when it is another one, or was taken back.
    pub(super) fn catch_up(
        &self,
        session: &OpenSession,
        branch: &TranscriptBranch,
        interpreter: &EntryInterpreter<'_>,
    ) {
        let mut reading = self.lock();
        let session = Some((session.id.clone(), branch.incarnation()));
        // What the owner said yes to since is read anew, as theirs.
        let is_lifted = reading
            .prompt
            .is_some_and(|before| before < Trust::Agent && before < interpreter.prompt)
            || reading
                .tainting_files
                .iter()
                .any(|file| interpreter.approved.has(file));
        let goes_on = !is_lifted
            && reading.session == session
            && match reading.read {
                0 => true,
                read => branch.get(read - 1).map(|entry| entry.id) == reading.last,
            };
        if !goes_on {
            *reading = Reading {
                seen: reading.inherited.clone().unwrap_or_default(),
                inherited: reading.inherited.take(),
                session,
                ..Reading::default()
            };
        }
        reading.prompt = Some(interpreter.prompt);
        if interpreter.prompt < Trust::Agent {
            reading.seen.taint_with(SessionTaint::Tainted);
        }
        if interpreter.prompt_tells {
            reading.seen.note_known_private();
        }
        let from = reading.read;
        for entry in branch.get(from..).unwrap_or_default() {
            reading.read_entry(&entry.body, interpreter);
        }
        reading.read = branch.len();
        reading.last = branch.last().map(|entry| entry.id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Reading> {
        lock(&self.0)
    }
}

impl Reading {
    fn read_entry(&mut self, body: &EntryBody, interpreter: &EntryInterpreter<'_>) {
        match body {
            EntryBody::Message { message, meta } => self.read_message(message, meta, interpreter),
            EntryBody::CustomMessage(note) => {
                let trust = self.trust_of_told(&note.details, interpreter);
                self.note_recalled(&note.details);
                self.add_kept(&note.content, trust);
            }
            EntryBody::Custom(custom) if custom.custom_type == GUARD_MARK => {
                if let Some(mark) = self.read_mark(&custom.data) {
                    self.apply(mark, interpreter);
                }
            }
            // What cannot be read may have been anything.
            EntryBody::Unknown { .. } => self.seen.taint_with(SessionTaint::Tainted),
            body if body.is_import_mark() => self.seen.taint_with(SessionTaint::Tainted),
            // Summaries are the model's words.
            EntryBody::Compaction(compaction) => self.seen.said_by_model(&compaction.summary),
            EntryBody::BranchSummary(branch) => self.seen.said_by_model(&branch.summary),
            EntryBody::Custom(_) | EntryBody::ToolStarted { .. } | EntryBody::TurnEnded { .. } => {}
        }
    }

    fn read_message(
        &mut self,
        message: &ModelMessage,
        meta: &EntryMeta,
        interpreter: &EntryInterpreter<'_>,
    ) {
        match message {
            ModelMessage::User { content } => {
                let lead = usize::try_from(meta.lead).unwrap_or(0).min(content.len());
                let (runtime, told) = content.split_at(lead);
                let trust = self.trust_of_told(&meta.details, interpreter);
                self.add_kept(runtime, trust);
                self.note_recalled(&meta.details);
                self.names_speakers |= meta.speaker.is_some();
                let speaker = speaker_of(meta, self.names_speakers);
                let (trust, origin) = told_by(meta, speaker, interpreter.owners);
                self.add_told(text_of(told), &meta.external, trust, origin);
                // Nobody says who made a picture, and a model reads what is written on it.
                if told
                    .iter()
                    .any(|part| !matches!(part, MessagePart::Text { .. }))
                {
                    self.seen.add(TextSpan {
                        text: String::new(),
                        trust: Trust::External,
                        origin: channel("a picture in your message"),
                    });
                }
            }
            ModelMessage::Assistant { content, .. } => {
                self.seen.said_by_model(&text_of(content));
                for call in message.tool_calls() {
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    self.seen.said_by_model(&arguments);
                    for address in addresses_of(call, interpreter.toolbox) {
                        self.seen.note_request(&address);
                    }
                    self.calls.insert(call.id.clone(), call.clone());
                }
            }
            ModelMessage::ToolResult {
                call_id,
                tool,
                content,
                ..
            } => {
                let label = meta.label.as_ref();
                let span = TextSpan {
                    text: text_of(content),
                    // What has no label is from nobody known.
                    trust: label.map_or(Trust::External, |label| label.trust),
                    origin: label.map_or(Origin::Runtime, |label| label.origin.clone()),
                };
                let reach = self.reach_of(call_id, tool, interpreter.toolbox);
                // What failed may have printed all the same.
                match &reach {
                    ResultReach::Private if span.trust != Trust::Operator => {
                        self.seen.note_private();
                    }
                    ResultReach::Account(hosts) => {
                        for host in hosts {
                            self.seen.note_private_of(host);
                        }
                    }
                    _ => {}
                }
                let fetches = interpreter
                    .toolbox
                    .get(tool)
                    .is_some_and(|tool| tool.spec().effect == Effect::ReadUntrusted);
                match (fetches, reach) {
                    (true, ResultReach::Service) => self.seen.add_found(span),
                    (true, _) => self.seen.add(span),
                    (false, _) => self.seen.add_kept(span),
                };
            }
        }
    }

    /// A message: the person's own words, and what of it somebody else wrote. Where the places of
    /// that do not fit the text, all of it is somebody else's.
    fn add_told(&mut self, text: String, external: &ExternalSpans, trust: Trust, origin: Origin) {
        let parts = match external {
            ExternalSpans::Known(spans) => split_told(&text, spans),
            ExternalSpans::Unreadable(_) => None,
        };
        let Some((own, foreign)) = parts else {
            self.seen.add(TextSpan {
                text,
                trust: Trust::External,
                origin,
            });
            return;
        };
        self.seen.add(TextSpan {
            text: own,
            trust,
            origin,
        });
        for (span, text) in foreign {
            let origin = channel(span.kind.as_str());
            // What a command of the person's printed of the agent's own files names nothing, and is
            // of this machine.
            if span.trust >= Trust::Agent {
                self.seen.note_private();
                self.seen.add_kept(TextSpan {
                    text,
                    trust: Trust::Agent,
                    origin,
                });
            } else {
                self.seen.add(TextSpan {
                    text,
                    trust: Trust::External,
                    origin,
                });
            }
        }
    }

    /// Where the result of a call came from. What did not come over the web is of this machine,
    /// or of an account of the owner's: private.
    fn reach_of(&self, call_id: &str, tool: &str, toolbox: &Toolbox) -> ResultReach {
        let (Some(call), Some(tool)) = (self.calls.get(call_id), toolbox.get(tool)) else {
            return ResultReach::Private;
        };
        let spec = tool.spec();
        let has_sink = |kind| spec.sinks.iter().any(|sink| sink.kind == kind);
        match spec.effect {
            _ if has_sink(SinkKind::Url) => ResultReach::Web,
            // What is about files and commands is about this machine.
            _ if has_sink(SinkKind::Path) || has_sink(SinkKind::Command) => ResultReach::Private,
            effect @ (Effect::ReadUntrusted
            | Effect::Egress
            | Effect::WriteOutward
            | Effect::Irreversible) => {
                let targets = tool.targets(&call.arguments).into_iter();
                let hosts: Vec<String> = targets
                    .filter_map(|target| match target {
                        CallTarget::Host(host) => Some(host),
                        _ => None,
                    })
                    .collect();
                match (effect, hosts.is_empty()) {
                    (_, true) => ResultReach::Private,
                    (Effect::ReadUntrusted, false) => ResultReach::Service,
                    (_, false) => ResultReach::Account(hosts),
                }
            }
            _ => ResultReach::Private,
        }
    }

    /// What memory called up is about the owner.
    fn note_recalled(&mut self, details: &Value) {
        if calls_up_memory(details) {
            self.seen.note_known_private();
        }
    }

    fn add_kept(&mut self, parts: &[MessagePart], trust: Trust) {
        if !parts.is_empty() {
            self.seen.add_kept(TextSpan {
                text: text_of(parts),
                trust,
                origin: Origin::Runtime,
            });
        }
    }

    /// What the owner decided. A mark that cannot be read may have been a no: it taints, and what
    /// it was about is not asked again until the owner has spoken.
    fn read_mark(&mut self, data: &Value) -> Option<GuardMark> {
        let mark = Some(GuardMark::read(data)).filter(|mark| *mark != GuardMark::Unreadable);
        if mark.is_none() {
            self.seen.taint_with(SessionTaint::Tainted);
            let shape = data.get("shape").cloned().unwrap_or_default();
            let shape = ok_or_debug!(serde_json::from_value(shape), "nor what it was about");
            if let Some(shape) = shape {
                self.seen.refuse_shape(shape);
            }
        }
        mark
    }

    /// The trust of what the runtime told. A file that changed and that the owner said yes to since
    /// is the owner's.
    fn trust_of_told(&mut self, details: &Value, interpreter: &EntryInterpreter<'_>) -> Trust {
        let (trust, foreign) = foreign_files_of(details);
        if foreign.is_empty() {
            return trust;
        }
        match foreign.iter().all(|file| interpreter.approved.has(file)) {
            true => Trust::Agent,
            false => {
                self.tainting_files.extend(foreign);
                trust
            }
        }
    }

    fn apply(&mut self, mark: GuardMark, interpreter: &EntryInterpreter<'_>) {
        let (toolbox, workspace) = (interpreter.toolbox, interpreter.workspace);
        match mark {
            GuardMark::Released => self.seen.release(),
            GuardMark::PromptForeign { files, .. }
                if !files.is_empty() && files.iter().all(|file| interpreter.approved.has(file)) => {
            }
            GuardMark::PromptForeign { files, .. } => {
                self.tainting_files.extend(files);
                self.seen.taint_with(SessionTaint::Tainted);
            }
            GuardMark::Unreadable => self.seen.taint_with(SessionTaint::Tainted),
            GuardMark::Refused { shape, .. } => self.seen.refuse_shape(shape),
            GuardMark::Allowed {
                call, shape, scope, ..
            } => {
                let prepared = self
                    .calls
                    .get(&call)
                    .and_then(|call| toolbox.prepare(&call.name, &call.arguments).ok());
                let is_command = prepared.as_ref().is_some_and(|prepared| {
                    let mut sinks = prepared.tool.spec().sinks.iter();
                    sinks.any(|sink| sink.kind == SinkKind::Command)
                });
                // A yes for good is in the owner's documents, and over as soon as it is revoked
                // there. Of a command, after untrusted content was read, it ends with the session.
                let lasts = match scope {
                    ApprovalScope::Session => true,
                    ApprovalScope::Always => {
                        is_command && self.seen.taint() == SessionTaint::Tainted
                    }
                    ApprovalScope::Once | ApprovalScope::Deny => false,
                };
                if lasts {
                    self.seen.approve_shape(shape);
                }
                let Some(call) = self.calls.get(&call) else {
                    return;
                };
                let Ok(prepared) = toolbox.prepare(&call.name, &call.arguments) else {
                    return;
                };
                let spec = prepared.tool.spec();
                let targets = addresses_of(call, toolbox).into_iter();
                let targets: Vec<CallTarget> = targets.map(CallTarget::Url).collect();
                let orders = match prepared.tool.writes(&prepared.arguments) {
                    CallWrites::Files { paths, .. } => {
                        order_names(workspace, paths.iter().map(PathBuf::as_path))
                    }
                    CallWrites::Nothing | CallWrites::Anything => Vec::new(),
                };
                let deed = ProposedCall {
                    tool: &spec.name,
                    effect: spec.effect,
                    sinks: &spec.sinks,
                    arguments: &prepared.arguments,
                    chosen_names: &[],
                    targets: &targets,
                    led_from: None,
                    look: prepared.look,
                    standing: HostStanding::Unlisted,
                    orders: &orders,
                    words: None,
                    binds: None,
                };
                deed.approve(&mut self.seen);
                if lasts {
                    deed.approve_for_session(&mut self.seen);
                }
            }
        }
    }
}

/// Where the result of a call came from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ResultReach {
    Web,
    /// A service the owner has set up, such as a search.
    Service,
    /// A service that has something of the owner's, by its hosts.
    Account(Vec<String>),
    Private,
}

/// The addresses a call asks for.
fn addresses_of(call: &ToolCall, toolbox: &Toolbox) -> Vec<WebAddress> {
    let tool = toolbox.get(&call.name).filter(|tool| {
        let mut sinks = tool.spec().sinks.iter();
        sinks.any(|sink| sink.kind == SinkKind::Url)
    });
    let targets = tool.map(|tool| tool.targets(&call.arguments));
    targets
        .into_iter()
        .flatten()
        .filter_map(|target| match target {
            CallTarget::Url(address) => Some(address),
            _ => None,
        })
        .collect()
}

/// Who spoke, by the record. Before speakers were recorded there was only the terminal, and what
/// made a message other than a person was the runtime.
fn speaker_of(meta: &EntryMeta, names_speakers: bool) -> SpeakerMark {
    match (meta.speaker, &meta.sender) {
        (Some(speaker), _) => speaker,
        (None, _) if names_speakers => SpeakerMark::Unreadable,
        (None, _) if meta.source != MessageSource::Person => SpeakerMark::Runtime,
        (None, Some(_)) => SpeakerMark::Sender,
        (None, None) => SpeakerMark::Owner,
    }
}

fn channel(name: &str) -> Origin {
    Origin::Channel {
        channel: name.to_owned(),
        message: String::new(),
        hash: ContentHash::of(""),
    }
}

/// Whose words a message is. Only the owner's own name anything; what does not fit together is
/// nobody's known.
fn told_by(meta: &EntryMeta, speaker: SpeakerMark, owners: &[String]) -> (Trust, Origin) {
    let sender = meta.sender.as_ref();
    let of_sender = sender.and_then(|sender| sender.channel.as_deref());
    match (&meta.label, meta.source, speaker) {
        // A session that writes to another is an agent, however far it is trusted.
        (Some(label), _, _) => (label.trust.min(Trust::Agent), label.origin.clone()),
        (None, MessageSource::Session, _) => (Trust::External, channel("session")),
        (None, MessageSource::Person, SpeakerMark::Owner) => {
            (Trust::Owner, channel(of_sender.unwrap_or("terminal")))
        }
        (None, MessageSource::Person, SpeakerMark::Sender)
            if sender.is_some_and(|sender| is_owner(sender, owners)) =>
        {
            (Trust::Owner, channel(of_sender.unwrap_or("terminal")))
        }
        (None, MessageSource::Heartbeat | MessageSource::Cron, SpeakerMark::Runtime) => {
            (Trust::Operator, Origin::config("heartbeat"))
        }
        (None, MessageSource::Event, SpeakerMark::Runtime) => (Trust::Operator, Origin::Runtime),
        (None, _, _) => (Trust::External, channel(of_sender.unwrap_or("unknown"))),
    }
}

fn text_of(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
