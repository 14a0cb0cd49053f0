//! `chela mcp test` and `logs`: a server is started, and what it says is shown.

use chela_core::Host;
use chela_mcp::{CallAnswer, McpServerSpec, PoolError, ResultPiece, log_path, read_log};
use serde_json::{Map, Value, json};

use super::{CommandSetup, KnownServers, prefix, tools, unknown, wait_for};
use crate::chat::clean_line;
use crate::cli::mcp::TestArgs;
use crate::cmd::{CommandOutcome, time};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, args: &TestArgs) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let spec = servers.spec(&args.name)?;
    let wanted = match (&args.call, &args.resource, &args.prompt) {
        (None, None, None) => return show(&servers, screen, &spec, args.json),
        _ => arguments_of(&args.arguments)?,
    };
    let pool = servers.set.pool();
    let answer = wait_for(async {
        let answer = match (&args.call, &args.resource, &args.prompt) {
            (Some(tool), ..) => pool.call(&spec.prefix, tool, &wanted).await,
            (None, Some(uri), _) => pool.read_resource(&spec.prefix, uri).await,
            (None, None, prompt) => {
                let prompt = prompt.as_deref().unwrap_or_default();
                pool.get_prompt(&spec.prefix, prompt, &wanted).await
            }
        };
        pool.close().await;
        answer
    })?;
    print_answer(
        screen,
        &answer.map_err(|error| failed(&spec, error))?,
        args.json,
    )
}

/// Starts a server for the first time, after it was set up.
pub fn meet(host: &Host, screen: &mut Screen, name: &str) -> CommandOutcome {
    let servers = KnownServers::open(host);
    let spec = servers.spec(name)?;
    show(&servers, screen, &spec, false)
}

fn show(
    servers: &KnownServers,
    screen: &mut Screen,
    spec: &McpServerSpec,
    as_json: bool,
) -> CommandOutcome {
    let pool = servers.set.pool();
    let told = wait_for(async {
        let told = async {
            pool.learn(&spec.prefix).await?;
            pool.about(&spec.prefix).await
        };
        let told = told.await;
        pool.close().await;
        told
    })?;
    let (about, version) = told.map_err(|error| failed(spec, error))?;
    if as_json {
        let record = pool.record();
        let server = record.servers.get(&spec.prefix);
        screen.json(&json!({
            "name": spec.name,
            "version": version,
            "about": { "name": about.name, "version": about.version },
            "resources": about.has_resources,
            "prompts": about.has_prompts,
            "tools": server.map(|server| server.usable().count()),
            "held": server.map(|server| server.held().count()),
        }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "{} answers: {} {}, protocol {version}",
        screen.paint.bold(clean_line(&spec.name)),
        clean_line(&about.name),
        clean_line(&about.version),
    ))?;
    tools::print_server(screen, &servers.set, spec)
}

/// What is wrong, and where to look.
pub fn failed(spec: &McpServerSpec, error: PoolError) -> CommandError {
    let hint = match &error {
        PoolError::Login { .. } => format!("chela mcp login {}", spec.name),
        PoolError::Held { .. } => format!("chela mcp diff {}", spec.name),
        _ => format!("`chela mcp logs {}` shows what it printed", spec.name),
    };
    CommandError::new(clean_line(&error.to_string())).hint(hint)
}

fn arguments_of(typed: &str) -> Result<Map<String, Value>, CommandError> {
    match serde_json::from_str(typed) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        _ => Err(CommandError::usage("--arguments is not a JSON object")),
    }
}

fn print_answer(screen: &mut Screen, answer: &CallAnswer, as_json: bool) -> CommandOutcome {
    if as_json {
        let images = answer.pieces.iter();
        let images = images.filter(|piece| matches!(piece, ResultPiece::Image { .. }));
        screen.json(&json!({
            "text": answer.text(),
            "images": images.count(),
            "isError": answer.is_error,
        }))?;
    } else {
        for line in answer.text().lines() {
            screen.line(clean_line(line))?;
        }
        for piece in &answer.pieces {
            if let ResultPiece::Image { mime, data } = piece {
                let bytes = data.len() / 4 * 3;
                screen.line(format!("[image, {mime}, about {bytes} bytes]"))?;
            }
        }
    }
    Ok(match answer.is_error {
        true => CommandExit::Findings,
        false => CommandExit::Fine,
    })
}

pub fn logs(host: &Host, screen: &mut Screen, name: &str, lines: usize) -> CommandOutcome {
    let path = log_path(host, &prefix(name));
    let all = read_log(&path).map_err(|error| {
        CommandError::new(format!("{} cannot be read: {error}", path.display()))
    })?;
    if all.is_empty() {
        let setup = CommandSetup::look(host);
        let known = &setup.loaded.config.mcp.servers;
        if !known.contains_key(name) {
            return Err(unknown(name, known.keys().map(String::as_str)));
        }
        screen.line(format!("{} printed nothing yet.", clean_line(name)))?;
    }
    let from = all.len().saturating_sub(lines);
    for (at, line) in all.get(from..).unwrap_or_default() {
        let when = time::utc(*at);
        screen.line(format!("{} {}", screen.paint.dim(when), clean_line(line)))?;
    }
    Ok(CommandExit::Fine)
}
