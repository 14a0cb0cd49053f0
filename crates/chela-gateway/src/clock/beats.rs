//! Heartbeats: looked at on time, and asked of a model only when there is something to ask.

use std::sync::Arc;

use chela_agent::heartbeat_ask::heartbeat_session;
use chela_agent::prelude::{AgentId, Agents, SessionKey};
use chela_clock::{
    BeatAnswer, BeatAsk, BeatFacts, BeatSettings, BeatState, BeatVerdict, HeartbeatChecklist,
    JobSchedule, LocalZone, RunNote, RunStatus, judge_beat,
};
use chela_config::AgentView;
use chela_core::ok_or_warn;
use chela_store::{
    JobAdvance, JobChanged, JobPlan, JobRecord, JobStore, KnownRevision, MessageOutcome,
    MessageStanding, NewMessage, OccurrenceChange, OccurrenceStep, OpenOccurrence, StoreError,
};

use super::beat_settings::{beat_settings, owner_zone};
use crate::lanes::WorkLanes;
use crate::work_item::{
    DeliveryTarget, WorkItem, WorkOptions, WorkOutcome, WorkSource, WorkStatus,
};

/// What an agent's heartbeat is kept under.
pub fn beat_id(agent: &AgentId) -> String {
    format!("heartbeat:{agent}")
}

const BEATS: &str = "heartbeat:";

/// One look at the heartbeats of all agents; says how many models are to be asked.
pub(super) async fn tick_beats(lanes: &WorkLanes, now: u64) -> Result<usize, StoreError> {
    let (agents, store) = (lanes.agents(), lanes.store().as_ref());
    let records = JobStore::list(store).await?;
    let open = store.open_occurrences().await?;
    let mut asked = 0;
    let mut wanted = Vec::new();
    for agent in agents.loaded().agents() {
        let Some(view) = agents.loaded().agent(&agent) else {
            continue;
        };
        let Some(settings) = beat_settings(&view) else {
            continue;
        };
        let id = beat_id(&agent);
        wanted.push(id.clone());
        let known = records.iter().find(|record| record.plan.id == id);
        let beat = AgentBeat {
            agents: &agents,
            store,
            view: &view,
            settings,
            zone: owner_zone(&agents, &view),
            now,
        };
        let record = match known {
            Some(record) => beat.settle(record, &open).await?,
            None => None,
        };
        asked += match record {
            Some(record) => beat.look(record, lanes.is_busy(&agent)).await?,
            None => beat.plan_first(known).await?,
        };
    }
    for record in &records {
        let id = &record.plan.id;
        if id.starts_with(BEATS) && !wanted.contains(id) {
            store.remove(id, removed(now)).await?;
        }
    }
    Ok(asked)
}

fn removed(now: u64) -> MessageOutcome {
    MessageOutcome {
        text: RunNote::new("heartbeat", RunStatus::Removed).to_text(),
        at: now,
    }
}

/// The heartbeat of one agent at one moment.
pub struct AgentBeat<'a> {
    pub agents: &'a Arc<Agents>,
    pub store: &'a dyn JobStore,
    pub view: &'a AgentView,
    pub settings: BeatSettings,
    pub zone: LocalZone,
    pub now: u64,
}

impl std::fmt::Debug for AgentBeat<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBeat")
            .field("agent", &self.view.id)
            .finish_non_exhaustive()
    }
}

impl AgentBeat<'_> {
    /// Whether a model would be asked now, and about what. Changes nothing.
    pub async fn judge(&self, state: &BeatState, is_busy: bool) -> BeatVerdict {
        let body = self.agents.heartbeat_body(&self.view.id);
        let checklist = body.as_deref().map(HeartbeatChecklist::read);
        let facts = BeatFacts {
            now: self.now,
            zone: &self.zone,
            settings: &self.settings,
            checklist: checklist.as_ref(),
            is_busy,
            state,
        };
        // Whether a condition holds is looked at only where everything else speaks for a call.
        let mut asked = Vec::new();
        let verdict = judge_beat(&facts, |task| {
            asked.extend(
                task.condition
                    .clone()
                    .map(|command| (task.name.clone(), command)),
            );
            true
        });
        if asked.is_empty() || matches!(verdict, BeatVerdict::Skip(_)) {
            return verdict;
        }
        let mut unmet = Vec::new();
        for (task, command) in asked {
            let holds = self.agents.heartbeat_condition(&self.view.id, &command);
            let holds = ok_or_warn!(holds.await, "a condition cannot be looked at");
            if holds != Some(true) {
                unmet.push(task);
            }
        }
        judge_beat(&facts, |task| !unmet.contains(&task.name))
    }

    /// The first beat comes a pause after heartbeats were switched on, or their pace was changed.
    async fn plan_first(&self, known: Option<&JobRecord>) -> Result<usize, StoreError> {
        let every = self.settings.every;
        let schedule = JobSchedule::Every {
            every,
            anchor: self.now,
        };
        let plan = JobPlan {
            id: beat_id(&self.view.id),
            spec: serde_json::to_string(&schedule).unwrap_or_default(),
            next: self.now.checked_add(every),
            enabled: true,
            state: known.map_or("{}".to_owned(), |known| known.plan.state.clone()),
        };
        let revision = known.map_or(KnownRevision::New, |known| {
            KnownRevision::At(known.revision)
        });
        self.store.put(plan, revision).await?;
        Ok(0)
    }

    /// Takes in what came of the beat before. `None` when the pace is another one now.
    async fn settle(
        &self,
        record: &JobRecord,
        open: &[OpenOccurrence],
    ) -> Result<Option<JobRecord>, StoreError> {
        let mut record = record.clone();
        let id = record.plan.id.clone();
        for one in open.iter().filter(|one| one.record.job == id) {
            let outcome = match &one.message {
                MessageStanding::Waits => continue,
                MessageStanding::Finished(outcome) => WorkOutcome::read(&outcome.text),
                MessageStanding::None | MessageStanding::Forgotten => {
                    WorkOutcome::failed("nobody knows what came of it")
                }
            };
            let (answer, status) = match outcome.status {
                WorkStatus::Silent => (BeatAnswer::AllClear, RunStatus::Silent),
                WorkStatus::Answered => (BeatAnswer::Alert, RunStatus::Ok),
                WorkStatus::Stopped => (BeatAnswer::Failed, RunStatus::Stopped),
                WorkStatus::Failed | WorkStatus::Dropped => (BeatAnswer::Failed, RunStatus::Failed),
            };
            let mut state = read_state(&record);
            state.end(answer);
            let note = RunNote {
                status,
                why: outcome.error.clone(),
                reply: outcome.reply.clone(),
                model: outcome.model.clone(),
                input_tokens: outcome.input_tokens,
                output_tokens: outcome.output_tokens,
                ..RunNote::read(&one.record.note)
            };
            let change = OccurrenceChange::End {
                note: note.to_text(),
            };
            let next = record.plan.next;
            self.advance(&mut record, &state, next, one.record.planned, change)
                .await?;
        }
        let every = self.settings.every;
        let is_same = matches!(schedule_of(&record), Some(JobSchedule::Every { every: known, .. }) if known == every);
        Ok(is_same.then_some(record))
    }

    /// Decides about a beat that is due.
    async fn look(&self, mut record: JobRecord, is_busy: bool) -> Result<usize, StoreError> {
        let Some(schedule) = schedule_of(&record) else {
            return Ok(0);
        };
        let too_far = self
            .now
            .saturating_add(self.settings.every.saturating_mul(2));
        let planned = match record.plan.next {
            Some(next) if next <= self.now => schedule.last_until(self.now).unwrap_or(next),
            // The clock was set back.
            Some(next) if next > too_far => return self.plan_first(Some(&record)).await,
            _ => return Ok(0),
        };
        let next = schedule.next_after(self.now);
        let mut state = read_state(&record);
        match self.judge(&state, is_busy).await {
            BeatVerdict::Skip(skip) => {
                tracing::debug!(agent = %self.view.id, why = skip.in_words(), "no model is asked");
                let note = RunNote {
                    why: Some(skip.in_words().to_owned()),
                    ..RunNote::new("heartbeat", RunStatus::Skipped)
                };
                let change = OccurrenceChange::End {
                    note: note.to_text(),
                };
                self.advance(&mut record, &state, next, planned, change)
                    .await?;
                Ok(0)
            }
            BeatVerdict::Ask(ask) => {
                let Some(message) = self.message(&ask, planned) else {
                    return Ok(0);
                };
                let note = RunNote {
                    why: Some(ask.in_words()),
                    session: Some(self.session().to_string()),
                    ..RunNote::new("heartbeat", RunStatus::Running)
                };
                state.begin(ask, self.zone.day(self.now), self.now);
                let change = OccurrenceChange::Send {
                    message,
                    note: note.to_text(),
                };
                let sent = self
                    .advance(&mut record, &state, next, planned, change)
                    .await?;
                Ok(usize::from(sent == JobChanged::Changed))
            }
        }
    }

    fn message(&self, ask: &BeatAsk, planned: u64) -> Option<NewMessage> {
        let id = format!("{}:{planned}", beat_id(&self.view.id));
        let item = ok_or_warn!(self.item(ask, id), "a heartbeat cannot be asked")?;
        ok_or_warn!(
            item.to_message(self.now),
            "a heartbeat cannot be written down"
        )
    }

    /// The work of a beat. HEARTBEAT.md is read by the session itself, with the trust it has: here
    /// are only the operator's words and the names of tasks.
    pub fn item(
        &self,
        ask: &BeatAsk,
        id: String,
    ) -> Result<WorkItem, chela_agent::assemble::AssembleError> {
        let settings = &self.view.heartbeat.value.settings;
        let mut text = self.agents.heartbeat_prompt(&self.view.id)?;
        if !ask.tasks.is_empty() {
            let due = ask.tasks.join(", ");
            text = format!(
                "{}\n\nTasks of HEARTBEAT.md that are due now: {due}.",
                text.trim()
            );
        }
        Ok(WorkItem {
            id,
            agent: self.view.id.clone(),
            session: self.session(),
            source: WorkSource::Heartbeat,
            text: text.trim().to_owned(),
            external: Vec::new(),
            images: Vec::new(),
            delivery: DeliveryTarget::None,
            options: WorkOptions {
                model: settings.model.clone(),
                timeout_seconds: settings.timeout_seconds,
                begin_anew: settings.isolated_session,
                ..WorkOptions::default()
            },
            text_trust: None,
        })
    }

    /// A conversation of its own, beside the main one, unless the operator names another.
    fn session(&self) -> SessionKey {
        let settings = &self.view.heartbeat.value.settings;
        let named = settings
            .session
            .as_deref()
            .filter(|name| *name != "heartbeat");
        let main = SessionKey::main(&self.view.id);
        match named {
            Some("main") => main,
            Some(key) => SessionKey::parse(key).unwrap_or(main),
            None => heartbeat_session(&self.view.id),
        }
    }

    async fn advance(
        &self,
        record: &mut JobRecord,
        state: &BeatState,
        next: Option<u64>,
        planned: u64,
        change: OccurrenceChange,
    ) -> Result<JobChanged, StoreError> {
        let state = serde_json::to_string(state).unwrap_or_default();
        let changed = self
            .store
            .advance(JobAdvance {
                id: record.plan.id.clone(),
                revision: record.revision,
                next,
                enabled: true,
                state: state.clone(),
                steps: vec![OccurrenceStep {
                    planned,
                    at: self.now,
                    change,
                }],
            })
            .await?;
        if changed == JobChanged::Changed {
            record.revision += 1;
            (record.plan.state, record.plan.next) = (state, next);
        }
        Ok(changed)
    }
}

fn schedule_of(record: &JobRecord) -> Option<JobSchedule> {
    ok_or_warn!(
        serde_json::from_str(&record.plan.spec),
        "the pace of a heartbeat cannot be read"
    )
}

/// What is remembered of an agent's beats.
pub fn read_state(record: &JobRecord) -> BeatState {
    let state = serde_json::from_str(&record.plan.state);
    ok_or_warn!(state, "what is known of a heartbeat cannot be read").unwrap_or_default()
}
