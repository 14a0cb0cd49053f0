//! What README and the book tell people to type, typed: line by line, in a home that has seen some
//! use. Whether a line can be typed at all is a test beside the command line (`cli/tests.rs`).

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use serde_json::json;

use crate::home::TestHome;

/// Lines that are not run, by how they begin, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo ", "builds"),
    ("scripts/", "builds"),
    ("sh install.sh", "`packaging::` installs"),
    ("sudo apt ", "`packaging::` installs"),
    ("npm ", "`packaging::` installs"),
    ("pip ", "`packaging::` installs"),
    ("podman ", "`packaging::` installs"),
    ("ollama ", "fetches"),
    ("export ", "a key of one's own"),
    ("curl ", "`gateway::` asks it"),
    ("  -", "the rest of a line"),
    ("chela setup", "asks a person"),
    ("chela resume", "asks a person"),
    ("chela chat --agent research", "asks a person"),
    ("chela gateway run", "does not end"),
    ("chela gateway install", "changes the machine"),
    ("chela logs -f", "does not end"),
    ("chela testkit serve script.json", "does not end"),
    ("chela skills add https://", "fetches"),
    ("chela mcp add docs https://", "fetches"),
    ("chela mcp serve", "`mcp::serving` talks to it"),
    ("chela config set update.key", "a key of one's own"),
    ("chela update --rollback", "`update::` rolls back"),
];

/// Lines that end with another code than 0.
const ENDS: &[(&str, i32)] = &[
    // Nobody types anything.
    ("chela chat", 2),
    ("chela --continue", 2),
    // For scripts to see: they differ, the words are not in the prompt, something is found.
    ("chela context diff main research", 1),
    ("chela context why \"the words you wonder about\"", 1),
    ("chela security audit", 1),
    ("chela gateway status", 1),
    // Commands of an agent do not look into the home folder.
    ("chela sandbox run -- ls -la ~", 2),
    // It was removed further up the page.
    ("chela plugins logs notes-kit", 1),
    // There is no source of versions.
    ("chela update --check", 1),
    ("chela update", 1),
];

/// A page and the lines in it that are typed.
struct TypedPage {
    name: String,
    text: String,
}

impl TypedPage {
    fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let book = std::fs::read_dir(root.join("docs/book")).unwrap().flatten();
        let mut files: Vec<PathBuf> = book
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "md"))
            .collect();
        files.sort();
        let front = ["README.md", "SECURITY.md"].map(|name| root.join(name));
        let name = |path: &Path| match path.parent() {
            Some(folder) if folder.ends_with("book") && path.ends_with("README.md") => {
                "book/README.md".to_owned()
            }
            _ => path.file_name().unwrap().to_str().unwrap().to_owned(),
        };
        let read = |path: PathBuf| Self {
            name: name(&path),
            text: std::fs::read_to_string(&path).unwrap(),
        };
        front.into_iter().chain(files).map(read).collect()
    }

    /// The fenced blocks, each with what stands behind its first fence.
    fn blocks(&self) -> Vec<(&str, Vec<&str>)> {
        let mut blocks = Vec::new();
        let mut open: Option<(&str, Vec<&str>)> = None;
        for line in self.text.lines() {
            match (line.strip_prefix("```"), open.take()) {
                (Some(info), None) => open = Some((info, Vec::new())),
                (Some(_), Some(block)) => blocks.push(block),
                (None, Some((info, mut lines))) => {
                    lines.push(line);
                    open = Some((info, lines));
                }
                (None, None) => {}
            }
        }
        blocks
    }

    fn lines(&self) -> Vec<&str> {
        let mut typed = Vec::new();
        for (info, lines) in self.blocks() {
            match info {
                "sh" | "bash" => typed.extend(lines),
                "console" => typed.extend(lines.iter().filter_map(|line| line.strip_prefix("$ "))),
                _ => {}
            }
        }
        typed.retain(|line| !line.trim().is_empty());
        typed
    }
}

/// A home that has been used: models of three providers, conversations, notes, a bad edit, something
/// to undo.
struct UsedHome {
    home: TestHome,
    _endpoint: ScriptedEndpoint,
}

impl UsedHome {
    fn new(page: &TypedPage) -> Self {
        let write = ScriptStep::tool("write", json!({ "path": "list.md", "content": "milk\n" }));
        let script = EndpointScript {
            models: [
                "scripted",
                "qwen3:4b",
                "claude-opus-4-5",
                "claude-sonnet-4-5",
            ]
            .map(str::to_owned)
            .to_vec(),
            otherwise: Some(ScriptStep::reply("I see.")),
            ..EndpointScript::steps([write.when(StepRule {
                contains: Some("write a list".into()),
                after_tool: Some(false),
                ..StepRule::default()
            })])
        };
        let endpoint = ScriptedEndpoint::start(script).unwrap();
        let mut home = TestHome::empty().lets_bait_out();
        home.asks(&endpoint);
        let url = endpoint.url();
        let at = |api: &str, models: &[&str]| {
            let models: Vec<_> = models
                .iter()
                .map(|id| json!({ "id": id, "contextWindow": 64_000 }))
                .collect();
            json!({ "baseUrl": url, "api": api, "apiKey": "sk-none-1", "models": models })
        };
        let config = json!({
            "models": { "providers": {
                "kit": at("openai-completions", &["scripted"]),
                "ollama": at("ollama", &["qwen3:4b"]),
                "anthropic": at("anthropic-messages", &["claude-opus-4-5", "claude-sonnet-4-5"]),
            } },
            "agents": { "defaults": { "model": "kit/scripted" } },
        });
        let bin = home.path("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_chela"), bin.join("chela")).unwrap();
        let used = Self {
            home,
            _endpoint: endpoint,
        };
        match page.name.as_str() {
            "openclaw.md" => used.fill_old_home(&config),
            _ => used.fill(&config),
        }
        match page.name.as_str() {
            "mcp.md" => used.install_git_server(),
            "plugins.md" => {
                let mut new = used.home.command();
                let new = new.args(["plugins", "new", "notes-kit"]);
                let new = new.current_dir(used.home.path("")).output().unwrap();
                assert!(new.status.success(), "{new:?}");
            }
            _ => {}
        }
        for (info, lines) in page.blocks() {
            if let Some(file) = info.strip_prefix("json ") {
                used.home.write(file, &lines.join("\n"));
            }
        }
        used
    }

    fn fill(&self, config: &serde_json::Value) {
        let home = &self.home;
        home.write(".chela/chela.json", &config.to_string());
        home.run(&["init"]).ok();
        let soul = home.read(".chela/workspace/SOUL.md");
        home.write(
            ".chela/workspace/SOUL.md",
            &format!("{soul}\nSpeak like a pirate.\n"),
        );
        home.run(&["workspace", "snapshot"]).ok();
        home.write(".chela/workspace/SOUL.md", "Oops.\n");
        home.write(
            ".chela/workspace/MEMORY.md",
            "# Memory\n\n- The lease of the flat ends in May.\n",
        );
        home.write(".chela/workspace/vendor/lib/README.md", "A library.\n");
        home.write("project/main.txt", "one\n");
        self.commit_in("project");
        home.write("project/main.txt", "two\n");
        for message in ["what is on my list?", "and tomorrow?", "write a list"] {
            home.run(&["-m", message]).answered();
        }
    }

    /// Makes a folder a repository with one version.
    fn commit_in(&self, folder: &str) {
        let folder = self.home.path(folder);
        for words in [
            &["init", "-q"][..],
            &["add", "."],
            &["commit", "-q", "-m", "first"],
        ] {
            let mut git = self.home.command_of("git");
            let git = git
                .current_dir(&folder)
                .args(["-c", "user.name=x", "-c", "user.email=x@x"]);
            let done = git.args(words).output().unwrap();
            assert!(done.status.success(), "{words:?}: {done:?}");
        }
    }

    /// A program of the name the page uses, which serves tools of git's.
    fn install_git_server(&self) {
        let tool = |name: &str| {
            json!({
                "name": name,
                "description": "Looks into a repository.",
                "inputSchema": { "type": "object" },
                "deeds": [{ "text": "Nothing changed." }],
            })
        };
        let tools = ["git_status", "git_log", "git_commit"].map(tool);
        let script = json!({ "tools": tools });
        self.home.write("src/git.json", &script.to_string());
        // Inside its walls it has the folder it was given, and nothing else of the home.
        let (program, file) = (self.home.path("src/chela"), self.home.path("src/git.json"));
        let own = Path::new(env!("CARGO_BIN_EXE_chela"));
        if std::fs::hard_link(own, &program).is_err() {
            std::fs::copy(own, &program).unwrap();
        }
        let (program, file) = (program.display(), file.display());
        let run = format!("#!/bin/sh\nexec {program} testkit mcp {file}\n");
        self.home.write("bin/mcp-server-git", &run);
        let name = self.home.path("bin/mcp-server-git");
        std::fs::set_permissions(name, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What is there before the first command of Chela.
    fn fill_old_home(&self, config: &serde_json::Value) {
        let home = &self.home;
        home.write(".openclaw/openclaw.json", &config.to_string());
        home.write(".openclaw/workspace/SOUL.md", "You are called Miso.\n");
        home.write(".openclaw/workspace/AGENTS.md", "# Rules\n\nBe brief.\n");
        self.commit_in(".openclaw/workspace");
        home.write(
            ".openclaw/agents/main/sessions/abc.jsonl",
            concat!(
                "{\"type\":\"session\",\"version\":3,\"id\":\"abc\",\"timestamp\":\"2026-01-18T00:20:12Z\",\"cwd\":\"/\"}\n",
                "{\"type\":\"message\",\"id\":\"x\",\"parentId\":null,\"timestamp\":\"2026-01-18T00:20:12Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
            ),
        );
    }

    /// Where a reader stands when they type a line.
    fn folder_of(&self, line: &str) -> PathBuf {
        let in_project = ["git ", "chela folders", "chela chat --add-dir"];
        match in_project.iter().any(|start| line.starts_with(start)) {
            true => self.home.path("project"),
            false => self.home.path(""),
        }
    }

    /// What is wrong with a line; nothing with a good one.
    fn run(&self, page: &TypedPage, line: &str) -> Option<String> {
        let meant = self.settled(line);
        let mut shell = self.home.command_of("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.home.path("bin");
        let shell = shell
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("EDITOR", "true")
            .current_dir(self.folder_of(line))
            .args(["-c", &meant])
            .stdin(Stdio::null());
        let output = shell.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap_or(-1);
        let command = line
            .split_once("  #")
            .map_or(line, |(command, _)| command)
            .trim();
        let wanted = ENDS.iter().find(|(ends, _)| *ends == command);
        let wanted = wanted.map_or(0, |(_, code)| *code);
        let is_bad =
            code != wanted || wanted == 0 && err.contains("error:") || err.contains("panicked");
        is_bad.then(|| format!("{}: {line}\n[{code}, not {wanted}]\n{out}{err}", page.name))
    }

    /// A line with what it leaves to the reader filled in.
    fn settled(&self, line: &str) -> String {
        let asks = [
            "chela trust approve ",
            "chela skills trust ",
            "chela mcp trust ",
            "chela plugins add ",
            "chela plugins update ",
        ];
        if asks.iter().any(|start| line.starts_with(start)) {
            let (command, remark) = line.split_once("  #").unwrap_or((line, ""));
            return format!("{command} --yes  #{remark}");
        }
        if !line.contains(" FILE") {
            return line.to_owned();
        }
        let folder = std::fs::read_dir(self.home.path("")).unwrap().flatten();
        let mut made = folder.map(|file| file.file_name().to_string_lossy().into_owned());
        let made = made.find(|name| name.starts_with("chela-backup-")).unwrap();
        line.replace("restore FILE", &format!("restore {made} --to restored"))
            .replace("FILE", &made)
    }
}

fn is_left_out(line: &str) -> bool {
    NOT_RUN.iter().any(|(start, _)| line.starts_with(start))
}

/// How many lines of a page were run, and what is wrong with them.
fn run_page(page: &TypedPage) -> (usize, Vec<String>) {
    let lines = page.lines().into_iter().filter(|line| !is_left_out(line));
    let lines: Vec<&str> = lines.collect();
    if !lines.iter().any(|line| line.contains("chela ")) {
        return (0, Vec::new());
    }
    let home = UsedHome::new(page);
    let told = home.home.run(&["logs", "--level", "warn"]).ok();
    assert_eq!(told, "", "ordinary use is no trouble");
    let wrong = lines.iter().filter_map(|line| home.run(page, line));
    (lines.len(), wrong.collect())
}

#[test]
fn every_line_of_the_pages_does_what_it_says() {
    /// Pages at a time: each has a home of its own, and most of its time is spent waiting.
    const AT_ONCE: usize = 3;
    let pages = TypedPage::all();
    let next = AtomicUsize::new(0);
    let work = || {
        let next = || pages.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(next).map(run_page).collect::<Vec<_>>()
    };
    let results: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.flatten().collect()
    });
    let run: usize = results.iter().map(|(run, _)| run).sum();
    let wrong: Vec<&str> = results
        .iter()
        .flat_map(|(_, wrong)| wrong.iter().map(String::as_str))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(run > 100, "only {run} lines were run");
    for (start, _) in NOT_RUN {
        let is_there = |page: &TypedPage| page.lines().iter().any(|line| line.starts_with(start));
        assert!(
            pages.iter().any(is_there),
            "no page says `{start}…` any more"
        );
    }
}
