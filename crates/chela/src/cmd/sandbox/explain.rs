//! `chela sandbox explain`: what is decided for a session, and why.

use chela_config::model::{SandboxMode, WorkspaceAccess};
use chela_core::Host;
use chela_guard::flow::Taint;
use chela_sandbox::{Backend, Counting, Machine, Namespaces, Network, Plan, Standing};
use chela_tools::{Elevation, ElevationAsk, ElevationWho as Who, elevation};
use serde_json::{Value, json};

use super::Desk;
use crate::cmd::Outcome;
use crate::fail::Exit;
use crate::screen::Screen;

pub fn explain(desk: &Desk, screen: &mut Screen, json: bool) -> Outcome {
    let standing = desk.session().standing();
    let exit = match standing {
        Standing::Refused { .. } => Exit::Findings,
        _ => Exit::Fine,
    };
    match json {
        true => screen.json(&as_json(desk, &standing))?,
        false => for_people(desk, screen, &standing)?,
    }
    Ok(exit)
}

fn for_people(desk: &Desk, screen: &mut Screen, standing: &Standing) -> std::io::Result<()> {
    let paint = screen.paint;
    let host = &desk.setup.host;
    let settings = &desk.view.sandbox;
    screen.line(paint.bold(format!("{} of agent {}", desk.key, desk.view.id)))?;
    let mut rows = vec![row(
        "mode",
        format!("{} ({})", settings.value.mode, settings.from),
    )];
    match standing {
        Standing::Outside { why } => {
            rows.push(row("sandboxed", format!("no: {why}")));
        }
        Standing::Refused { why, .. } => {
            rows.push(row(
                "sandboxed",
                format!("{} {why}", paint.bad("cannot be:")),
            ));
            rows.push(row("exec", "refused".to_owned()));
        }
        Standing::Inside(plan) => {
            rows.push(row("sandboxed", "yes".to_owned()));
            rows.push(row("backend", backend(&plan.backend)));
            rows.push(row("scope", plan.scope.to_string()));
            let workspace = host.compact(&plan.workspace);
            rows.push(row(
                "workspace",
                match plan.access {
                    WorkspaceAccess::None => format!("none: {workspace} is out of reach"),
                    WorkspaceAccess::Ro => format!("ro: {workspace} can be read"),
                    WorkspaceAccess::Rw => format!("rw: {workspace} can be read and changed"),
                },
            ));
            rows.push(row("works in", host.compact(&plan.workdir)));
            rows.push(row("own folder", host.compact(plan.own_folder())));
            rows.push(row(
                "network",
                match &plan.network {
                    Network::None => "none".to_owned(),
                    Network::Hosts(hosts) => {
                        let hosts: Vec<&str> = hosts.texts().collect();
                        format!("through the proxy to {}", hosts.join(", "))
                    }
                },
            ));
            rows.push(row("limits", plan.bounds.to_string()));
            rows.push(row("counted", plan.counting.to_string()));
            let list = |paths: &[std::path::PathBuf]| {
                let paths: Vec<String> = paths.iter().map(|path| host.compact(path)).collect();
                paths.join(" ")
            };
            let (files, folders): (Vec<_>, Vec<_>) = plan
                .walls
                .read
                .iter()
                .cloned()
                .partition(|path| path.starts_with("/etc"));
            rows.push(row(
                "can read",
                format!("{} and {} entries of /etc", list(&folders), files.len()),
            ));
            rows.push(row("can change", list(&plan.walls.write)));
            if let Some(text) = kept(host, plan) {
                rows.push(row("cannot change", text));
            }
        }
    }
    if !matches!(standing, Standing::Outside { .. }) {
        let level = desk.elevation();
        rows.push(row(
            "elevated",
            match &level.why_not {
                None => format!("{} for you at this terminal", level.level),
                Some(why) => format!("no: {why}"),
            },
        ));
    }
    let machine = Machine::of(host);
    for (name, found) in [("bwrap", machine.bwrap()), ("landlock", machine.landlock())] {
        let found = found.as_ref();
        rows.push(row(name, found.map_or_else(Clone::clone, available)));
    }
    screen.table("  ", &rows)?;
    if settings.value.mode == SandboxMode::Off {
        screen.paragraph(
            "  ",
            "Commands have all the rights you have. To sandbox them: \
             `chela config set agents.defaults.sandbox.mode all`, or `non-main` for all sessions \
             but your own.",
        )?;
    }
    if let Standing::Inside(plan) = standing {
        for note in &plan.notes {
            screen.paragraph("  ", &format!("{} {note}", paint.warn("note:")))?;
        }
    }
    Ok(())
}

/// What of a workspace that can be written stays as it is.
fn kept(host: &Host, plan: &Plan) -> Option<String> {
    if plan.access != WorkspaceAccess::Rw {
        return None;
    }
    let kept = plan.kept().unwrap_or_default();
    Some(match kept.is_empty() {
        false => {
            let paths: Vec<String> = kept.iter().map(|path| host.compact(path)).collect();
            format!(
                "{}: git outside runs what is written there",
                paths.join(" ")
            )
        }
        true => format!(
            "{} is no git repository; one made inside would be the commands' own, so look at its \
             config and hooks before you use git there",
            host.compact(&plan.workspace)
        ),
    })
}

fn row(name: &str, text: String) -> Vec<String> {
    vec![name.to_owned(), text]
}

fn backend(backend: &Backend) -> String {
    match backend {
        Backend::Bwrap { program } => format!("bwrap ({})", program.display()),
        Backend::Landlock {
            version,
            namespaces,
        } => format!(
            "landlock (version {version}) and seccomp, {}",
            match namespaces {
                Namespaces::Own => "in a file tree, network and IPC of its own",
                Namespaces::Given => "without namespaces of its own",
            }
        ),
    }
}

fn available(backend: &Backend) -> String {
    match backend {
        Backend::Bwrap { .. } => "works here".to_owned(),
        Backend::Landlock {
            version,
            namespaces,
        } => format!(
            "works here: version {version}, {}",
            match namespaces {
                Namespaces::Own => "with a file tree and a network of its own",
                Namespaces::Given => "no network at all, as there are no user namespaces",
            }
        ),
    }
}

impl Desk {
    /// For the person at this terminal, with nothing foreign in the conversation.
    fn elevation(&self) -> Elevation {
        elevation(&ElevationAsk {
            global: &self.setup.loaded.config.tools.elevated,
            own: self.view.tools.value.elevated.as_ref(),
            default: self.view.elevated_default.value,
            session: None,
            who: match self.key.is_subagent() {
                true => Who::Nobody,
                false => Who::Terminal,
            },
            taint: Taint::Clean,
        })
    }
}

fn as_json(desk: &Desk, standing: &Standing) -> Value {
    let machine = Machine::of(&desk.setup.host);
    let found = |found: Result<Backend, String>| match found {
        Ok(backend) => json!({ "works": true, "backend": backend }),
        Err(why) => json!({ "works": false, "why": why }),
    };
    let settings = &desk.view.sandbox;
    let mut value = json!({
        "agent": desk.view.id,
        "session": desk.key,
        "mode": settings.value.mode,
        "from": settings.from.to_string(),
        "sandboxed": !matches!(standing, Standing::Outside { .. }),
        "exec": match standing {
            Standing::Outside { .. } => "host",
            Standing::Inside(_) => "sandbox",
            Standing::Refused { .. } => "refused",
        },
        "why": match standing {
            Standing::Outside { why } | Standing::Refused { why, .. } => Some(why),
            Standing::Inside(_) => None,
        },
        "machine": { "bwrap": found(machine.bwrap()), "landlock": found(machine.landlock()) },
    });
    let Value::Object(all) = &mut value else {
        return value;
    };
    if let Standing::Inside(plan) = standing {
        let elevation = desk.elevation();
        let more = json!({
            "backend": plan.backend,
            "scope": plan.scope,
            "workspaceAccess": plan.access,
            "workspace": plan.workspace,
            "workdir": plan.workdir,
            "folder": plan.own_folder(),
            "readable": plan.walls.read,
            "writable": plan.walls.write,
            "kept": plan.kept().unwrap_or_default(),
            "hosts": match &plan.network {
                Network::None => Vec::new(),
                Network::Hosts(hosts) => hosts.texts().collect(),
            },
            "limits": plan.bounds,
            "limitsHeldBy": match plan.counting {
                Counting::Together { .. } => "cgroup2",
                Counting::Apart { .. } => "cgroup1",
                Counting::Watching { .. } => "watching",
            },
            "elevated": { "level": elevation.level, "why": elevation.why_not },
            "notes": plan.notes,
        });
        if let Value::Object(more) = more {
            all.extend(more);
        }
    }
    value
}
