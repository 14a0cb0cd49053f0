//! `chela trust …`: who wrote the files that shape an agent, and the owner's word about them.

mod approve;
mod approve_tree;
mod diff;
mod refuse;
mod restore;
mod status;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_agent::folder_approval::ApprovalRecords;
use chela_agent::prompt_knobs::PromptKnobs;
use chela_agent::trust::{HEARTBEAT_PROMPT, custody_of, heartbeat_key};
use chela_config::LoadedConfig;
use chela_core::{AgentId, Host, Trust, ok_or_warn, suggest};
use chela_ledger::AuditKind;
use chela_workspace::custody::{Custody, WatchedFile, WatchedKind};
use chela_workspace::trust::{TrustRecords, VersionCopies, VersionWriter, WrittenVersion};
use serde_json::{Value, json};

use super::{CommandOutcome, CommandSetup, change_records, owner};
use crate::cli::AgentArg;
use crate::cli::trust::TrustCommand;
use crate::fail::CommandError;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: TrustCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    owner::take_owner_edits(host, &setup.loaded);
    match command {
        TrustCommand::Status { agent, json } => {
            status::run(&AgentFiles::of(&setup, &agent)?, screen, json)
        }
        TrustCommand::Diff { file, agent, json } => diff::run(
            &AgentFiles::of(&setup, &agent)?,
            screen,
            file.as_deref(),
            json,
        ),
        TrustCommand::Approve(args) => {
            owner::require_owner(host, "files are approved")?;
            approve::run(&AgentFiles::of(&setup, &args.agent)?, screen, &args)
        }
        TrustCommand::Revoke {
            file, agent, json, ..
        } => {
            owner::require_owner(host, "trust is revoked")?;
            approve::revoke(
                &AgentFiles::of(&setup, &agent)?,
                screen,
                file.as_deref(),
                json,
            )
        }
        TrustCommand::Refuse { file, agent, json } => {
            owner::require_owner(host, "changes are refused")?;
            refuse::run(&AgentFiles::of(&setup, &agent)?, screen, &file, json)
        }
        TrustCommand::Restore {
            file,
            to,
            agent,
            json,
        } => {
            owner::require_owner(host, "files are restored")?;
            restore::run(
                &AgentFiles::of(&setup, &agent)?,
                screen,
                &restore::RestoreRequest {
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
pub fn owner_wrote(setup: &CommandSetup, agent: &AgentId, files: &[&str], how: &str) {
    if owner::is_agent(&setup.host) {
        return;
    }
    if let Some(view) = setup.loaded.agent(agent) {
        let custody = custody_of(&setup.host, &setup.loaded, &view);
        let noted = custody.record_files(files.iter().copied(), &VersionWriter::Owner, how);
        ok_or_warn!(noted, "who wrote a file is not recorded");
    }
}

/// The heartbeat prompts the operator wrote, by agent.
pub fn heartbeat_prompts(loaded: &LoadedConfig) -> BTreeMap<AgentId, String> {
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
        let noted = custody.record(&[WrittenVersion {
            path: Path::new(&heartbeat_key(&agent)),
            bytes: prompt.as_bytes(),
            writer: &VersionWriter::Owner,
            how: "chela config",
            trust: Trust::Operator,
        }]);
        ok_or_warn!(noted, "who wrote the heartbeat prompt is not recorded");
    }
}

fn may_pass(file: &WatchedFile) -> bool {
    file.judged.as_ref().is_some_and(|judged| judged.is_allowed)
        || file.absent.is_some_and(|absent| absent.is_allowed)
}

/// One agent's files, and what is known about them.
struct AgentFiles<'a> {
    setup: &'a CommandSetup,
    agent: AgentId,
    custody: Custody,
    extra_files: Vec<String>,
}

impl<'a> AgentFiles<'a> {
    fn of(setup: &'a CommandSetup, agent: &AgentArg) -> Result<Self, CommandError> {
        let agent = setup.agent(agent.agent.as_deref())?;
        let view = setup.view(&agent)?;
        Ok(Self {
            custody: custody_of(&setup.host, &setup.loaded, &view),
            extra_files: PromptKnobs::of(&setup.loaded, &view).bootstrap.extra_files,
            setup,
            agent,
        })
    }

    fn host(&self) -> &Host {
        &self.setup.host
    }

    fn survey(&self) -> Vec<WatchedFile> {
        let mut all = self.custody.survey(&self.extra_files);
        if all.iter().any(may_pass) && !owner::is_agent(self.host()) {
            self.custody.let_pass_what_may(&all);
            all = self.custody.survey(&self.extra_files);
        }
        all.extend(self.heartbeat_prompt().map(|(watched, _)| watched));
        all
    }

    /// The heartbeat prompt of the config, and where it stands.
    fn heartbeat_prompt(&self) -> Option<(WatchedFile, String)> {
        let prompt = heartbeat_prompts(&self.setup.loaded).remove(&self.agent)?;
        let key = heartbeat_key(&self.agent);
        let watched = WatchedFile {
            kind: WatchedKind::Setting,
            shown: HEARTBEAT_PROMPT.to_owned(),
            judged: Some(self.custody.look_at_setting(&key, &prompt)),
            absent: None,
            entry: self.custody.records().entry(Path::new(&key)).cloned(),
            path: key.into(),
        };
        Some((watched, prompt))
    }

    /// What the owner is asked about: what the agent proposes, or what is there.
    fn asked(&self, file: &WatchedFile) -> Option<Vec<u8>> {
        match file.proposed() {
            Some(proposed) => VersionCopies::of(self.host()).bytes(proposed.hash?),
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
    fn bytes(&self, file: &WatchedFile) -> Option<Vec<u8>> {
        match file.kind {
            WatchedKind::Setting => self.heartbeat_prompt().map(|(_, text)| text.into_bytes()),
            _ => self.custody.look(&file.path).map(|(_, bytes)| bytes),
        }
    }

    /// The watched file a person means.
    fn watched(&self, typed: &str) -> Result<WatchedFile, CommandError> {
        let path = self.path(typed);
        let mut all = self.survey();
        if let Some(at) = all.iter().position(|file| file.path == path) {
            return Ok(all.swap_remove(at));
        }
        let by_name = |file: &WatchedFile| file.shown.eq_ignore_ascii_case(typed.trim());
        if let Some(at) = all.iter().position(by_name) {
            return Ok(all.swap_remove(at));
        }
        // Notes are on record once somebody known wrote them; any can be put there. So can a file
        // that holds foreign text.
        let is_foreign = || self.setup.file_trust().trust_at(&path) < Trust::Agent;
        if (self.custody.kind(&path) == Some(WatchedKind::Note) || is_foreign())
            && let Some((judged, _)) = self.custody.look(&path)
        {
            return Ok(WatchedFile {
                kind: WatchedKind::Note,
                shown: self.custody.shown(&path),
                judged: Some(judged),
                absent: None,
                entry: None,
                path,
            });
        }
        let hint = match suggest::nearest(typed, all.iter().map(|file| file.shown.as_str())) {
            Some(near) => format!("did you mean {near}?"),
            None => "`chela trust status` lists the files; for skills use `chela skills trust`"
                .to_owned(),
        };
        Err(CommandError::new(format!(
            "{typed} is not a file that shapes agent {}",
            self.agent
        ))
        .hint(hint))
    }

    /// The folder a person means, where they mean one: in the workspace, or from where they stand.
    fn folder(&self, typed: &str) -> Option<PathBuf> {
        let inside = self.path(typed);
        let here = self.host().cwd.join(typed.trim());
        let found = [inside, here].into_iter().find(|path| path.exists())?;
        found.canonicalize().ok().filter(|path| path.is_dir())
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
    fn vouch(&self, path: &Path) -> Result<(), CommandError> {
        self.setup
            .file_trust()
            .vouch(path)
            .map(drop)
            .map_err(CommandError::new)
    }

    /// Does something with the records a yes goes into.
    fn with_records<T>(&self, work: impl FnOnce(ApprovalRecords<'_>) -> T) -> T {
        work(ApprovalRecords {
            host: self.host(),
            custody: &self.custody,
            known: &self.setup.file_trust(),
            journal: &self.setup.journal(&self.agent),
        })
    }

    /// Nobody answers any more for a file, or for what lies in a folder.
    fn disown(&self, path: &Path) -> Result<(), CommandError> {
        for journal in &self.setup.file_trust().journals {
            journal.disown(path).map_err(CommandError::new)?;
        }
        Ok(())
    }

    /// Puts the owner's word on record.
    fn note(&self, change: &str, about: &[&Path], more: Value) {
        let files: Vec<String> = about.iter().map(|path| self.host().compact(path)).collect();
        let mut body = json!({ "change": change, "agent": self.agent, "files": files });
        if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
            body.extend(more);
        }
        change_records::record_change(self.host(), AuditKind::TrustChange, &body);
    }

    /// A record that cannot be read is moved away before the owner's word is written.
    fn mend(&self) -> Result<(), CommandError> {
        if let Some(aside) = TrustRecords::move_aside(self.host()).map_err(CommandError::new)? {
            let shown = self.host().compact(&aside);
            crate::chat::print_note(
                crate::screen::ColourMode::Plain,
                &format!(
                    "the record could not be read; it is kept as {shown}, and a new one is started"
                ),
            );
        }
        Ok(())
    }
}
