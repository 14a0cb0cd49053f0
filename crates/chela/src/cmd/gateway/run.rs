//! `chela gateway run`: signals, and the program around the gateway.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chela_agent::agent::Agents;
use chela_core::Host;
use chela_gateway::{DrainOutcome, Gateway, GatewayAsk};
use tokio::sync::{Notify, oneshot};

use super::super::{CommandOutcome, CommandSetup};
use super::heap::{give_memory_back, share_heaps};
use crate::cli::gateway::GatewayRunArgs;
use crate::fail::{CommandError, CommandExit};
use crate::heard_signals::{HeardSignal, SignalKind};
use crate::process_log;
use crate::screen::{Screen, count_noun};

/// So long turns may take to come to their end when the process is told to.
const DRAIN_PATIENCE: Duration = Duration::from_secs(30);

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessEnd {
    Stop,
    Restart,
}

pub fn run(host: &Host, screen: &mut Screen, args: &GatewayRunArgs) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    share_heaps();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    let end = runtime.block_on(async {
        // From before it can be found, so that no signal is missed.
        let signals = Signals::listen()?;
        for survivor in chela_sandbox::end_surviving_commands(host) {
            tracing::warn!(
                command = survivor.shown,
                "a command of an earlier process still ran and was ended"
            );
        }
        let ask = GatewayAsk {
            port: args.port,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agents_opened: Some(agents_opened),
            log_file: Some(process_log::file_of(host, &setup.loaded)),
        };
        let gateway = Gateway::open(host, Arc::new(setup.loaded), &ask).await?;
        let running = gateway.running();
        screen.line(format!(
            "The gateway listens on {} (process {}).",
            running.url(),
            running.pid
        ))?;
        screen.flush()?;
        let (first, asked) = oneshot::channel();
        let hurry = Arc::new(Notify::new());
        tokio::spawn(signals.pass_on(first, gateway.reload_bell(), Arc::clone(&hurry)));
        tokio::spawn(give_memory_back(gateway.lanes().clone()));
        let told = OnceLock::new();
        let stop = async {
            let asked = asked.await.unwrap_or(ProcessEnd::Stop);
            let _ = told.set(asked);
        };
        let end = gateway
            .run(stop, async move { hurry.notified().await }, DRAIN_PATIENCE)
            .await;
        if let DrainOutcome::LeftBehind { turns } = end.outcome {
            screen.line(format!(
                "{} did not finish; the next gateway continues with what is left.",
                count_noun(turns, "turn")
            ))?;
        }
        Ok::<_, CommandError>(match end.restart {
            Some(_) => ProcessEnd::Restart,
            None => told.get().copied().unwrap_or(ProcessEnd::Stop),
        })
    })?;
    // What still runs is not waited for: it is on record, and goes on in the next process.
    runtime.shutdown_background();
    match end {
        ProcessEnd::Stop => Ok(CommandExit::Fine),
        ProcessEnd::Restart => Err(start_again(host)),
    }
}

/// Becomes the program anew, in the same process. Comes back only when that fails.
fn start_again(host: &Host) -> CommandError {
    process_log::finish();
    let program = host.program.clone();
    let Some(program) = program.or_else(|| std::env::current_exe().ok()) else {
        return CommandError::new("the program cannot be found to start it again");
    };
    let mut command = std::process::Command::new(&program);
    command.args(std::env::args_os().skip(1));
    let error = become_program(&mut command);
    CommandError::new(format!("cannot start again: {error}"))
}

#[cfg(unix)]
fn become_program(command: &mut std::process::Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// A process cannot become another program here, and one that is started besides would be nobody's.
#[cfg(not(unix))]
fn become_program(_: &mut std::process::Command) -> std::io::Error {
    std::io::ErrorKind::Unsupported.into()
}

struct Signals {
    terminate: HeardSignal,
    interrupt: HeardSignal,
    hang_up: HeardSignal,
    restart: HeardSignal,
}

impl Signals {
    fn listen() -> Result<Self, CommandError> {
        let listen = |kind| {
            HeardSignal::listen(kind)
                .map_err(|error| CommandError::new(format!("cannot start: {error}")))
        };
        Ok(Self {
            terminate: listen(SignalKind::Terminate)?,
            interrupt: listen(SignalKind::Interrupt)?,
            hang_up: listen(SignalKind::HangUp)?,
            restart: listen(SignalKind::Restart)?,
        })
    }

    /// Says what signals ask for: the first end through `first`, any later one through `hurry`, a
    /// new look at the config through `reload`.
    async fn pass_on(
        mut self,
        first: oneshot::Sender<ProcessEnd>,
        reload: Arc<Notify>,
        hurry: Arc<Notify>,
    ) {
        let mut first = Some(first);
        loop {
            let end = tokio::select! {
                () = self.terminate.next() => ProcessEnd::Stop,
                () = self.interrupt.next() => ProcessEnd::Stop,
                () = self.restart.next() => ProcessEnd::Restart,
                () = self.hang_up.next() => {
                    reload.notify_one();
                    continue;
                }
            };
            match first.take() {
                // It may be ending by itself.
                Some(first) => drop(first.send(end)),
                None => hurry.notify_one(),
            }
        }
    }
}

/// The log hides what these agents know.
fn agents_opened(agents: &Arc<Agents>) {
    process_log::hide_with(agents.redactor());
    process_log::configure(agents.loaded());
}
