//! Where a message is accepted: it is made ready, with what the runtime adds to it, and put on
//! disk.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use chela_config::model::{Placement, WorkspaceAccess};
use chela_core::{Origin, SessionForm, ok_or_debug};
use chela_model::{MessagePart, ModelMessage, Usage};
use serde_json::json;

use super::attached_pictures::AttachedPictures;
use super::changed_files::{ToldChanges, file_changes};
use super::changed_skills::skill_changes;
use super::hook_runner::{HookRunner, tell_session_end};
use super::limits::{TurnLimits, TurnSpending};
use super::message_blocks::{BlocksAsk, blocks_for, ended_commands, look_for, trust_of_facts};
use super::outlet::TurnOutlet;
use super::prompt_rewrite::rewrite_since;
use super::recorder::TurnRecorder;
use super::told_text::ToldText;
use super::tool_changes::tool_changes;
use super::trust_notices::tell_of_trust;
use super::{RunningTurn, TurnError, TurnParts};
use crate::assemble::PromptSize;
use crate::bootstrap_pending::{BootstrapMeans, WorkspaceWrites, bootstrap_block};
use crate::context_builder::{PromptKind, found_in};
use crate::entry_trust::is_owner;
use crate::hooks::ObservedEvent;
use crate::inbound_message::{InboundImage, InboundMessage};
use crate::runtime_blocks::{BlockKind, RuntimeBlock, SentBlock, tail, unforged};
use crate::subagents::{UntoldRuns, joined};
use crate::surface::{ContextMeter, TurnSurface};
use chela_reply::{Reply, Silence};
use chela_session::{
    CustomMessage, EntryBody, EntryMeta, MessageSource, SpeakerMark, TranscriptEntry,
    find_external, split_told,
};

impl<'a> RunningTurn<'a> {
    /// Takes a message in. When this returns, it is on disk.
    pub(super) async fn accept(
        parts: TurnParts<'a>,
        message: InboundMessage,
        source: MessageSource,
        surface: &'a dyn TurnSurface,
    ) -> Result<Self, TurnError> {
        let TurnParts {
            scope,
            transcript,
            context,
            ..
        } = parts;
        let before = transcript.session();
        let session = transcript.roll_over().await?;
        if before.id != session.id {
            tell_session_end(scope, before.id.as_str(), "rolled-over").await;
        }
        let chain = transcript.chain().map_err(crate::agent::OpenError::from)?;
        let hooks = HookRunner::new(scope, session.id.as_str(), &message.text);
        let chain = hooks.resolve_model(scope, chain).await;
        let is_heartbeat = matches!(scope.key.form, SessionForm::Heartbeat { .. });
        let wishes = hooks
            .prompt_wishes(is_heartbeat, chain.primary().reference())
            .await;
        context.begin_with(wishes.prompt, wishes.tools);
        context.look_at_skills().await?;
        let branch = transcript.sessions.branch(&session).await?;
        if is_first(&branch) {
            hooks.observe(&ObservedEvent::SessionStart).await;
        }
        hooks.tell(surface);
        let prefix = context.prefix_on(Some(&chain), &branch).await?;
        let kind = PromptKind {
            target: Some(chain.primary()),
            presence: surface.presence(),
            ..prefix.kind()
        };
        let called = context.called_skills(&message, source).await;
        let asked = BlocksAsk {
            message: called.as_ref().map_or(&message.text, |called| &called.said),
            is_first: is_first(&branch),
            prefix: &prefix,
        };
        let look = look_for(parts, &asked);
        let (assembled, looked_up) = context
            .assemble_beside(&prefix.text.tools, kind, look)
            .await?;
        tell_of_trust(scope, &assembled, surface);
        let now = assembled.prompt;
        let volatile = now.volatile().trim().to_owned();
        let placement = scope.view.context_placement.value;
        let mut blocks = Vec::new();
        if source == MessageSource::Person {
            let access = parts.background.commands.sandbox().access();
            let writes = match access {
                None | Some(WorkspaceAccess::Rw) => WorkspaceWrites::Allowed,
                Some(_) => WorkspaceWrites::Refused,
            };
            let means = BootstrapMeans::of(&context.current_tools(&prefix));
            blocks.extend(bootstrap_block(&assembled.files, means, writes));
        }
        if placement != Placement::SystemTail {
            blocks.push(RuntimeBlock {
                kind: BlockKind::Facts,
                text: volatile.clone(),
                origin: Origin::Runtime,
                trust: trust_of_facts(&now),
            });
        }
        let sent_before = sent_before(&branch);
        let files = file_changes(&prefix.text.sections, &now);
        let skills = match prefix.size {
            PromptSize::Full => {
                skill_changes(&prefix.text, &assembled.skills, &scope.agents.redactor())
            }
            // Its prompt lists none.
            PromptSize::Short => ToldChanges::default(),
        };
        blocks.extend(files.block_with(skills, &sent_before));
        blocks.extend(tool_changes(&context.current_tools(&prefix), &sent_before));
        let (news, runs) = UntoldRuns::apart(parts.subagent_news(&branch));
        blocks.extend(blocks_for(parts, looked_up, news).await);
        blocks.extend(wishes.block);
        let (skill, fork, said) = match called {
            Some(called) => (called.block, called.fork, called.said),
            None => (None, None, message.text.clone()),
        };
        let told = ToldText::of(scope, &message, &said, source);
        let said = Said {
            text: &told.text,
            images: &message.images,
            skill: skill.as_ref(),
        };
        let (content, lead, sent) = content_of(&said, &blocks, &sent_before);
        parts.note_typed(&message, source);
        let accepted = transcript
            .sessions
            .accept(
                &session,
                ModelMessage::User { content },
                EntryMeta {
                    lead,
                    source,
                    sender: scope.sender_of_record(),
                    speaker: Some(scope.speaker_of_record(source)),
                    label: scope.label_of_told(&message),
                    details: details_of(&sent, &runs),
                    external: told.external,
                    inbox_ids: message.inbox_ids.clone(),
                    ..EntryMeta::default()
                },
            )
            .await?;
        if source != MessageSource::Event {
            context.keep_bounds(&session).await?;
        }
        let recorder = TurnRecorder::open(&scope.agents);
        // What its sub-agents spend counts as spent in this turn.
        parts.background.runs.turn_began(recorder.turn());
        parts.custody.journal.begin(&session, recorder.turn());
        Ok(Self {
            hooks: hooks.in_turn(recorder.turn()),
            hook_words: Mutex::default(),
            spent: TurnSpending::new(TurnLimits::of(scope), scope.agents.host.clock.now()),
            recorder,
            rewrite: rewrite_since(&transcript.sessions, &session, &branch, accepted).await?,
            outlet: TurnOutlet::new(parts, surface),
            parts,
            surface,
            session,
            source,
            chain,
            prefix,
            found: found_in(&branch),
            must_call: message.must_call.clone(),
            system_tail: match placement {
                Placement::SystemTail => volatile,
                _ => String::new(),
            },
            usage: Usage::default(),
            usage_aside: Mutex::default(),
            stop: None,
            meter: ContextMeter::default(),
            reply: Reply::Silent {
                why: Silence::Empty,
            },
            noticed: AtomicBool::new(false),
            warned: Vec::new(),
            made_room: false,
            attached: AttachedPictures::of(&message),
            fork,
        })
    }

    /// Messages that came while the turn ran, put on disk in their turn. Says whether there were
    /// any.
    pub(super) async fn steered(&mut self) -> Result<bool, TurnError> {
        let messages = self.parts.control.take_steering();
        for (at, message) in messages.iter().enumerate() {
            let scope = self.parts.scope;
            let told = ToldText::of(scope, message, &message.text, scope.source);
            self.parts.note_typed(message, scope.source);
            let said = Said {
                text: &told.text,
                images: &message.images,
                skill: None,
            };
            let (content, ..) = content_of(&said, &[], &[]);
            let accepted = self
                .parts
                .transcript
                .sessions
                .accept(
                    &self.session,
                    ModelMessage::User { content },
                    EntryMeta {
                        sender: scope.sender_of_record(),
                        speaker: Some(scope.speaker_of_record(scope.source)),
                        source: scope.source,
                        label: scope.label_of_told(message),
                        external: told.external,
                        inbox_ids: message.inbox_ids.clone(),
                        ..EntryMeta::default()
                    },
                )
                .await;
            if let Err(error) = accepted {
                self.parts
                    .control
                    .steer_again(messages.into_iter().skip(at));
                return Err(error.into());
            }
            self.attached.add(message);
        }
        if !messages.is_empty() {
            // A word in between does not end the work at hand.
            self.parts.context.keep_bounds(&self.session).await?;
        }
        let told = match self.parts.background.runs.take_news() {
            true => {
                let branch = self.parts.transcript.sessions.branch(&self.session).await?;
                self.parts.subagent_news(&branch)
            }
            false => None,
        };
        let (news, runs) = UntoldRuns::apart(told);
        let ended = joined(ended_commands(self.parts).await, news);
        if let Some((text, sent)) = ended.and_then(|block| tail(&[block], &[])) {
            let event = CustomMessage {
                custom_type: "events".to_owned(),
                content: vec![MessagePart::text(text)],
                display: false,
                details: details_of(&sent, &runs),
            };
            self.parts
                .transcript
                .sessions
                .append(&self.session, EntryBody::CustomMessage(event))
                .await?;
        }
        Ok(!(messages.is_empty() && runs.is_empty()))
    }
}

impl TurnParts<'_> {
    /// Remembers what the owner typed and no record will keep. What they pasted or quoted they did
    /// not type.
    fn note_typed(&self, message: &InboundMessage, source: MessageSource) {
        let scope = self.scope;
        let is_owners = match scope.speaker_of_record(source) {
            SpeakerMark::Owner => true,
            SpeakerMark::Sender => scope
                .sender_of_record()
                .is_some_and(|sender| is_owner(&sender, &scope.view.owner_allow_from.value)),
            _ => false,
        };
        let spans = find_external(&message.text, &message.pasted);
        let own = split_told(&message.text, &spans).map(|(own, _)| own);
        if let Some(own) = own.filter(|_| is_owners && scope.label_of_told(message).is_none()) {
            let typed = self.guarding.typed_addresses();
            typed.note(&own, &scope.agents.redactor());
        }
    }
}

/// What is kept of what the runtime said with a message.
fn details_of(sent: &[SentBlock], runs: &[String]) -> serde_json::Value {
    match (sent.is_empty(), runs.is_empty()) {
        (true, _) => serde_json::Value::Null,
        (false, true) => json!({ "runtime": sent }),
        (false, false) => json!({ "runtime": sent, "runs": runs }),
    }
}

/// A message, and the skill its sender called with it.
struct Said<'a> {
    text: &'a str,
    images: &'a [InboundImage],
    skill: Option<&'a RuntimeBlock>,
}

/// The parts of the message, how many of them are not the person's, and which blocks they hold.
fn content_of(
    message: &Said<'_>,
    blocks: &[RuntimeBlock],
    before: &[SentBlock],
) -> (Vec<MessagePart>, u32, Vec<SentBlock>) {
    let mut content = Vec::new();
    let mut sent = Vec::new();
    let mut lead = 0;
    if let Some((text, marks)) = tail(blocks, before) {
        content.push(MessagePart::text(text));
        sent = marks;
        lead += 1;
    }
    if let Some(skill) = message.skill {
        content.push(MessagePart::text(unforged(&skill.text)));
        sent.push(SentBlock::of(skill));
        lead += 1;
    }
    if !message.text.is_empty() || message.images.is_empty() {
        content.push(MessagePart::text(message.text));
    }
    content.extend(message.images.iter().map(|image| MessagePart::Image {
        mime: image.mime.clone(),
        data: image.data.clone(),
    }));
    (content, lead, sent)
}

fn is_first(branch: &[TranscriptEntry]) -> bool {
    !branch.iter().any(|entry| {
        matches!(
            entry.body,
            EntryBody::Message { .. } | EntryBody::Compaction(_)
        )
    })
}

/// The blocks the model can still see: those before a compaction are gone.
fn sent_before(branch: &[TranscriptEntry]) -> Vec<SentBlock> {
    let kept_from = branch.iter().rev().find_map(|entry| match &entry.body {
        EntryBody::Compaction(compaction) => Some(compaction.first_kept),
        _ => None,
    });
    branch
        .iter()
        .filter(|entry| kept_from.is_none_or(|first| entry.id >= first))
        .filter_map(|entry| match &entry.body {
            EntryBody::Message { meta, .. } => meta.details.get("runtime"),
            _ => None,
        })
        .filter_map(|marks| {
            let sent = serde_json::from_value::<Vec<SentBlock>>(marks.clone());
            ok_or_debug!(sent, "what the runtime said before is said once more")
        })
        .flatten()
        .collect()
}
