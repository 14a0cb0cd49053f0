//! `chela mcp add`: a server is set up, started once, and what it says is shown.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use chela_core::Host;
use chela_mcp::prefix_of;
use serde_json::{Map, Value, json};

use super::set_up::{parse_effect, write_server};
use super::{CommandSetup, project_file, test};
use crate::chat::clean_line;
use crate::cli::mcp::AddArgs;
use crate::cmd::CommandOutcome;
use crate::cmd::folders::real_folder;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, args: &AddArgs) -> CommandOutcome {
    if let Some(file) = &args.from {
        return project_file::add_from(host, screen, file, args);
    }
    let name = args.name.as_deref().unwrap_or_default().trim();
    check_name(name)?;
    let setup = CommandSetup::look(host);
    if setup.loaded.config.mcp.servers.contains_key(name) {
        return Err(CommandError::new(format!("`{name}` is set up already")).hint(format!(
            "`chela config set mcp.servers.{name}…` changes it, `chela mcp remove {name}` removes it"
        )));
    }
    let mut known = setup.loaded.config.mcp.servers.keys();
    if let Some(other) = same_prefix(&mut known, name) {
        return Err(CommandError::new(format!(
            "the tools of `{name}` would be called like those of `{other}`"
        ))
        .hint("give it another name: they start with its first 24 characters"));
    }
    let entry = entry_of(host, args)?;
    write_server(host, name, &entry)?;
    screen.line(format!("Set up {}.", clean_line(name)))?;
    for hint in hints_about(host, args) {
        screen.line(format!("{} {hint}", screen.paint.warn("!")))?;
    }
    match args.no_test {
        true => Ok(CommandExit::Fine),
        false => test::meet(host, screen, name),
    }
}

/// A name that can be part of a tool's name and of a key.
fn check_name(name: &str) -> Result<(), CommandError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_fine = !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain);
    match is_fine {
        true => Ok(()),
        false => Err(CommandError::usage(format!(
            "`{}` is not a name: use letters, digits, `-` and `_`",
            clean_line(name)
        ))
        .hint("the name comes first: chela mcp add NAME URL, or chela mcp add NAME PROGRAM")),
    }
}

/// The server whose tools begin as those of a server of this name would.
pub fn same_prefix<'n>(
    mut known: impl Iterator<Item = &'n String>,
    name: &str,
) -> Option<&'n String> {
    let prefix = prefix_of(name).to_ascii_lowercase();
    known.find(|known| prefix_of(known).to_ascii_lowercase() == prefix)
}

/// The entry of the config.
fn entry_of(host: &Host, args: &AddArgs) -> Result<Value, CommandError> {
    let mut entry = Map::new();
    match (&args.url, args.command.split_first()) {
        (Some(url), _) => {
            if !url.starts_with("https://") && !url.starts_with("http://") {
                let typed = clean_line(url);
                let name = clean_line(args.name.as_deref().unwrap_or("NAME"));
                return Err(
                    CommandError::usage(format!("`{typed}` is not a URL")).hint(format!(
                        "a server on the web: chela mcp add {name} http://{typed}; a program: \
                         chela mcp add {name} -- {typed}"
                    )),
                );
            }
            entry.insert("url".to_owned(), url.as_str().into());
        }
        (None, Some((command, rest))) => {
            entry.insert("command".to_owned(), command.as_str().into());
            if !rest.is_empty() {
                entry.insert("args".to_owned(), json!(rest));
            }
        }
        (None, None) => {
            return Err(
                CommandError::usage("a URL, or a program behind `--`, is needed")
                    .hint("chela mcp add --help"),
            );
        }
    }
    let mut put = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    if let Some(transport) = &args.transport {
        put("transport", transport.as_str().into());
    }
    for (key, pairs) in [("env", &args.env), ("headers", &args.header)] {
        if !pairs.is_empty() {
            put(key, Value::Object(pairs_of(pairs)?));
        }
    }
    if !args.host.is_empty() {
        put("hosts", json!(args.host));
    }
    if !args.pass_env.is_empty() {
        put("passEnv", json!(args.pass_env));
    }
    let folders = folders_of(host, args)?;
    if !folders.is_empty() {
        put("folders", Value::Array(folders));
    }
    if args.no_sandbox {
        put("sandbox", "off".into());
    }
    let effects = args.effect.iter().map(|typed| parse_effect(typed));
    let effects: Map<String, Value> = effects
        .map(|parsed| parsed.map(|(tool, effect)| (tool, effect.as_str().into())))
        .collect::<Result<_, _>>()?;
    if !effects.is_empty() {
        put("effects", Value::Object(effects));
    }
    Ok(Value::Object(entry))
}

fn folders_of(host: &Host, args: &AddArgs) -> Result<Vec<Value>, CommandError> {
    let mut folders = Vec::new();
    for folder in &args.read {
        folders.push(json!(real_folder(host, folder)?.display().to_string()));
    }
    for folder in &args.write {
        let path = real_folder(host, folder)?.display().to_string();
        folders.push(json!({ "path": path, "access": "write" }));
    }
    Ok(folders)
}

/// `NAME=VALUE`, as it is typed. The value is not quoted: it may be a secret.
fn pairs_of(typed: &[String]) -> Result<Map<String, Value>, CommandError> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| CommandError::usage("a variable or header is written NAME=VALUE"))?;
        Ok((name.trim().to_owned(), Value::from(value)))
    };
    typed.iter().map(pair).collect()
}

/// What somebody will miss who starts a program like this for the first time.
fn hints_about(host: &Host, args: &AddArgs) -> Vec<String> {
    let mut hints = Vec::new();
    let command = args.command.first().map(String::as_str).unwrap_or_default();
    let program = command.rsplit('/').next().unwrap_or_default();
    let needs = match program {
        "npx" | "npm" | "bunx" => Some("registry.npmjs.org"),
        "uvx" | "uv" | "pipx" => Some("pypi.org and files.pythonhosted.org"),
        _ => None,
    };
    if let Some(needs) = needs
        && args.host.is_empty()
        && !args.no_sandbox
    {
        hints.push(format!(
            "{program} downloads what it starts, and it may reach no host: --host {needs}"
        ));
    }
    let is_given = |path: &Path| {
        let given = args.read.iter().chain(&args.write);
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        given.into_iter().any(|folder| {
            real(path).starts_with(real(
                &host.expand_from(&folder.to_string_lossy(), &host.cwd),
            ))
        })
    };
    for word in args.command.iter().skip(1) {
        let path = Path::new(word);
        if path.is_absolute() && path.exists() && !is_given(path) && !args.no_sandbox {
            hints.push(format!(
                "it cannot see {}: --read or --write opens a folder to it",
                clean_line(word)
            ));
        }
    }
    hints
}

/// Asks on a terminal; without one nobody agreed.
pub fn agreed(screen: &mut Screen, question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    screen.flush()?;
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
