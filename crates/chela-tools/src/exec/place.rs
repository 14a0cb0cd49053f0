//! Inside the sandbox or outside: where one command runs.

use std::path::{Path, PathBuf};

use chela_config::model::ElevatedLevel;
use chela_sandbox::{Network, Plan, Proxy, Standing};

use super::{ExecTool, lock};
use crate::Output;
use crate::approvals::Harden;
use crate::process::Launch;

/// Where one command runs.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    Host,
    Sandbox(&'a Plan),
}

impl ExecTool {
    /// Where a call runs, and whether the owner is to be asked because of that.
    pub(super) fn place(&self, elevated: bool) -> Result<(Place<'_>, Harden), Output> {
        if elevated && !matches!(*self.setup.sandbox, Standing::Outside { .. }) {
            return self.elevated();
        }
        match &*self.setup.sandbox {
            Standing::Outside { .. } => Ok((Place::Host, Harden::No)),
            Standing::Inside(plan) => {
                plan.make_folders(&self.setup.host)
                    .map_err(Output::failed)?;
                Ok((Place::Sandbox(plan), Harden::No))
            }
            Standing::Refused { why, .. } => Err(Output::failed(format!(
                "exec is refused: this session must run in a sandbox, and {why}. Nothing was \
                 run; tell the owner, who can see more with `chela sandbox explain`."
            ))),
        }
    }

    fn elevated(&self) -> Result<(Place<'_>, Harden), Output> {
        let elevation = lock(&self.elevation).clone();
        match elevation.level {
            ElevatedLevel::Off => Err(Output::failed(format!(
                "Leaving the sandbox is not possible now: {}. Run it inside, without elevated.",
                elevation.why_not.unwrap_or_default()
            ))),
            ElevatedLevel::Ask => Ok((Place::Host, Harden::Always)),
            // Whether approvals are skipped is for `tools.exec` alone to say.
            ElevatedLevel::On | ElevatedLevel::Full => Ok((Place::Host, Harden::No)),
        }
    }

    pub(super) fn folder(
        &self,
        workdir: Option<&str>,
        place: Place<'_>,
    ) -> Result<PathBuf, Output> {
        let start: &Path = match place {
            Place::Host => &self.setup.workspace,
            Place::Sandbox(plan) => &plan.workdir,
        };
        let folder = match workdir {
            Some(folder) => self.setup.host.expand_from(folder, start),
            None => start.to_owned(),
        };
        let folder = match folder.canonicalize() {
            Ok(found) if found.is_dir() => found,
            _ => {
                return Err(Output::failed(format!(
                    "The folder {} does not exist.",
                    chela_core::sanitize::literal(&self.setup.host.compact(&folder))
                )));
            }
        };
        match place {
            Place::Sandbox(plan) => match plan.refuses_folder(&folder) {
                Some(why) => Err(Output::failed(why)),
                None => Ok(folder),
            },
            Place::Host => Ok(folder),
        }
    }

    /// The command as it is started there.
    pub(super) fn put(&self, launch: Launch, place: Place<'_>) -> Result<Launch, Output> {
        let Place::Sandbox(plan) = place else {
            return Ok(launch);
        };
        let Network::Hosts(hosts) = &plan.network else {
            return launch.inside(plan, None).map_err(Output::failed);
        };
        let mut proxy = lock(&self.proxy);
        let proxy = match &mut *proxy {
            Some(proxy) => proxy,
            none => {
                none.insert(Proxy::start(&self.setup.host, hosts.clone()).map_err(Output::failed)?)
            }
        };
        launch
            .inside(plan, Some(proxy.socket()))
            .map_err(Output::failed)
    }
}
