//! From a command that is planned to one that may run.

mod choices;
mod input;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use chela_config::model::{Exec, ExecSecurity};
use chela_core::{AgentId, ContentHash, Host, lock, ok_or_debug};

use super::circumstances::{AskAlways, CommandCircumstances, FolderDoubts, RunPlace};
use super::document::{ApprovalsDocument, DocumentError, HostGrant};
use super::limits::{CommandRules, RuleAnswer};
use super::list_match::{ComparedList, ListMatch, exact_entry, prefix_entry};
use super::planned_command::{PlannedCommand, PlannedForm};
use super::program::ProgramError;
use super::read_only::{only_looks, only_records, quiet_git};
use super::show::{LONGEST_SHOWN, shown};
use chela_guard::approval::{
    AnswerError, ApprovalQuestion, ApprovalScope, Approver, AskedCall, OwnerGrant, QuestionTiming,
    shown_block,
};
use chela_guard::flow::{HostStanding, SessionTaint, ShelvedWhy};
use chela_sandbox::is_auto;

pub use input::ProcessInput;

/// What the gate of a session is made from.
#[derive(Clone)]
pub struct GateSetup {
    pub host: Host,
    pub agent: AgentId,
    pub config: Exec,
    /// Usually [`ApprovalsDocument::path`].
    pub document: PathBuf,
    /// Where commands start.
    pub workspace: PathBuf,
    pub doubts: Arc<dyn FolderDoubts>,
    /// A question lapses after this long.
    pub expires_after: Duration,
}

impl std::fmt::Debug for GateSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateSetup")
            .field("agent", &self.agent)
            .field("document", &self.document)
            .finish_non_exhaustive()
    }
}

/// Decides which commands of a session may run.
#[derive(Debug)]
pub struct CommandGate {
    setup: GateSetup,
    /// What was allowed until the session ends.
    allowed: Mutex<HashSet<ContentHash>>,
    /// Hosts that may be reached until the session ends.
    hosts: Mutex<HashSet<String>>,
}

/// Whether a command needs a yes where the sandbox decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandFreedom {
    /// It only looks, or stays in the sandbox.
    Free,
    /// It only puts on record, in the workspace's own repository, what lies there.
    Records,
    Bound,
}

/// What is known of a command before anybody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandStanding {
    pub list: HostStanding,
    pub freedom: CommandFreedom,
}

/// A command that may run, once: checked again on the way.
#[derive(Debug)]
pub struct ClearedCommand {
    pub planned: PlannedCommand,
    /// Who said yes.
    pub by: ClearedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearedBy {
    Policy,
    List,
    Person,
    Session,
    /// Nobody had to: it only looks, or stays in the sandbox.
    Freedom,
    /// Nobody had to: it only puts on record what lies in the workspace.
    Records,
}

/// Why a command does not run; written for the model.
#[derive(Debug, thiserror::Error)]
pub enum CommandRefusal {
    #[error(
        "Commands are off for this agent (tools.exec.mode: deny). Do it another way, or tell the owner, who can turn them on: `chela config set tools.exec.mode ask`, and `chela approvals set cautious` where `chela approvals get` says that the document forbids them."
    )]
    Off,
    #[error(
        "Not allowed: {0}. Only listed commands may run; nobody is asked. The owner can list it (`chela approvals allow PROGRAM`) or be asked (`chela config set tools.exec.mode ask`)."
    )]
    NotListed(String),
    #[error(
        "The owner said no to this command. Do not try it in another form; ask what to do instead."
    )]
    Denied,
    #[error(
        "This command needs the owner's yes and nobody answered: {0}. Find a way without it, or tell the owner, who is asked in `chela chat` and can list it with `chela approvals allow PROGRAM`."
    )]
    Unanswered(String),
    #[error(
        "The owner said no to this, or to several things in a row, and is not asked again until they have written. Nothing was run; say what you wanted to do and why."
    )]
    LeftInPeace,
    #[error(
        "The command is too long to be approved at a glance. Write it to a script file and run that."
    )]
    TooLong,
    #[error("What would run is not what was approved: {0}. Nothing was run.")]
    Changed(String),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl CommandGate {
    pub fn new(setup: GateSetup) -> Self {
        Self {
            setup,
            allowed: Mutex::default(),
            hosts: Mutex::default(),
        }
    }

    /// Clears a command, asking a person where the rules say so. What is cleared was looked up
    /// again after the answer and is what was asked about.
    pub async fn clear(
        &self,
        planned: PlannedCommand,
        circumstances: CommandCircumstances<'_>,
        approver: &dyn Approver,
    ) -> Result<ClearedCommand, CommandRefusal> {
        let setup = &self.setup;
        let document = ApprovalsDocument::load(&setup.document)?;
        let freedom = self.freedom(&document, &planned, circumstances);
        let mut rules = match freedom {
            CommandFreedom::Free | CommandFreedom::Records => {
                CommandRules::of_free(&setup.config, &document, &setup.agent)
            }
            CommandFreedom::Bound => CommandRules::of(&setup.config, &document, &setup.agent),
        };
        if circumstances.ask == AskAlways::Always {
            rules = rules.stricter(CommandRules::ALWAYS_ASK);
        }
        let listed = self.listed(&document, &planned, circumstances);
        let answer = match &listed {
            ListMatch::Yes(_) => rules.listed,
            ListMatch::Shelved(..) | ListMatch::No(_) => rules.unlisted,
        };
        match (answer, &listed) {
            (RuleAnswer::Run, ListMatch::Yes(ids)) => {
                self.used(ids, &planned);
                Ok(ClearedCommand {
                    planned,
                    by: ClearedBy::List,
                })
            }
            (RuleAnswer::Run, ListMatch::Shelved(..) | ListMatch::No(_)) => Ok(ClearedCommand {
                planned,
                by: match freedom {
                    CommandFreedom::Free => ClearedBy::Freedom,
                    CommandFreedom::Records => ClearedBy::Records,
                    CommandFreedom::Bound => ClearedBy::Policy,
                },
            }),
            (RuleAnswer::Deny, ListMatch::Shelved(_, why) | ListMatch::No(why))
                if rules.listed != RuleAnswer::Deny =>
            {
                Err(CommandRefusal::NotListed(why.clone()))
            }
            (RuleAnswer::Deny, _) => Err(CommandRefusal::Off),
            (RuleAnswer::Ask, listed) => {
                self.ask(planned, (rules, circumstances), listed, approver)
                    .await
            }
        }
    }

    /// Whether a command needs nobody's yes where the sandbox decides.
    fn freedom(
        &self,
        document: &ApprovalsDocument,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> CommandFreedom {
        let workspace = &self.setup.workspace;
        if !is_auto(&self.setup.config) {
            return CommandFreedom::Bound;
        }
        let is_free = match circumstances.place {
            RunPlace::Sandbox => self.unknown_hosts(document, circumstances).is_empty(),
            RunPlace::Host | RunPlace::LeftSandbox => only_looks(planned, workspace),
        };
        let is_clean = circumstances.taint == SessionTaint::Clean;
        let is_outside = circumstances.place != RunPlace::Sandbox;
        match is_free {
            true => CommandFreedom::Free,
            false if is_outside && is_clean && only_records(planned, workspace) => {
                CommandFreedom::Records
            }
            false => CommandFreedom::Bound,
        }
    }

    /// Hosts that nobody granted. What was granted for good does not hold after text from outside
    /// was read: what can be sent there may be the owner's.
    fn unknown_hosts<'h>(
        &self,
        document: &ApprovalsDocument,
        circumstances: CommandCircumstances<'h>,
    ) -> Vec<&'h str> {
        let of_session = lock(&self.hosts);
        let is_granted = |host: &str| {
            let clean = circumstances.taint == SessionTaint::Clean;
            let mut known = document.hosts(&self.setup.agent);
            of_session.contains(host) || clean && known.any(|grant| grant.host == host)
        };
        circumstances
            .hosts
            .iter()
            .map(String::as_str)
            .filter(|host| !is_granted(host))
            .collect()
    }

    fn listed(
        &self,
        document: &ApprovalsDocument,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> ListMatch {
        let setup = &self.setup;
        let unknown = self.unknown_hosts(document, circumstances);
        if !unknown.is_empty() {
            let is_granted = unknown.iter().all(|host| {
                let mut granted = document.hosts(&setup.agent);
                granted.any(|grant| grant.host == *host)
            });
            let hosts: Vec<String> = unknown.into_iter().map(shown).collect();
            let hosts = hosts.join(", ");
            return match is_granted {
                true => ListMatch::Shelved(
                    ShelvedWhy::Taint,
                    format!(
                        "your approval of {hosts} does not apply here: untrusted content was read"
                    ),
                ),
                false => ListMatch::No(format!("{hosts} is not approved")),
            };
        }
        let entries: Vec<_> = document.allowlist(&setup.agent).collect();
        let list = ComparedList {
            entries: &entries,
            config: &setup.config,
            host: &setup.host,
            workspace: &setup.workspace,
            doubts: &*setup.doubts,
            circumstances,
        };
        list.has(planned)
    }

    async fn ask(
        &self,
        planned: PlannedCommand,
        (rules, circumstances): (CommandRules, CommandCircumstances<'_>),
        listed: &ListMatch,
        approver: &dyn Approver,
    ) -> Result<ClearedCommand, CommandRefusal> {
        let looked_up = planned.binds();
        let binds = binds_of(&planned, circumstances);
        let remembers = rules.listed == RuleAnswer::Run;
        if remembers && self.allowed().contains(&binds) {
            return Ok(ClearedCommand {
                planned,
                by: ClearedBy::Session,
            });
        }
        let id = self.setup.host.random_hex(3);
        let mut question = self.question(&planned, circumstances, listed, &id)?;
        let asking = tokio::time::timeout(question.lasts(), approver.ask(&question));
        let answer = asking
            .await
            .unwrap_or(chela_guard::approval::OwnerAnswer::NOBODY);
        match question.answer(answer, self.setup.host.clock.now()) {
            Ok(grant) => self.remember(&grant, &planned, circumstances)?,
            Err(AnswerError::Denied) => return Err(CommandRefusal::Denied),
            Err(AnswerError::LeftInPeace) => return Err(CommandRefusal::LeftInPeace),
            Err(AnswerError::Changed) => {
                return Err(CommandRefusal::Changed(
                    "the answer was to something else".to_owned(),
                ));
            }
            Err(_) => {
                let fallback = match (rules.fallback, listed) {
                    (ExecSecurity::Full, _) => true,
                    (ExecSecurity::Allowlist, ListMatch::Yes(_)) => true,
                    (ExecSecurity::Allowlist | ExecSecurity::Deny, _) => false,
                };
                if !fallback {
                    return Err(CommandRefusal::Unanswered(why_of(listed)));
                }
                return Ok(ClearedCommand {
                    planned: unchanged(&planned, looked_up)?,
                    by: ClearedBy::Policy,
                });
            }
        }
        Ok(ClearedCommand {
            planned: unchanged(&planned, looked_up)?,
            by: ClearedBy::Person,
        })
    }

    /// Keeps a yes for as long as it was given. One that was given after text from outside was
    /// read ends with the session.
    fn remember(
        &self,
        grant: &OwnerGrant,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> Result<(), CommandRefusal> {
        let (hosts, scope) = (circumstances.hosts, grant.scope());
        if matches!(scope, ApprovalScope::Once | ApprovalScope::Deny) {
            return Ok(());
        }
        if hosts.is_empty() {
            self.allowed().insert(binds_of(planned, circumstances));
        } else {
            lock(&self.hosts).extend(hosts.iter().cloned());
        }
        if scope == ApprovalScope::Session || circumstances.taint == SessionTaint::Tainted {
            return Ok(());
        }
        let mut entry = match (grant.choice() == choices::PREFIX, prefix_entry(planned)) {
            (true, Some(entry)) => entry,
            _ => exact_entry(planned),
        };
        entry.id = self.setup.host.random_hex(4);
        entry.granted_at = Some(self.now());
        entry.last_used_at = Some(self.now());
        let agent = self.setup.agent.as_str();
        let grants: Vec<HostGrant> = hosts.iter().map(|host| self.grant_of(host)).collect();
        ApprovalsDocument::change(&self.setup.document, |document| {
            if grants.is_empty() {
                document.allow(agent, entry);
            }
            for grant in grants {
                document.allow_host(agent, grant);
            }
        })?;
        Ok(())
    }

    fn grant_of(&self, host: &str) -> HostGrant {
        HostGrant {
            id: self.setup.host.random_hex(4),
            host: host.to_owned(),
            granted_at: self.now(),
            other: serde_json::Map::new(),
        }
    }

    /// What can be told of a command without asking anybody.
    pub fn standing(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> CommandStanding {
        let Ok(document) = ApprovalsDocument::load(&self.setup.document) else {
            return CommandStanding {
                list: HostStanding::Unlisted,
                freedom: CommandFreedom::Bound,
            };
        };
        CommandStanding {
            list: match self.listed(&document, planned, circumstances) {
                ListMatch::Yes(_) => HostStanding::Listed,
                ListMatch::Shelved(by, _) => HostStanding::Shelved(by),
                ListMatch::No(_) => HostStanding::Unlisted,
            },
            freedom: self.freedom(&document, planned, circumstances),
        }
    }

    /// What will happen, in plain words.
    pub fn words(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> String {
        let folder = shown(&self.setup.host.compact(&planned.folder));
        let what = match &planned.form {
            PlannedForm::Direct(_) => {
                format!("Run {}", shown(&planned.program.real.display().to_string()))
            }
            PlannedForm::Shell(_) => "Run a shell command".to_owned(),
        };
        let how = match (circumstances.place, circumstances.hosts) {
            (RunPlace::LeftSandbox, _) => ", outside the sandbox".to_owned(),
            (_, []) => String::new(),
            (_, hosts) => format!(", with access to {}", shown(&hosts.join(", "))),
        };
        format!("{what} in {folder}{how}")
    }

    fn question(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
        listed: &ListMatch,
        id: &str,
    ) -> Result<ApprovalQuestion, CommandRefusal> {
        let text = planned.text();
        if text.chars().count() > LONGEST_SHOWN {
            return Err(CommandRefusal::TooLong);
        }
        let call = AskedCall {
            tool: "exec".to_owned(),
            summary: self.words(planned, circumstances),
            exact: vec![("command".to_owned(), shown_block(&text))],
            why: why_of(listed),
            passage: None,
            shape: binds_of(planned, circumstances),
        };
        let question = ApprovalQuestion::new(vec![call], self.timing(id));
        Ok(question.offering(self.choices(planned, circumstances)))
    }

    fn timing<'i>(&self, id: &'i str) -> QuestionTiming<'i> {
        QuestionTiming {
            id,
            now: self.setup.host.clock.now(),
            lasts: self.setup.expires_after,
        }
    }

    /// Notes when an entry was last used. That it cannot be noted is no reason not to run.
    fn used(&self, ids: &[String], planned: &PlannedCommand) {
        if ids.iter().all(String::is_empty) {
            return;
        }
        let now = self.now();
        let noted = ApprovalsDocument::change(&self.setup.document, |document| {
            let lists = document.agents.values_mut();
            for entry in lists.flat_map(|agent| &mut agent.allowlist) {
                if !entry.id.is_empty() && ids.contains(&entry.id) {
                    entry.last_used_at = Some(now);
                    if ids.len() == 1 {
                        let path = planned.program.real.display().to_string();
                        entry.last_resolved_path = Some(path);
                    }
                }
            }
        });
        ok_or_debug!(noted, "the use of an approval is not noted");
    }

    fn now(&self) -> u64 {
        let since = self.setup.host.clock.now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    fn allowed(&self) -> std::sync::MutexGuard<'_, HashSet<ContentHash>> {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClearedCommand {
    /// Variables it runs with besides its own.
    pub fn variables(&self) -> BTreeMap<String, String> {
        match self.by {
            ClearedBy::Records => quiet_git(),
            _ => BTreeMap::new(),
        }
    }

    /// The last look before it runs: files are found and read once more.
    pub fn check(self) -> Result<PlannedCommand, CommandRefusal> {
        let binds = self.planned.binds();
        unchanged(&self.planned, binds)
    }
}

/// The hash of what was asked about: the command, where it runs and what it reaches.
pub fn binds_of(planned: &PlannedCommand, circumstances: CommandCircumstances<'_>) -> ContentHash {
    let place = match circumstances.place {
        RunPlace::Host if circumstances.hosts.is_empty() => return planned.binds(),
        RunPlace::Host => "host",
        RunPlace::LeftSandbox => "left sandbox",
        RunPlace::Sandbox => "sandbox",
    };
    let everything = serde_json::json!([planned.binds().to_string(), place, circumstances.hosts]);
    ContentHash::of(everything.to_string())
}

fn why_of(listed: &ListMatch) -> String {
    match listed {
        ListMatch::Yes(_) => "every command asks (ask: always)".to_owned(),
        ListMatch::Shelved(_, why) | ListMatch::No(why) => why.clone(),
    }
}

fn unchanged(
    planned: &PlannedCommand,
    binds: ContentHash,
) -> Result<PlannedCommand, CommandRefusal> {
    let again = planned
        .again()
        .map_err(|error| CommandRefusal::Changed(error.to_string()))?;
    match again.binds() == binds {
        true => Ok(again),
        false => Err(CommandRefusal::Changed(
            "a program or script changed meanwhile".to_owned(),
        )),
    }
}
