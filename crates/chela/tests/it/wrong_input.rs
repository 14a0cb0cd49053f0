//! Every command once with wrong input: nothing panics, nothing passes for done, and the message says
//! what is wrong, where, and what to do next.

use std::sync::Mutex;

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use crate::home::CommandRun;
use crate::scene::{APIS, ScriptedHome};

/// What is typed, and what the message must name.
type WrongInput = (&'static [&'static str], &'static str);

/// Names nobody gave anything, files that are missing, are a folder or hold something else, values
/// that cannot be meant. `adir` is a folder, `plain.txt` a line of text, `broken.json` cut off.
#[rustfmt::skip]
const WRONG: &[WrongInput] = &[
    (&["init", "--agent", "nosuch"], "nosuch"),
    (&["init", "adir"], "adir"),
    (&["setup", "--provider", "nosuch", "--no-chat"], "nosuch"),
    (&["setup", "--base-url", "nonsense", "--no-chat"], "http://nonsense"),
    (&["setup", "--provider", "mine", "--base-url", "not a url", "--no-chat"], "not a url"),
    (&["auth", "login", "nosuch"], "nosuch"),
    (&["auth", "logout", "nosuch"], "nosuch"),
    (&["auth", "list", "x"], "'x'"),
    (&["chat", "-m", "hi", "--image", "missing.png"], "missing.png"),
    (&["chat", "-m", "hi", "--image", "adir"], "adir"),
    (&["chat", "-m", "hi", "--image", "plain.txt"], "plain.txt"),
    (&["chat", "-m", "hi", "-s", "nosuch"], "nosuch"),
    (&["chat", "-m", "hi", "--model", "nosuch/x"], "nosuch"),
    (&["chat", "-m", "hi", "--model", ""], "--model"),
    (&["chat", "-m", "hi", "--thinking", "warp"], "warp"),
    (&["chat", "-m", "hi", "--agent", "nosuch"], "nosuch"),
    (&["chat", "-m", "hi", "--cd", "missing"], "missing"),
    (&["chat", "-m", "hi", "--add-dir", "plain.txt"], "plain.txt is a file"),
    (&["chat", "-m", "hi", "--skill", "nosuch"], "nosuch"),
    (&["chat", "-m", "hi", "--wait", "nonsense"], "nonsense"),
    (&["chat", "-m", "/model nosuch/x"], "nosuch"),
    (&["chat", "-m", "/think warp"], "warp"),
    (&["chat", "-m", "/skill nosuch go"], "nosuch"),
    (&["chat", "-m", "/approve nosuch once"], "nosuch"),
    (&["chat", "-m", "/nosuch"], "nosuch"),
    (&["chat", "--continue", "-s", "main", "-m", "hi"], "--continue"),
    (&["resume", "nosuch", "-m", "hi"], "nosuch"),
    (&["--continue", "--resume", "x", "hi"], "--continue"),
    (&["status", "x"], "'x'"),
    (&["doctor", "x"], "'x'"),
    (&["doctor", "--only", "nosuch"], "nosuch"),
    (&["config", "get", "no.such.key"], "no.such.key"),
    (&["config", "set", "agents.defaults.model"], "VALUE"),
    (&["config", "set", "no.such", "1"], "unknown key"),
    (&["config", "set", "agents.defaults.timeFormat", "13"], "timeFormat"),
    (&["config", "set", "agents.defaults.model", "{ broken"], "line 1"),
    (&["config", "set", "update.key", "ssh-ed25519 AAAA publisher"], "update.key"),
    (&["config", "unset", "no.such"], "no.such"),
    (&["config", "patch", "broken.json"], "--file broken.json"),
    (&["config", "patch", "--file", "missing.json"], "missing.json"),
    (&["config", "patch", "--file", "adir"], "adir"),
    (&["config", "patch", "--file", "broken.json"], "broken.json"),
    (&["config", "apply", "--file", "broken.json"], "broken.json"),
    (&["config", "apply", "[1, 2]"], "not an object"),
    (&["config", "schema", "no.such"], "no.such"),
    (&["config", "validate", "missing.json"], "missing.json"),
    (&["config", "validate", "adir"], "adir"),
    (&["config", "validate", "broken.json"], "broken.json:1"),
    (&["config", "explain", "agents.defaults.modle"], "agents.defaults.model"),
    (&["config", "file", "x"], "'x'"),
    (&["workspace", "path", "--agent", "nosuch"], "nosuch"),
    (&["workspace", "list", "--agent", "nosuch"], "nosuch"),
    (&["workspace", "history", "nosuch.md"], "nosuch.md"),
    (&["workspace", "diff", "nosuch.md"], "nosuch.md"),
    (&["workspace", "diff", "SOUL.md", "zzzz"], "zzzz"),
    (&["workspace", "edit", "nosuch.md"], "nosuch.md"),
    (&["workspace", "restore", "nosuch.md"], "nosuch.md"),
    (&["workspace", "restore", "SOUL.md", "zzzz"], "zzzz"),
    (&["workspace", "snapshot", "--agent", "nosuch"], "nosuch"),
    (&["memory", "status", "--agent", "nosuch"], "nosuch"),
    (&["memory", "index", "adir"], "adir"),
    (&["memory", "search"], "QUERY"),
    (&["memory", "search", ""], "search"),
    (&["memory", "get", "missing.md"], "missing.md"),
    (&["memory", "get", "../../../etc/passwd"], "passwd"),
    (&["memory", "forget", "zzzzqqq", "--yes"], "Nothing in memory"),
    (&["memory", "lint", "x"], "'x'"),
    (&["memory", "model", "install", "missing"], "model"),
    (&["memory", "model", "status", "x"], "'x'"),
    (&["models", "list", "x"], "'x'"),
    (&["models", "probe", "nosuch/x"], "nosuch"),
    (&["sessions", "list", "--agent", "nosuch"], "nosuch"),
    (&["sessions", "show", "nosuch"], "nosuch"),
    (&["sessions", "export", "nosuch"], "nosuch"),
    (&["sessions", "export", "main", "-o", "adir"], "adir"),
    (&["sessions", "export", "main", "-o", "missing/x.md"], "missing/x.md"),
    (&["sessions", "export", "main", "--format", "pdf"], "pdf"),
    (&["sessions", "import", "missing"], "missing"),
    (&["sessions", "import", "plain.txt"], "plain.txt"),
    (&["sessions", "import", "broken.json"], "broken.json"),
    (&["sessions", "import", "adir"], "adir"),
    (&["sessions", "rename", "nosuch", "x"], "nosuch"),
    (&["sessions", "compact", "nosuch"], "nosuch"),
    (&["sessions", "rm", "nosuch", "--yes"], "nosuch"),
    (&["sessions", "cleanup", "x"], "'x'"),
    (&["sessions", "rescue", "x"], "'x'"),
    (&["turn", "list", "--agent", "nosuch"], "nosuch"),
    (&["turn", "list", "--session", "nosuch"], "nosuch"),
    (&["turn", "show", "999"], "999"),
    (&["turn", "show", "abc"], "abc"),
    (&["turn", "diff", "1", "999"], "999"),
    (&["turn", "replay", "999"], "999"),
    (&["turn", "prune", "--older-than", "nonsense"], "nonsense"),
    (&["undo", "99"], "99"),
    (&["undo", "--agent", "nosuch"], "nosuch"),
    (&["undo", "--keep", "missing.md"], "missing.md"),
    (&["audit", "verify", "--file", "missing.jsonl"], "missing.jsonl"),
    (&["audit", "verify", "--file", "adir"], "adir"),
    (&["audit", "verify", "--file", "plain.txt"], "plain.txt: line 1"),
    (&["audit", "show", "--kind", "nosuch"], "nosuch"),
    (&["audit", "export", "-o", "adir"], "adir"),
    (&["audit", "export", "-o", "missing/x"], "missing/x"),
    (&["cache", "why", "nosuch"], "nosuch"),
    (&["gateway", "run", "--port", "99999999"], "99999999"),
    (&["gateway", "status", "x"], "'x'"),
    (&["gateway", "stop", "x"], "'x'"),
    (&["gateway", "restart"], "does not run"),
    (&["gateway", "install", "x"], "'x'"),
    (&["gateway", "uninstall", "x"], "'x'"),
    (&["gateway", "logs", "--level", "nosuch"], "nosuch"),
    (&["gateway", "deliveries", "retry", "nosuch"], "nosuch"),
    (&["gateway", "deliveries", "drop", "nosuch"], "nosuch"),
    (&["gateway", "token", "rotate", "x"], "'x'"),
    (&["cron", "add"], "TEXT"),
    (&["cron", "add", "x"], "say when"),
    (&["cron", "add", "--at", "yesterday", "x"], "yesterday"),
    (&["cron", "add", "--at", "2001-01-01", "x"], "2001"),
    (&["cron", "add", "--cron", "nonsense", "x"], "nonsense"),
    (&["cron", "add", "--cron", "0 8 * * FOO", "x"], "FOO"),
    (&["cron", "add", "--every", "zz", "x"], "zz"),
    (&["cron", "add", "--cron", "0 8 * * *", "--tz", "Mars/Base", "x"], "Mars/Base"),
    (&["cron", "add", "--every", "2h", "--at", "20m", "x"], "one way"),
    (&["cron", "add", "--every", "2h", "--agent", "nosuch", "x"], "nosuch"),
    (&["cron", "add", "--every", "2h", "--model", "nosuch/y", "x"], "nosuch"),
    (&["cron", "add", "--every", "2h", "--deliver", "nonsense", "x"], "nonsense"),
    (&["cron", "list", "x"], "'x'"),
    (&["cron", "show", "nosuch"], "nosuch"),
    (&["cron", "edit", "nosuch"], "nosuch"),
    (&["cron", "run", "nosuch"], "nosuch"),
    (&["cron", "rm", "nosuch"], "nosuch"),
    (&["cron", "runs", "nosuch"], "nosuch"),
    (&["cron", "pause", "nosuch"], "nosuch"),
    (&["heartbeat", "status", "x"], "'x'"),
    (&["heartbeat", "why", "--agent", "nosuch"], "nosuch"),
    (&["heartbeat", "run"], "agents.defaults.heartbeat"),
    (&["backup", "create", "adir"], "adir"),
    (&["backup", "create", "plain.txt"], "plain.txt"),
    (&["backup", "create", "missing/x.tar.gz"], "missing/x.tar.gz"),
    (&["backup", "verify", "missing.tar.gz"], "missing.tar.gz"),
    (&["backup", "verify", "adir"], "adir"),
    (&["backup", "verify", "plain.txt"], "plain.txt"),
    (&["backup", "restore", "missing.tar.gz"], "missing.tar.gz"),
    (&["backup", "restore", "plain.txt", "--to", "elsewhere"], "plain.txt"),
    (&["usage", "--by", "nosuch"], "nosuch"),
    (&["logs", "--level", "nosuch"], "nosuch"),
    (&["logs", "--since", "nonsense"], "nonsense"),
    (&["agents", "list", "x"], "'x'"),
    (&["agents", "add", "main"], "main"),
    (&["agents", "add", "bad name!"], "bad name!"),
    (&["agents", "add", "other", "--model", "nosuch/y"], "nosuch"),
    (&["agents", "show", "nosuch"], "nosuch"),
    (&["agents", "remove", "nosuch"], "nosuch"),
    (&["agents", "matrix", "x"], "'x'"),
    (&["skills", "list", "--agent", "nosuch"], "nosuch"),
    (&["skills", "watch", "x"], "'x'"),
    (&["skills", "info", "nosuch"], "nosuch"),
    (&["skills", "check", "plain.txt"], "plain.txt"),
    (&["skills", "check", "adir"], "adir"),
    (&["skills", "scan", "missing"], "missing"),
    (&["skills", "scan", "plain.txt"], "plain.txt"),
    (&["skills", "sign", "missing", "--key", "x"], "missing"),
    (&["skills", "sign", "adir", "--key", "nokey"], "nokey"),
    (&["skills", "sign", "adir", "--key", "plain.txt"], "plain.txt"),
    (&["skills", "verify", "missing"], "missing"),
    (&["skills", "keygen", "adir"], "adir"),
    (&["skills", "keygen", "missing/x"], "missing/x"),
    (&["skills", "why", "nosuch"], "nosuch"),
    (&["skills", "trust", "nosuch"], "nosuch"),
    (&["skills", "untrust", "nosuch"], "nosuch"),
    (&["skills", "diff", "nosuch"], "nosuch"),
    (&["skills", "new", "Bad Name"], "Bad Name"),
    (&["skills", "add", "missing"], "missing"),
    (&["skills", "add", "plain.txt"], "plain.txt"),
    (&["skills", "add", "adir"], "adir"),
    (&["skills", "remove", "nosuch"], "nosuch"),
    (&["guard", "canary", "--agent", "nosuch"], "nosuch"),
    (&["guard", "explain", "999"], "999"),
    (&["guard", "policy", "x"], "'x'"),
    (&["guard", "why", "nosuch"], "nosuch"),
    (&["guard", "withheld", "x"], "'x'"),
    (&["guard", "release", "nosuch"], "nosuch"),
    (&["trust", "status", "--agent", "nosuch"], "nosuch"),
    (&["trust", "diff", "nosuch.md"], "nosuch.md"),
    (&["trust", "approve", "nosuch.md"], "nosuch.md"),
    (&["trust", "revoke", "nosuch.md"], "nosuch.md"),
    (&["trust", "refuse", "nosuch.md"], "nosuch.md"),
    (&["trust", "restore", "nosuch.md"], "nosuch.md"),
    (&["security", "audit", "x"], "'x'"),
    (&["approvals", "list", "x"], "'x'"),
    (&["approvals", "show", "nosuch"], "nosuch"),
    (&["approvals", "revoke", "nosuch"], "nosuch"),
    (&["approvals", "allow"], "PATTERN"),
    (&["approvals", "allow", "git", "--args", "("], "--args"),
    (&["approvals", "get", "x"], "'x'"),
    (&["approvals", "set", "broken.json"], "broken.json"),
    (&["folders", "list", "x"], "'x'"),
    (&["folders", "allow", "missing"], "missing"),
    (&["folders", "allow", "plain.txt"], "plain.txt"),
    (&["folders", "rm", "missing"], "missing"),
    (&["stop", "--lift", "--all"], "--lift"),
    (&["stop", "nosuch"], "nosuch"),
    (&["sandbox", "explain", "--agent", "nosuch"], "nosuch"),
    (&["sandbox", "run"], "COMMAND"),
    (&["sandbox", "run", "--", "nosuchprog"], "nosuchprog"),
    (&["sandbox", "prune", "x"], "'x'"),
    (&["prompt", "--agent", "nosuch"], "nosuch"),
    (&["prompt", "--session", "telegram:nonsense:x:y:z:"], "telegram"),
    (&["prompt", "--facts", "missing.json"], "missing.json"),
    (&["prompt", "--facts", "adir"], "adir"),
    (&["prompt", "--facts", "broken.json"], "broken.json"),
    (&["prompt", "snapshot", "plain.txt"], "plain.txt"),
    (&["prompt", "check", "missing"], "missing"),
    (&["prompt", "check", "plain.txt"], "plain.txt"),
    (&["context", "list", "--agent", "nosuch"], "nosuch"),
    (&["context", "detail", "--agent", "nosuch"], "nosuch"),
    (&["context", "json", "x"], "'x'"),
    (&["context", "map", "-o", "missing/x.svg"], "missing/x.svg"),
    (&["context", "map", "-o", "adir"], "adir"),
    (&["context", "map", "-o", "x.pdf"], "x.pdf"),
    (&["context", "why", "nosuchword"], "nosuchword"),
    (&["context", "diff", "main", "nosuch"], "nosuch"),
    (&["context", "diff", "main", "missing.json"], "missing.json"),
    (&["context", "diff", "main", "broken.json"], "broken.json"),
    (&["context", "lint", "--fail-on", "nosuch"], "nosuch"),
    (&["testkit", "serve", "missing.json"], "missing.json"),
    (&["testkit", "serve", "adir"], "adir"),
    (&["testkit", "serve", "broken.json"], "broken.json"),
    (&["mcp", "list", "x"], "'x'"),
    (&["mcp", "add"], "NAME"),
    (&["mcp", "add", "bad name!", "https://x.example"], "bad name!"),
    (&["mcp", "add", "near", "localhost:1"], "localhost:1"),
    (&["mcp", "add", "near"], "URL"),
    (&["mcp", "add", "--from", "missing.json"], "missing.json"),
    (&["mcp", "add", "--from", "broken.json"], "broken.json"),
    (&["mcp", "add", "--from", "adir"], "adir"),
    (&["mcp", "remove", "nosuch"], "nosuch"),
    (&["mcp", "enable", "nosuch"], "nosuch"),
    (&["mcp", "disable", "nosuch"], "nosuch"),
    (&["mcp", "test", "nosuch"], "nosuch"),
    (&["mcp", "login", "nosuch"], "nosuch"),
    (&["mcp", "logout", "nosuch"], "nosuch"),
    (&["mcp", "tools", "nosuch"], "nosuch"),
    (&["mcp", "diff", "nosuch"], "nosuch"),
    (&["mcp", "trust", "nosuch"], "nosuch"),
    (&["mcp", "revoke", "nosuch"], "nosuch"),
    (&["mcp", "logs", "nosuch"], "nosuch"),
    (&["mcp", "serve", "--agent", "nosuch"], "nosuch"),
    (&["mcp", "token", "create"], "NAME"),
    (&["mcp", "token", "create", "a", "--scope", "nosuch"], "nosuch"),
    (&["mcp", "token", "list", "x"], "'x'"),
    (&["mcp", "token", "delete", "nosuch"], "nosuch"),
    (&["memory", "about", "x", "--agent", "nosuch"], "nosuch"),
    (&["memory", "consolidate", "--agent", "nosuch"], "nosuch"),
    (&["plugins", "list", "x"], "'x'"),
    (&["plugins", "add", "missing"], "`missing`"),
    (&["plugins", "new", "../x"], "`../x`"),
    (&["plugins", "hooks", "x"], "'x'"),
    (&["plugins", "grant", "nosuch", "hook:agent_end"], "`nosuch`"),
    (&["plugins", "revoke", "nosuch", "hook:agent_end"], "`nosuch`"),
    (&["plugins", "info", "nosuch"], "`nosuch`"),
    (&["plugins", "remove", "nosuch"], "`nosuch`"),
    (&["plugins", "enable", "nosuch"], "`nosuch`"),
    (&["plugins", "disable", "nosuch"], "`nosuch`"),
    (&["plugins", "update", "nosuch"], "`nosuch`"),
    (&["plugins", "doctor", "nosuch"], "`nosuch`"),
    (&["plugins", "logs", "nosuch"], "`nosuch`"),
    (&["plugins", "test", "nosuch"], "`nosuch`"),
    (&["memory", "bench", "missing"], "missing"),
    (&["skills", "search", "x", "--registry", "nonsense"], "nonsense"),
    (&["skills", "outdated", "--agent", "nosuch"], "nosuch"),
    (&["skills", "update", "nosuch"], "nosuch"),
    (&["skills", "setup", "nosuch"], "nosuch"),
    (&["skills", "enable", "nosuch"], "nosuch"),
    (&["skills", "disable", "nosuch"], "nosuch"),
    (&["testkit", "mcp", "missing.json"], "missing.json"),
    (&["testkit", "mcp", "adir"], "adir"),
    (&["update", "--check"], "update.url"),
    (&["update", "--rollback"], "Chela"),
    (&["completion", "nosh"], "nosh"),
    (&["man", "x"], "'x'"),
    (&["docs", "nosuch"], "nosuch"),
    (&["--profile", "bad/../name", "status"], "bad/../name"),
    (&["--log", "nosuch", "status"], "nosuch"),
    (&["--color", "purple", "status"], "purple"),
    (&["help", "nosuch"], "nosuch"),
    (&["-p"], "message"),
];

fn scene() -> ScriptedHome {
    let script = EndpointScript::always(ScriptStep::reply("Heard."));
    let scene = ScriptedHome::without_canary(APIS[0], script, json!({}));
    scene.chat("hello").ok();
    scene.home.write("adir/inside.txt", "x\n");
    scene.home.write("plain.txt", "hi\n");
    scene.home.write("broken.json", "{ \"a\": [1,\n");
    scene
}

/// What is wrong with a message; `None` for a good one. What to do next is a hint, a command to run or
/// what would do instead.
fn complaint(run: &CommandRun, named: &str) -> Option<String> {
    let told = format!("{}{}", run.out, run.err);
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let says_next = [
        "→",
        "--help",
        "/help",
        "did you mean",
        "`chela ",
        "; use ",
        ": use ",
        "choose ",
    ];
    let bad = if run.code == 0 {
        "it ends as if it had worked"
    } else if run.code == 70 || told.contains("panicked") || told.contains("a bug in Chela") {
        "it broke"
    } else if told.contains("os error") {
        "it gives a number of the system"
    } else if !flat.contains(named) {
        "it does not name what is wrong"
    } else if !says_next.iter().any(|next| flat.contains(next)) {
        "it does not say what to do next"
    } else {
        return None;
    };
    Some(format!("{bad}: {run:?}"))
}

/// The commands that do something, from the page that lists them all.
fn leaves() -> Vec<Vec<&'static str>> {
    let page = include_str!("../../../../docs/generated/CLI.md");
    let all: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## `chela ")?.strip_suffix('`'))
        .map(|words| words.split(' ').collect())
        .collect();
    let is_leaf = |command: &&Vec<&'static str>| {
        let longer = |other: &Vec<&str>| other.len() > command.len() && other.starts_with(command);
        !all.iter().any(longer)
    };
    all.iter().filter(is_leaf).cloned().collect()
}

/// Runs all of them, several at a time, and gives what is wrong with each.
fn complaints(scene: &ScriptedHome, all: &[(Vec<&str>, &str)]) -> Vec<String> {
    let rows = Mutex::new(all.iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                loop {
                    let row = rows.lock().map(|mut rows| rows.next());
                    let Ok(Some((words, named))) = row else {
                        break;
                    };
                    let run = scene.home.run(words);
                    if let (Some(bad), Ok(mut wrong)) = (complaint(&run, named), wrong.lock()) {
                        wrong.push(format!("chela {}: {bad}", words.join(" ")));
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap_or_default()
}

#[test]
fn every_command_says_what_is_wrong_and_what_to_do() {
    let scene = scene();
    let rows: Vec<(Vec<&str>, &str)> = WRONG
        .iter()
        .map(|(words, named)| (words.to_vec(), *named))
        .collect();
    let wrong = complaints(&scene, &rows);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let left_out: Vec<String> = leaves()
        .iter()
        .filter(|leaf| !WRONG.iter().any(|(words, _)| words.starts_with(leaf)))
        .map(|leaf| leaf.join(" "))
        .collect();
    assert!(left_out.is_empty(), "never tried: {left_out:?}");
}

#[test]
fn every_command_refuses_an_option_nobody_has() {
    let scene = scene();
    let rows: Vec<(Vec<&str>, &str)> = leaves()
        .into_iter()
        .map(|leaf| ([leaf, vec!["--no-such-flag"]].concat(), "--no-such-flag"))
        .collect();
    assert!(rows.len() > 100, "{} commands were found", rows.len());
    let wrong = complaints(&scene, &rows);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What went wrong is an object for a program that reads one.
#[test]
fn under_json_what_is_wrong_is_an_object() {
    let scene = scene();
    for words in [
        &["chat", "-m", "/model nosuch/x", "--json"][..],
        &["chat", "-m", "hi", "--skill", "nosuch", "--json"],
        &["backup", "verify", "missing.tar.gz", "--json"],
        &["turn", "show", "999", "--json"],
    ] {
        let run = scene.home.run(words);
        let told: serde_json::Value = serde_json::from_str(&run.out).unwrap_or_default();
        let message = told["error"]["message"].as_str().unwrap_or_default();
        assert!(run.code != 0 && !message.is_empty(), "{words:?}: {run:?}");
    }
}
