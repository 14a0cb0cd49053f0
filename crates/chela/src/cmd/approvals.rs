//! `chela approvals …`: what waits for the owner, and what may happen without asking.

mod calls;

use std::path::PathBuf;

use chela_config::model::{ExecAsk, ExecSecurity};
use chela_core::{AgentId, Host};
use chela_ledger::AuditKind;
use chela_tools::approvals::{
    AgentApprovals, Answer, Document, DocumentError, EVERY_AGENT, Entry, KnownCall, Rules, shown,
};
use serde_json::json;

use super::time::utc;
use super::{Outcome, Setup, noted};
use crate::cli::approvals::{ApprovalsCommand, AskName, Preset, SecurityName, SetArgs, Whose};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, shorten};

pub fn run(host: &Host, screen: &mut Screen, command: ApprovalsCommand) -> Outcome {
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    let desk = Desk {
        file: Document::path(host),
        setup,
    };
    match command {
        ApprovalsCommand::List { agent, json } => desk.list(screen, agent.as_deref(), json),
        ApprovalsCommand::Show { id, json } => desk.show(screen, &id, json),
        ApprovalsCommand::Revoke { id } => desk.revoke(screen, &id),
        ApprovalsCommand::Allow {
            pattern,
            args,
            always,
            whose,
        } => match calls::find(&desk.document()?, &pattern) {
            Some(_) => desk.allow_call(screen, &pattern, always),
            None => desk.allow(screen, pattern, args, &whose),
        },
        ApprovalsCommand::Get { agent, json } => desk.get(screen, agent.as_deref(), json),
        ApprovalsCommand::Set(args) => desk.set(screen, &args),
    }
}

struct Desk {
    setup: Setup,
    file: PathBuf,
}

impl From<DocumentError> for Fail {
    fn from(error: DocumentError) -> Self {
        let hint = match &error {
            DocumentError::Broken { .. } | DocumentError::Version { .. } => {
                "mend the file, or remove it to start with an empty list"
            }
            DocumentError::TooLarge { .. } => "remove it to start with an empty list",
            DocumentError::Read { .. } | DocumentError::Write { .. } => {
                "check the rights of the file and its folder"
            }
        };
        Fail::new(error).hint(hint)
    }
}

impl Desk {
    fn document(&self) -> Result<Document, Fail> {
        Ok(Document::load(&self.file)?)
    }

    /// Changes the document, unless an agent's command is asking.
    fn change(&self, what: &str, change: impl FnOnce(&mut Document)) -> Result<Document, Fail> {
        if self.setup.host.var("CHELA_SHELL").is_some() {
            return Err(Fail::new(
                "approvals are changed by the owner, not by a command of an agent",
            )
            .hint("run it in a terminal of your own"));
        }
        let body = json!({ "change": what, "about": "approvals" });
        noted::change(&self.setup.host, AuditKind::TrustChange, &body);
        Ok(Document::change(&self.file, |document| {
            change(document);
            document.number(&self.setup.host);
        })?)
    }

    fn list(&self, screen: &mut Screen, agent: Option<&str>, json: bool) -> Outcome {
        let document = self.document()?;
        let agent = agent.map(|id| self.setup.agent(Some(id))).transpose()?;
        let wanted = |id: &str| {
            agent
                .as_ref()
                .is_none_or(|agent| id == agent.as_str() || id == EVERY_AGENT)
        };
        let entries: Vec<(&String, &Entry)> = document
            .agents
            .iter()
            .filter(|(id, _)| wanted(id))
            .flat_map(|(id, agent)| agent.allowlist.iter().map(move |entry| (id, entry)))
            .collect();
        let known: Vec<(&String, &KnownCall)> = document
            .agents
            .iter()
            .filter(|(id, _)| wanted(id))
            .flat_map(|(id, agent)| agent.calls.iter().map(move |call| (id, call)))
            .collect();
        if json {
            let waiting = known
                .iter()
                .map(|(agent, call)| json!({ "agent": agent, "call": call }));
            let rows: Vec<_> = waiting
                .chain(
                    entries
                        .iter()
                        .map(|(agent, entry)| json!({ "agent": agent, "entry": entry })),
                )
                .collect();
            screen.json(&rows)?;
            return Ok(Exit::Fine);
        }
        if entries.is_empty() && known.is_empty() {
            screen.line("Nothing waits, and no command is on the list.")?;
            let hint = "`chela approvals allow PROGRAM` adds one; `chela approvals get` says what happens with the rest.";
            screen.paragraph("", hint)?;
            return Ok(Exit::Fine);
        }
        let paint = screen.paint;
        let mut rows: Vec<Vec<String>> = known
            .iter()
            .map(|(agent, call)| calls::row(agent, call, paint))
            .collect();
        rows.extend(entries.iter().map(|(agent, entry)| {
            let used = entry.last_used_at.map(|at| utc(at / 1000));
            let used = used.unwrap_or_else(|| "never used".to_owned());
            vec![
                paint.accent(if entry.id.is_empty() { "-" } else { &entry.id }),
                shown(agent),
                shorten(&command(entry), 60),
                paint.dim(used),
            ]
        }));
        screen.table("", &rows)?;
        Ok(Exit::Fine)
    }

    fn show(&self, screen: &mut Screen, id: &str, json: bool) -> Outcome {
        let document = self.document()?;
        if let Some((agent, call)) = calls::find(&document, id) {
            return self.show_call(screen, (agent, call), json);
        }
        let (agent, entry) = find(&document, id)?;
        if json {
            screen.json(&json!({ "agent": agent, "entry": entry }))?;
            return Ok(Exit::Fine);
        }
        let mut rows = vec![
            vec!["id".to_owned(), shown(&entry.id)],
            vec!["agent".to_owned(), shown(agent)],
            vec!["program".to_owned(), shown(&entry.pattern)],
        ];
        let optional = [
            ("arguments", &entry.arg_pattern),
            ("command", &entry.command),
            ("content", &entry.sha256),
            ("came from", &entry.source),
            ("last found at", &entry.last_resolved_path),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                rows.push(vec![name.to_owned(), shown(value)]);
            }
        }
        if let Some(at) = entry.last_used_at {
            rows.push(vec!["last used".to_owned(), utc(at / 1000)]);
        }
        screen.table("", &rows)?;
        Ok(Exit::Fine)
    }

    fn revoke(&self, screen: &mut Screen, id: &str) -> Outcome {
        if self.revoke_call(screen, id)? {
            return Ok(Exit::Fine);
        }
        find(&self.document()?, id)?;
        let mut revoked = None;
        self.change(&format!("revoke {id}"), |document| {
            revoked = document.revoke(id);
        })?;
        if let Some((agent, entry)) = revoked {
            let (command, agent) = (shorten(&command(&entry), 60), shown(&agent));
            screen.line(format!("Taken back: `{command}` of {agent} asks again."))?;
        }
        Ok(Exit::Fine)
    }

    fn allow(
        &self,
        screen: &mut Screen,
        pattern: String,
        args: Option<String>,
        whose: &Whose,
    ) -> Outcome {
        if pattern.trim().is_empty() {
            return Err(Fail::usage("name a program"));
        }
        if let Some(args) = &args
            && let Err(why) = chela_tools::approvals::check_pattern(args)
        {
            return Err(Fail::usage(format!(
                "--args is no regular expression: {why}"
            )));
        }
        let agent = match whose.every_agent {
            true => EVERY_AGENT.to_owned(),
            false => self.setup.agent(whose.agent.as_deref())?.to_string(),
        };
        let entry = Entry {
            pattern: pattern.trim().to_owned(),
            arg_pattern: args,
            id: self.setup.host.random_hex(4),
            source: Some("owner".to_owned()),
            ..Entry::default()
        };
        let command = command(&entry);
        self.change(&format!("allow `{command}` for {agent}"), |document| {
            document.allow(&agent, entry);
        })?;
        screen.line(format!("`{command}` may run without asking."))?;
        Ok(Exit::Fine)
    }

    fn get(&self, screen: &mut Screen, agent: Option<&str>, json: bool) -> Outcome {
        let document = self.document()?;
        let agent = self.setup.agent(agent)?;
        let config = &self.setup.loaded.config.tools.exec;
        let view = self.setup.loaded.agent(&agent);
        let exec = view
            .as_ref()
            .and_then(|view| view.tools.value.exec.as_ref())
            .unwrap_or(config);
        let rules = Rules::of(exec, &document, &agent);
        let word = |answer| match answer {
            Answer::Run => "run",
            Answer::Ask => "ask",
            Answer::Deny => "deny",
        };
        if json {
            screen.json(&json!({
                "agent": agent,
                "file": self.file,
                "listed": word(rules.listed),
                "unlisted": word(rules.unlisted),
                "nobodyAnswers": rules.fallback,
                "defaults": document.defaults,
                "config": { "mode": exec.mode, "ask": exec.ask, "askFallback": exec.ask_fallback },
            }))?;
            return Ok(Exit::Fine);
        }
        let nobody = match rules.fallback {
            ExecSecurity::Deny => "it does not run",
            ExecSecurity::Allowlist => "it runs if it is on the list",
            ExecSecurity::Full => "it runs",
        };
        let say = |answer| match answer {
            Answer::Run => "runs",
            Answer::Ask => "asks",
            Answer::Deny => "does not run",
        };
        let count = document.allowlist(&agent).count();
        let file = self.setup.host.compact(&self.file);
        screen.table(
            "",
            &[
                vec!["agent".into(), agent.to_string()],
                vec![
                    "on the list".into(),
                    format!("{} ({count})", say(rules.listed)),
                ],
                vec!["anything else".into(), say(rules.unlisted).into()],
                vec!["nobody answers".into(), nobody.into()],
                vec!["document".into(), file],
            ],
        )?;
        Ok(Exit::Fine)
    }

    fn set(&self, screen: &mut Screen, args: &SetArgs) -> Outcome {
        let agent = args
            .agent
            .as_deref()
            .map(|id| self.setup.agent(Some(id)))
            .transpose()?;
        let (security, ask, fallback) = match args.preset {
            Some(Preset::Yolo) => (
                Some(ExecSecurity::Full),
                Some(ExecAsk::Off),
                Some(ExecSecurity::Full),
            ),
            Some(Preset::Cautious) => (
                Some(ExecSecurity::Allowlist),
                Some(ExecAsk::OnMiss),
                Some(ExecSecurity::Deny),
            ),
            Some(Preset::DenyAll) => (
                Some(ExecSecurity::Deny),
                Some(ExecAsk::Off),
                Some(ExecSecurity::Deny),
            ),
            None => (
                args.security.map(security),
                args.ask.map(ask),
                args.ask_fallback.map(security),
            ),
        };
        let whose = agent.as_ref().map_or("every agent", AgentId::as_str);
        self.change(&format!("rules of {whose}"), |document| {
            let limits = match &agent {
                Some(agent) => {
                    let agents = &mut document.agents;
                    let AgentApprovals {
                        security,
                        ask,
                        ask_fallback,
                        ..
                    } = agents.entry(agent.to_string()).or_default();
                    (security, ask, ask_fallback)
                }
                None => {
                    let defaults = &mut document.defaults;
                    (
                        &mut defaults.security,
                        &mut defaults.ask,
                        &mut defaults.ask_fallback,
                    )
                }
            };
            *limits.0 = security.or(*limits.0);
            *limits.1 = ask.or(*limits.1);
            *limits.2 = fallback.or(*limits.2);
        })?;
        self.get(screen, args.agent.as_deref(), false)
    }
}

fn find<'a>(document: &'a Document, id: &str) -> Result<(&'a String, &'a Entry), Fail> {
    document
        .agents
        .iter()
        .flat_map(|(agent, approvals)| approvals.allowlist.iter().map(move |entry| (agent, entry)))
        .find(|(_, entry)| !entry.id.is_empty() && entry.id == id)
        .ok_or_else(|| {
            Fail::new(format!("there is no approval `{}`", shown(id)))
                .hint("`chela approvals list` shows them")
        })
}

/// An entry in one line, safe to print.
fn command(entry: &Entry) -> String {
    match (&entry.command, &entry.arg_pattern) {
        (Some(command), _) => shown(command),
        (None, Some(pattern)) => format!("{} /{}/", shown(&entry.pattern), shown(pattern)),
        (None, None) => format!("{} …", shown(&entry.pattern)),
    }
}

fn security(name: SecurityName) -> ExecSecurity {
    match name {
        SecurityName::Deny => ExecSecurity::Deny,
        SecurityName::Allowlist => ExecSecurity::Allowlist,
        SecurityName::Full => ExecSecurity::Full,
    }
}

fn ask(name: AskName) -> ExecAsk {
    match name {
        AskName::Off => ExecAsk::Off,
        AskName::OnMiss => ExecAsk::OnMiss,
        AskName::Always => ExecAsk::Always,
    }
}
