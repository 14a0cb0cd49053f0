//! From a command that is planned to one that may run.

mod asking;
mod choices;
mod cleared;
mod input;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use chela_config::model::Exec;
use chela_core::{AgentId, ContentHash, Host, lock, ok_or_debug};
use chela_guard::approval::Approver;
use chela_guard::flow::{HostStanding, SessionTaint, ShelvedWhy};
use chela_sandbox::is_auto;

use super::circumstances::{AskAlways, CommandCircumstances, FolderDoubts, RunPlace};
use super::document::{ApprovalEntry, ApprovalsDocument};
use super::limits::{CommandRules, RuleAnswer};
use super::list_match::{ComparedList, ListMatch};
use super::planned_command::PlannedCommand;
use super::read_only::{only_looks, only_records};
use super::show::shown;

pub use cleared::{ClearedBy, ClearedCommand, CommandRefusal};
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
    allowed: Mutex<HashMap<ContentHash, AllowedUntil>>,
    /// Hosts that may be reached until the session ends.
    hosts: Mutex<HashSet<String>>,
    /// Commands that the skills in use were granted.
    granted: Mutex<Vec<ApprovalEntry>>,
}

/// How long a yes holds that is kept here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedUntil {
    SessionEnds,
    /// It was given for good and stands on the owner's list under this id: whoever revokes it
    /// there, in whichever process, has revoked it here.
    Revoked(String),
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

impl CommandGate {
    pub fn new(setup: GateSetup) -> Self {
        Self {
            setup,
            allowed: Mutex::default(),
            hosts: Mutex::default(),
            granted: Mutex::default(),
        }
    }

    /// What the owner granted to the skills that are in use, from now on.
    pub fn grant(&self, granted: Vec<ApprovalEntry>) {
        *lock(&self.granted) = granted;
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
                self.ask(
                    planned,
                    (rules, circumstances),
                    (&document, listed),
                    approver,
                )
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
        let granted = self.granted_for(planned, circumstances);
        let entries: Vec<_> = document.allowlist(&setup.agent).chain(&granted).collect();
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

    /// What a grant to a skill covers: no more than a clean session, and no program that runs what
    /// files say, unless the sandbox holds it.
    fn granted_for(
        &self,
        planned: &PlannedCommand,
        circumstances: CommandCircumstances<'_>,
    ) -> Vec<ApprovalEntry> {
        let is_clean = circumstances.taint == SessionTaint::Clean;
        let is_held = circumstances.place == RunPlace::Sandbox
            || planned.interpreter(&self.setup.workspace).is_none();
        match is_clean && is_held {
            true => lock(&self.granted).clone(),
            false => Vec::new(),
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

    /// Whether this was allowed before, in this session, and still is.
    fn is_still_allowed(&self, document: &ApprovalsDocument, binds: &ContentHash) -> bool {
        let mut allowed = lock(&self.allowed);
        let holds = match allowed.get(binds) {
            None => return false,
            Some(AllowedUntil::SessionEnds) => true,
            Some(AllowedUntil::Revoked(id)) => {
                let mut entries = document.allowlist(&self.setup.agent);
                entries.any(|entry| entry.id == *id)
            }
        };
        if !holds {
            allowed.remove(binds);
        }
        holds
    }

    fn allow_until(&self, binds: ContentHash, until: AllowedUntil) {
        lock(&self.allowed).insert(binds, until);
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
