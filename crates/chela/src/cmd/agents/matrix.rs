//! `chela agents matrix`: what every agent is and may do, side by side, with the key behind it.

use chela_agent::assemble::{PromptRequest, assemble};
use chela_config::model::{GuardPolicy, SandboxMode, Tools};
use chela_config::{AgentView, ResolvedValue, ValueProvenance};
use chela_core::{AgentId, ok_or_warn};
use chela_tools::Effect;
use chela_tools::approvals::ApprovalsDocument;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun, shorten, visible_len};

/// One setting of one agent.
#[derive(Debug, Clone, Serialize)]
struct Cell {
    value: String,
    from: String,
}

/// One setting over all agents.
struct Row {
    name: &'static str,
    cells: Vec<Cell>,
}

pub fn run(setup: &CommandSetup, screen: &mut Screen, json: bool) -> CommandOutcome {
    let agents = setup.loaded.agents();
    let views: Vec<(AgentId, Vec<(&'static str, Cell)>)> = agents
        .iter()
        .map(|id| (id.clone(), settings(setup, id)))
        .collect();
    if json {
        let all: Map<String, Value> = views
            .iter()
            .map(|(id, cells)| {
                let cells: Map<String, Value> = cells
                    .iter()
                    .map(|(name, cell)| ((*name).to_owned(), json!(cell)))
                    .collect();
                (id.to_string(), Value::Object(cells))
            })
            .collect();
        screen.json(&all)?;
        return Ok(CommandExit::Fine);
    }
    let names: Vec<&'static str> = views
        .first()
        .map(|(_, cells)| cells.iter().map(|(name, _)| *name).collect())
        .unwrap_or_default();
    let rows: Vec<Row> = names
        .iter()
        .enumerate()
        .map(|(at, name)| Row {
            name,
            cells: views
                .iter()
                .filter_map(|(_, cells)| cells.get(at).map(|(_, cell)| cell.clone()))
                .collect(),
        })
        .collect();
    print(screen, &agents, &rows)?;
    Ok(CommandExit::Fine)
}

fn settings(setup: &CommandSetup, id: &AgentId) -> Vec<(&'static str, Cell)> {
    let Some(view) = setup.loaded.agent(id) else {
        return Vec::new();
    };
    let host = &setup.host;
    let mut cells = vec![
        (
            "model",
            cell(&view.model, |model| {
                model
                    .as_ref()
                    .and_then(|model| model.primary())
                    .unwrap_or("none")
                    .to_owned()
            }),
        ),
        ("workspace", cell(&view.workspace, |dir| host.compact(dir))),
    ];
    cells.extend(prompts(setup, id));
    cells.extend([
        (
            "file limit",
            limit(&view.bootstrap_max_tokens, &view.bootstrap_max_chars),
        ),
        (
            "files limit",
            limit(
                &view.bootstrap_total_max_tokens,
                &view.bootstrap_total_max_chars,
            ),
        ),
        ("skills", skills(setup, &view)),
        ("tools", tools(&setup.loaded.config.tools, &view)),
        (
            "elevated",
            cell(&view.elevated, |elevated| {
                if elevated.enabled == Some(true) {
                    format!("allowed, {}", view.elevated_default.value)
                } else {
                    "no".to_owned()
                }
            }),
        ),
        (
            "sandbox",
            cell(&view.sandbox, |sandbox| {
                format!("{}, workspace {}", sandbox.mode, sandbox.workspace_access)
            }),
        ),
        (
            "sub-agents",
            cell(&view.subagents, |subagents| {
                let may = match &subagents.allow_agents {
                    None => "itself".to_owned(),
                    Some(names) if names.is_empty() => "none".to_owned(),
                    Some(names) => names.join(", "),
                };
                format!(
                    "{may}; {} at once, depth {}",
                    subagents.max_concurrent, subagents.max_spawn_depth
                )
            }),
        ),
        (
            "heartbeat",
            cell(&view.heartbeat, |heartbeat| match heartbeat.every {
                Some(every) => {
                    format!("every {} min while the gateway runs", every.as_secs() / 60)
                }
                None => "off".to_owned(),
            }),
        ),
        (
            "owners",
            cell(&view.owner_allow_from, |owners| {
                format!("{}, shown {}", owners.len(), view.owner_display.value)
            }),
        ),
        ("effects", effects(setup, &view)),
        ("mcp servers", servers(setup, &view)),
        ("guard policy", taint(&view)),
        ("egress", egress(&view)),
        ("grants", grants(setup, &view)),
        (
            "timeout",
            cell(&view.timeout_seconds, |seconds| {
                format!("{} min", seconds / 60)
            }),
        ),
    ]);
    cells
}

/// What the real adapter makes of the agent: mode, files, tools in the prompt of its main session.
fn prompts(setup: &CommandSetup, id: &AgentId) -> Vec<(&'static str, Cell)> {
    let ask = PromptRequest {
        agent: Some(id.clone()),
        ..PromptRequest::default()
    };
    let from = "rendered".to_owned();
    let (mode, files) = match assemble(&setup.host, &setup.loaded, &ask) {
        Ok(assembled) => {
            let files: Vec<&str> = assembled
                .files
                .iter()
                .filter(|file| file.status.is_in_prompt())
                .map(|file| file.shown_path.as_str())
                .collect();
            let files = if files.is_empty() {
                "none".to_owned()
            } else {
                files.join(" ")
            };
            (assembled.input.mode.as_str().to_owned(), files)
        }
        Err(error) => (format!("no prompt: {error}"), String::new()),
    };
    vec![
        (
            "mode",
            Cell {
                value: mode,
                from: "the main session".to_owned(),
            },
        ),
        ("files injected", Cell { value: files, from }),
    ]
}

fn cell<T>(resolved: &ResolvedValue<T>, value: impl Fn(&T) -> String) -> Cell {
    Cell {
        value: value(&resolved.value),
        from: key(&resolved.from),
    }
}

fn key(from: &ValueProvenance) -> String {
    match from {
        ValueProvenance::Defaults { path, .. } | ValueProvenance::Agent { path, .. } => {
            path.to_string()
        }
        other => other.to_string(),
    }
}

fn limit(tokens: &ResolvedValue<Option<u64>>, chars: &ResolvedValue<u64>) -> Cell {
    match tokens.value {
        Some(count) => Cell {
            value: format!("{count} tokens"),
            from: key(&tokens.from),
        },
        None => cell(chars, |count| format!("{count} chars")),
    }
}

/// How many skills the agent has, of those found; and which key narrows them.
fn skills(setup: &CommandSetup, view: &AgentView) -> Cell {
    let skills = chela_agent::skills::skills_of(&setup.host, &setup.loaded, view);
    let tools = chela_agent::effects(&setup.host, &setup.loaded, &view.id, &skills);
    let has_tool = |name: &str| tools.iter().any(|known| known.tool == name);
    let listed = skills.listed_for(&has_tool).len();
    let all = skills.skills().len();
    let value = if listed == all {
        format!("{all} listed")
    } else {
        format!("{listed} listed of {all} found")
    };
    Cell {
        value,
        from: key(&view.skills.from),
    }
}

/// The tool policy as written; the global one and the agent's own.
fn tools(all: &Tools, view: &AgentView) -> Cell {
    let own = &view.tools.value;
    let profile = own
        .profile
        .or(all.profile)
        .map_or("full".to_owned(), |profile| profile.to_string());
    let names = |allow: &Option<Vec<String>>| allow.as_ref().map(|names| names.join(" "));
    let allow = names(&own.allow)
        .or_else(|| names(&all.allow))
        .map(|names| format!(", only {names}"));
    let denied: Vec<&str> = all
        .deny
        .iter()
        .chain(&own.deny)
        .map(String::as_str)
        .collect();
    let deny = (!denied.is_empty()).then(|| format!(", never {}", denied.join(" ")));
    let from = if view.tools.from.is_set() {
        &view.tools.from
    } else {
        &view.global_tools.from
    };
    Cell {
        value: format!(
            "{profile}{}{}",
            allow.unwrap_or_default(),
            deny.unwrap_or_default()
        ),
        from: key(from),
    }
}

/// Names of tools; those of one server are counted.
fn by_server(names: &[&str]) -> String {
    let mut told: Vec<(String, usize)> = Vec::new();
    for name in names {
        let shown = match name.split_once("__") {
            Some((server, _)) => format!("{server}__*"),
            None => (*name).to_owned(),
        };
        match told.iter_mut().find(|(known, _)| *known == shown) {
            Some((_, many)) => *many += 1,
            None => told.push((shown, 1)),
        }
    }
    let words: Vec<String> = told
        .into_iter()
        .map(|(name, many)| match name.ends_with("__*") {
            true => format!("{name} ({many})"),
            false => name,
        })
        .collect();
    words.join(" ")
}

const GRAVEST_FIRST: [Effect; 8] = [
    Effect::Config,
    Effect::Persona,
    Effect::Irreversible,
    Effect::WriteOutward,
    Effect::Egress,
    Effect::WriteReversible,
    Effect::ReadUntrusted,
    Effect::Read,
];

/// The servers whose tools it has, and where they can reach.
fn servers(setup: &CommandSetup, view: &AgentView) -> Cell {
    let rows = chela_inspect::mcp_report::server_rows(&setup.host, &setup.loaded);
    let skills = chela_agent::skills::skills_of(&setup.host, &setup.loaded, view);
    let tools = chela_agent::effects(&setup.host, &setup.loaded, &view.id, &skills);
    let told: Vec<String> = rows
        .iter()
        .filter(|row| row.is_enabled)
        .filter_map(|row| {
            let start = format!("{}__", row.prefix);
            let own = tools.iter().filter(|tool| tool.tool.starts_with(&start));
            let many = own.count();
            let tools = count_noun(many, "tool");
            (many > 0).then(|| format!("{} ({tools}; {})", row.name, row.walls))
        })
        .collect();
    Cell {
        value: match told.is_empty() {
            true => "none".to_owned(),
            false => told.join("; "),
        },
        from: "mcp.servers".to_owned(),
    }
}

/// What its tools can do to the world, the gravest first.
fn effects(setup: &CommandSetup, view: &AgentView) -> Cell {
    let skills = chela_agent::skills::skills_of(&setup.host, &setup.loaded, view);
    let tools = chela_agent::effects(&setup.host, &setup.loaded, &view.id, &skills);
    let value: Vec<String> = GRAVEST_FIRST
        .iter()
        .filter_map(|effect| {
            let fitting = tools.iter().filter(|tool| tool.effect == *effect);
            let names: Vec<&str> = fitting.map(|tool| &*tool.tool).collect();
            match (effect, names.as_slice()) {
                (_, []) => None,
                (Effect::Read, names) => Some(format!("read: {} tools", names.len())),
                (effect, names) => Some(format!("{}: {}", effect.as_str(), by_server(names))),
            }
        })
        .collect();
    Cell {
        value: match value.is_empty() {
            true => "none: no tools".to_owned(),
            false => value.join("; "),
        },
        from: "the tools of the main session".to_owned(),
    }
}

/// What happens once text from outside was read.
fn taint(view: &AgentView) -> Cell {
    let policy = &view.guard_policy;
    let words = match policy.value {
        GuardPolicy::Open => "open: untrusted content changes nothing",
        GuardPolicy::Standard => "standard: asks before acting on words from untrusted content",
        GuardPolicy::Strict => "strict: asks about every effect once untrusted content was read",
    };
    let confirm: Vec<String> = view
        .guard_confirm
        .value
        .iter()
        .map(ToString::to_string)
        .collect();
    let always = match confirm.is_empty() {
        true => String::new(),
        false => format!("; always asks: {}", confirm.join(" ")),
    };
    cell(policy, |_| format!("{words}{always}"))
}

/// Which hosts may be reached without asking.
fn egress(view: &AgentView) -> Cell {
    let sandbox = &view.sandbox.value;
    let boxed = match (sandbox.mode, sandbox.egress.is_empty()) {
        (SandboxMode::Off, _) => String::new(),
        (_, true) => "; sandbox: none".to_owned(),
        (_, false) => format!("; sandbox: {}", sandbox.egress.join(" ")),
    };
    cell(&view.guard_egress, |hosts| match hosts.is_empty() {
        true => format!("no host without asking{boxed}"),
        false => format!("{}{boxed}", hosts.join(" ")),
    })
}

/// What was granted ahead: commands, calls, secrets.
fn grants(setup: &CommandSetup, view: &AgentView) -> Cell {
    let config = &setup.loaded.config;
    let own = view.tools.value.exec.as_ref();
    let exec = own.unwrap_or(&config.tools.exec);
    let mode = match (exec.mode, exec.security) {
        (Some(mode), _) => mode.to_string(),
        (None, Some(security)) => security.to_string(),
        (None, None) => "ask".to_owned(),
    };
    let document = ApprovalsDocument::load(&ApprovalsDocument::path(&setup.host));
    let document = ok_or_warn!(document, "approvals cannot be read").unwrap_or_default();
    let listed = document.allowlist(&view.id).count();
    let mut parts = vec![format!("commands {mode}, {listed} pre-approved")];
    let id = view.id.as_str();
    let secrets: Vec<String> = config
        .secrets
        .named
        .iter()
        .filter(|(_, secret)| {
            secret
                .agents
                .as_ref()
                .is_none_or(|ids| ids.iter().any(|one| one == id))
        })
        .map(
            |(name, secret)| match (secret.exec, secret.hosts.is_empty()) {
                (true, true) => format!("{name} (commands)"),
                (true, false) => format!("{name} (commands, {})", secret.hosts.join(" ")),
                (false, false) => format!("{name} ({})", secret.hosts.join(" ")),
                (false, true) => format!("{name} (nowhere)"),
            },
        )
        .collect();
    if !secrets.is_empty() {
        parts.push(format!("secrets {}", secrets.join(", ")));
    }
    Cell {
        value: parts.join("; "),
        from: match (
            own.is_some(),
            exec.mode.is_some() || exec.security.is_some(),
        ) {
            (true, _) => key(&view.tools.from),
            (false, true) => "tools.exec".to_owned(),
            (false, false) => "default".to_owned(),
        },
    }
}

/// Narrower columns cannot be read.
const LEAST_COLUMN: usize = 24;

fn print(screen: &mut Screen, agents: &[AgentId], rows: &[Row]) -> std::io::Result<()> {
    let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0) + 2;
    let room = screen.width.saturating_sub(name_width);
    // As many agents side by side as the terminal has room for, then the next ones below.
    let at_once = (room / LEAST_COLUMN).clamp(1, agents.len().max(1));
    let width = room / at_once;
    for start in (0..agents.len()).step_by(at_once) {
        let shown = start..(start + at_once).min(agents.len());
        if start > 0 {
            screen.blank()?;
        }
        print_block(
            screen,
            &Block {
                agents,
                rows,
                shown,
                name_width,
                width,
            },
        )?;
    }
    Ok(())
}

struct Block<'a> {
    agents: &'a [AgentId],
    rows: &'a [Row],
    shown: std::ops::Range<usize>,
    name_width: usize,
    width: usize,
}

fn print_block(screen: &mut Screen, block: &Block<'_>) -> std::io::Result<()> {
    let paint = screen.paint;
    let columns = |texts: Vec<String>| -> String {
        texts
            .iter()
            .map(|text| {
                format!(
                    "{text}{}",
                    " ".repeat(block.width.saturating_sub(visible_len(text)))
                )
            })
            .collect()
    };
    let heads = block
        .agents
        .get(block.shown.clone())
        .unwrap_or_default()
        .iter()
        .map(|id| paint.bold(id))
        .collect();
    screen.line(format!("{}{}", " ".repeat(block.name_width), columns(heads)).trim_end())?;
    for row in block.rows {
        let cells = row.cells.get(block.shown.clone()).unwrap_or_default();
        // A value may need several lines; the key stands under it.
        let values: Vec<Vec<String>> = cells
            .iter()
            .map(|cell| wrapped(&cell.value, block.width - 2))
            .collect();
        let height = values.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let name = if line == 0 { row.name } else { "" };
            let texts = values
                .iter()
                .map(|lines| lines.get(line).cloned().unwrap_or_default())
                .collect();
            screen.line(
                format!("{name:<width$}{}", columns(texts), width = block.name_width).trim_end(),
            )?;
        }
        let keys = cells
            .iter()
            .map(|cell| paint.dim(shorten(&cell.from, block.width - 2)))
            .collect();
        screen.line(format!("{}{}", " ".repeat(block.name_width), columns(keys)).trim_end())?;
    }
    Ok(())
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    crate::screen::wrap(text, width)
        .into_iter()
        .map(|line| shorten(&line, width))
        .collect()
}
