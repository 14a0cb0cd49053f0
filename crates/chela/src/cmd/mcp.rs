//! `chela mcp …`: tool servers, and Chela as one.

pub mod add;
mod diff;
mod list;
mod login;
pub mod project_file;
mod serve;
pub mod set_up;
mod test;
mod token;
mod tools;
mod trust;

use std::sync::Arc;

use chela_agent::McpToolset;
use chela_agent::agent::Agents;
use chela_core::{Host, suggest};
use chela_mcp::{McpServerSpec, prefix_of};

use super::{CommandOutcome, CommandSetup};
use crate::cli::mcp::McpCommand;
use crate::fail::CommandError;
use crate::screen::Screen;

pub use project_file::offer_project_servers;

pub fn run(host: &Host, screen: &mut Screen, command: McpCommand) -> CommandOutcome {
    match command {
        McpCommand::List(args) => list::run(host, screen, args.json),
        McpCommand::Add(args) => add::run(host, screen, &args),
        McpCommand::Remove { name } => set_up::remove(host, screen, &name),
        McpCommand::Enable { name } => set_up::enable(host, screen, &name, set_up::ServerUse::On),
        McpCommand::Disable { name } => set_up::enable(host, screen, &name, set_up::ServerUse::Off),
        McpCommand::Test(args) => test::run(host, screen, &args),
        McpCommand::Login { name, scope } => login::log_in(host, screen, &name, scope.as_deref()),
        McpCommand::Logout { name } => login::log_out(host, screen, &name),
        McpCommand::Tools { name, json } => tools::run(host, screen, name.as_deref(), json),
        McpCommand::Diff { name } => diff::run(host, screen, name.as_deref()),
        McpCommand::Trust(args) => trust::trust(host, screen, &args),
        McpCommand::Revoke { name, tools } => trust::revoke(host, screen, &name, &tools),
        McpCommand::Logs { name, lines } => test::logs(host, screen, &name, lines),
        McpCommand::Serve(args) => serve::run(host, &args),
        McpCommand::Token(command) => token::run(host, screen, command),
    }
}

/// The servers of a home, none of them started.
struct KnownServers {
    setup: CommandSetup,
    set: Arc<McpToolset>,
}

impl KnownServers {
    fn open(host: &Host) -> Self {
        let setup = CommandSetup::load(host);
        let agents = Agents::open(&setup.host, Arc::new(setup.loaded.clone()));
        let set = agents.mcp();
        Self { setup, set }
    }

    /// A server by its name, or by what its tools' names begin with.
    fn spec(&self, name: &str) -> Result<Arc<McpServerSpec>, CommandError> {
        let specs = self.set.pool().specs();
        let found = specs
            .iter()
            .find(|spec| spec.name == name || spec.prefix == name);
        if let Some(spec) = found {
            return Ok(Arc::clone(spec));
        }
        let configured = &self.setup.loaded.config.mcp.servers;
        if let Some(server) = configured.get(name) {
            return Err(match server.enabled {
                Some(false) => CommandError::new(format!("the MCP server `{name}` is disabled"))
                    .hint(format!("chela mcp enable {name}")),
                _ => {
                    let (_, faults) = chela_mcp::specs_of(&self.setup.host, &self.setup.loaded);
                    let why = faults.iter().map(ToString::to_string);
                    let why = why.filter(|why| why.contains(name)).collect::<Vec<_>>();
                    CommandError::config(match why.is_empty() {
                        true => format!("the MCP server `{name}` cannot be used"),
                        false => why.join("; "),
                    })
                }
            });
        }
        Err(unknown(name, configured.keys().map(String::as_str)))
    }
}

fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> CommandError {
    let known: Vec<&str> = known.collect();
    let hint = match (
        suggest::nearest(name, known.iter().copied()),
        known.is_empty(),
    ) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, true) => "`chela mcp add` sets one up".to_owned(),
        (None, false) => format!("there is {}", known.join(", ")),
    };
    CommandError::new(format!("there is no MCP server `{name}`")).hint(hint)
}

/// What its files are called.
fn prefix(name: &str) -> String {
    prefix_of(name)
}

/// Something that waits for servers.
pub fn wait_for<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(work))
}
