//! `chela sandbox …`: where commands run, what they reach, and a way to try.

mod explain;
mod prune;

use std::sync::Arc;
use std::time::Duration;

use chela_agent::sandbox::Session;
use chela_agent::skills::skills_of;
use chela_config::AgentView;
use chela_config::model::WorkspaceAccess;
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey};
use chela_skills::AgentSkills;
use chela_tools::exec::{Commands, CommandsAsk, CommandsSetup};
use chela_tools::process::{Ended, Job};

use super::{Outcome, Setup};
use crate::cli::sandbox::{SandboxCommand, WhoseSandbox};
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: SandboxCommand) -> Outcome {
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        SandboxCommand::Explain { whose, json } => {
            let desk = Desk::of(setup, whose)?;
            explain::explain(&desk, screen, json)
        }
        SandboxCommand::Prune {
            dry_run,
            work,
            json,
        } => prune::prune(
            &setup,
            screen,
            &prune::Asked {
                dry_run,
                work,
                json,
            },
        ),
        SandboxCommand::Run {
            whose,
            timeout,
            command,
        } => try_out(
            &Desk::of(setup, whose)?,
            screen,
            command,
            Duration::from_secs(timeout),
        ),
    }
}

/// The session that is asked about.
struct Desk {
    setup: Setup,
    view: AgentView,
    key: SessionKey,
    channel: Option<String>,
    skills: AgentSkills,
}

impl Desk {
    fn of(setup: Setup, whose: WhoseSandbox) -> Result<Self, Fail> {
        let key = whose.session.as_deref().map(SessionKey::parse);
        let key = key.transpose().map_err(Fail::usage)?;
        // A session key names its agent.
        let owner = key.as_ref().and_then(|key| key.agent.clone());
        if let (Some(agent), Some(owner)) = (&whose.agent, &owner)
            && agent != owner
        {
            return Err(Fail::usage(format!(
                "the session belongs to agent `{owner}`, not to `{agent}`"
            ))
            .hint("leave one of the two out"));
        }
        let agent = setup.agent(whose.agent.as_deref().or(owner.as_deref()))?;
        let key = key.unwrap_or_else(|| SessionKey::main(&agent));
        let view = setup
            .loaded
            .agent(&agent)
            .ok_or_else(|| Fail::new(format!("there is no agent `{agent}`")))?;
        let skills = skills_of(&setup.host, &setup.loaded, &view);
        let channel = whose.channel.or_else(|| key.channel().map(str::to_owned));
        Ok(Self {
            view,
            key,
            channel,
            skills,
            setup,
        })
    }

    fn session(&self) -> Session<'_> {
        Session {
            host: &self.setup.host,
            loaded: &self.setup.loaded,
            view: &self.view,
            key: &self.key,
            channel: self.channel.as_deref(),
            skills: &self.skills,
        }
    }

    fn commands(&self) -> Commands {
        let known = chela_agent::known_secrets(&self.setup.host, &self.setup.loaded);
        let setup = CommandsSetup::of(CommandsAsk {
            host: &self.setup.host,
            loaded: &self.setup.loaded,
            view: &self.view,
            spool: self.setup.host.state_dir().join("state/spool/sandbox-run"),
            sandbox: self.session().standing(),
        });
        Commands::new(CommandsSetup {
            redactor: Arc::new(Redactor::new(None, known)),
            ..setup
        })
    }
}

/// Runs a command the owner typed where the agent's would run.
fn try_out(desk: &Desk, screen: &mut Screen, command: Vec<String>, timeout: Duration) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let workspace = &desk.view.workspace.value;
        let needs_it = desk.session().standing().access() != Some(WorkspaceAccess::None);
        if needs_it && !workspace.exists() {
            let shown = desk.setup.host.compact(workspace);
            return Err(
                Fail::new(format!("the workspace {shown} does not exist yet"))
                    .hint("`chela init` makes it"),
            );
        }
        let commands = desk.commands();
        let job = commands
            .exec
            .for_the_owner(command, timeout)
            .map_err(|failed| {
                Fail::new(failed.text()).hint("`chela sandbox explain` says more about it")
            })?;
        let ended = follow(&job, screen).await?;
        let code = |code: i32| Exit::Command(u8::try_from(code & 0xff).unwrap_or(u8::MAX));
        match ended {
            Ended::Code(number) => Ok(code(number)),
            Ended::Signal(signal) => Ok(code(128 + signal)),
            other => Err(Fail::new(match other {
                Ended::TimedOut => "its time was up",
                Ended::TooManyProcesses => "it started more processes than it may",
                Ended::TooMuchMemory => "it used more memory than it may",
                Ended::TooMuchOutput => "it printed too much",
                _ => "it was stopped",
            })),
        }
    })
}

/// Shows what is printed, as it comes.
async fn follow(job: &Job, screen: &mut Screen) -> Result<Ended, Fail> {
    const AT_ONCE: usize = 1 << 20;
    let mut watch = job.watch();
    loop {
        let ended = watch.borrow_and_update().ended.clone();
        while job.has_news() {
            screen.bytes(&job.news(AT_ONCE).bytes)?;
        }
        screen.flush()?;
        if let Some(ended) = ended {
            return Ok(ended);
        }
        if watch.changed().await.is_err() {
            return Ok(Ended::Stopped);
        }
    }
}
