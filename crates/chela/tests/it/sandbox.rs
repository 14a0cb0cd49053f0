//! Every statement about the sandbox, and an attempt to break it, under each backend.
//!
//! The attempts go through the real binary: `chela sandbox run` starts a command exactly where
//! the agent's `exec` would. A backend that cannot be had on a machine is named on the terminal,
//! and only when the machine itself says so.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod calls;
mod chat;
mod files;
mod git;
mod inside;
mod limits;
mod network;
mod old_kernels;
mod probed_once;
mod prune;
mod scope;
mod words;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use chela_testkit::find_part;
use serde_json::{Value, json};

use crate::home::{CommandRun, TestHome};
use crate::parts::installed_by;

const BACKENDS: [&str; 2] = ["bwrap", "landlock"];
/// Landlock on a machine where nobody gets namespaces of their own.
pub(crate) const BARE: &str = "landlock without namespaces";

/// Takes the namespaces away from what it starts.
const WITHOUT_NAMESPACES: [&str; 5] = [
    "unshare",
    "--map-root-user",
    "sh",
    "-c",
    "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"",
];

/// Hides the groups of processes from what it starts.
const WITHOUT_GROUPS: [&str; 5] = [
    "unshare",
    "--mount",
    "sh",
    "-c",
    "mount -t tmpfs none /sys/fs/cgroup && exec \"$0\" \"$@\"",
];

/// A home whose agent is sandboxed, with secrets around it.
pub(crate) struct SandboxedHome {
    pub(crate) home: TestHome,
    pub(crate) backend: &'static str,
}

/// Does the same under every backend there is, and where the machine allows no namespaces.
pub(crate) fn everywhere(settings: &Value, attempt: impl Fn(&SandboxedHome)) {
    in_namespaces(settings, &attempt);
    if let Some(cell) = SandboxedHome::new(BARE, settings) {
        attempt(&cell);
    }
}

/// Does the same under every backend there is.
fn in_namespaces(settings: &Value, attempt: impl Fn(&SandboxedHome)) {
    for backend in BACKENDS {
        if let Some(cell) = SandboxedHome::new(backend, settings) {
            attempt(&cell);
        }
    }
}

impl SandboxedHome {
    /// On a machine where nobody may make groups of processes.
    fn without_groups(backend: &'static str, settings: &Value) -> Option<Self> {
        let (program, words) = WITHOUT_GROUPS.split_first().unwrap();
        let tried = Command::new(program).args(words).arg("true").output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            say("groups of processes cannot be hidden here: most likely there are none");
        }
        let mut cell = Self::new(backend, settings)?;
        if rustix::process::getuid().is_root() {
            cell.home = cell.home.through(&WITHOUT_GROUPS);
        }
        let explained = cell.home.run(&["sandbox", "explain", "--json"]).json();
        assert_eq!(explained["limitsHeldBy"], "watching", "{explained:#}");
        Some(cell)
    }

    fn new(backend: &'static str, settings: &Value) -> Option<Self> {
        is_here(backend)?;
        let name = backend.split(' ').next().unwrap();
        let mut sandbox = json!({
            "mode": "all",
            "backend": name,
            "docker": { "binds": [format!("{}:ro", this_program().display())] },
        });
        merge(&mut sandbox, settings);
        let config = json!({ "agents": { "defaults": { "sandbox": sandbox } } });
        let mut home = with_bwrap(TestHome::empty());
        if backend == BARE {
            home = home.through(&WITHOUT_NAMESPACES);
        }
        home.write(".chela/chela.json", &config.to_string());
        home.run(&["init"]).ok();
        home.write(".ssh/id_ed25519", SECRET);
        home.write(".chela/workspace-other/SOUL.md", SECRET);
        home.write(".chela/workspace/notes.md", "notes of the agent");
        home.write(".chela/workspace/memory/old.md", "yesterday");
        home.write(".chela/state/trust.json", SECRET);
        let cell = Self { home, backend };
        let explained = cell
            .home
            .run(&[
                "sandbox",
                "explain",
                "--json",
                "--session",
                "agent:main:cron:check",
            ])
            .json();
        // The machine has what it takes, so the sandbox must be there.
        assert_eq!(explained["exec"], "sandbox", "{backend}: {explained:#}");
        assert_eq!(explained["backend"]["name"], name);
        assert_eq!(
            explained["backend"]["namespaces"] == "own",
            backend == "landlock"
        );
        Some(cell)
    }

    /// What a shell prints inside.
    pub(crate) fn sh(&self, script: &str) -> CommandRun {
        self.home.run(&["sandbox", "run", "--", "sh", "-c", script])
    }

    /// Attempts made by this very program, inside. `facts` are variables for it.
    fn attempt(&self, what: &str, facts: &str) -> String {
        let program = this_program();
        let script = format!(
            "ESCAPE={what} {facts} exec '{}' --exact sandbox::inside::probe --nocapture --test-threads 1",
            program.display()
        );
        let run = self.sh(&script);
        assert!(
            run.out.contains("test result: ok"),
            "{}: {run:?}",
            self.backend
        );
        run.out
    }

    /// Attempts of which every single one must fail.
    fn holds(&self, what: &str, facts: &str, least: usize) -> String {
        let out = self.attempt(what, facts);
        assert!(!out.contains("ESCAPED"), "{}: {out}", self.backend);
        let held = out.matches(": held (").count();
        assert!(
            held >= least,
            "{}: only {held} were made: {out}",
            self.backend
        );
        out
    }

    fn path(&self, relative: &str) -> String {
        self.home.path(relative).display().to_string()
    }
}

/// What must never be seen inside.
const SECRET: &str = "the-secret-that-stays-outside";

/// This test program, to be started inside.
fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// A home that finds bubblewrap, wherever it was unpacked.
pub(crate) fn with_bwrap(home: TestHome) -> TestHome {
    let path = std::env::var("PATH").unwrap_or_default();
    match &*BWRAP {
        Ok(folder) => home.env("PATH", &format!("{}:{path}", folder.display())),
        Err(_) => home,
    }
}

/// The folder `bwrap` is in, once it was seen to work without any code of ours.
static BWRAP: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let folder = installed_by("bubblewrap.sh")?;
    let tried = Command::new(folder.join("bwrap"))
        .args(["--unshare-all", "--ro-bind", "/", "/"])
        .args(["--proc", "/proc", "--dev", "/dev", "true"])
        .output()
        .unwrap();
    match tried.status.success() {
        true => Ok(folder),
        false => Err(format!(
            "bwrap does not work here: {}",
            String::from_utf8_lossy(&tried.stderr).trim()
        )),
    }
});

/// Whether the kernel has Landlock, asked without any code of ours.
static LANDLOCK: LazyLock<Result<(), String>> =
    LazyLock::new(|| match inside::landlock_version() {
        Ok(3..) => Ok(()),
        Ok(version) => Err(format!("the kernel has only version {version} of Landlock")),
        Err(error) => Err(format!("the kernel has no Landlock: {error}")),
    });

/// Whether namespaces can be had here at all, to be taken away again.
static NAMESPACES: LazyLock<Result<(), String>> = LazyLock::new(|| {
    let (program, words) = WITHOUT_NAMESPACES.split_first().unwrap();
    let tried = Command::new(program).args(words).arg("true").output();
    match tried {
        Ok(tried) if tried.status.success() => Ok(()),
        other => Err(format!("namespaces cannot be taken away here: {other:?}")),
    }
});

/// A home on a machine where nobody gets namespaces of their own.
pub(crate) fn without_namespaces(home: TestHome) -> Option<TestHome> {
    is_here(BARE)?;
    Some(home.through(&WITHOUT_NAMESPACES))
}

/// Whether a backend can be tried on this machine.
pub(crate) fn is_here(backend: &str) -> Option<()> {
    match backend {
        "bwrap" => find_part("bubblewrap", BWRAP.as_ref()).map(drop),
        BARE => {
            find_part("landlock", LANDLOCK.as_ref())?;
            find_part("namespaces", NAMESPACES.as_ref()).map(drop)
        }
        _ => find_part("landlock", LANDLOCK.as_ref()).map(drop),
    }
}

/// Past the test harness, which keeps what passing tests print to itself.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn merge(base: &mut Value, more: &Value) {
    match (base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (name, value) in more {
                merge(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (base, more) => *base = more.clone(),
    }
}
