//! `chela sandbox …`: where commands run, what they reach, and a way to try.

mod explain;
mod prune;

use std::sync::Arc;
use std::time::Duration;

use chela_agent::sandbox::SandboxedSession;
use chela_agent::skills::skills_of;
use chela_config::AgentView;
use chela_config::model::WorkspaceAccess;
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey};
use chela_skills::AgentSkills;
use chela_tools::exec::{CommandTools, CommandsAsk, CommandsSetup};
use chela_tools::process::{CommandEnd, CommandJob};

use super::prompt::SESSION_HINT;
use super::{CommandOutcome, CommandSetup};
use crate::cli::sandbox::{SandboxCommand, WhoseSandbox};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: SandboxCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        SandboxCommand::Explain { whose, json } => {
            let session = SandboxSession::of(setup, whose)?;
            explain::explain(&session, screen, json)
        }
        SandboxCommand::Prune {
            dry_run,
            work,
            json,
        } => prune::prune(
            &setup,
            screen,
            &prune::SandboxPruneRequest {
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
            &SandboxSession::of(setup, whose)?,
            screen,
            command,
            Duration::from_secs(timeout),
        ),
    }
}

/// The session that is asked about.
struct SandboxSession {
    setup: CommandSetup,
    view: AgentView,
    key: SessionKey,
    channel: Option<String>,
    skills: AgentSkills,
}

impl SandboxSession {
    fn of(setup: CommandSetup, whose: WhoseSandbox) -> Result<Self, CommandError> {
        let key = whose.session.as_deref().map(SessionKey::parse);
        let key = key
            .transpose()
            .map_err(|error| CommandError::usage(error).hint(SESSION_HINT))?;
        // A session key names its agent.
        let owner = key.as_ref().and_then(|key| key.agent.clone());
        if let (Some(agent), Some(owner)) = (&whose.agent, &owner)
            && agent != owner
        {
            return Err(CommandError::usage(format!(
                "the session belongs to agent `{owner}`, not to `{agent}`"
            ))
            .hint("leave one of the two out"));
        }
        let agent = setup.agent(whose.agent.as_deref().or(owner.as_deref()))?;
        let key = key.unwrap_or_else(|| SessionKey::main(&agent));
        let view = setup
            .loaded
            .agent(&agent)
            .ok_or_else(|| CommandError::new(format!("there is no agent `{agent}`")))?;
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

    fn session(&self) -> SandboxedSession<'_> {
        SandboxedSession {
            host: &self.setup.host,
            loaded: &self.setup.loaded,
            view: &self.view,
            key: &self.key,
            channel: self.channel.as_deref(),
            skills: &self.skills,
            folders: &[],
        }
    }

    fn commands(&self) -> CommandTools {
        let known = chela_agent::known_secrets(&self.setup.host, &self.setup.loaded);
        let setup = CommandsSetup::of(CommandsAsk {
            host: &self.setup.host,
            loaded: &self.setup.loaded,
            view: &self.view,
            spool: self.setup.host.state_dir().join("state/spool/sandbox-run"),
            sandbox: self.session().standing(),
        });
        CommandTools::new(CommandsSetup {
            redactor: Arc::new(Redactor::new(None, known)),
            ..setup
        })
    }
}

/// Runs a command the owner typed where the agent's would run.
fn try_out(
    session: &SandboxSession,
    screen: &mut Screen,
    command: Vec<String>,
    timeout: Duration,
) -> CommandOutcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let workspace = &session.view.workspace.value;
        let needs_it = session.session().standing().access() != Some(WorkspaceAccess::None);
        if needs_it && !workspace.exists() {
            let shown = session.setup.host.compact(workspace);
            return Err(
                CommandError::new(format!("the workspace {shown} does not exist yet"))
                    .hint("`chela init` creates it"),
            );
        }
        let commands = session.commands();
        let job = commands
            .exec
            .for_the_owner(command, None, timeout)
            .map_err(|failed| {
                CommandError::new(failed.text()).hint("`chela sandbox explain` says more")
            })?;
        let ended = follow(&job, screen).await?;
        let code = |code: i32| CommandExit::Command(u8::try_from(code & 0xff).unwrap_or(u8::MAX));
        match ended {
            CommandEnd::Code(number) => Ok(code(number)),
            CommandEnd::Signal(signal) => Ok(code(128 + signal)),
            other => Err(CommandError::new(match other {
                CommandEnd::TimedOut => "it timed out",
                CommandEnd::TooManyProcesses => "it started too many processes",
                CommandEnd::TooMuchMemory => "it used too much memory",
                CommandEnd::TooMuchOutput => "it printed too much",
                _ => "it was stopped",
            })),
        }
    })
}

/// Shows what is printed, as it comes.
async fn follow(job: &CommandJob, screen: &mut Screen) -> Result<CommandEnd, CommandError> {
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
            return Ok(CommandEnd::Stopped);
        }
    }
}
