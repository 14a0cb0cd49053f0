//! Jobs and runs, for people and for scripts.

use chela_clock::{JobMaker, JobRow, JobSchedule, RunRow, duration_in_words, moment_in_words};
use chela_core::{Trust, grouped};
use chela_ledger::dollars;
use serde_json::{Value, json};

use super::CronDesk;
use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::Screen;

/// The longest text of a job in a list.
const MOST_TEXT: usize = 60;

impl CronDesk {
    /// A job that was made or changed, and what it takes for it to run.
    pub(super) fn tell_changed(
        &self,
        screen: &mut Screen,
        deed: &str,
        row: &JobRow,
        json: bool,
    ) -> CommandOutcome {
        let word = self.running_word().filter(|_| row.enabled);
        if json {
            let mut told = self.row_json(row);
            if let Some(told) = told.as_object_mut() {
                told.insert("notice".to_owned(), json!(word));
            }
            screen.json(&told)?;
            return Ok(CommandExit::Fine);
        }
        let zone = self.zone(&row.spec.agent);
        screen.line(format!(
            "{deed} {} ({}): {}.",
            clean_line(&row.spec.name),
            row.id,
            row.spec.schedule.in_words(&zone)
        ))?;
        if let Some(next) = row.next.filter(|_| row.enabled) {
            screen.line(format!("Next: {}.", moment_in_words(next, &zone)))?;
        }
        if let Some(word) = word {
            let missed = format!(
                " What is missed meanwhile: {}, within {}.",
                row.spec.missed.as_str(),
                duration_in_words(row.spec.grace)
            );
            screen.line(format!("{word}{missed}"))?;
        }
        Ok(CommandExit::Fine)
    }

    pub(super) fn list(&self, screen: &mut Screen, json: bool) -> CommandOutcome {
        let rows = self.kept_book()?.list()?;
        if json {
            let jobs: Vec<Value> = rows.iter().map(|row| self.row_json(row)).collect();
            screen.json(&json!({ "jobs": jobs, "notice": self.running_word() }))?;
            return Ok(CommandExit::Fine);
        }
        if rows.is_empty() {
            screen.line("There are no jobs. `chela cron add --help` shows how to make one.")?;
            return Ok(CommandExit::Fine);
        }
        let lines: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let zone = self.zone(&row.spec.agent);
                let text: String = row.spec.payload.text().chars().take(MOST_TEXT).collect();
                vec![
                    clean_line(&row.spec.name),
                    row.id.clone(),
                    row.spec.schedule.in_words(&zone),
                    self.standing(row),
                    clean_line(&text),
                ]
            })
            .collect();
        screen.table("", &lines)?;
        if let Some(word) = self.running_word() {
            screen.line(word)?;
        }
        Ok(CommandExit::Fine)
    }

    pub(super) fn show(&self, screen: &mut Screen, job: &str, json: bool) -> CommandOutcome {
        let row = self.kept_book()?.find(job)?;
        if json {
            screen.json(&self.row_json(&row))?;
            return Ok(CommandExit::Fine);
        }
        let zone = self.zone(&row.spec.agent);
        let spec = &row.spec;
        let by = match (spec.made.by, spec.made.trust < Trust::Agent) {
            (JobMaker::Owner, _) if spec.has_owners_words() => "you",
            (JobMaker::Owner, false) => "you; its words were changed by the agent",
            (JobMaker::Owner, true) => {
                "you; its words were changed by the agent, after it had read untrusted content: they \
                 give no orders"
            }
            (JobMaker::Agent, false) => "the agent",
            (JobMaker::Agent, true) => {
                "the agent, after it had read untrusted content: its text gives no orders"
            }
        };
        let made = format!("{} by {by}", moment_in_words(spec.made.at, &zone));
        let model = spec.model.as_deref().unwrap_or("the agent's own");
        let missed = format!(
            "{}, within {}",
            spec.missed.as_str(),
            duration_in_words(spec.grace)
        );
        let mut lines = vec![
            ("job", format!("{} ({})", spec.name, row.id)),
            ("agent", spec.agent.to_string()),
            ("when", spec.schedule.in_words(&zone)),
            ("state", self.standing(&row)),
            ("in", spec.session.in_words()),
            ("answers to", spec.settled_delivery().in_words()),
            ("model", model.to_owned()),
            ("missed", missed),
            ("made", made),
        ];
        if let Some(last) = &row.state.last {
            let why = last.why.as_deref().map(|why| format!(": {why}"));
            lines.push((
                "last",
                format!(
                    "{} {}{}",
                    moment_in_words(last.planned, &zone),
                    last.status.as_str(),
                    why.unwrap_or_default()
                ),
            ));
        }
        let lines: Vec<Vec<String>> = lines
            .into_iter()
            .map(|(name, value)| vec![name.to_owned(), clean_line(&value)])
            .collect();
        screen.table("", &lines)?;
        screen.line("")?;
        screen.line(chela_core::sanitize::literal(spec.payload.text()))?;
        let next = match row.enabled {
            true => self.next_moments(&row),
            false => Vec::new(),
        };
        if !next.is_empty() {
            screen.line(format!("\nNext: {}", next.join("; ")))?;
        }
        Ok(CommandExit::Fine)
    }

    pub(super) fn runs(
        &self,
        screen: &mut Screen,
        job: Option<&str>,
        limit: usize,
        json: bool,
    ) -> CommandOutcome {
        let book = self.kept_book()?;
        let known = job.map(|job| book.find(job));
        // One that is gone is still on record by its id.
        let id = match (&known, job) {
            (Some(Ok(row)), _) => Some(row.id.clone()),
            (_, job) => job.map(str::to_owned),
        };
        let runs = book.runs(id.as_deref(), limit)?;
        if let (true, Some(Err(unknown))) = (runs.is_empty(), known) {
            return Err(unknown.into());
        }
        if json {
            let runs: Vec<Value> = runs.iter().map(run_json).collect();
            screen.json(&json!({ "runs": runs }))?;
            return Ok(CommandExit::Fine);
        }
        if runs.is_empty() {
            screen.line("Nothing has run yet.")?;
            return Ok(CommandExit::Fine);
        }
        let zone = self.zone(&self.setup.loaded.default_agent());
        let lines: Vec<Vec<String>> = runs
            .iter()
            .map(|run| {
                let tokens = run.note.input_tokens + run.note.output_tokens;
                let told = run.note.why.as_deref().unwrap_or(&run.note.reply);
                let told: String = told.chars().take(MOST_TEXT).collect();
                vec![
                    clean_line(&run.note.name),
                    moment_in_words(run.planned, &zone),
                    run.note.status.as_str().to_owned(),
                    match tokens {
                        0 => String::new(),
                        tokens => {
                            let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
                            format!("{} tokens", grouped(tokens))
                        }
                    },
                    run.note.micro_dollars.map_or(String::new(), dollars),
                    clean_line(&told),
                ]
            })
            .collect();
        screen.table("", &lines)?;
        Ok(CommandExit::Fine)
    }

    fn standing(&self, row: &JobRow) -> String {
        let zone = self.zone(&row.spec.agent);
        match (&row.state.end, row.next) {
            (Some(end), _) => end.in_words(),
            (None, Some(next)) => format!("next {}", moment_in_words(next, &zone)),
            (None, None) => "under way".to_owned(),
        }
    }

    /// The planned moment and those after it: looking plans nothing.
    fn next_moments(&self, row: &JobRow) -> Vec<String> {
        let zone = self.zone(&row.spec.agent);
        let Some(next) = row.next else {
            return Vec::new();
        };
        let after = match row.spec.schedule {
            JobSchedule::At { .. } => Vec::new(),
            _ => row.spec.schedule.preview(next, 2),
        };
        std::iter::once(next)
            .chain(after)
            .map(|moment| moment_in_words(moment, &zone))
            .collect()
    }

    fn row_json(&self, row: &JobRow) -> Value {
        let zone = self.zone(&row.spec.agent);
        json!({
            "id": row.id,
            "name": row.spec.name,
            "agent": row.spec.agent,
            "schedule": row.spec.schedule,
            "when": row.spec.schedule.in_words(&zone),
            "enabled": row.enabled,
            "next": row.next.filter(|_| row.enabled),
            "nextInWords": row.next.filter(|_| row.enabled).map(|next| moment_in_words(next, &zone)),
            "session": row.spec.session.in_words(),
            "delivery": row.spec.settled_delivery(),
            "text": row.spec.payload.text(),
            "model": row.spec.model,
            "missed": row.spec.missed,
            "graceMs": row.spec.grace,
            "made": row.spec.made,
            "state": row.state,
            "end": row.state.end.as_ref().map(|end| end.in_words()),
        })
    }
}

fn run_json(run: &RunRow) -> Value {
    json!({
        "job": run.job,
        "planned": run.planned,
        "begun": run.begun,
        "ended": run.ended,
        "tries": run.tries,
        "run": run.note,
    })
}
