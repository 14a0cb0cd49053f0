//! `chela sandbox explain`: what is decided for a session, and why.

use chela_config::model::{ExecMode, SandboxMode, WorkspaceAccess};
use chela_core::Host;
use chela_guard::flow::SessionTaint;
use chela_sandbox::{
    CgroupParent, FenceAsk, FencePlan, FenceSwitch, NetworkAccess, SandboxBackend, SandboxMachine,
    SandboxNamespaces, SandboxPlan, SandboxStanding,
};
use chela_tools::{ElevationAsk, ElevationRequester as Who, ElevationState, elevation};
use serde_json::{Value, json};

use super::SandboxSession;
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::Screen;

pub fn explain(session: &SandboxSession, screen: &mut Screen, json: bool) -> CommandOutcome {
    let standing = session.session().standing();
    let exit = match standing {
        SandboxStanding::Refused { .. } => CommandExit::Findings,
        _ => CommandExit::Fine,
    };
    match json {
        true => screen.json(&as_json(session, &standing))?,
        false => for_people(session, screen, &standing)?,
    }
    Ok(exit)
}

fn for_people(
    session: &SandboxSession,
    screen: &mut Screen,
    standing: &SandboxStanding,
) -> std::io::Result<()> {
    let paint = screen.paint;
    let host = &session.setup.host;
    let settings = &session.view.sandbox;
    screen.line(paint.bold(format!("{} of agent {}", session.key, session.view.id)))?;
    let mut rows = vec![row(
        "mode",
        format!("{} ({})", settings.value.mode, settings.from),
    )];
    match standing {
        SandboxStanding::Outside { why } => {
            rows.push(row("sandboxed", format!("no: {why}")));
            rows.push(row("exec", session.exec_words(standing)));
        }
        SandboxStanding::Refused { why, .. } => {
            rows.push(row(
                "sandboxed",
                format!("{} {why}", paint.bad("cannot be:")),
            ));
            rows.push(row("exec", "refused".to_owned()));
        }
        SandboxStanding::Inside(plan) | SandboxStanding::CommandsInside(plan) => {
            rows.push(row(
                "sandboxed",
                match standing {
                    SandboxStanding::Inside(_) => "yes".to_owned(),
                    _ => "the session no, its commands yes (tools.exec.mode is auto)".to_owned(),
                },
            ));
            rows.push(row("exec", session.exec_words(standing)));
            rows.push(row("backend", backend(&plan.backend)));
            rows.push(row("scope", plan.scope.to_string()));
            let workspace = host.compact(&plan.workspace);
            rows.push(row(
                "workspace",
                match plan.access {
                    WorkspaceAccess::None => format!("none: {workspace} cannot be reached"),
                    WorkspaceAccess::Ro => format!("ro: {workspace} can be read"),
                    WorkspaceAccess::Rw => format!("rw: {workspace} can be read and changed"),
                },
            ));
            rows.push(row("works in", host.compact(&plan.workdir)));
            rows.push(row("own folder", host.compact(plan.own_folder())));
            rows.push(row(
                "network",
                match &plan.network {
                    NetworkAccess::None => "none".to_owned(),
                    NetworkAccess::Hosts(hosts) => {
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
            rows.extend(doors(host, plan));
        }
    }
    if matches!(
        standing,
        SandboxStanding::Inside(_) | SandboxStanding::Refused { .. }
    ) {
        let level = session.elevation();
        rows.push(row(
            "elevated",
            match &level.why_not {
                None => format!("{} for you at this terminal", level.level),
                Some(why) => format!("no: {why}"),
            },
        ));
    }
    rows.push(row(
        "outside it",
        match session.fence().fence() {
            Ok(fence) => format!("commands cannot change Chela's own files: {}", fence.kind()),
            Err(why) => format!(
                "{} {why}",
                paint.warn("commands can change Chela's own files:")
            ),
        },
    ));
    let machine = SandboxMachine::tried_anew(host);
    for (name, found) in [("bwrap", machine.bwrap()), ("landlock", machine.landlock())] {
        let found = found.as_ref();
        rows.push(row(name, found.map_or_else(Clone::clone, available)));
    }
    screen.table("  ", &rows)?;
    if settings.value.mode == SandboxMode::Off && standing.plan().is_none() {
        screen.paragraph(
            "  ",
            "Commands can do everything you can. To sandbox them: `chela config set \
             agents.defaults.sandbox.mode all`, or `non-main` for all sessions but your own.",
        )?;
    }
    if let Some(plan) = standing.plan() {
        for note in &plan.notes {
            screen.paragraph("  ", &format!("{} {note}", paint.warn("note:")))?;
        }
    }
    Ok(())
}

/// Most paths that are listed one by one.
const PATHS_SHOWN: usize = 8;

/// What of the workspace stays as it is, what is hidden, and what nothing holds.
fn doors(host: &Host, plan: &SandboxPlan) -> Vec<Vec<String>> {
    let doors = plan.doors().unwrap_or_default();
    let list = |paths: &[std::path::PathBuf]| {
        let shown = paths.iter().take(PATHS_SHOWN);
        let mut shown: Vec<String> = shown.map(|path| host.compact(path)).collect();
        if let more @ 1.. = paths.len().saturating_sub(PATHS_SHOWN) {
            shown.push(format!("and {more} more"));
        }
        shown.join(" ")
    };
    let mut rows = Vec::new();
    if !doors.sockets.is_empty() {
        let text = format!("{}: sockets of programs outside", list(&doors.sockets));
        rows.push(row("cannot reach", text));
    }
    if plan.access != WorkspaceAccess::Rw {
        return rows;
    }
    let root = plan.workspace.join(".git");
    let kept = match doors.repositories.is_empty() {
        false => format!(
            "{}: git outside the sandbox runs what is written there",
            list(&doors.repositories)
        ),
        true => format!(
            "{} is not a git repository; commands could create one, so check its config and \
             hooks before you use git there",
            host.compact(&plan.workspace)
        ),
    };
    rows.push(row("cannot change", kept));
    if doors.repositories.iter().any(|path| *path != root) {
        let text = "folders that contain a repository, so that it cannot be swapped".to_owned();
        rows.push(row("cannot move", text));
    }
    let mut open = "a repository a command creates, until the next command; a socket someone \
                    else creates while one runs"
        .to_owned();
    if !doors.links.is_empty() {
        open.push_str(&format!("; {}, which are links", list(&doors.links)));
    }
    rows.push(row("not protected", open));
    rows
}

fn row(name: &str, text: String) -> Vec<String> {
    vec![name.to_owned(), text]
}

fn backend(backend: &SandboxBackend) -> String {
    match backend {
        SandboxBackend::Bwrap { program } => format!("bwrap ({})", program.display()),
        SandboxBackend::Landlock {
            version,
            namespaces,
        } => format!(
            "landlock (version {version}) and seccomp, {}",
            match namespaces {
                SandboxNamespaces::Own => "in a file tree, network and IPC of its own",
                SandboxNamespaces::Given => "without namespaces of its own",
            }
        ),
    }
}

fn available(backend: &SandboxBackend) -> String {
    match backend {
        SandboxBackend::Bwrap { .. } => "works here".to_owned(),
        SandboxBackend::Landlock {
            version,
            namespaces,
        } => format!(
            "works here: version {version}, {}",
            match namespaces {
                SandboxNamespaces::Own => "with a file tree and a network of its own",
                SandboxNamespaces::Given => "no network at all, as there are no user namespaces",
            }
        ),
    }
}

impl SandboxSession {
    /// What keeps commands outside the sandbox from Chela's own files.
    fn fence(&self) -> FencePlan {
        let exec = self.view.tools.value.exec.as_ref();
        let exec = exec.unwrap_or(&self.setup.loaded.config.tools.exec);
        FencePlan::of(&FenceAsk {
            host: &self.setup.host,
            loaded: &self.setup.loaded,
            backend: self.view.sandbox.value.backend.as_deref(),
            switch: FenceSwitch::of(exec),
        })
    }

    /// When commands of this session ask.
    fn exec_words(&self, standing: &SandboxStanding) -> String {
        let config = &self.setup.loaded.config;
        let exec = self.view.tools.value.exec.as_ref();
        let exec = exec.unwrap_or(&config.tools.exec);
        let mode = exec.mode.unwrap_or(ExecMode::Auto);
        match (mode, standing) {
            (ExecMode::Auto, SandboxStanding::CommandsInside(_)) => {
                "auto: runs in the sandbox without asking; asks for hosts and for leaving the \
                    sandbox"
                    .to_owned()
            }
            (ExecMode::Auto, SandboxStanding::Inside(_)) => "auto: runs in the sandbox without \
                asking"
                .to_owned(),
            (ExecMode::Auto, _) => {
                "auto: without a sandbox, asks for everything that does more than look".to_owned()
            }
            (mode, _) => format!("{mode} (tools.exec.mode)"),
        }
    }

    /// For the person at this terminal, with nothing foreign in the conversation.
    fn elevation(&self) -> ElevationState {
        elevation(&ElevationAsk {
            global: &self.setup.loaded.config.tools.elevated,
            own: self.view.tools.value.elevated.as_ref(),
            default: self.view.elevated_default.value,
            session: None,
            who: match self.key.is_subagent() {
                true => Who::Nobody,
                false => Who::Terminal,
            },
            taint: SessionTaint::Clean,
        })
    }
}

fn as_json(session: &SandboxSession, standing: &SandboxStanding) -> Value {
    let machine = SandboxMachine::tried_anew(&session.setup.host);
    let found = |found: Result<SandboxBackend, String>| match found {
        Ok(backend) => json!({ "works": true, "backend": backend }),
        Err(why) => json!({ "works": false, "why": why }),
    };
    let settings = &session.view.sandbox;
    let mut value = json!({
        "agent": session.view.id,
        "session": session.key,
        "mode": settings.value.mode,
        "from": settings.from.to_string(),
        "sandboxed": !matches!(
            standing,
            SandboxStanding::Outside { .. } | SandboxStanding::CommandsInside(_)
        ),
        "asks": session.exec_words(standing),
        "exec": match standing {
            SandboxStanding::Outside { .. } => "host",
            SandboxStanding::Inside(_) | SandboxStanding::CommandsInside(_) => "sandbox",
            SandboxStanding::Refused { .. } => "refused",
        },
        "why": match standing {
            SandboxStanding::Outside { why } | SandboxStanding::Refused { why, .. } => Some(why),
            SandboxStanding::Inside(_) | SandboxStanding::CommandsInside(_) => None,
        },
        "stateProtected": match session.fence().fence() {
            Ok(fence) => json!({ "yes": true, "by": fence.kind().name() }),
            Err(why) => json!({ "yes": false, "why": why }),
        },
        "machine": { "bwrap": found(machine.bwrap()), "landlock": found(machine.landlock()) },
    });
    let Value::Object(all) = &mut value else {
        return value;
    };
    if let Some(plan) = standing.plan() {
        let elevation = session.elevation();
        let doors = plan.doors().unwrap_or_default();
        let more = json!({
            "backend": plan.backend,
            "scope": plan.scope,
            "workspaceAccess": plan.access,
            "workspace": plan.workspace,
            "workdir": plan.workdir,
            "folder": plan.own_folder(),
            "readable": plan.walls.read,
            "writable": plan.walls.write,
            "kept": doors.repositories,
            "hidden": doors.sockets,
            "linkedRepositories": doors.links,
            "hosts": match &plan.network {
                NetworkAccess::None => Vec::new(),
                NetworkAccess::Hosts(hosts) => hosts.texts().collect(),
            },
            "limits": plan.bounds,
            "limitsHeldBy": match plan.counting {
                CgroupParent::Together { .. } => "cgroup2",
                CgroupParent::Apart { .. } => "cgroup1",
                CgroupParent::Watching { .. } => "watching",
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
