//! `chela approvals …`: what waits for the owner, and what may happen without asking.

mod calls;
mod open;

use std::path::PathBuf;

use chela_config::model::{ExecAsk, ExecSecurity};
use chela_core::{AgentId, Host};
use chela_inspect::approvals_report::{ApprovalItem, ApprovalRow, list_approvals};
use chela_ledger::AuditKind;
use chela_tools::approvals::{
    AgentApprovals, ApprovalEntry, ApprovalsDocument, CommandRules, DocumentError, EVERY_AGENT,
    OpenQuestion, RuleAnswer, shown,
};
use serde_json::json;

use super::time::utc;
use super::{CommandOutcome, CommandSetup, change_records, gateway};
use crate::cli::approvals::{
    ApprovalPreset, ApprovalsAgentArg, ApprovalsCommand, AskName, SecurityName, SetArgs,
};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, shorten};

pub fn run(host: &Host, screen: &mut Screen, command: ApprovalsCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    let approvals = ApprovalsFile {
        file: ApprovalsDocument::path(host),
        setup,
    };
    match command {
        ApprovalsCommand::List { agent, json } => approvals.list(screen, agent.as_deref(), json),
        ApprovalsCommand::Show { id, json } => approvals.show(screen, &id, json),
        ApprovalsCommand::Revoke { id } => approvals.revoke(screen, &id),
        ApprovalsCommand::Allow {
            pattern,
            args,
            always,
            whose,
        } => match calls::find(&approvals.document()?, &pattern) {
            Some((agent, call)) => approvals.allow_call(screen, (agent, call), always),
            None if open::find(host, &pattern).is_some() => {
                let word = if always { "always" } else { "once" };
                approvals.answer_open(screen, &pattern, word)
            }
            None => approvals.allow(screen, pattern, args, &whose),
        },
        ApprovalsCommand::Get { agent, json } => approvals.get(screen, agent.as_deref(), json),
        ApprovalsCommand::Set(args) => approvals.set(screen, &args),
    }
}

struct ApprovalsFile {
    setup: CommandSetup,
    file: PathBuf,
}

impl From<DocumentError> for CommandError {
    fn from(error: DocumentError) -> Self {
        let hint = match &error {
            DocumentError::Broken { .. } | DocumentError::Version { .. } => {
                "fix the file, or remove it to start with an empty one"
            }
            DocumentError::TooLarge { .. } => "remove it to start with an empty one",
            DocumentError::Read { .. } | DocumentError::Write { .. } => {
                "check the permissions of the file and its folder"
            }
        };
        CommandError::new(error).hint(hint)
    }
}

impl ApprovalsFile {
    fn document(&self) -> Result<ApprovalsDocument, CommandError> {
        Ok(ApprovalsDocument::load(&self.file)?)
    }

    /// Changes the document.
    fn change(
        &self,
        what: &str,
        change: impl FnOnce(&mut ApprovalsDocument),
    ) -> Result<ApprovalsDocument, CommandError> {
        let body = json!({ "change": what, "about": "approvals" });
        change_records::record_change(&self.setup.host, AuditKind::TrustChange, &body);
        Ok(ApprovalsDocument::change(&self.file, |document| {
            change(document);
            document.number(&self.setup.host);
        })?)
    }

    /// Answers a question that is open in a turn of the gateway. One of a terminal is answered
    /// there.
    fn answer_open(&self, screen: &mut Screen, id: &str, word: &str) -> CommandOutcome {
        let body = json!({ "change": format!("approvals: {word} to question {id}"), "about": "approvals" });
        change_records::record_change(&self.setup.host, AuditKind::TrustChange, &body);
        match gateway::answer_question(&self.setup, id, word)? {
            Some(told) => {
                screen.line(told)?;
                Ok(CommandExit::Fine)
            }
            None => Err(CommandError::new(format!(
                "question {} is not open in the gateway",
                shown(id)
            ))
            .hint("one that is open in another terminal is answered there")),
        }
    }

    fn list(&self, screen: &mut Screen, agent: Option<&str>, json: bool) -> CommandOutcome {
        let document = self.document()?;
        let agent = agent.map(|id| self.setup.agent(Some(id))).transpose()?;
        let open = OpenQuestion::all(&self.setup.host);
        let found = list_approvals(&document, &open, agent.as_ref());
        if json {
            screen.json(&found)?;
            return Ok(CommandExit::Fine);
        }
        if found.is_empty() {
            screen.line("Nothing is waiting, and no command is pre-approved.")?;
            let hint = "`chela approvals allow PROGRAM` adds one; `chela approvals get` shows \
                how the rest is handled.";
            screen.paragraph("", hint)?;
            return Ok(CommandExit::Fine);
        }
        let paint = screen.paint;
        let is_host = |row: &&ApprovalRow<'_>| matches!(row.item, ApprovalItem::Host(_));
        let others = found.iter().filter(|row| !is_host(row));
        let rows: Vec<Vec<String>> = others
            .chain(found.iter().filter(is_host))
            .map(|ApprovalRow { agent, item }| match item {
                ApprovalItem::Open(question) => open::row(question, paint),
                ApprovalItem::Call(call) => calls::row(agent, call, paint),
                ApprovalItem::Entry(entry) => {
                    let used = entry.last_used_at.map(|at| utc(at / 1000));
                    let used = used.unwrap_or_else(|| "never used".to_owned());
                    vec![
                        paint.accent(if entry.id.is_empty() { "-" } else { &entry.id }),
                        shown(agent),
                        shorten(&command(entry), 60),
                        paint.dim(used),
                    ]
                }
                ApprovalItem::Host(grant) => vec![
                    paint.accent(&grant.id),
                    shown(agent),
                    format!("sandboxed commands may reach {}", shown(&grant.host)),
                    paint.dim(utc(grant.granted_at / 1000)),
                ],
            })
            .collect();
        screen.table("", &rows)?;
        Ok(CommandExit::Fine)
    }

    fn show(&self, screen: &mut Screen, id: &str, json: bool) -> CommandOutcome {
        if let Some(question) = open::find(&self.setup.host, id) {
            return open::show(screen, &question, json);
        }
        let document = self.document()?;
        if let Some((agent, call)) = calls::find(&document, id) {
            return self.show_call(screen, (agent, call), json);
        }
        let (agent, entry) = find(&document, id)?;
        if json {
            screen.json(&json!({ "agent": agent, "entry": entry }))?;
            return Ok(CommandExit::Fine);
        }
        let mut rows = vec![
            vec!["id".to_owned(), shown(&entry.id)],
            vec!["agent".to_owned(), shown(agent)],
            vec!["program".to_owned(), shown(&entry.pattern)],
        ];
        let optional = [
            ("arguments", &entry.arg_pattern),
            (
                "start with",
                &entry.prefix.as_ref().map(|words| words.join(" ")),
            ),
            ("in", &entry.folder),
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
        Ok(CommandExit::Fine)
    }

    fn revoke(&self, screen: &mut Screen, id: &str) -> CommandOutcome {
        if open::find(&self.setup.host, id).is_some() {
            return self.answer_open(screen, id, "deny");
        }
        if self.revoke_call(screen, id)? {
            return Ok(CommandExit::Fine);
        }
        let document = self.document()?;
        if document
            .agents
            .values()
            .any(|agent| agent.hosts.iter().any(|grant| grant.id == id))
        {
            let mut revoked = None;
            self.change(&format!("revoke {id}"), |document| {
                revoked = document.revoke_host(id);
            })?;
            if let Some((agent, grant)) = revoked {
                screen.line(format!(
                    "Revoked: reaching {} asks again for {}.",
                    shown(&grant.host),
                    shown(&agent)
                ))?;
            }
            return Ok(CommandExit::Fine);
        }
        let id = &find_by_name(&document, id)?;
        let mut revoked = None;
        self.change(&format!("revoke {id}"), |document| {
            revoked = document.revoke(id);
        })?;
        if let Some((agent, entry)) = revoked {
            let (command, agent) = (shorten(&command(&entry), 60), shown(&agent));
            screen.line(format!("Revoked: `{command}` of {agent} asks again."))?;
        }
        Ok(CommandExit::Fine)
    }

    fn allow(
        &self,
        screen: &mut Screen,
        pattern: String,
        args: Option<String>,
        whose: &ApprovalsAgentArg,
    ) -> CommandOutcome {
        // `git commit` is the program and the words its arguments begin with.
        let mut words = pattern.split_whitespace().map(str::to_owned);
        let Some(pattern) = words.next() else {
            return Err(CommandError::usage("name a program"));
        };
        let prefix: Vec<String> = words.collect();
        if let Some(args) = &args
            && let Err(why) = chela_tools::approvals::check_pattern(args)
        {
            let told = format!("--args is not a regular expression: {why}");
            return Err(CommandError::usage(told).hint("such as --args 'status|log( .*)?'"));
        }
        let agent = match whose.every_agent {
            true => EVERY_AGENT.to_owned(),
            false => self.setup.agent(whose.agent.as_deref())?.to_string(),
        };
        let missing = !is_found(&self.setup.host, &pattern);
        if missing && is_like_an_id(&pattern) {
            return Err(nothing_of_id(&pattern, "and no program on PATH"));
        }
        let entry = ApprovalEntry {
            pattern: pattern.clone(),
            arg_pattern: args,
            prefix: (!prefix.is_empty()).then_some(prefix),
            granted_at: Some(self.setup.host.unix_millis()),
            id: self.setup.host.random_hex(4),
            source: Some("owner".to_owned()),
            ..ApprovalEntry::default()
        };
        let command = command(&entry);
        self.change(&format!("allow `{command}` for {agent}"), |document| {
            document.allow(&agent, entry);
        })?;
        screen.line(format!("`{command}` may run without asking."))?;
        if missing {
            let told = format!("note: there is no program `{}` on PATH", shown(&pattern));
            screen.line(screen.paint.warn(told))?;
        }
        Ok(CommandExit::Fine)
    }

    fn get(&self, screen: &mut Screen, agent: Option<&str>, json: bool) -> CommandOutcome {
        let document = self.document()?;
        let agent = self.setup.agent(agent)?;
        let config = &self.setup.loaded.config.tools.exec;
        let view = self.setup.loaded.agent(&agent);
        let exec = view
            .as_ref()
            .and_then(|view| view.tools.value.exec.as_ref())
            .unwrap_or(config);
        let rules = CommandRules::of(exec, &document, &agent);
        let word = |answer| match answer {
            RuleAnswer::Run => "run",
            RuleAnswer::Ask => "ask",
            RuleAnswer::Deny => "deny",
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
            return Ok(CommandExit::Fine);
        }
        let nobody = match rules.fallback {
            ExecSecurity::Deny => "it does not run",
            ExecSecurity::Allowlist => "it runs if pre-approved",
            ExecSecurity::Full => "it runs",
        };
        let say = |answer| match answer {
            RuleAnswer::Run => "runs",
            RuleAnswer::Ask => "asks",
            RuleAnswer::Deny => "does not run",
        };
        let count = document.allowlist(&agent).count();
        let file = self.setup.host.compact(&self.file);
        screen.table(
            "",
            &[
                vec!["agent".into(), agent.to_string()],
                vec![
                    "pre-approved".into(),
                    format!("{} ({count})", say(rules.listed)),
                ],
                vec!["anything else".into(), say(rules.unlisted).into()],
                vec!["nobody answers".into(), nobody.into()],
                vec!["document".into(), file],
            ],
        )?;
        Ok(CommandExit::Fine)
    }

    fn set(&self, screen: &mut Screen, args: &SetArgs) -> CommandOutcome {
        let agent = args
            .agent
            .as_deref()
            .map(|id| self.setup.agent(Some(id)))
            .transpose()?;
        let (security, ask, fallback) = match args.preset {
            Some(ApprovalPreset::Yolo) => (
                Some(ExecSecurity::Full),
                Some(ExecAsk::Off),
                Some(ExecSecurity::Full),
            ),
            Some(ApprovalPreset::Cautious) => (
                Some(ExecSecurity::Allowlist),
                Some(ExecAsk::OnMiss),
                Some(ExecSecurity::Deny),
            ),
            Some(ApprovalPreset::DenyAll) => (
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

fn find<'a>(
    document: &'a ApprovalsDocument,
    id: &str,
) -> Result<(&'a String, &'a ApprovalEntry), CommandError> {
    document
        .agents
        .iter()
        .flat_map(|(agent, approvals)| approvals.allowlist.iter().map(move |entry| (agent, entry)))
        .find(|(_, entry)| !entry.id.is_empty() && entry.id == id)
        .ok_or_else(|| match is_like_an_id(id) {
            true => nothing_of_id(id, "and no approval"),
            false => CommandError::new(format!("there is no approval `{}`", shown(id)))
                .hint("`chela approvals list` shows them"),
        })
}

/// As the ids of questions, waiting calls and approvals are made: a mistyped one, or one whose
/// question has ended, must not pass for a program.
fn is_like_an_id(given: &str) -> bool {
    let is_id_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    (6..=8).contains(&given.len()) && given.chars().all(is_id_digit)
}

fn nothing_of_id(id: &str, nor: &str) -> CommandError {
    let told = format!("there is no open question {nor} `{}`", shown(id));
    CommandError::new(told).hint(
        "`chela approvals list` shows what is there; a question that was answered or has \
         lapsed comes again when the agent tries again",
    )
}

/// The id of an approval by its id or by the program it is for, where that is one only.
fn find_by_name(document: &ApprovalsDocument, given: &str) -> Result<String, CommandError> {
    if let Ok((_, entry)) = find(document, given) {
        return Ok(entry.id.clone());
    }
    let is_for = |entry: &&ApprovalEntry| {
        let file = std::path::Path::new(&entry.pattern).file_name();
        entry.pattern == given
            // As `list` shows it, or without the dots.
            || command(entry).trim_end_matches(" …") == given.trim_end_matches(" …")
            || entry.command.as_deref() == Some(given)
            || file.is_some_and(|file| file == given)
    };
    let approvals = document.agents.values();
    let found: Vec<&ApprovalEntry> = approvals
        .flat_map(|approvals| &approvals.allowlist)
        .filter(|entry| !entry.id.is_empty())
        .filter(is_for)
        .collect();
    match found.as_slice() {
        [] => find(document, given).map(|(_, entry)| entry.id.clone()),
        [one] => Ok(one.id.clone()),
        many => {
            let ids = many
                .iter()
                .map(|entry| format!("{} ({})", entry.id, command(entry)));
            let ids: Vec<String> = ids.collect();
            Err(CommandError::new(format!(
                "`{}` matches {} approvals",
                shown(given),
                many.len()
            ))
            .hint(format!("give the id: {}", ids.join(", "))))
        }
    }
}

/// An entry in one line, safe to print.
fn command(entry: &ApprovalEntry) -> String {
    if let (None, Some(prefix)) = (&entry.command, &entry.prefix) {
        return format!("{} {} …", shown(&entry.pattern), shown(&prefix.join(" ")));
    }
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

/// Whether a bare name is a program on PATH. Paths and patterns may come to mean one later.
fn is_found(host: &Host, name: &str) -> bool {
    let is_bare = !name.contains(['/', '*', '?', '[', '~']);
    let folders = host.var("PATH").unwrap_or_default();
    !is_bare || std::env::split_paths(folders).any(|folder| folder.join(name).is_file())
}
