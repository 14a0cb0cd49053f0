//! One piece of work, from the inbox to its outcome.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chela_agent::prelude::{
    Conversation, InboundImage, InboundMessage, MessageStanding, OpenError, OwnerCall, Reply,
    ToldAnnouncement, Trust, TurnEnd, TurnError, TurnOutcome,
};
use chela_core::{lock, ok_or_warn};
use chela_model::{CallFailure, FallbackChain};
use chela_session::MessageSource;
use chela_store::ClaimedMessage;
use serde_json::{Value, json};

use super::{RunningLane, WorkLanes};
use crate::event_hub::NewEvent;
use crate::json_member::put;
use crate::quotas::QuotaReached;
use crate::turn_wire::write_outcome;
use crate::work_item::{DeliveryTarget, ToolAsk, WorkItem, WorkOutcome, WorkSource, WorkStatus};
use crate::work_surface::WorkSurface;

/// So many characters of a message are told to clients that did not send it.
const MOST_TOLD: usize = 8_192;

impl WorkLanes {
    /// Does a piece of work that was claimed, with what is taken along, and ends all of it. Says
    /// whether more may wait.
    pub(super) async fn run_claimed(&self, claimed: ClaimedMessage) -> bool {
        let item = match serde_json::from_str::<WorkItem>(&claimed.message.body) {
            Ok(item) => item,
            Err(error) => {
                tracing::error!(%error, work = claimed.message.id, "work that cannot be read");
                let outcome = WorkOutcome::failed(&format!("it cannot be read: {error}"));
                self.finish_work(&claimed.claim, outcome).await;
                return true;
            }
        };
        let lane = item.lane();
        let before = lock(&self.0.running).insert(
            lane.clone(),
            RunningLane {
                agent: item.agent.clone(),
                claim: claimed.claim.clone(),
                source: item.source.clone(),
                conversation: None,
                steered: Vec::new(),
            },
        );
        if before.is_some() {
            tracing::error!(lane, "two turns in one lane");
        }
        self.0.began.notify_waiters();
        let surface = self.surface_of(&item);
        surface.tell("work.began", told_of(&item));
        let collected = self.collect_behind(&claimed, &item).await;
        let collected = collected.unwrap_or_else(|error| {
            tracing::warn!(%error, lane, "what waits behind a message stays where it is");
            Vec::new()
        });
        let outcome = match self.room_for(&item) {
            Ok(()) => self
                .turn_of(&claimed, &item, &collected, &surface)
                .await
                .unwrap_or_else(|error| WorkOutcome::of_error(&error)),
            Err(full) => WorkOutcome::failed(&full.to_string()),
        };
        let (conversation, more) = self
            .end_lane(&claimed, (&item, outcome), collected, &surface)
            .await;
        if let Some(conversation) = conversation {
            self.watch_background(&conversation, &item);
        }
        more
    }

    /// What the clock brings comes into the inbox by its own way, so its quota is looked at here.
    /// And what waited with others is looked at once more: what they used was not known yet.
    fn room_for(&self, item: &WorkItem) -> Result<(), QuotaReached> {
        let (agents, now) = (self.agents(), self.0.host.unix_millis());
        let (quotas, tally) = (&agents.loaded().config.gateway.quotas, &self.0.quotas);
        match item.source {
            WorkSource::Cron { .. } | WorkSource::Heartbeat => {
                tally.take_back(item);
                tally.reserve(quotas, item, now)
            }
            WorkSource::Announcement { .. } => Ok(()),
            _ => tally.check_again(quotas, item, now),
        }
    }

    pub(super) fn surface_of(&self, item: &WorkItem) -> WorkSurface {
        WorkSurface {
            host: self.0.host.clone(),
            hub: Arc::clone(&self.0.hub),
            questions: Arc::clone(&self.0.questions),
            work: item.id.clone(),
            session: item.session.to_string(),
        }
    }

    /// Runs the turn, or goes on with it, or finds that it has ended already.
    async fn turn_of(
        &self,
        claimed: &ClaimedMessage,
        item: &WorkItem,
        collected: &[(ClaimedMessage, WorkItem)],
        surface: &WorkSurface,
    ) -> Result<WorkOutcome, TurnError> {
        let agents = self.agents();
        let calls = &self.0.caller_calls;
        let open = self.0.open.get(&agents, item, calls, &self.0.restart);
        let conversation = open.await?;
        if let Some(lane) = lock(&self.0.running).get_mut(&item.lane()) {
            lane.conversation = Some(Arc::clone(&conversation));
        }
        if let WorkSource::Announcement { from } = &item.source {
            return announce(&conversation, item, from, surface).await;
        }
        let standing = match claimed.message.tries {
            0 | 1 => MessageStanding::Unknown,
            _ => conversation.standing_of(&item.id).await?,
        };
        let turn = async {
            match standing {
                MessageStanding::Ended { how, reply } => Ok(WorkOutcome::of_record(&how, reply)),
                // Nobody knows how far it got: it is not made again.
                MessageStanding::Begun if item.options.call.is_some() => Ok(WorkOutcome::failed(
                    "the process ended while the tool ran; look at what it did before you ask again",
                )),
                MessageStanding::Begun => {
                    self.0.counts.resumed.fetch_add(1, Ordering::Relaxed);
                    let outcome = conversation.resume(&item.id, surface).await?;
                    Ok(outcome_of_turn(&conversation, &outcome).await)
                }
                MessageStanding::Unknown => {
                    if item.options.begin_anew {
                        conversation.begin_anew().await?;
                    }
                    let mut message = joined_message(item, collected);
                    let before = claimed.before.as_ref();
                    let told = self.tell_dropped(item, before, &mut message).await;
                    ok_or_warn!(told, "what was dropped is not told");
                    if let Some(ask) = &item.options.call {
                        return call_tool(&conversation, ask, message, surface).await;
                    }
                    let outcome = begin_turn(&conversation, item, message, surface).await?;
                    Ok(outcome_of_turn(&conversation, &outcome).await)
                }
            }
        };
        match item.options.timeout_seconds {
            None => turn.await,
            Some(seconds) => {
                tokio::pin!(turn);
                tokio::select! {
                    outcome = &mut turn => outcome,
                    () = tokio::time::sleep(Duration::from_secs(seconds)) => {
                        conversation.stop();
                        let outcome = turn.await?;
                        let why = format!("it took longer than {seconds} s and was stopped");
                        Ok(WorkOutcome { error: Some(why), ..outcome })
                    }
                }
            }
        }
    }

    /// Whoever waits for a message that was read in the turn of another one hears of its end, too.
    fn tell_joined(&self, surface: &WorkSurface, work: &str, told: &Value, turn_of: &str) {
        let mut told = told.clone();
        put(&mut told, "joined", turn_of);
        self.0.hub.publish(NewEvent {
            at: self.0.host.unix_millis(),
            event: "work.ended",
            work: Some(work.to_owned()),
            session: Some(surface.session.clone()),
            data: told,
        });
    }

    async fn end_lane(
        &self,
        claimed: &ClaimedMessage,
        (item, outcome): (&WorkItem, WorkOutcome),
        collected: Vec<(ClaimedMessage, WorkItem)>,
        surface: &WorkSurface,
    ) -> (Option<Arc<Conversation>>, bool) {
        let ended = lock(&self.0.running).remove(&item.lane());
        let (conversation, steered) =
            ended.map_or((None, Vec::new()), |lane| (lane.conversation, lane.steered));
        // Said too late for the turn: each comes in its turn.
        let unheard = conversation.as_ref().map(|talk| talk.take_unheard());
        let unheard: Vec<String> = unheard
            .into_iter()
            .flatten()
            .flat_map(|message| message.inbox_ids)
            .collect();
        self.0.quotas.settle(item, &outcome);
        let count = match outcome.status {
            WorkStatus::Failed => &self.0.counts.failed,
            _ => &self.0.counts.answered,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let told = json!({
            "status": outcome.status, "reply": outcome.reply, "error": outcome.error,
            "hint": outcome.hint, "failure": outcome.failure, "model": outcome.model,
            "inputTokens": outcome.input_tokens, "outputTokens": outcome.output_tokens,
            "turn": outcome.turn, "background": conversation.as_deref().map(told_background),
        });
        let joined = WorkOutcome {
            joined: Some(claimed.message.id.clone()),
            ..outcome.clone()
        };
        for other in steered
            .into_iter()
            .chain(collected.into_iter().map(|one| one.0))
        {
            match unheard.contains(&other.message.id) {
                true => self.give_back(other).await,
                false => {
                    self.tell_joined(surface, &other.message.id, &told, &claimed.message.id);
                    self.finish_work(&other.claim, joined.clone()).await;
                }
            }
        }
        surface.tell("work.ended", told);
        let trust = match &conversation {
            Some(talk) if item.delivery != DeliveryTarget::None => talk.trust_of_words().await,
            _ => Trust::External,
        };
        let deliveries = self.delivery_of(item, &outcome, trust);
        let more = self
            .finish_and_send(&claimed.claim, outcome, deliveries)
            .await;
        if matches!(item.source, WorkSource::Cron { .. } | WorkSource::Heartbeat) {
            self.0.timed_ended.notify_one();
        }
        (conversation, more)
    }
}

/// A call a program of the owner makes. What the tool says is the answer.
async fn call_tool(
    conversation: &Conversation,
    ask: &ToolAsk,
    message: InboundMessage,
    surface: &WorkSurface,
) -> Result<WorkOutcome, TurnError> {
    let call = OwnerCall {
        tool: ask.tool.clone(),
        arguments: ask.arguments.clone(),
    };
    let made = conversation.call_tool(message, call, surface).await?;
    Ok(WorkOutcome {
        error: made.failed.then(|| made.text.clone()),
        reply: made.text,
        ..WorkOutcome::default()
    })
}

/// Says in a session what was said elsewhere. Whoever watches hears of it, and no model is asked.
async fn announce(
    conversation: &Conversation,
    item: &WorkItem,
    from: &str,
    surface: &WorkSurface,
) -> Result<WorkOutcome, TurnError> {
    let told = ToldAnnouncement {
        id: item.id.clone(),
        from: from.to_owned(),
        text: item.text.clone(),
        trust: item.text_trust.unwrap_or(Trust::External),
    };
    if conversation.announce(&told).await? {
        surface.tell("announced", json!({ "from": from, "text": item.text }));
    }
    Ok(WorkOutcome {
        status: WorkStatus::Silent,
        ..WorkOutcome::default()
    })
}

/// What a turn came to, with its price where the model has one.
async fn outcome_of_turn(conversation: &Conversation, turn: &TurnOutcome) -> WorkOutcome {
    let has_price = |chain: FallbackChain| chain.current().info().cost.is_some();
    let spent = match conversation.chain().is_ok_and(has_price) {
        true => conversation.turn_spent(turn).await,
        false => None,
    };
    WorkOutcome {
        micro_dollars: spent.map(|spent| spent.cost),
        ..WorkOutcome::of_turn(turn)
    }
}

async fn begin_turn(
    conversation: &Conversation,
    item: &WorkItem,
    message: InboundMessage,
    surface: &WorkSurface,
) -> Result<TurnOutcome, TurnError> {
    let source = match &item.source {
        WorkSource::Owner { .. } | WorkSource::Sender { .. } => {
            return conversation.say(message, surface).await;
        }
        WorkSource::Cron { .. } => MessageSource::Cron,
        WorkSource::Heartbeat => MessageSource::Heartbeat,
        WorkSource::Hook { .. } | WorkSource::Runtime { .. } | WorkSource::Announcement { .. } => {
            MessageSource::Event
        }
    };
    conversation.hear(message, source, surface).await
}

/// A message as a conversation takes it.
pub(super) fn inbound_of(item: &WorkItem) -> InboundMessage {
    let image = |image: &crate::work_item::WorkImage| InboundImage {
        mime: image.mime.clone(),
        data: image.data.clone(),
    };
    InboundMessage {
        text: item.text.clone(),
        images: item.images.iter().map(image).collect(),
        pasted: item.options.pasted.clone(),
        own_output: item.options.own_output.clone(),
        piped: item.options.piped.clone(),
        external: item.external.clone(),
        inbox_ids: vec![item.id.clone()],
        must_call: item.options.must_call.clone(),
        trust: item.text_trust,
    }
}

/// A message with those that are read together with it.
fn joined_message(item: &WorkItem, collected: &[(ClaimedMessage, WorkItem)]) -> InboundMessage {
    let mut message = inbound_of(item);
    for (_, other) in collected {
        let other = inbound_of(other);
        message.text = format!("{}\n\n{}", message.text, other.text);
        message.images.extend(other.images);
        message.pasted.extend(other.pasted);
        message.own_output.extend(other.own_output);
        message.external.extend(other.external);
        message.inbox_ids.extend(other.inbox_ids);
    }
    message
}

/// What clients are told of a piece of work: whose it is, and its words.
pub(super) fn told_of(item: &WorkItem) -> Value {
    let text: String = item.text.chars().take(MOST_TOLD).collect();
    json!({ "source": item.source, "text": text })
}

/// What runs on behind a turn.
pub(super) fn told_background(conversation: &Conversation) -> Value {
    let running = conversation.background().running();
    json!({ "subagents": running.subagents, "commands": running.commands })
}

impl WorkOutcome {
    /// Why a turn came to nothing, with what can be done about it.
    fn of_error(error: &TurnError) -> Self {
        let (hint, failure) = match error {
            TurnError::Open(OpenError::Model(_)) => (None, "no-model"),
            TurnError::Model(error) => {
                let failure = match error.failure {
                    CallFailure::Unauthorized | CallFailure::NoModel | CallFailure::Unreachable => {
                        "no-model"
                    }
                    _ => "model",
                };
                (error.hint.clone(), failure)
            }
            TurnError::StoppedWaiting => (None, "stopped"),
            TurnError::Broken(_) => (None, "broken"),
            _ => (None, "other"),
        };
        Self {
            hint,
            failure: Some(failure.to_owned()),
            ..Self::failed(&error.to_string())
        }
    }

    pub(crate) fn failed(why: &str) -> Self {
        Self {
            status: WorkStatus::Failed,
            error: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// What a turn that ended before a crash left behind.
    fn of_record(how: &str, reply: String) -> Self {
        let (status, error) = match how.strip_prefix("failed") {
            Some(why) => (
                WorkStatus::Failed,
                Some(why.trim_start_matches(": ").to_owned()),
            ),
            None if how == TurnEnd::Stopped.as_str() => (WorkStatus::Stopped, None),
            None if reply.is_empty() => (WorkStatus::Silent, None),
            None => (WorkStatus::Answered, None),
        };
        Self {
            status,
            reply,
            error,
            ..Self::default()
        }
    }

    fn of_turn(outcome: &TurnOutcome) -> Self {
        let (status, error) = match (&outcome.ended, &outcome.reply) {
            (TurnEnd::Stopped, _) => (WorkStatus::Stopped, None),
            (TurnEnd::Limit(why) | TurnEnd::Loop(why), Reply::Silent { .. }) => {
                (WorkStatus::Failed, Some(why.clone()))
            }
            (_, Reply::Silent { .. }) => (WorkStatus::Silent, None),
            (TurnEnd::Limit(why) | TurnEnd::Loop(why), _) => {
                (WorkStatus::Answered, Some(why.clone()))
            }
            (TurnEnd::Done, Reply::Deliver(_)) => (WorkStatus::Answered, None),
        };
        Self {
            status,
            reply: outcome.reply.text().to_owned(),
            error,
            model: Some(outcome.model.clone()),
            input_tokens: outcome.usage.input,
            output_tokens: outcome.usage.output,
            cache_read_tokens: outcome.usage.cache_read,
            cache_write_tokens: outcome.usage.cache_write,
            steps: outcome.steps,
            turn: Some(write_outcome(outcome)),
            ..Self::default()
        }
    }

    /// As the inbox keeps it. What cannot be read was written by a later version.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text)
            .unwrap_or_else(|error| Self::failed(&format!("its outcome cannot be read: {error}")))
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| {
            tracing::error!(%error, "an outcome cannot be written");
            "{}".to_owned()
        })
    }
}
