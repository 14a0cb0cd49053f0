//! What happens with a message that comes while its session is busy: `messages.queue`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use chela_agent::prelude::{ExternalSource, ExternalText, InboundMessage};
use chela_config::model::{QueueDrop, QueueMode};
use chela_core::{lock, ok_or_warn};
use chela_store::{
    ClaimState, ClaimedMessage, InboxMessage, InboxStore, LaneRoom, MessageAccepted,
    MessageOutcome, NewMessage, StoreError, WorkClaim,
};

use super::open_conversations::speaker_name;
use super::run_work::{inbound_of, told_of};
use super::{ANNOUNCEMENTS, WorkLanes};
use crate::work_item::{WorkItem, WorkOutcome, WorkSource, WorkStatus};

/// What stands before a message when others were dropped.
const DROPPED: &str = include_str!("../../text/dropped.md");
/// So many dropped messages are told of.
const MOST_DROPPED: usize = 50;
/// The terminal chat, as it calls itself.
const TERMINAL: &str = "terminal";
/// So much of a dropped message is told.
const TOLD_OF_DROPPED: usize = 160;

impl WorkLanes {
    pub(super) fn queue_mode(&self, source: &WorkSource) -> QueueMode {
        let agents = self.agents();
        let queue = &agents.loaded().config.messages.queue;
        // Nobody waits who could want to be heard at once.
        let Some(channel) = channel_name(source) else {
            return QueueMode::Followup;
        };
        let own = queue.by_channel.get(channel).copied();
        own.unwrap_or(match source {
            // Whoever types while the answer comes wants to be heard now.
            WorkSource::Owner { surface } if surface == TERMINAL => QueueMode::Steer,
            _ => queue.mode,
        })
    }

    fn debounce(&self, source: &WorkSource) -> Duration {
        let agents = self.agents();
        let queue = &agents.loaded().config.messages.queue;
        let own = channel_name(source).and_then(|name| queue.debounce_ms_by_channel.get(name));
        Duration::from_millis(own.copied().unwrap_or(queue.debounce_ms))
    }

    /// Takes a message in where its session does not hold more than `messages.queue.cap`, or makes
    /// room for it. Announcements take no room, and are not dropped: their senders count on them.
    pub(super) async fn accept_with_room(
        &self,
        item: &WorkItem,
        message: NewMessage,
    ) -> Result<MessageAccepted, StoreError> {
        let agents = self.agents();
        let queue = &agents.loaded().config.messages.queue;
        let room = LaneRoom {
            most: queue.cap.into(),
            apart: ANNOUNCEMENTS,
        };
        let accepted = self.0.store.accept_within(message.clone(), room).await?;
        let lane = item.lane();
        let running = lock(&self.0.running)
            .get(&lane)
            .map(|lane| lane.claim.clone());
        match (&accepted, running, queue.drop) {
            (MessageAccepted::Full { .. }, Some(claim), QueueDrop::Old | QueueDrop::Summarize) => {
                self.drop_oldest(&lane, &claim).await?;
                self.0.store.accept(message).await
            }
            _ => Ok(accepted),
        }
    }

    /// Drops what has waited longest behind the message that is worked on.
    async fn drop_oldest(&self, lane: &str, running: &WorkClaim) -> Result<(), StoreError> {
        let mut kept = Vec::new();
        while let Some(oldest) = self.0.store.claim_behind(running, self.claim_ask()).await? {
            if !is_announcement(&oldest.message.id) {
                self.drop_message(lane, oldest).await;
                break;
            }
            kept.push(oldest);
        }
        for message in kept {
            self.give_back(message).await;
        }
        Ok(())
    }

    async fn drop_message(&self, lane: &str, oldest: ClaimedMessage) {
        tracing::warn!(
            work = oldest.message.id,
            lane,
            "too many messages wait: dropped"
        );
        self.0.counts.dropped.fetch_add(1, Ordering::Relaxed);
        let outcome = WorkOutcome {
            status: WorkStatus::Dropped,
            error: Some("too many messages waited in this session (messages.queue.cap)".into()),
            ..WorkOutcome::default()
        };
        self.finish_work(&oldest.claim, outcome).await;
    }

    /// Puts before a message how those began that were dropped since the last one that was read.
    /// They are found in the inbox, so a restart forgets none. What others said is theirs, and
    /// external here.
    pub(super) async fn tell_dropped(
        &self,
        item: &WorkItem,
        before: Option<&MessageOutcome>,
        message: &mut InboundMessage,
    ) -> Result<(), StoreError> {
        let agents = self.agents();
        let queue = &agents.loaded().config.messages.queue;
        if queue.drop != QueueDrop::Summarize || channel_name(&item.source).is_none() {
            return Ok(());
        }
        let is_dropped = |outcome: Option<&MessageOutcome>| {
            outcome.is_some_and(|end| WorkOutcome::read(&end.text).status == WorkStatus::Dropped)
        };
        if !is_dropped(before) {
            return Ok(());
        }
        let was_dropped = |message: &InboxMessage| is_dropped(message.outcome.as_ref());
        let before = self.0.store.finished_before(&item.id, MOST_DROPPED).await?;
        let mut dropped: Vec<WorkItem> = before
            .into_iter()
            .take_while(was_dropped)
            .filter_map(|message| {
                let item = serde_json::from_str(&message.body);
                ok_or_warn!(item, "a dropped message cannot be read", id = %message.id)
            })
            .collect();
        dropped.reverse();
        let speaker = speaker_name(&item.source);
        let (own, others): (Vec<&WorkItem>, Vec<&WorkItem>) = dropped
            .iter()
            .partition(|dropped| speaker_name(&dropped.source) == speaker);
        let lines = |items: &[&WorkItem]| {
            let lines = items.iter().map(|item| {
                let told: String = item.text.chars().take(TOLD_OF_DROPPED).collect();
                format!("- {}", told.replace('\n', " "))
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        if !own.is_empty() {
            let told = DROPPED.trim().trim_end_matches("{text}");
            let told = told.replace("{count}", &own.len().to_string());
            message.text = format!("{}{}", told.replace("{lines}", &lines(&own)), message.text);
        }
        if !others.is_empty() {
            message.external.push(ExternalText {
                source: ExternalSource::Api {
                    name: "messages of others that were dropped; how they began".to_owned(),
                },
                text: lines(&others),
            });
        }
        Ok(())
    }

    /// A message for a session whose turn runs: said into that turn, or it ends the turn.
    pub(super) async fn join_running_turn(&self, item: &WorkItem) -> Result<(), StoreError> {
        let lane = item.lane();
        match self.queue_mode(&item.source) {
            QueueMode::Followup | QueueMode::Collect => Ok(()),
            QueueMode::Interrupt => {
                if self.stop_turn(&lane) {
                    tracing::info!(work = item.id, "ends the turn that runs");
                }
                Ok(())
            }
            QueueMode::Steer => self.steer_in(&lane, item).await,
        }
    }

    /// Takes what waits at the head of the queue into the running turn, where the same one speaks
    /// who began it.
    async fn steer_in(&self, lane: &str, item: &WorkItem) -> Result<(), StoreError> {
        let speaker = speaker_name(&item.source);
        let claim = {
            let running = lock(&self.0.running);
            let lane = running.get(lane);
            let lane = lane.filter(|lane| {
                lane.conversation.is_some() && speaker_name(&lane.source) == speaker
            });
            lane.map(|lane| lane.claim.clone())
        };
        let Some(claim) = claim else { return Ok(()) };
        let next = self.0.store.claim_behind(&claim, self.claim_ask()).await?;
        let Some(next) = next else { return Ok(()) };
        let is_it = next.message.id == item.id;
        let taken = is_it && {
            let mut running = lock(&self.0.running);
            match running.get_mut(lane) {
                Some(lane) if lane.claim == claim => match &lane.conversation {
                    Some(conversation) => {
                        conversation.steer(inbound_of(item));
                        lane.steered.push(next.clone());
                        true
                    }
                    None => false,
                },
                _ => false,
            }
        };
        if taken {
            self.surface_of(item).tell("work.steered", told_of(item));
            self.0.counts.steered.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        // Others wait before it, or the turn has just ended: it comes in its turn.
        self.give_back(next).await;
        Ok(())
    }

    pub(super) async fn give_back(&self, claimed: ClaimedMessage) {
        let back = self.0.store.give_back(&claimed.claim).await;
        if let Some(ClaimState::Lost) = ok_or_warn!(back, "work is not back in its lane") {
            tracing::warn!(work = claimed.message.id, "work is in other hands");
        }
    }

    /// In mode `collect`: what waits behind a message by the same speaker, once nothing came for
    /// `debounceMs`.
    pub(super) async fn collect_behind(
        &self,
        first: &ClaimedMessage,
        item: &WorkItem,
    ) -> Result<Vec<(ClaimedMessage, WorkItem)>, StoreError> {
        if self.queue_mode(&item.source) != QueueMode::Collect {
            return Ok(Vec::new());
        }
        let speaker = speaker_name(&item.source);
        let lane = item.lane();
        let mut seen = self.0.store.unanswered(Some(&lane)).await?.len();
        if seen < 2 {
            return Ok(Vec::new());
        }
        let debounce = self.debounce(&item.source);
        loop {
            tokio::time::sleep(debounce).await;
            let now = self.0.store.unanswered(Some(&lane)).await?.len();
            if now <= seen {
                break;
            }
            seen = now;
        }
        let mut collected = Vec::new();
        loop {
            let next = self.0.store.claim_behind(&first.claim, self.claim_ask());
            let Some(next) = next.await? else {
                return Ok(collected);
            };
            match serde_json::from_str::<WorkItem>(&next.message.body) {
                Ok(item) if speaker_name(&item.source) == speaker => collected.push((next, item)),
                // Somebody else speaks: what comes after that keeps its place.
                _ => {
                    self.give_back(next).await;
                    return Ok(collected);
                }
            }
        }
    }
}

fn is_announcement(id: &str) -> bool {
    id.starts_with(ANNOUNCEMENTS)
}

/// The channel a person speaks on, as `messages.queue` names it.
fn channel_name(source: &WorkSource) -> Option<&str> {
    match source {
        WorkSource::Sender { channel, .. } => Some(channel),
        WorkSource::Owner { surface } => Some(surface),
        _ => None,
    }
}
