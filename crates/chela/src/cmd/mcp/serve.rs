//! `chela mcp serve`: this program as an MCP server, for a client that started it.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_agent::caller_tokens::ServedScopes;
use chela_agent::served_agent::{AskBoard, ConversationDesk, ServedAgent};
use chela_core::Host;
use chela_mcp::serve::{McpService, serve_lines};

use super::{CommandSetup, wait_for};
use crate::cli::mcp::ServeArgs;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::process_log;

/// Who calls over the lines of a program that was started for that.
const CALLER: &str = "stdio";

/// Standard output carries the protocol, so nothing else is printed there.
pub fn run(host: &Host, args: &ServeArgs) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    let scopes =
        ServedScopes::parse(args.scope.iter().map(String::as_str)).map_err(CommandError::usage)?;
    let agent = setup.agent(args.agent.as_deref())?;
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded));
    process_log::hide_with(agents.redactor());
    let content = ServedAgent {
        board: AskBoard::new(ConversationDesk(Arc::clone(&agents))),
        caller: CALLER.to_owned(),
        agents,
        agent,
        scopes,
    };
    let service = McpService::new(Arc::new(content));
    let served = wait_for(async {
        let (input, output) = (async_stdin()?, async_stdout()?);
        serve_lines(service, input, output).await
    })?;
    served.map_err(|error| CommandError::new(format!("the client went away: {error}")))?;
    Ok(CommandExit::Fine)
}

/// Standard input as tokio reads it, whether it is a pipe, a file or a terminal.
fn async_stdin() -> std::io::Result<impl tokio::io::AsyncRead + Unpin> {
    Ok(tokio::io::stdin())
}

fn async_stdout() -> std::io::Result<impl tokio::io::AsyncWrite + Unpin + Send + 'static> {
    Ok(tokio::io::stdout())
}
