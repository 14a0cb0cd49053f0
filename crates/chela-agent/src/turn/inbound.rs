//! How a turn begins: the message is made ready and put on disk.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chela_config::model::Placement;
use chela_core::{Audience, ContentHash, Origin, Trust, Zone};
use chela_memory::MemorySettings;
use chela_memory::prelude::{daily_notes, triggered};
use chela_model::{Message, Part, Usage};
use chela_prompt::{PartKind, Prompt};
use serde_json::json;

use super::book::Book;
use super::changes::changes;
use super::hook_runner::HookRunner;
use super::limits::{Repeats, Spent, TurnLimits};
use super::outlet::Outlet;
use super::tail::{Block, BlockKind, Sent, tail, unforged};
use super::tool_changes::tool_changes;
use super::{ContextMeter, Surface, Turn, TurnError};
use crate::conversation::{Conversation, Image, Inbound};
use crate::local;
use crate::subagents::{Told, joined};
use chela_reply::{Reply, Silence};
use chela_session::{Body, CustomMessage, Entry, Meta, Sender, Source, SpeakerMark};

impl<'a> Turn<'a> {
    /// Takes a message in. When this returns, it is on disk.
    pub(super) async fn accept(
        talk: &'a Conversation,
        message: Inbound,
        source: Source,
        surface: &'a dyn Surface,
    ) -> Result<Self, TurnError> {
        let session = talk.roll_over().await?;
        let chain = talk.chain().map_err(crate::agent::OpenError::from)?;
        let hooks = HookRunner::new(talk, session.id.as_str(), &message.text);
        let chain = hooks.resolve_model(talk, chain).await;
        talk.begin_with(hooks.bootstrap().await);
        let prefix = talk.prefix_for(Some(&chain)).await?;
        let model = chain.primary().reference();
        let assembled = talk.assemble(&prefix.tools, prefix.size, Some(model))?;
        talk.tell_of_trust(&assembled, surface);
        let now = assembled.prompt;
        let volatile = now.volatile().trim().to_owned();
        let placement = talk.view.context_placement.value;
        let mut blocks = Vec::new();
        if placement != Placement::SystemTail {
            blocks.push(Block {
                kind: BlockKind::Facts,
                text: volatile.clone(),
                origin: Origin::Runtime,
                trust: trust_of_facts(&now),
            });
        }
        blocks.extend(changes(&prefix.sections, &now));
        let branch = talk.sessions.branch(&session).await?;
        let sent_before = sent_before(&branch);
        blocks.extend(tool_changes(&talk.current_tools(&prefix), &sent_before));
        let (news, runs) = Told::apart(talk.subagent_news(&branch));
        blocks.extend(talk.blocks_for(&message.text, is_first(&branch), news));
        blocks.extend(hooks.prompt_block().await);
        let (skill, said) = match talk.skill_text(&message.text) {
            Some((skill, "")) => (Some(skill), "Use it now."),
            Some((skill, said)) => (Some(skill), said),
            None => (None, message.text.as_str()),
        };
        let said = Said {
            text: said,
            images: &message.images,
            skill: skill.as_ref(),
        };
        let (content, lead, sent) = content_of(&said, &blocks, &sent_before);
        let accepted = talk
            .sessions
            .accept(
                &session,
                Message::User { content },
                Meta {
                    lead,
                    source,
                    sender: talk.sender_of_record(),
                    speaker: Some(talk.speaker_of_record(source)),
                    label: talk.label_of_told(&message.text),
                    details: details_of(&sent, &runs),
                    ..Meta::default()
                },
            )
            .await?;
        if source != Source::Event {
            talk.keep_bounds(&session).await?;
        }
        let book = Book::open_turn(talk);
        talk.pen.begin(&session, book.turn());
        Ok(Self {
            hooks: hooks.in_turn(book.turn()),
            hook_words: Mutex::default(),
            spent: Spent::new(talk.turn_limits(), talk.agents.host.clock.now()),
            book,
            rewrite: talk.rewritten(&session, &branch, accepted).await?,
            outlet: Outlet::new(talk, surface),
            talk,
            surface,
            session,
            chain,
            prefix,
            system_tail: match placement {
                Placement::SystemTail => volatile,
                _ => String::new(),
            },
            usage: Usage::default(),
            meter: ContextMeter::default(),
            reply: Reply::Silent {
                why: Silence::Empty,
            },
            noticed: AtomicBool::new(false),
            warned: Vec::new(),
            made_room: false,
        })
    }

    /// Messages that came while the turn ran, put on disk in their turn. Says whether there were
    /// any.
    pub(super) async fn steered(&mut self) -> Result<bool, TurnError> {
        let messages = self.talk.take_steering();
        for text in &messages {
            self.talk
                .sessions
                .accept(
                    &self.session,
                    Message::user(unforged(text)),
                    Meta {
                        sender: self.talk.sender_of_record(),
                        speaker: Some(self.talk.speaker_of_record(self.talk.source)),
                        source: self.talk.source,
                        label: self.talk.label_of_told(text),
                        ..Meta::default()
                    },
                )
                .await?;
        }
        if !messages.is_empty() {
            // A word in between does not end the work at hand.
            self.talk.keep_bounds(&self.session).await?;
        }
        let told = match self.talk.children.0.take_news() {
            true => {
                let branch = self.talk.sessions.branch(&self.session).await?;
                self.talk.subagent_news(&branch)
            }
            false => None,
        };
        let (news, runs) = Told::apart(told);
        let ended = joined(self.talk.ended_commands(), news);
        if let Some((text, sent)) = ended.and_then(|block| tail(&[block], &[])) {
            let event = CustomMessage {
                custom_type: "events".to_owned(),
                content: vec![Part::text(text)],
                display: false,
                details: details_of(&sent, &runs),
            };
            self.talk
                .sessions
                .append(&self.session, Body::CustomMessage(event))
                .await?;
        }
        Ok(!(messages.is_empty() && runs.is_empty()))
    }
}

impl Conversation {
    /// What the runtime adds to this message, besides the facts.
    fn blocks_for(&self, message: &str, first: bool, news: Option<Block>) -> Vec<Block> {
        let mut blocks = Vec::new();
        let workspace = &self.view.workspace.value;
        if self.key.audience() == Audience::Private {
            if first {
                blocks.extend(self.recent_notes());
            }
            let recalled = triggered(workspace, message);
            let texts = recalled.iter().map(|entry| {
                let text = format!("{}#L{}: {}", entry.label, entry.line, entry.text);
                (entry.label.as_str(), text)
            });
            let (text, trust) = self.remembered(texts, Trust::Owner);
            blocks.push(block(BlockKind::Recall, text, "MEMORY.md", trust));
        }
        blocks.extend(joined(self.ended_commands(), news));
        if let Ok(skills) = self.agents.assembler.skills(&self.view.id) {
            blocks.push(Block {
                kind: BlockKind::Skills,
                text: skills.relevant(message),
                origin: Origin::Runtime,
                trust: Trust::Owner,
            });
        }
        blocks
    }

    /// Commands that ended in the background since the model last heard.
    pub(super) fn ended_commands(&self) -> Option<Block> {
        let mut ended = self.commands.processes.finished();
        for command in &mut ended {
            if command.output.trust() == Trust::Agent && self.may_print_foreign(&command.command) {
                command.output = self.as_printed(&command.output, &command.command);
            }
        }
        let trust = ended.iter().map(|command| command.output.trust()).min()?;
        let text = ended
            .iter()
            .map(|command| {
                format!(
                    "{} {}: {}\n{}",
                    command.id,
                    command.status,
                    command.command,
                    command.output.text()
                )
            })
            .collect::<Vec<_>>()
            .join("\n\n");
        Some(Block {
            kind: BlockKind::Events,
            text,
            origin: Origin::Runtime,
            trust,
        })
    }

    /// The daily notes a fresh session starts with.
    fn recent_notes(&self) -> Option<Block> {
        let settings = MemorySettings::of(&self.view).prelude;
        let today = local::day(&self.agents.host, self.view.user_timezone.value.as_deref());
        let notes = daily_notes(&self.view.workspace.value, today, &settings);
        let known = self.agents.file_trust();
        let workspace = &self.view.workspace.value;
        let (foreign, own): (Vec<_>, Vec<_>) = notes
            .iter()
            .partition(|note| known.ceiling(&workspace.join(&note.label)) < Trust::Agent);
        let mut texts: Vec<String> = own
            .iter()
            .map(|note| format!("{}\n{}", note.label, note.text))
            .collect();
        if !foreign.is_empty() {
            // Shown unasked, they would taint every new session. Their names are foreign, too.
            texts.push(format!(
                "Recent notes that are not shown here, because text from outside had been read when they were written: {}. memory_search finds them.",
                foreign.len()
            ));
        }
        let text = texts.join("\n\n");
        (!text.is_empty()).then(|| block(BlockKind::RecentNotes, text, "memory", Trust::Agent))
    }

    fn turn_limits(&self) -> TurnLimits {
        let close = self
            .view
            .tools
            .value
            .loop_detection
            .as_ref()
            .unwrap_or(&self.agents.loaded.config.tools.loop_detection)
            .enabled;
        TurnLimits {
            steps: self
                .view
                .max_steps
                .value
                .min(self.grant.steps().unwrap_or(u64::MAX)),
            time: Duration::from_secs(self.view.timeout_seconds.value),
            repeats: if close { Repeats::CLOSE } else { Repeats::WIDE },
        }
    }

    pub(crate) fn sender_of_record(&self) -> Option<Sender> {
        self.ask.speaker.sender().map(|sender| Sender {
            id: sender.id.clone().unwrap_or_default(),
            name: sender.name.clone(),
            channel: self.ask.channel.clone(),
            message_id: None,
        })
    }

    /// Who speaks in a turn: what is not made by a person is the runtime's, whoever the
    /// conversation was opened for.
    fn speaker_of_record(&self, source: Source) -> SpeakerMark {
        match source {
            Source::Person => SpeakerMark::from(&self.ask.speaker),
            Source::Heartbeat | Source::Cron | Source::Event | Source::Session => {
                SpeakerMark::Runtime
            }
        }
    }
}

/// Facts are the runtime's, but HEARTBEAT.md stands among them: what it may not be believed, they
/// may not.
fn trust_of_facts(prompt: &Prompt) -> Trust {
    let volatile = prompt.parts.iter().filter(|part| {
        let section = prompt.section(part.section);
        section.is_some_and(|section| section.zone == Zone::Volatile)
    });
    let files = volatile.filter(|part| matches!(part.kind, PartKind::File { .. }));
    let lowest = files.map(|part| part.trust).min();
    match lowest {
        Some(trust) if trust < Trust::Agent => trust,
        _ => Trust::Operator,
    }
}

fn block(kind: BlockKind, text: String, path: &str, trust: Trust) -> Block {
    Block {
        kind,
        origin: Origin::File {
            path: path.to_owned(),
            hash: ContentHash::of(&text),
        },
        text,
        trust,
    }
}

/// What is kept of what the runtime said with a message.
fn details_of(sent: &[Sent], runs: &[String]) -> serde_json::Value {
    match (sent.is_empty(), runs.is_empty()) {
        (true, _) => serde_json::Value::Null,
        (false, true) => json!({ "runtime": sent }),
        (false, false) => json!({ "runtime": sent, "runs": runs }),
    }
}

/// A message, and the skill its sender called with it.
struct Said<'a> {
    text: &'a str,
    images: &'a [Image],
    skill: Option<&'a Block>,
}

/// The parts of the message, how many of them are not the person's, and which blocks they hold.
fn content_of(
    message: &Said<'_>,
    blocks: &[Block],
    before: &[Sent],
) -> (Vec<Part>, u32, Vec<Sent>) {
    let mut content = Vec::new();
    let mut sent = Vec::new();
    let mut lead = 0;
    if let Some((text, marks)) = tail(blocks, before) {
        content.push(Part::text(text));
        sent = marks;
        lead += 1;
    }
    if let Some(skill) = message.skill {
        content.push(Part::text(unforged(&skill.text)));
        sent.push(Sent::of(skill));
        lead += 1;
    }
    if !message.text.is_empty() || message.images.is_empty() {
        content.push(Part::text(unforged(message.text)));
    }
    content.extend(message.images.iter().map(|image| Part::Image {
        mime: image.mime.clone(),
        data: image.data.clone(),
    }));
    (content, lead, sent)
}

fn is_first(branch: &[Entry]) -> bool {
    !branch
        .iter()
        .any(|entry| matches!(entry.body, Body::Message { .. } | Body::Compaction(_)))
}

/// The blocks the model can still see: those before a compaction are gone.
fn sent_before(branch: &[Entry]) -> Vec<Sent> {
    let kept_from = branch.iter().rev().find_map(|entry| match &entry.body {
        Body::Compaction(compaction) => Some(compaction.first_kept),
        _ => None,
    });
    branch
        .iter()
        .filter(|entry| kept_from.is_none_or(|first| entry.id >= first))
        .filter_map(|entry| match &entry.body {
            Body::Message { meta, .. } => meta.details.get("runtime"),
            _ => None,
        })
        .filter_map(|marks| serde_json::from_value::<Vec<Sent>>(marks.clone()).ok())
        .flatten()
        .collect()
}
