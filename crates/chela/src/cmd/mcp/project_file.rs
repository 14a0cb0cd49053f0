//! `.mcp.json` of a project: what it names is offered, and never started by itself.
//!
//! The file is somebody else's. What it names gets what any server gets: nothing, but for the folder it
//! lies in, to be read. Variables of the owner that it asks for are not filled in.

use std::path::Path;

use chela_core::{ContentHash, Host};
use chela_guard::WebAddress;
use chela_guard::approval::host_marks;
use chela_mcp::McpRecord;
use serde_json::{Map, Value, json};

use super::add::{agreed, same_prefix};
use super::set_up::write_server;
use super::{CommandSetup, test};
use crate::chat::line_questions::ask_yes_unless_silent;
use crate::chat::{clean_line, print_note, print_warning};
use crate::cli::mcp::AddArgs;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// Where a project names its servers.
const FILE: &str = ".mcp.json";
const MOST_BYTES: u64 = 256 << 10;
const MOST_SERVERS: usize = 16;

/// A server that a file names.
pub struct NamedServer {
    pub name: String,
    pub entry: Value,
    /// What is asked for and not given.
    pub wants: Vec<String>,
}

/// Reads what a file names. Servers that are set up already are left out.
fn named_servers(
    setup: &CommandSetup,
    file: &Path,
) -> Result<(Vec<NamedServer>, ContentHash), CommandError> {
    let cannot = |why: &dyn std::fmt::Display| {
        let shown = clean_line(&file.display().to_string());
        CommandError::new(format!("{shown} cannot be read: {why}")).hint(
            "a file of servers is JSON: {\"mcpServers\": {NAME: {\"command\": …, \"args\": […]}}}; \
             `chela mcp add --help` shows how to name one yourself",
        )
    };
    let length = file.metadata().map_err(|error| cannot(&error))?.len();
    if length > MOST_BYTES {
        return Err(cannot(&"it is too long"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
    let told: Value = serde_json::from_str(&text).map_err(|error| cannot(&error))?;
    let servers = told["mcpServers"]
        .as_object()
        .or(told["servers"].as_object());
    let folder = file.parent().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| cannot(&error))?;
    let known = &setup.loaded.config.mcp.servers;
    let named = servers.into_iter().flatten();
    let named = named
        // A name that is read like one of the owner's would take its place.
        .filter(|(name, _)| is_plain(name) && same_prefix(known.keys(), name).is_none())
        .filter_map(|(name, told)| named_server(name, told, &folder))
        .take(MOST_SERVERS);
    Ok((named.collect(), ContentHash::of(&text)))
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

/// What of an entry is taken over: how it is reached, and nothing that grants it anything.
pub fn named_server(name: &str, told: &Value, folder: &Path) -> Option<NamedServer> {
    let mut wants = Vec::new();
    let mut entry = Map::new();
    if let Some(command) = told["command"].as_str() {
        entry.insert("command".to_owned(), plain_text(command).into());
        let args = told["args"].as_array().into_iter().flatten();
        let args: Vec<String> = args
            .filter_map(|arg| arg.as_str().map(plain_text))
            .collect();
        entry.insert("args".to_owned(), json!(args));
        let shown = folder.display().to_string();
        entry.insert("cwd".to_owned(), shown.as_str().into());
        entry.insert("folders".to_owned(), json!([shown]));
    } else {
        entry.insert("url".to_owned(), plain_text(told["url"].as_str()?).into());
        if let Some("sse") = told["type"].as_str().or(told["transport"].as_str()) {
            entry.insert("transport".to_owned(), "sse".into());
        }
    }
    for key in ["env", "headers"] {
        let mut kept = Map::new();
        for (name, value) in told[key].as_object().into_iter().flatten() {
            match value.as_str() {
                Some(value) if !value.contains('$') => {
                    kept.insert(name.clone(), value.into());
                }
                _ => wants.push(format!("{key} {}", clean_line(name))),
            }
        }
        if !kept.is_empty() {
            entry.insert(key.to_owned(), Value::Object(kept));
        }
    }
    Some(NamedServer {
        name: name.to_owned(),
        entry: Value::Object(entry),
        wants,
    })
}

/// As it stands there: nothing in it stands for something else.
fn plain_text(text: &str) -> String {
    text.replace("${", "$${")
}

/// The host of an address as the network knows it.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = rest.get(..end)?.rsplit('@').next()?;
    let address = WebAddress::parse(&format!("{scheme}://{authority}/")).ok()?;
    Some(address.host().to_owned())
}

impl NamedServer {
    pub fn describe(&self) -> String {
        let given = ["env", "headers"].into_iter().flat_map(|key| {
            let given = self.entry[key].as_object().into_iter().flatten();
            given.map(move |(name, value)| {
                let value = value.as_str().unwrap_or_default();
                format!("{key} {name}={value}")
            })
        });
        let given: Vec<String> = given.collect();
        let given = match given.is_empty() {
            true => String::new(),
            false => format!(", with {}", given.join(", ")),
        };
        let told = match (self.entry["command"].as_str(), self.entry["url"].as_str()) {
            (Some(command), _) => {
                let args = self.entry["args"].as_array().into_iter().flatten();
                let words = args.filter_map(Value::as_str);
                let line: Vec<&str> = std::iter::once(command).chain(words).collect();
                format!(
                    "runs {} in the sandbox, and reads this folder",
                    line.join(" ")
                )
            }
            (None, url) => {
                let url = url.unwrap_or_default();
                // What stands before an `@` is no host, and a host may read like another one.
                match host_of(url) {
                    Some(host) => format!("is at {host} ({url})"),
                    None => format!("is at {url}"),
                }
            }
        };
        let wants = match self.wants.is_empty() {
            true => String::new(),
            false => format!(
                "; it asks for {}, which it does not get",
                self.wants.join(", ")
            ),
        };
        let told = format!("{told}{given}");
        let marks = host_marks(&[(String::new(), told.clone())]);
        let marks: String = marks.iter().map(|mark| format!("; {mark}")).collect();
        clean_line(&format!("{}: {told}{wants}{marks}", self.name))
    }
}

/// `chela mcp add --from FILE`.
pub fn add_from(host: &Host, screen: &mut Screen, file: &Path, args: &AddArgs) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let file = host.expand_from(&file.to_string_lossy(), &host.cwd);
    let (servers, hash) = named_servers(&setup, &file)?;
    if servers.is_empty() {
        screen.line("It names no MCP server that is not set up already.")?;
        return Ok(CommandExit::Fine);
    }
    let mut added = Vec::new();
    for server in &servers {
        screen.line(server.describe())?;
        let question = format!("Set up {}?", clean_line(&server.name));
        if args.yes || agreed(screen, &question)? {
            write_server(host, &server.name, &server.entry)?;
            added.push(server.name.clone());
        }
    }
    note_answered(host, &file, hash);
    if added.is_empty() {
        return Err(
            CommandError::new("nothing was set up").hint("answer in a terminal, or give --yes")
        );
    }
    for name in &added {
        screen.line(format!("Set up {}.", clean_line(name)))?;
        if !args.no_test {
            test::meet(host, screen, name)?;
        }
    }
    Ok(CommandExit::Fine)
}

/// Asks about what the `.mcp.json` of a folder names, once for each text of it. Says whether anything
/// was set up.
pub fn offer_project_servers(
    host: &Host,
    setup: &CommandSetup,
    folder: &Path,
    screen: &Screen,
    is_somebody_there: bool,
) -> bool {
    let file = folder.join(FILE);
    if !file.is_file() {
        return false;
    }
    let (servers, hash) = match named_servers(setup, &file) {
        Ok(named) => named,
        Err(error) => {
            print_warning(screen.paint, &error.message);
            return false;
        }
    };
    let is_answered = McpRecord::load(host)
        .is_ok_and(|record| record.was_offered(&file.display().to_string(), hash));
    if servers.is_empty() || is_answered {
        return false;
    }
    if !is_somebody_there {
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        print_note(
            screen.paint,
            &format!(
                "{FILE} of this folder names MCP servers that are not set up ({}): `chela mcp add \
                 --from {FILE}` asks about them",
                clean_line(&names.join(", "))
            ),
        );
        return false;
    }
    let mut any = false;
    for server in &servers {
        print_note(
            screen.paint,
            &format!(
                "{FILE} of this folder names an MCP server. {}",
                server.describe()
            ),
        );
        if ask_yes_unless_silent(&format!("Set up {}?", clean_line(&server.name))) {
            match write_server(host, &server.name, &server.entry) {
                Ok(()) => any = true,
                Err(error) => print_warning(screen.paint, &error.message),
            }
        }
    }
    note_answered(host, &file, hash);
    any
}

fn note_answered(host: &Host, file: &Path, hash: ContentHash) {
    let file = file.display().to_string();
    let noted = McpRecord::change(host, |record| record.note_offered(&file, hash));
    chela_core::ok_or_warn!(noted, "that it was asked about is not on record");
}
