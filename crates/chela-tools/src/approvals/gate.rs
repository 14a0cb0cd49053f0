//! From a command that is planned to one that may run.

use std::collections::HashSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use chela_config::model::{Exec, ExecSecurity};
use chela_core::{AgentId, ContentHash, Host};

use super::document::{Document, DocumentError};
use super::limits::{Answer, Review, Rules};
use super::listed::{List, Listed, exact_entry};
use super::planned::{Form, Planned};
use super::program::ProgramError;
use super::show::{LONGEST_SHOWN, shown};
use crate::{Approval, ApprovalRequest, Approver};

/// A model gets this long to judge a command.
const REVIEW_TIME: Duration = Duration::from_secs(30);

/// A model that looks at commands before a person does. It can spare the person a question, not
/// overrule an answer.
pub trait Reviewer: Send + Sync {
    fn review<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Opinion> + Send + 'a>>;
}

/// What a reviewer thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    Harmless,
    /// A person should decide; why.
    Doubtful(String),
}

/// What the gate of a session is made from.
#[derive(Clone)]
pub struct GateSetup {
    pub host: Host,
    pub agent: AgentId,
    pub config: Exec,
    /// Usually [`Document::path`].
    pub document: PathBuf,
    /// A question lapses after this long.
    pub expires_after: Duration,
    pub reviewer: Option<Arc<dyn Reviewer>>,
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
pub struct Gate {
    setup: GateSetup,
    /// What was allowed until the session ends.
    allowed: Mutex<HashSet<ContentHash>>,
}

/// Whether a call asks to be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harden {
    No,
    /// A person is asked even when the command is on the list.
    Always,
}

/// A command that may run, once: checked again on the way.
#[derive(Debug)]
pub struct Cleared {
    pub planned: Planned,
    /// Who said yes.
    pub by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Policy,
    List,
    Reviewer,
    Person,
    Session,
}

/// Why a command does not run; written for the model.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "Commands are off for this agent (tools.exec.mode: deny). Do it another way, or tell the owner."
    )]
    Off,
    #[error("Not allowed: {0}. Only listed commands may run; nobody is asked.")]
    NotListed(String),
    #[error(
        "The owner said no to this command. Do not try it in another form; ask what to do instead."
    )]
    Denied,
    #[error(
        "This command needs the owner's yes and nobody answered: {0}. Tell the owner, or find a way without it."
    )]
    Unanswered(String),
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

impl Gate {
    pub fn new(setup: GateSetup) -> Self {
        Self {
            setup,
            allowed: Mutex::default(),
        }
    }

    /// Clears a command, asking a person where the rules say so. What is cleared was looked up
    /// again after the answer and is what was asked about.
    pub async fn clear(
        &self,
        planned: Planned,
        harden: Harden,
        approver: &dyn Approver,
    ) -> Result<Cleared, Refusal> {
        let setup = &self.setup;
        let document = Document::load(&setup.document)?;
        let mut rules = Rules::of(&setup.config, &document, &setup.agent);
        if harden == Harden::Always {
            rules = rules.stricter(Rules::ALWAYS_ASK);
        }
        let entries: Vec<_> = document.allowlist(&setup.agent).collect();
        let list = List {
            entries: &entries,
            config: &setup.config,
            host: &setup.host,
        };
        let listed = list.has(&planned);
        let answer = match &listed {
            Listed::Yes(_) => rules.listed,
            Listed::No(_) => rules.unlisted,
        };
        match (answer, &listed) {
            (Answer::Run, Listed::Yes(ids)) => {
                self.used(ids, &planned);
                Ok(Cleared {
                    planned,
                    by: By::List,
                })
            }
            (Answer::Run, Listed::No(_)) => Ok(Cleared {
                planned,
                by: By::Policy,
            }),
            (Answer::Deny, Listed::No(why)) if rules.listed != Answer::Deny => {
                Err(Refusal::NotListed(why.clone()))
            }
            (Answer::Deny, _) => Err(Refusal::Off),
            (Answer::Ask, listed) => self.ask(planned, rules, listed, approver).await,
        }
    }

    async fn ask(
        &self,
        planned: Planned,
        rules: Rules,
        listed: &Listed,
        approver: &dyn Approver,
    ) -> Result<Cleared, Refusal> {
        let binds = planned.binds();
        let remembers = rules.listed == Answer::Run;
        if remembers && self.allowed().contains(&binds) {
            return Ok(Cleared {
                planned,
                by: By::Session,
            });
        }
        let request = self.request(&planned, binds, listed)?;
        if rules.review == Review::Model
            && remembers
            && let Some(reviewer) = &self.setup.reviewer
        {
            let opinion = tokio::time::timeout(REVIEW_TIME, reviewer.review(&request)).await;
            if opinion == Ok(Opinion::Harmless) {
                return Ok(Cleared {
                    planned: unchanged(&planned, binds)?,
                    by: By::Reviewer,
                });
            }
        }
        let asking = approver.ask(&request);
        let answer = tokio::time::timeout(request.expires_after, asking).await;
        match answer.unwrap_or(Approval::Unanswered) {
            Approval::Deny => return Err(Refusal::Denied),
            Approval::Unanswered => {
                let fallback = match (rules.fallback, listed) {
                    (ExecSecurity::Full, _) => true,
                    (ExecSecurity::Allowlist, Listed::Yes(_)) => true,
                    (ExecSecurity::Allowlist | ExecSecurity::Deny, _) => false,
                };
                if !fallback {
                    return Err(Refusal::Unanswered(request.why));
                }
                return Ok(Cleared {
                    planned: unchanged(&planned, binds)?,
                    by: By::Policy,
                });
            }
            Approval::AllowOnce => {}
            Approval::AllowSession => {
                self.allowed().insert(binds);
            }
            Approval::AllowAlways => {
                let mut entry = exact_entry(&planned);
                entry.id = self.setup.host.random_hex(4);
                entry.last_used_at = Some(self.now());
                Document::change(&self.setup.document, |document| {
                    document.allow(self.setup.agent.as_str(), entry);
                })?;
            }
        }
        Ok(Cleared {
            planned: unchanged(&planned, binds)?,
            by: By::Person,
        })
    }

    fn request(
        &self,
        planned: &Planned,
        binds: ContentHash,
        listed: &Listed,
    ) -> Result<ApprovalRequest, Refusal> {
        let text = planned.text();
        if text.chars().count() > LONGEST_SHOWN {
            return Err(Refusal::TooLong);
        }
        let folder = shown(&self.setup.host.compact(&planned.folder));
        let what = match &planned.form {
            Form::Direct(_) => {
                format!("Run {}", shown(&planned.program.real.display().to_string()))
            }
            Form::Shell(_) => "Run a shell command".to_owned(),
        };
        Ok(ApprovalRequest {
            id: self.setup.host.random_hex(3),
            tool: "exec".to_owned(),
            summary: format!("{what} in {folder}"),
            exact: shown(&text),
            why: match listed {
                Listed::Yes(_) => "every command asks (ask: always)".to_owned(),
                Listed::No(why) => why.clone(),
            },
            binds,
            expires_after: self.setup.expires_after,
        })
    }

    /// Notes when an entry was last used. That it cannot be noted is no reason not to run.
    fn used(&self, ids: &[String], planned: &Planned) {
        if ids.iter().all(String::is_empty) {
            return;
        }
        let now = self.now();
        let _ = Document::change(&self.setup.document, |document| {
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

impl Cleared {
    /// The last look before it runs: files are found and read once more.
    pub fn check(self) -> Result<Planned, Refusal> {
        let binds = self.planned.binds();
        unchanged(&self.planned, binds)
    }
}

fn unchanged(planned: &Planned, binds: ContentHash) -> Result<Planned, Refusal> {
    let again = planned
        .again()
        .map_err(|error| Refusal::Changed(error.to_string()))?;
    match again.binds() == binds {
        true => Ok(again),
        false => Err(Refusal::Changed(
            "a program or script changed meanwhile".to_owned(),
        )),
    }
}
