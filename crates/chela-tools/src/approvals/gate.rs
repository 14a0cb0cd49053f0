//! From a command that is planned to one that may run.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use chela_config::model::{Exec, ExecSecurity};
use chela_core::{AgentId, ContentHash, Host, ok_or_debug};

use super::document::{Document, DocumentError};
use super::limits::{Answer, Rules};
use super::listed::{List, Listed, exact_entry};
use super::planned::{Form, Planned};
use super::program::ProgramError;
use super::show::{LONGEST_SHOWN, shown};
use chela_guard::approval::{AnswerError, Approver, AskedCall, Asking, Question, Scope};
use chela_guard::flow::Standing;

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
        let id = self.setup.host.random_hex(3);
        let mut question = self.question(&planned, binds, listed, &id)?;
        let asking = tokio::time::timeout(question.lasts(), approver.ask(&question));
        let answer = asking
            .await
            .unwrap_or(chela_guard::approval::Answer::NOBODY);
        match question.answer(answer, self.setup.host.clock.now()) {
            Ok(grant) => self.remember(grant.scope(), &planned, binds)?,
            Err(AnswerError::Denied) => return Err(Refusal::Denied),
            Err(AnswerError::Changed) => {
                return Err(Refusal::Changed(
                    "the answer was to something else".to_owned(),
                ));
            }
            Err(_) => {
                let fallback = match (rules.fallback, listed) {
                    (ExecSecurity::Full, _) => true,
                    (ExecSecurity::Allowlist, Listed::Yes(_)) => true,
                    (ExecSecurity::Allowlist | ExecSecurity::Deny, _) => false,
                };
                if !fallback {
                    return Err(Refusal::Unanswered(why_of(listed)));
                }
                return Ok(Cleared {
                    planned: unchanged(&planned, binds)?,
                    by: By::Policy,
                });
            }
        }
        Ok(Cleared {
            planned: unchanged(&planned, binds)?,
            by: By::Person,
        })
    }

    /// Keeps a yes for as long as it was given.
    fn remember(&self, scope: Scope, planned: &Planned, binds: ContentHash) -> Result<(), Refusal> {
        match scope {
            Scope::Once | Scope::Deny => {}
            Scope::Session => {
                self.allowed().insert(binds);
            }
            Scope::Always => {
                let mut entry = exact_entry(planned);
                entry.id = self.setup.host.random_hex(4);
                entry.last_used_at = Some(self.now());
                Document::change(&self.setup.document, |document| {
                    document.allow(self.setup.agent.as_str(), entry);
                })?;
            }
        }
        Ok(())
    }

    /// What the lists say about a command, without asking anybody.
    pub fn standing(&self, planned: &Planned) -> Standing {
        let setup = &self.setup;
        let Ok(document) = Document::load(&setup.document) else {
            return Standing::Unlisted;
        };
        let entries: Vec<_> = document.allowlist(&setup.agent).collect();
        let list = List {
            entries: &entries,
            config: &setup.config,
            host: &setup.host,
        };
        match list.has(planned) {
            Listed::Yes(_) => Standing::Listed,
            Listed::No(_) => Standing::Unlisted,
        }
    }

    /// What will happen, in plain words.
    pub fn words(&self, planned: &Planned) -> String {
        let folder = shown(&self.setup.host.compact(&planned.folder));
        let what = match &planned.form {
            Form::Direct(_) => {
                format!("Run {}", shown(&planned.program.real.display().to_string()))
            }
            Form::Shell(_) => "Run a shell command".to_owned(),
        };
        format!("{what} in {folder}")
    }

    fn question(
        &self,
        planned: &Planned,
        binds: ContentHash,
        listed: &Listed,
        id: &str,
    ) -> Result<Question, Refusal> {
        let text = planned.text();
        if text.chars().count() > LONGEST_SHOWN {
            return Err(Refusal::TooLong);
        }
        let call = AskedCall {
            tool: "exec".to_owned(),
            summary: self.words(planned),
            exact: vec![("command".to_owned(), shown(&text))],
            why: why_of(listed),
            passage: None,
            shape: binds,
        };
        Ok(Question::new(
            vec![call],
            Asking {
                id,
                now: self.setup.host.clock.now(),
                lasts: self.setup.expires_after,
            },
        ))
    }

    /// Notes when an entry was last used. That it cannot be noted is no reason not to run.
    fn used(&self, ids: &[String], planned: &Planned) {
        if ids.iter().all(String::is_empty) {
            return;
        }
        let now = self.now();
        let noted = Document::change(&self.setup.document, |document| {
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

impl Cleared {
    /// The last look before it runs: files are found and read once more.
    pub fn check(self) -> Result<Planned, Refusal> {
        let binds = self.planned.binds();
        unchanged(&self.planned, binds)
    }
}

fn why_of(listed: &Listed) -> String {
    match listed {
        Listed::Yes(_) => "every command asks (ask: always)".to_owned(),
        Listed::No(why) => why.clone(),
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
