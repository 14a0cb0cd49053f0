//! A job as somebody asks for it, in words: by a command, or by an agent's call.

use chela_core::{AgentId, SessionKey};

use crate::job::{JobOrigin, JobPayload, JobSpec, MissedPolicy, SessionTarget, USUAL_GRACE};
use crate::job_delivery::{DeliveryMode, JobDelivery};
use crate::schedule::{JobSchedule, ScheduleError};
use crate::{DurationError, LocalZone, UnixMillis, ZoneError, parse_duration};

/// What is wanted; what is left out stays as it is, or is as usual.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobRequest {
    pub name: Option<String>,
    pub text: Option<String>,
    pub at: Option<String>,
    pub every: Option<String>,
    pub cron: Option<String>,
    /// For `cron` and for moments without a zone of their own.
    pub zone: Option<String>,
    /// `main`, `isolated`, `current` or a session key.
    pub session: Option<String>,
    /// The text is an event, and not a message.
    pub event: Option<bool>,
    pub model: Option<String>,
    pub timeout_seconds: Option<u64>,
    pub missed: Option<MissedPolicy>,
    pub grace: Option<String>,
    pub retries: Option<u32>,
    pub delivery: Option<JobDelivery>,
}

/// Who asks, and where that is.
#[derive(Debug, Clone)]
pub struct RequestGround {
    pub agent: AgentId,
    pub zone: LocalZone,
    pub now: UnixMillis,
    /// The conversation it is asked in.
    pub session: Option<SessionKey>,
}

/// Why a request cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("say when: one of at, every or cron")]
    NoSchedule,
    #[error("say when in one way: {0} and {1} exclude each other")]
    TwoSchedules(&'static str, &'static str),
    #[error("a zone belongs to `cron` and to `at`, not to `every`")]
    ZoneOfEvery,
    #[error("say what is to be done: the text is empty")]
    NoText,
    #[error("a job's text is at most {most} characters long; this one has {count}")]
    LongText { count: usize, most: usize },
    #[error("there is no current conversation here: name one, or use main or isolated")]
    NoCurrent,
    #[error("`{key}` is not a conversation a job may speak in: {why}")]
    Session { key: String, why: String },
    #[error("say where to: a webhook needs a URL")]
    NoWebhookUrl,
    #[error("say where to: `session` needs a session key")]
    NoDeliverySession,
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error(transparent)]
    Zone(#[from] ZoneError),
    #[error(transparent)]
    Duration(#[from] DurationError),
}

const MOST_TEXT: usize = 8_000;

impl JobRequest {
    /// A new job.
    pub fn to_spec(
        &self,
        ground: &RequestGround,
        made: JobOrigin,
    ) -> Result<JobSpec, RequestError> {
        let schedule = self.schedule(ground)?.ok_or(RequestError::NoSchedule)?;
        let text = self.text()?.ok_or(RequestError::NoText)?;
        let session = match self.session(ground)? {
            Some(session) => session,
            None if self.event == Some(true) => SessionTarget::Main,
            None => match &ground.session {
                Some(key) => SessionTarget::Named { key: key.clone() },
                None => SessionTarget::Main,
            },
        };
        let name = self.name.clone().unwrap_or_else(|| first_words(&text));
        Ok(JobSpec {
            name,
            agent: ground.agent.clone(),
            schedule,
            session,
            payload: match self.event {
                Some(true) => JobPayload::Event { text },
                _ => JobPayload::Message { text },
            },
            model: self.model.clone(),
            timeout_seconds: self.timeout_seconds,
            missed: self.missed.unwrap_or_default(),
            grace: self.grace()?.unwrap_or(USUAL_GRACE),
            retries: self.retries,
            delivery: self.delivery(ground)?,
            made,
        })
    }

    /// A job with what is asked for changed. Words that are new are trusted as far as whoever
    /// wrote them.
    pub fn change(
        &self,
        spec: &JobSpec,
        ground: &RequestGround,
        trust: chela_core::Trust,
    ) -> Result<JobSpec, RequestError> {
        let mut changed = spec.clone();
        // Its name is told with it.
        if let Some(name) = &self.name {
            changed.name.clone_from(name);
            changed.made.trust = spec.made.trust.join(trust);
        }
        if let Some(schedule) = self.schedule(ground)? {
            changed.schedule = schedule;
        }
        let text = self.text()?;
        if text.is_some() || self.event.is_some() {
            let is_event = self
                .event
                .unwrap_or(matches!(spec.payload, JobPayload::Event { .. }));
            let text = text.unwrap_or_else(|| spec.payload.text().to_owned());
            changed.payload = match is_event {
                true => JobPayload::Event { text },
                false => JobPayload::Message { text },
            };
            changed.made.trust = spec.made.trust.join(trust);
        }
        if let Some(session) = self.session(ground)? {
            changed.session = session;
        }
        if let Some(model) = &self.model {
            changed.model = (model != "default").then(|| model.clone());
        }
        changed.timeout_seconds = self.timeout_seconds.or(changed.timeout_seconds);
        changed.missed = self.missed.unwrap_or(changed.missed);
        changed.grace = self.grace()?.unwrap_or(changed.grace);
        changed.retries = self.retries.or(changed.retries);
        changed.delivery = self.delivery(ground)?.or(changed.delivery);
        Ok(changed)
    }

    fn schedule(&self, ground: &RequestGround) -> Result<Option<JobSchedule>, RequestError> {
        let given = [
            ("at", &self.at),
            ("every", &self.every),
            ("cron", &self.cron),
        ];
        let mut given = given.iter().filter(|(_, text)| text.is_some());
        if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
            return Err(RequestError::TwoSchedules(one, other));
        }
        let zone = match &self.zone {
            Some(zone) => LocalZone::named(zone)?,
            None => ground.zone.clone(),
        };
        Ok(match (&self.at, &self.every, &self.cron) {
            (Some(at), _, _) => Some(JobSchedule::read_at(at, &zone, ground.now)?),
            (_, Some(_), _) if self.zone.is_some() => return Err(RequestError::ZoneOfEvery),
            (_, Some(every), _) => Some(JobSchedule::read_every(every, ground.now)?),
            (_, _, Some(cron)) => Some(JobSchedule::read_cron(cron, &zone)?),
            (None, None, None) => None,
        })
    }

    fn text(&self) -> Result<Option<String>, RequestError> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let text = text.trim();
        let count = text.chars().count();
        match count {
            0 => Err(RequestError::NoText),
            count if count > MOST_TEXT => Err(RequestError::LongText {
                count,
                most: MOST_TEXT,
            }),
            _ => Ok(Some(text.to_owned())),
        }
    }

    fn session(&self, ground: &RequestGround) -> Result<Option<SessionTarget>, RequestError> {
        let Some(wanted) = self.session.as_deref().map(str::trim) else {
            return Ok(None);
        };
        Ok(Some(match wanted {
            "main" => SessionTarget::Main,
            "isolated" => SessionTarget::Isolated,
            "current" => SessionTarget::Named {
                key: ground.session.clone().ok_or(RequestError::NoCurrent)?,
            },
            key => SessionTarget::Named {
                key: session_key(key, ground)?,
            },
        }))
    }

    fn delivery(&self, ground: &RequestGround) -> Result<Option<JobDelivery>, RequestError> {
        let Some(delivery) = &self.delivery else {
            return Ok(None);
        };
        let to = delivery.to.as_deref().map(str::trim);
        let to = to.filter(|to| !to.is_empty());
        match (delivery.mode, delivery.channel.as_deref(), to) {
            (DeliveryMode::Webhook, _, None) => return Err(RequestError::NoWebhookUrl),
            (DeliveryMode::Announce, Some("session"), None) => {
                return Err(RequestError::NoDeliverySession);
            }
            (DeliveryMode::Announce, Some("session"), Some(key)) => {
                session_key(key, ground)?;
            }
            _ => {}
        }
        Ok(Some(delivery.clone()))
    }

    fn grace(&self) -> Result<Option<u64>, RequestError> {
        Ok(match &self.grace {
            Some(grace) => Some(parse_duration(grace)?),
            None => None,
        })
    }
}

/// A conversation of this agent that people talk in: the runtime's own are not for jobs.
fn session_key(text: &str, ground: &RequestGround) -> Result<SessionKey, RequestError> {
    let refused = |why: &str| RequestError::Session {
        key: text.to_owned(),
        why: why.to_owned(),
    };
    let text = text.strip_prefix("session:").unwrap_or(text);
    let whole = match text.starts_with("agent:") {
        true => text.to_owned(),
        false => format!("agent:{}:{text}", ground.agent),
    };
    let key = SessionKey::parse(&whole).map_err(|error| refused(&error.to_string()))?;
    if key.agent.as_deref() != Some(ground.agent.as_str()) {
        return Err(refused("it belongs to another agent"));
    }
    match key.is_reserved() {
        true => Err(refused("only the runtime opens such conversations")),
        false => Ok(key),
    }
}

fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(4).collect();
    words.join(" ")
}
