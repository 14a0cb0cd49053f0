//! Commands on the machine: `exec` plans one, has it cleared, starts it and follows it.

mod call;
mod command_words;
mod environment;
mod network;
mod place;
mod setup;
mod spec;
mod walls_met;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_guard::flow::SessionTaint;
use chela_sandbox::{EgressProxy, NetworkAccess};
use serde_json::{Map, Value};

use crate::approvals::{
    ApprovalsDocument, CommandFreedom, CommandGate, GateSetup, StateReach, binds_of,
};
use crate::handles::{self, SecretDestination};
use crate::process::{CommandJob, SessionProcesses};
use crate::{
    CallFuture, CallProspect, CallTarget, CallWrites, Effect, ElevationState, RunCall, Tool,
    ToolOutput, ToolSpec, foresight, schema,
};

use call::ExecArguments;
use place::CommandPlace;
pub use setup::{CommandTools, CommandsAsk, CommandsSetup, SandboxLeaving};
use spec::spec;

/// The `exec` tool.
#[derive(Debug)]
pub struct ExecTool {
    spec: ToolSpec,
    setup: CommandsSetup,
    gate: Arc<CommandGate>,
    processes: SessionProcesses,
    elevation: Mutex<ElevationState>,
    taint: Mutex<SessionTaint>,
    /// The ways out of the sandbox, by the hosts they lead to, each from the first command that
    /// needs it.
    proxies: Mutex<BTreeMap<String, EgressProxy>>,
}

impl ExecTool {
    fn new(setup: CommandsSetup, processes: SessionProcesses) -> Self {
        let gate = Arc::new(CommandGate::new(GateSetup {
            host: setup.host.clone(),
            agent: setup.agent.clone(),
            config: setup.config.clone(),
            document: ApprovalsDocument::path(&setup.host),
            workspace: setup.workspace.clone(),
            doubts: Arc::clone(&setup.doubts),
            expires_after: setup.expires_after,
        }));
        Self {
            spec: spec(&setup).shared(),
            setup,
            gate,
            processes,
            elevation: Mutex::new(ElevationState::none()),
            taint: Mutex::new(SessionTaint::Clean),
            proxies: Mutex::default(),
        }
    }

    /// Starts a command the owner typed where a call would run it. Nobody is asked: the owner
    /// did.
    pub fn for_the_owner(
        &self,
        argv: Vec<String>,
        folder: Option<&Path>,
        timeout: Duration,
    ) -> Result<Arc<CommandJob>, ToolOutput> {
        let arguments = ExecArguments {
            command: None,
            argv: Some(argv),
            workdir: folder.map(|folder| folder.display().to_string()),
            env: BTreeMap::new(),
            yield_ms: None,
            background: false,
            timeout_seconds: Some(timeout.as_secs()),
            pty: false,
            ask: None,
            elevated: false,
            outside: false,
            hosts: Vec::new(),
        };
        let place = self.place(&arguments)?.place;
        let planned = self.plan(&arguments, &place)?;
        let launch = self.launch_in(&place, planned, &arguments)?;
        self.processes
            .start(launch)
            .map_err(|error| ToolOutput::failed(error.to_string()))
    }

    async fn act(&self, call: RunCall<'_>) -> Result<ToolOutput, ToolOutput> {
        let arguments: ExecArguments = schema::read(call.arguments)?;
        let placed = self.place(&arguments)?;
        let planned = self.plan(&arguments, &placed.place)?;
        let circumstances = self.circumstances(&placed, &arguments, &planned);
        let failed = |error: &dyn std::fmt::Display| ToolOutput::failed(error.to_string());
        let cleared = self.gate.clear(planned, circumstances, call.approver).await;
        let refused = |refusal: &dyn std::fmt::Display| ToolOutput::refused(refusal.to_string());
        let cleared = cleared.map_err(|refusal| refused(&refusal))?;
        let besides = cleared.variables();
        let planned = cleared.check().map_err(|refusal| refused(&refusal))?;
        // Only now, so that neither the question nor the record holds the value.
        let mut env = besides;
        for (name, text) in &arguments.env {
            let value = handles::put_in(text, &*self.setup.handles, SecretDestination::Environment);
            let value = value
                .await
                .map_err(|why| failed(&format!("The command was not run: env.{name}: {why}.")))?;
            env.insert(name.clone(), value);
        }
        let mut launch = self.launch_in(&placed.place, planned, &arguments)?;
        launch.env.extend(env);
        let job = self
            .processes
            .start(launch)
            .map_err(|error| failed(&error))?;
        let output = self.follow(Arc::clone(&job), &arguments, call).await?;
        Ok(self.with_word_about_walls(output, &job, &placed.place))
    }
}

impl Tool for ExecTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn settle(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        command_words::one_command(arguments)
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        let prospect = || {
            let arguments: ExecArguments = schema::read(arguments)?;
            let placed = self.place(&arguments)?;
            let planned = self.plan(&arguments, &placed.place)?;
            let circumstances = self.circumstances(&placed, &arguments, &planned);
            let standing = self.gate.standing(&planned, circumstances);
            Ok::<_, ToolOutput>(CallProspect {
                standing: standing.list,
                words: Some(self.gate.words(&planned, circumstances)),
                binds: Some(binds_of(&planned, circumstances)),
                choices: self.gate.choices(&planned, circumstances),
                ..CallProspect::of(match standing.freedom {
                    CommandFreedom::Free if !arguments.names_secret() => free_effect(&placed.place),
                    CommandFreedom::Records => Effect::WriteReversible,
                    _ => Effect::Irreversible,
                })
            })
        };
        // What cannot be planned will be refused; until then it is a command like any other.
        prospect().unwrap_or_else(|_| CallProspect::of(Effect::Irreversible))
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        let mut targets = foresight::targets_by_sink(&self.spec, arguments);
        targets.extend(self.start_of(arguments).map(CallTarget::Tree));
        targets
    }

    /// A command writes what it likes.
    fn writes(&self, _: &Map<String, Value>) -> CallWrites {
        CallWrites::Anything
    }

    fn state_reach(&self, arguments: &Map<String, Value>) -> StateReach {
        self.reach_of(arguments)
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}

/// What a command does that needs nobody's yes.
fn free_effect(place: &CommandPlace) -> Effect {
    match place {
        // It only looks.
        CommandPlace::Host => Effect::Read,
        CommandPlace::Sandbox(plan) => match plan.network {
            NetworkAccess::None => Effect::WriteReversible,
            // What it reads it can send.
            NetworkAccess::Hosts(_) => Effect::Irreversible,
        },
    }
}

#[cfg(test)]
mod tests;
