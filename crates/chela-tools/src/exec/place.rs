//! Inside the sandbox or outside: where one command runs.

use std::path::{Path, PathBuf};

use chela_config::model::ElevatedLevel;
use chela_core::lock;
use chela_sandbox::{
    EgressHosts, EgressProxy, NetworkAccess, SandboxPlan, SandboxStanding, StateFence,
};
use serde_json::{Map, Value};

use super::{ExecArguments, ExecTool};
use crate::approvals::{AskAlways, CommandCircumstances, PlannedCommand, RunPlace, StateReach};
use crate::place::{PlaceAccess, start_of};
use crate::process::CommandLaunch;
use crate::{ToolOutput, schema};

/// Where one command runs.
#[derive(Debug, Clone)]
pub enum CommandPlace {
    Host,
    Sandbox(Box<SandboxPlan>),
}

/// Where a call runs, and what of that the owner is to be asked about.
#[derive(Debug, Clone)]
pub struct CallPlace {
    pub place: CommandPlace,
    run: RunPlace,
    ask: AskAlways,
    /// Hosts it reaches that the operator did not list.
    hosts: Vec<String>,
}

impl CallPlace {
    fn of(place: CommandPlace, run: RunPlace) -> Self {
        Self {
            place,
            run,
            ask: AskAlways::No,
            hosts: Vec::new(),
        }
    }
}

impl ExecTool {
    /// Where a call runs.
    pub(super) fn place(&self, arguments: &ExecArguments) -> Result<CallPlace, ToolOutput> {
        let standing = &*self.setup.sandbox;
        let is_sandboxed = matches!(
            standing,
            SandboxStanding::Inside(_) | SandboxStanding::Refused { .. }
        );
        if arguments.elevated && is_sandboxed {
            return self.elevated();
        }
        match standing {
            SandboxStanding::Outside { .. } => {
                Ok(CallPlace::of(CommandPlace::Host, RunPlace::Host))
            }
            SandboxStanding::CommandsInside(_) if arguments.leaves() => {
                Ok(CallPlace::of(CommandPlace::Host, RunPlace::LeftSandbox))
            }
            SandboxStanding::CommandsInside(plan) => {
                plan.make_folders(&self.setup.host)
                    .map_err(ToolOutput::failed)?;
                reaching(plan, &arguments.hosts)
            }
            SandboxStanding::Inside(plan) => {
                plan.make_folders(&self.setup.host)
                    .map_err(ToolOutput::failed)?;
                let place = CommandPlace::Sandbox(plan.clone());
                Ok(CallPlace::of(place, RunPlace::Sandbox))
            }
            SandboxStanding::Refused { why, .. } => Err(ToolOutput::refused(format!(
                "exec is refused: this session must run in a sandbox, and {why}. Nothing was \
                 run; tell the owner, who can see more with `chela sandbox explain`."
            ))),
        }
    }

    fn elevated(&self) -> Result<CallPlace, ToolOutput> {
        let elevation = lock(&self.elevation).clone();
        let ask = match elevation.level {
            ElevatedLevel::Off => {
                return Err(ToolOutput::failed(format!(
                    "Leaving the sandbox is not possible now: {}. Run it inside, without elevated.",
                    elevation.why_not.unwrap_or_default()
                )));
            }
            ElevatedLevel::Ask => AskAlways::Always,
            // Whether approvals are skipped is for `tools.exec` alone to say.
            ElevatedLevel::On | ElevatedLevel::Full => AskAlways::No,
        };
        Ok(CallPlace {
            ask,
            ..CallPlace::of(CommandPlace::Host, RunPlace::LeftSandbox)
        })
    }

    /// What decides about a call besides its words.
    pub(super) fn circumstances<'a>(
        &self,
        place: &'a CallPlace,
        arguments: &ExecArguments,
        planned: &PlannedCommand,
    ) -> CommandCircumstances<'a> {
        CommandCircumstances {
            ask: match arguments.ask.as_deref() {
                Some("always") => AskAlways::Always,
                _ => place.ask,
            },
            place: place.run,
            taint: *lock(&self.taint),
            hosts: &place.hosts,
            state: match self.fence_around(&place.place, planned) {
                Ok(_) => StateReach::Kept,
                Err(_) => StateReach::Open,
            },
        }
    }

    /// What keeps a command from Chela's own files: `None` where it is the sandbox, or why nothing
    /// does.
    fn fence_around(
        &self,
        place: &CommandPlace,
        planned: &PlannedCommand,
    ) -> Result<Option<&StateFence>, String> {
        match place {
            CommandPlace::Sandbox(_) => Ok(None),
            CommandPlace::Host if planned.becomes_other_user() => {
                Err("it runs as another user".to_owned())
            }
            CommandPlace::Host => self.setup.fence.fence().map(Some).map_err(str::to_owned),
        }
    }

    /// Whether a call can change what Chela keeps. One that cannot be read will be refused.
    pub(super) fn reach_of(&self, arguments: &Map<String, Value>) -> StateReach {
        let planned = schema::read(arguments).and_then(|arguments: ExecArguments| {
            let placed = self.place(&arguments)?;
            let planned = self.plan(&arguments, &placed.place)?;
            Ok(self.circumstances(&placed, &arguments, &planned).state)
        });
        planned.unwrap_or(StateReach::Open)
    }

    pub(super) fn folder(
        &self,
        workdir: Option<&str>,
        place: &CommandPlace,
    ) -> Result<PathBuf, ToolOutput> {
        let plan = match place {
            CommandPlace::Host => None,
            CommandPlace::Sandbox(plan) => Some(plan),
        };
        let own = plan.map_or(&self.setup.workspace, |plan| &plan.workdir);
        let reached =
            |folder: &&Path| plan.is_none_or(|plan| plan.refuses_folder(folder).is_none());
        let project = self.setup.started_in.as_deref().filter(reached);
        let workdir = workdir.unwrap_or(".");
        // Nothing is made of a name that is not there.
        let project = project.map(|folder| (folder, PlaceAccess::Read));
        let start = start_of(project, own, Path::new(workdir.trim()));
        let folder = self.setup.host.expand_from(workdir, &start);
        let folder = match folder.canonicalize() {
            Ok(found) if found.is_dir() => found,
            _ => {
                return Err(ToolOutput::failed(format!(
                    "The folder {} does not exist.",
                    chela_core::sanitize::literal(&self.setup.host.compact(&folder))
                )));
            }
        };
        match place {
            CommandPlace::Sandbox(plan) => match plan.refuses_folder(&folder) {
                Some(why) if self.may_leave() => {
                    Err(ToolOutput::failed(format!("{why} {LEAVING}")))
                }
                Some(why) => Err(ToolOutput::failed(why)),
                None => Ok(folder),
            },
            CommandPlace::Host => Ok(folder),
        }
    }

    /// The folder a call would start in, whether or not it leaves the sandbox.
    pub(super) fn start_of(&self, arguments: &Map<String, Value>) -> Option<PathBuf> {
        let workdir = arguments.get("workdir").and_then(Value::as_str);
        let place = match self.setup.sandbox.plan() {
            Some(plan) => CommandPlace::Sandbox(Box::new(plan.clone())),
            None => CommandPlace::Host,
        };
        self.folder(workdir, &place).ok()
    }

    /// Whether a call can ask to run outside by itself.
    pub(super) fn may_leave(&self) -> bool {
        matches!(*self.setup.sandbox, SandboxStanding::CommandsInside(_))
    }

    /// A command as it is started there.
    pub(super) fn launch_in(
        &self,
        place: &CommandPlace,
        planned: PlannedCommand,
        arguments: &ExecArguments,
    ) -> Result<CommandLaunch, ToolOutput> {
        let fence = self
            .fence_around(place, &planned)
            .map(|fence| fence.cloned());
        let launch = self.launch(planned, arguments);
        match fence {
            Ok(Some(fence)) => launch.fenced(&fence).map_err(ToolOutput::failed),
            Ok(None) => self.put(launch, place),
            Err(why) => {
                tracing::info!(why, "nothing keeps a command from Chela's own files");
                Ok(launch)
            }
        }
    }

    fn put(
        &self,
        launch: CommandLaunch,
        place: &CommandPlace,
    ) -> Result<CommandLaunch, ToolOutput> {
        let CommandPlace::Sandbox(plan) = place else {
            return Ok(launch);
        };
        let NetworkAccess::Hosts(hosts) = &plan.network else {
            return launch
                .inside(&self.setup.host, plan, None)
                .map_err(ToolOutput::failed);
        };
        let key = hosts.texts().collect::<Vec<_>>().join(" ");
        let mut proxies = lock(&self.proxies);
        if !proxies.contains_key(&key) {
            let started = EgressProxy::start(&self.setup.host, hosts.clone());
            proxies.insert(key.clone(), started.map_err(ToolOutput::failed)?);
        }
        let socket = proxies.get(&key).map(EgressProxy::socket);
        launch
            .inside(&self.setup.host, plan, socket)
            .map_err(ToolOutput::failed)
    }
}

/// What the model is told it can do about walls in the way.
pub(super) const LEAVING: &str = "If it cannot be done inside, call exec again with hosts: \
    [\"example.org\"] for the network, or with outside: true to run it on the machine itself; the \
    owner is asked.";

/// The sandbox with a way to the hosts a call names. Those the operator listed need no yes.
fn reaching(plan: &SandboxPlan, wanted: &[String]) -> Result<CallPlace, ToolOutput> {
    let mut notes = Vec::new();
    let mut wanted: Vec<String> = wanted
        .iter()
        .map(|host| host.trim().to_ascii_lowercase())
        .collect();
    wanted.sort();
    wanted.dedup();
    let hosts = EgressHosts::of(&wanted, &mut notes);
    if let Some(note) = notes.first() {
        return Err(ToolOutput::failed(format!("Not run: {note}.")));
    }
    if wanted.is_empty() {
        let place = CommandPlace::Sandbox(Box::new(plan.clone()));
        return Ok(CallPlace::of(place, RunPlace::Sandbox));
    }
    let plan = plan.reaching(hosts).map_err(ToolOutput::failed)?;
    let listed: Vec<&str> = match &plan.granted {
        NetworkAccess::Hosts(granted) => granted.texts().collect(),
        NetworkAccess::None => Vec::new(),
    };
    let hosts = wanted
        .iter()
        .filter(|host| !listed.contains(&host.as_str()))
        .cloned()
        .collect();
    Ok(CallPlace {
        hosts,
        ..CallPlace::of(CommandPlace::Sandbox(Box::new(plan)), RunPlace::Sandbox)
    })
}
