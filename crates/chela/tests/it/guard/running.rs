//! Commands of a scripted model, in sessions that have read a page and in those that have not.

use chela_core::ContentHash;
use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use serde_json::{Value, json};

use crate::scene::{APIS, ScriptedHome};

/// What a call that nobody said yes to comes back with.
const UNASKED: &[&str] = &["needs the owner's yes", "Not done:"];

/// Whether commands run in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SandboxHere {
    Present,
    Missing,
}

impl SandboxHere {
    /// What this run is about: `cargo xtask guard-bench --no-sandbox` wants none.
    pub(super) fn asked_for() -> Self {
        match crate::scene::is_sandbox_unwanted() {
            true => Self::Missing,
            false => Self::Present,
        }
    }

    /// What this machine has. One that is not wanted is not missed.
    pub(super) fn of_machine() -> Self {
        if Self::asked_for() == Self::Missing {
            return Self::Present;
        }
        let home = crate::home::TestHome::ready();
        let told = home.run(&["sandbox", "explain", "--json"]).json();
        let is_here = told["exec"] == "sandbox";
        let must = std::env::var("CHELA_REQUIRE").is_ok_and(|what| what == "all");
        assert!(is_here || !must, "no sandbox here: {told}");
        match is_here {
            true => Self::Present,
            false => Self::Missing,
        }
    }
}

/// A home with a page to be read in its sessions.
pub(super) struct RunningHome {
    pub(super) scene: ScriptedHome,
    pages: ScriptedEndpoint,
}

impl RunningHome {
    pub(super) fn new(more: Value) -> Self {
        let page = ScriptStep::page(200, "text/html", "<p>Weather: sunny.</p>").when(StepRule {
            path: Some("/page".to_owned()),
            ..StepRule::default()
        });
        let pages = ScriptedEndpoint::start(EndpointScript::always(page)).unwrap();
        let mut config = json!({ "tools": { "web": { "fetch": {
            "ssrfPolicy": { "allowedHostnames": ["localhost"] },
        } } } });
        merge(&mut config, more);
        let script = EndpointScript::default();
        let scene = ScriptedHome::without_canary(APIS[0], script, config);
        Self { scene, pages }
    }

    /// On a machine where no sandbox can be built.
    pub(super) fn without_sandbox(more: Value) -> Self {
        let mut config =
            json!({ "agents": { "defaults": { "sandbox": { "backend": "absent" } } } });
        merge(&mut config, more);
        Self::new(config)
    }

    /// With the sandbox of this machine, if it has one.
    pub(super) fn with_sandbox(more: Value) -> Option<Self> {
        let is_wanted = SandboxHere::asked_for() == SandboxHere::Present;
        let is_here = is_wanted && SandboxHere::of_machine() == SandboxHere::Present;
        is_here.then(|| Self::new(more))
    }

    /// Reads the page.
    pub(super) fn page(&self) -> ScriptStep {
        let url = format!("http://localhost:{}/page", self.pages.port());
        ScriptStep::tool("web_fetch", json!({ "url": url }))
    }

    /// One message in a session of its own; gives what each call came back with.
    pub(super) fn plays(
        &self,
        session: &str,
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> Vec<String> {
        self.plays_with(session, &[], steps)
    }

    /// The same, with more words on the command line.
    pub(super) fn plays_with(
        &self,
        session: &str,
        more: &[&str],
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> Vec<String> {
        let mut steps: Vec<ScriptStep> = steps.into_iter().collect();
        steps.push(ScriptStep::reply("done"));
        self.scene.endpoint.play(EndpointScript::steps(steps));
        let url = format!("http://localhost:{}/page", self.pages.port());
        let message = format!("look at {url} and go on");
        let key = format!("agent:main:{session}");
        let args = [&["chat", "-m", &message, "--session", &key], more].concat();
        let run = self.scene.home.run(&args);
        assert!(matches!(run.code, 0 | 5), "{run:?}");
        let kept = self.scene.home.run(&["sessions", "export", &key]).ok();
        kept.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|entry| entry["message"]["role"] == "toolResult")
            .map(|entry| entry["message"]["content"].to_string())
            .collect()
    }

    /// Whether text from outside was read after these calls: then writing what runs at a build asks.
    pub(super) fn is_tainted_by(
        &self,
        session: &str,
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> bool {
        let probe = write("Makefile", "all:\n");
        let results = self.plays(session, steps.into_iter().chain([probe]));
        was_asked(results.last().unwrap())
    }

    pub(super) fn exists(&self, file: &str) -> bool {
        self.scene.home.exists(&format!(".chela/workspace/{file}"))
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        self.scene
            .home
            .write(&format!(".chela/workspace/{file}"), text);
    }

    /// A yes for good to exactly this command in a folder of the workspace, as an answer leaves
    /// it behind.
    pub(super) fn allows(&self, program: &str, arguments: &[&str], folder: &str) {
        let file = std::fs::canonicalize(program).unwrap();
        let folder = self.scene.home.path(".chela/workspace").join(folder);
        let entry = json!({
            "pattern": file,
            "argPattern": format!("sha256:{}", ContentHash::of(arguments.join("\0"))),
            "folder": folder.canonicalize().unwrap(),
            "grantedAt": now(),
            "source": "allow-always",
            "id": "given",
        });
        let script = arguments.first().map(|name| folder.join(name));
        let mut entry = entry;
        if let Some(text) = script.and_then(|script| std::fs::read(script).ok()) {
            let hash = ContentHash::of(&text).to_string();
            entry["sha256"] = ContentHash::of(hash).to_string().into();
        }
        let document = json!({ "version": 1, "agents": { "main": { "allowlist": [entry] } } });
        self.scene
            .home
            .write(".chela/exec-approvals.json", &document.to_string());
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

pub(super) fn exec(command: &str) -> ScriptStep {
    ScriptStep::tool("exec", json!({ "command": command }))
}

pub(super) fn exec_with(command: &str, more: Value) -> ScriptStep {
    let mut arguments = json!({ "command": command });
    merge(&mut arguments, more);
    ScriptStep::tool("exec", arguments)
}

pub(super) fn write(path: &str, content: &str) -> ScriptStep {
    ScriptStep::tool("write", json!({ "path": path, "content": content }))
}

/// Whether a call was not made for want of a yes.
pub(super) fn was_asked(result: &str) -> bool {
    UNASKED.iter().any(|words| result.contains(words))
}

fn merge(base: &mut Value, more: Value) {
    match (base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (name, value) in more {
                merge(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (base, more) => *base = more,
    }
}
