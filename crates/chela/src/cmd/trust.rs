//! `chela trust …`: who wrote the files that shape an agent, and the owner's word about them.

mod approve;
mod diff;
mod refuse;
mod restore;
mod status;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_agent::knobs::Knobs;
use chela_agent::trust::{HEARTBEAT_PROMPT, custody_of, heartbeat_key};
use chela_config::Loaded;
use chela_core::{AgentId, Host, Trust, ok_or_warn, suggest};
use chela_ledger::AuditKind;
use chela_workspace::trust::{Custody, Kind, TrustBook, Versions, Watched, Writer, Wrote};
use serde_json::{Value, json};

use super::{Outcome, Setup, noted, owner};
use crate::cli::AgentArg;
use crate::cli::trust::TrustCommand;
use crate::fail::Fail;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: TrustCommand) -> Outcome {
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        TrustCommand::Status { agent, json } => {
            status::run(&Desk::of(&setup, &agent)?, screen, json)
        }
        TrustCommand::Diff { file, agent, json } => {
            diff::run(&Desk::of(&setup, &agent)?, screen, file.as_deref(), json)
        }
        TrustCommand::Approve(args) => {
            owner::only(host, "files are approved")?;
            approve::run(&Desk::of(&setup, &args.agent)?, screen, &args)
        }
        TrustCommand::Revoke {
            file, agent, json, ..
        } => {
            owner::only(host, "trust is withdrawn")?;
            approve::revoke(&Desk::of(&setup, &agent)?, screen, file.as_deref(), json)
        }
        TrustCommand::Refuse { file, agent, json } => {
            owner::only(host, "changes are refused")?;
            refuse::run(&Desk::of(&setup, &agent)?, screen, &file, json)
        }
        TrustCommand::Restore {
            file,
            to,
            agent,
            json,
        } => {
            owner::only(host, "files are put back")?;
            restore::run(
                &Desk::of(&setup, &agent)?,
                screen,
                &restore::Wanted {
                    file: &file,
                    to: to.as_deref(),
                },
                json,
            )
        }
    }
}

/// Notes what the owner wrote through a command. What somebody else had changed before is not
/// settled by that, and what an agent's command wrote is not the owner's.
pub fn owner_wrote(setup: &Setup, agent: &AgentId, files: &[&str], how: &str) {
    if owner::is_agent(&setup.host) {
        return;
    }
    if let Some(view) = setup.loaded.agent(agent) {
        let custody = custody_of(&setup.host, &setup.loaded, &view);
        let noted = custody.record_files(files.iter().copied(), &Writer::Owner, how);
        ok_or_warn!(noted, "who wrote a file is not on record");
    }
}

/// The heartbeat prompts the operator wrote, by agent.
pub fn heartbeat_prompts(loaded: &Loaded) -> BTreeMap<AgentId, String> {
    let agents = loaded.agents().into_iter();
    agents
        .filter_map(|id| {
            let prompt = loaded.agent(&id)?.heartbeat.value.prompt?;
            Some((id, prompt))
        })
        .collect()
}

/// Notes the heartbeat prompts that a change of the config by the owner's command made. Those that
/// were different already are somebody else's.
pub fn owner_configured(host: &Host, before: &BTreeMap<AgentId, String>) {
    if owner::is_agent(host) {
        return;
    }
    let loaded = chela_config::load(host);
    for (agent, prompt) in heartbeat_prompts(&loaded) {
        let Some(view) = loaded
            .agent(&agent)
            .filter(|_| before.get(&agent) != Some(&prompt))
        else {
            continue;
        };
        let custody = custody_of(host, &loaded, &view);
        let noted = custody.record(&[Wrote {
            path: Path::new(&heartbeat_key(&agent)),
            bytes: prompt.as_bytes(),
            writer: &Writer::Owner,
            how: "chela config",
            trust: Trust::Operator,
        }]);
        ok_or_warn!(noted, "who wrote the heartbeat prompt is not on record");
    }
}

fn may_pass(file: &Watched) -> bool {
    file.judged.as_ref().is_some_and(|judged| judged.is_allowed)
        || file.absent.is_some_and(|absent| absent.is_allowed)
}

/// One agent's files, and what is known about them.
struct Desk<'a> {
    setup: &'a Setup,
    agent: AgentId,
    custody: Custody,
    extra_files: Vec<String>,
}

impl<'a> Desk<'a> {
    fn of(setup: &'a Setup, agent: &AgentArg) -> Result<Self, Fail> {
        let agent = setup.agent(agent.agent.as_deref())?;
        let view = setup.view(&agent)?;
        Ok(Self {
            custody: custody_of(&setup.host, &setup.loaded, &view),
            extra_files: Knobs::of(&setup.loaded, &view).bootstrap.extra_files,
            setup,
            agent,
        })
    }

    fn host(&self) -> &Host {
        &self.setup.host
    }

    fn survey(&self) -> Vec<Watched> {
        let mut all = self.custody.survey(&self.extra_files);
        if all.iter().any(may_pass) && !owner::is_agent(self.host()) {
            self.custody.let_pass_what_may(&all);
            all = self.custody.survey(&self.extra_files);
        }
        all.extend(self.heartbeat_prompt().map(|(watched, _)| watched));
        all
    }

    /// The heartbeat prompt of the config, and where it stands.
    fn heartbeat_prompt(&self) -> Option<(Watched, String)> {
        let prompt = heartbeat_prompts(&self.setup.loaded).remove(&self.agent)?;
        let key = heartbeat_key(&self.agent);
        let watched = Watched {
            kind: Kind::Setting,
            shown: HEARTBEAT_PROMPT.to_owned(),
            judged: Some(self.custody.look_at_setting(&key, &prompt)),
            absent: None,
            entry: self.custody.book().entry(Path::new(&key)).cloned(),
            path: key.into(),
        };
        Some((watched, prompt))
    }

    /// What the owner is asked about: what the agent proposes, or what is there.
    fn asked(&self, file: &Watched) -> Option<Vec<u8>> {
        match file.proposed() {
            Some(proposed) => Versions::of(self.host()).bytes(proposed.hash?),
            None => self.bytes(file),
        }
    }

    /// Without the secrets the config knows of, and without anything shaped like one.
    fn redacted(&self, text: String) -> String {
        let known = chela_agent::known_secrets(self.host(), &self.setup.loaded);
        let redactor = chela_core::secret::Redactor::new(None, known);
        redactor.redact(&text).into_owned()
    }

    /// What is there now: the file, or the text of the config.
    fn bytes(&self, file: &Watched) -> Option<Vec<u8>> {
        match file.kind {
            Kind::Setting => self.heartbeat_prompt().map(|(_, text)| text.into_bytes()),
            _ => self.custody.look(&file.path).map(|(_, bytes)| bytes),
        }
    }

    /// The watched file a person means.
    fn watched(&self, typed: &str) -> Result<Watched, Fail> {
        let path = self.path(typed);
        let mut all = self.survey();
        if let Some(at) = all.iter().position(|file| file.path == path) {
            return Ok(all.swap_remove(at));
        }
        let by_name = |file: &Watched| file.shown.eq_ignore_ascii_case(typed.trim());
        if let Some(at) = all.iter().position(by_name) {
            return Ok(all.swap_remove(at));
        }
        // Notes are on record once somebody known wrote them; any can be put there. So can a file
        // that holds foreign text.
        let is_foreign = || self.setup.file_trust().ceiling(&path) < Trust::Agent;
        if (self.custody.kind(&path) == Some(Kind::Note) || is_foreign())
            && let Some((judged, _)) = self.custody.look(&path)
        {
            return Ok(Watched {
                kind: Kind::Note,
                shown: self.custody.shown(&path),
                judged: Some(judged),
                absent: None,
                entry: None,
                path,
            });
        }
        let hint = match suggest::nearest(typed, all.iter().map(|file| file.shown.as_str())) {
            Some(near) => format!("did you mean {near}?"),
            None => {
                "chela trust status lists the files; chela skills trust is for skills".to_owned()
            }
        };
        Err(Fail::new(format!(
            "{typed} is no file that shapes agent {}",
            self.agent
        ))
        .hint(hint))
    }

    fn path(&self, typed: &str) -> PathBuf {
        let typed = typed.trim();
        let expanded = match typed.starts_with('~') {
            true => self.host().expand(typed),
            false => self
                .custody
                .root()
                .join(typed.strip_prefix("./").unwrap_or(typed)),
        };
        expanded.components().collect()
    }

    /// What the owner stands for is no longer foreign text.
    fn vouch(&self, path: &Path) -> Result<(), Fail> {
        self.setup
            .file_trust()
            .vouch(path)
            .map(drop)
            .map_err(Fail::new)
    }

    /// Puts the owner's word on record.
    fn note(&self, change: &str, about: &[&Path], more: Value) {
        let files: Vec<String> = about.iter().map(|path| self.host().compact(path)).collect();
        let mut body = json!({ "change": change, "agent": self.agent, "files": files });
        if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
            body.extend(more);
        }
        noted::change(self.host(), AuditKind::TrustChange, &body);
    }

    /// A record that cannot be read is moved away before the owner's word is written.
    fn mend(&self) -> Result<(), Fail> {
        if let Some(aside) = TrustBook::move_aside(self.host()).map_err(Fail::new)? {
            let shown = self.host().compact(&aside);
            crate::chat::note(
                crate::screen::Paint::Plain,
                &format!(
                    "the record could not be read; it is kept as {shown}, and a new one begins"
                ),
            );
        }
        Ok(())
    }
}
