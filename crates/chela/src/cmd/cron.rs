//! `chela cron …`: reminders and recurring jobs.

mod show;

use std::sync::Arc;

use chela_clock::{
    BookError, JobBook, JobDelivery, JobMaker, JobOrigin, JobRequest, JobRow, LocalZone,
    MissedPolicy, RequestError, RequestGround, UnixMillis,
};
use chela_core::{AgentId, Host, Trust};
use chela_gateway::clock::{HandRunError, RunPlace, run_job_by_hand};
use chela_gateway::{DeliveryRefused, RunningGateway, WorkStatus, check_job_delivery};
use chela_model::Models;
use chela_store::SqliteRuntimeStore;
use serde_json::json;

use super::{CommandOutcome, CommandSetup};
use crate::cli::cron::{CronCommand, JobArgs, MissedName};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: CronCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    let desk = CronDesk { setup };
    match command {
        CronCommand::Add {
            text,
            job,
            agent,
            json,
        } => {
            let agent = desk.setup.agent(agent.agent.as_deref())?;
            let request = JobRequest {
                text: Some(text),
                ..request_of(&job)
            };
            desk.add(screen, agent, &request, json)
        }
        CronCommand::List { json } => desk.list(screen, json),
        CronCommand::Show { job, json } => desk.show(screen, &job, json),
        CronCommand::Edit {
            job,
            text,
            change,
            json,
        } => {
            let request = JobRequest {
                text,
                ..request_of(&change)
            };
            desk.edit(screen, &job, &request, json)
        }
        CronCommand::Run { job, json } => desk.run(screen, &job, json),
        CronCommand::Rm { jobs, json } => desk.remove(screen, &jobs, json),
        CronCommand::Runs { job, limit, json } => desk.runs(screen, job.as_deref(), limit, json),
        CronCommand::Pause { job, resume, json } => desk.pause(screen, &job, resume, json),
    }
}

struct CronDesk {
    setup: CommandSetup,
}

impl CronDesk {
    fn add(
        &self,
        screen: &mut Screen,
        agent: AgentId,
        request: &JobRequest,
        json: bool,
    ) -> CommandOutcome {
        let book = self.book()?;
        let ground = self.ground(agent);
        let made = JobOrigin {
            by: JobMaker::Owner,
            at: ground.now,
            session: None,
            trust: Trust::Operator,
            context: Vec::new(),
        };
        let mut spec = request.to_spec(&ground, made)?;
        self.check_model(request)?;
        if request.name.is_none() {
            spec.name = book.free_name(&spec.name)?;
        }
        check_job_delivery(&self.setup.loaded, &spec.agent, &spec.settled_delivery())?;
        let entropy = self.setup.host.entropy.as_ref();
        let row = book.add(spec, entropy, ground.now)?;
        self.tell_changed(screen, "Added", &row, json)
    }

    /// A model nobody knows would only be missed when the job is due.
    fn check_model(&self, request: &JobRequest) -> Result<(), CommandError> {
        if let Some(model) = &request.model {
            Models::of(&self.setup.host, &self.setup.loaded).resolve(model)?;
        }
        Ok(())
    }

    fn edit(
        &self,
        screen: &mut Screen,
        job: &str,
        request: &JobRequest,
        json: bool,
    ) -> CommandOutcome {
        let book = self.book()?;
        let row = book.find(job)?;
        let ground = self.ground(row.spec.agent.clone());
        let mut changed = request.change(&row.spec, &ground, Trust::Operator)?;
        self.check_model(request)?;
        // Words the owner typed anew are the owner's, whoever made the job.
        if request.text.is_some() {
            changed.made = JobOrigin {
                by: JobMaker::Owner,
                at: ground.now,
                session: None,
                trust: Trust::Operator,
                context: Vec::new(),
            };
        }
        check_job_delivery(
            &self.setup.loaded,
            &changed.agent,
            &changed.settled_delivery(),
        )?;
        let row = book.edit(&row, changed, ground.now)?;
        self.tell_changed(screen, "Changed", &row, json)
    }

    fn pause(&self, screen: &mut Screen, job: &str, resume: bool, json: bool) -> CommandOutcome {
        let book = self.book()?;
        let row = book.find(job)?;
        let (deed, row) = match resume {
            true => ("Switched on", book.resume(&row, self.now())?),
            false => ("Paused", book.pause(&row)?),
        };
        self.tell_changed(screen, deed, &row, json)
    }

    fn remove(&self, screen: &mut Screen, jobs: &[String], json: bool) -> CommandOutcome {
        let book = self.book()?;
        let rows: Result<Vec<JobRow>, BookError> = jobs.iter().map(|job| book.find(job)).collect();
        let rows = rows?;
        for row in &rows {
            book.remove(row, self.now())?;
        }
        if json {
            let removed: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            screen.json(&json!({ "removed": removed }))?;
            return Ok(CommandExit::Fine);
        }
        for row in &rows {
            screen.line(format!(
                "Removed {}. `chela cron runs` still has its runs.",
                row.spec.name
            ))?;
        }
        Ok(CommandExit::Fine)
    }

    fn run(&self, screen: &mut Screen, job: &str, json: bool) -> CommandOutcome {
        let row = self.kept_book()?.find(job)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let loaded = Arc::new(self.setup.loaded.clone());
        let ran = runtime.block_on(run_job_by_hand(&self.setup.host, &loaded, &row.id))?;
        let outcome = &ran.outcome;
        let has_failed = matches!(outcome.status, WorkStatus::Failed | WorkStatus::Dropped);
        if json {
            screen.json(&json!({
                "job": row.id, "name": row.spec.name,
                "status": outcome.status, "reply": outcome.reply, "error": outcome.error,
                "model": outcome.model, "inputTokens": outcome.input_tokens,
                "outputTokens": outcome.output_tokens,
                "by": match ran.by { RunPlace::Gateway => "gateway", RunPlace::Here => "here" },
            }))?;
        } else if !has_failed {
            match outcome.reply.is_empty() {
                true => screen.line("(nothing to say)")?,
                false => screen.line(&outcome.reply)?,
            }
        }
        match has_failed {
            false => Ok(CommandExit::Fine),
            true if json => Ok(CommandExit::Findings),
            true => {
                let why = outcome.error.as_deref().unwrap_or("no reason was given");
                Err(
                    CommandError::new(format!("{} failed: {why}", row.spec.name)).hint(format!(
                        "`chela cron runs {}` has what is known",
                        row.spec.name
                    )),
                )
            }
        }
    }

    /// To look: nothing is made where there is nothing.
    fn kept_book(&self) -> Result<JobBook, CommandError> {
        let path = SqliteRuntimeStore::path_in(&self.setup.host.state_dir());
        let kept = SqliteRuntimeStore::open_existing(&path).map_err(CommandError::new)?;
        let store = match kept {
            Some(kept) => kept,
            None => SqliteRuntimeStore::open_in_memory().map_err(CommandError::new)?,
        };
        Ok(JobBook::new(Arc::new(store)))
    }

    fn book(&self) -> Result<JobBook, CommandError> {
        let path = SqliteRuntimeStore::path_in(&self.setup.host.state_dir());
        let store = SqliteRuntimeStore::open(&path).map_err(CommandError::new)?;
        Ok(JobBook::new(Arc::new(store)))
    }

    fn ground(&self, agent: AgentId) -> RequestGround {
        RequestGround {
            zone: self.zone(&agent),
            agent,
            now: self.now(),
            session: None,
        }
    }

    fn zone(&self, agent: &AgentId) -> LocalZone {
        let view = self.setup.loaded.agent(agent);
        let own = view.and_then(|view| view.user_timezone.value);
        let machine = self.setup.host.facts.time_zone.as_deref();
        LocalZone::first_of([own.as_deref(), machine])
    }

    fn now(&self) -> UnixMillis {
        self.setup.host.unix_millis()
    }

    /// What it takes for a job to run at all.
    fn running_word(&self) -> Option<String> {
        if !self.setup.loaded.config.cron.enabled {
            return Some("Jobs are switched off: cron.enabled is false.".to_owned());
        }
        match RunningGateway::find(&self.setup.host) {
            Some(_) => None,
            None => Some(
                "Jobs run only while the gateway does, and none runs now: `chela gateway run` \
                 starts one, `chela gateway install` keeps one."
                    .to_owned(),
            ),
        }
    }
}

fn request_of(args: &JobArgs) -> JobRequest {
    JobRequest {
        name: args.name.clone(),
        text: None,
        at: args.at.clone(),
        every: args.every.clone(),
        cron: args.cron.clone(),
        zone: args.tz.clone(),
        session: args.session.clone(),
        event: args.event.then_some(true),
        model: args.model.clone(),
        timeout_seconds: args.timeout,
        missed: args.missed.map(|missed| match missed {
            MissedName::Skip => MissedPolicy::Skip,
            MissedName::Once => MissedPolicy::Once,
            MissedName::All => MissedPolicy::All,
        }),
        grace: args.grace.clone(),
        retries: args.retries,
        delivery: args.deliver.as_deref().map(|to| JobDelivery {
            best_effort: args.best_effort,
            ..JobDelivery::of_word(to)
        }),
    }
}

impl From<BookError> for CommandError {
    fn from(error: BookError) -> Self {
        match &error {
            BookError::Unknown(_) | BookError::Ambiguous { .. } => {
                Self::new(error).hint("`chela cron list` shows them")
            }
            BookError::NameTaken(_) => Self::usage(error)
                .hint("choose another --name, or change it with `chela cron edit`"),
            _ => Self::new(error),
        }
    }
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        match error {
            // A model gives these as arguments, a person as options.
            RequestError::NoSchedule => Self::usage("say when: one of --at, --every or --cron")
                .hint(
                    "such as --at 2h, --every 1d or --cron '0 8 * * *'; `chela cron add --help` \
                     says more",
                ),
            error => Self::usage(error).hint("`chela cron add --help` shows how it is written"),
        }
    }
}

impl From<DeliveryRefused> for CommandError {
    fn from(error: DeliveryRefused) -> Self {
        Self::usage(error).hint("`chela cron add --help` says where answers can go")
    }
}

impl From<HandRunError> for CommandError {
    fn from(error: HandRunError) -> Self {
        Self::new(error)
    }
}
