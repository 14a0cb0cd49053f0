//! Words people know from other programs, and what does that here.

use clap::Command;

/// Names that mean the same everywhere: what a command is called here, and what it answers to
/// besides.
const SAME_EVERYWHERE: &[(&str, &[&str])] = &[
    ("list", &["ls"]),
    ("rm", &["remove", "delete"]),
    ("remove", &["rm", "delete"]),
    ("unset", &["rm", "remove", "delete"]),
];

/// A command, a word behind it that it does not have, and what was probably meant.
pub(super) type KnownWord = (&'static str, &'static [&'static str], &'static str);

/// By the command they stand behind; the empty one is `chela` itself.
pub(super) const KNOWN_WORDS: &[KnownWord] = &[
    ("", &["."], "chela"),
    ("", &["?"], "chela help"),
    ("", &["allow"], "chela approvals allow PROGRAM"),
    (
        "",
        &["approve", "permissions", "rules"],
        "chela approvals list",
    ),
    ("", &["continue"], "chela --continue"),
    ("", &["edit"], "chela workspace edit FILE"),
    ("", &["files"], "chela workspace list"),
    ("", &["restart"], "chela gateway restart"),
    ("", &["restore"], "chela workspace restore FILE"),
    ("", &["stats"], "chela usage"),
    ("", &["tui"], "chela"),
    ("", &["dashboard", "ui", "web"], "chela gateway run"),
    ("", &["compact", "summarize"], "chela sessions compact main"),
    (
        "",
        &["conversations", "history", "list", "ls", "threads"],
        "chela sessions list",
    ),
    (
        "",
        &["configure", "onboard", "onboarding", "wizard"],
        "chela setup",
    ),
    (
        "",
        &["cost", "costs", "spend", "spending", "tokens", "billing"],
        "chela usage",
    ),
    (
        "",
        &["daemon", "server", "serve", "start"],
        "chela gateway run",
    ),
    ("", &["diff", "changes"], "chela undo --list"),
    ("", &["export"], "chela sessions export"),
    ("", &["forget"], "chela memory forget"),
    ("", &["commands"], "chela help"),
    ("", &["debug"], "chela logs"),
    ("", &["model"], "chela models list"),
    ("", &["requests"], "chela turn list"),
    ("", &["health", "check"], "chela doctor"),
    ("", &["import"], "chela sessions import"),
    ("", &["info", "whoami"], "chela status"),
    ("", &["key", "keys"], "chela auth list"),
    ("", &["abort", "kill", "pause", "halt"], "chela stop"),
    ("", &["login"], "chela auth login"),
    ("", &["logout"], "chela auth logout"),
    ("", &["new", "clear", "reset"], "chela -m /new"),
    ("", &["persona", "soul"], "chela workspace edit SOUL.md"),
    (
        "",
        &["remind", "reminder", "reminders", "schedule", "jobs"],
        "chela cron add",
    ),
    ("", &["revert", "rollback"], "chela undo"),
    ("", &["tools"], "chela agents matrix"),
    ("", &["uninstall"], "chela docs installing"),
    (
        "",
        &["self-update", "selfupdate", "upgrade"],
        "chela update",
    ),
    ("", &["version"], "chela --version"),
    ("", &["ps", "top"], "chela status"),
    ("agents", &["create", "new"], "chela agents add"),
    ("approvals", &["add"], "chela approvals allow"),
    (
        "approvals",
        &["delete", "deny", "remove", "rm"],
        "chela approvals revoke",
    ),
    ("audit", &["list", "log", "ls"], "chela audit show"),
    ("auth", &["add", "set"], "chela setup"),
    ("auth", &["delete", "remove", "rm"], "chela auth logout"),
    ("auth", &["show", "status", "whoami"], "chela auth list"),
    (
        "config",
        &["dump", "list", "ls", "print", "show", "view"],
        "chela config get",
    ),
    (
        "config",
        &["check", "lint", "test"],
        "chela config validate",
    ),
    (
        "config",
        &["edit", "open", "path", "where"],
        "chela config file",
    ),
    ("config", &["add"], "chela config set"),
    ("context", &["show"], "chela context detail"),
    ("cron", &["create", "new"], "chela cron add"),
    ("cron", &["disable", "stop"], "chela cron pause"),
    (
        "cron",
        &["enable", "resume", "start"],
        "chela cron pause --resume",
    ),
    ("cron", &["history", "log", "logs"], "chela cron runs"),
    ("cron", &["now", "test", "trigger"], "chela cron run"),
    ("folders", &["add", "trust"], "chela folders allow"),
    ("folders", &["deny", "revoke"], "chela folders rm"),
    ("gateway", &["start", "serve", "up"], "chela gateway run"),
    ("gateway", &["down"], "chela gateway stop"),
    ("gateway", &["reload"], "chela gateway restart"),
    (
        "heartbeat",
        &["off", "disable", "stop"],
        "chela config unset agents.defaults.heartbeat",
    ),
    (
        "heartbeat",
        &["on", "enable", "start"],
        "chela config set agents.defaults.heartbeat.every 30m",
    ),
    ("mcp", &["info", "show", "get"], "chela mcp tools NAME"),
    ("mcp", &["approve"], "chela mcp trust NAME"),
    ("mcp", &["install", "create", "new"], "chela mcp add"),
    ("mcp", &["check", "start", "run"], "chela mcp test NAME"),
    (
        "memory",
        &["add", "remember", "write"],
        "chela -p 'remember that …'",
    ),
    ("memory", &["delete", "remove", "rm"], "chela memory forget"),
    ("memory", &["find", "query"], "chela memory search"),
    ("memory", &["list", "ls"], "chela memory status"),
    ("memory", &["show", "read"], "chela memory get"),
    ("models", &["add", "login"], "chela setup"),
    ("models", &["check", "test"], "chela models probe"),
    (
        "models",
        &["default", "set", "switch", "use"],
        "chela config set agents.defaults.model PROVIDER/MODEL",
    ),
    (
        "sessions",
        &["cat", "open", "read", "view"],
        "chela sessions show",
    ),
    (
        "sessions",
        &["continue", "find", "resume", "search"],
        "chela resume",
    ),
    ("sessions", &["clear", "prune"], "chela sessions cleanup"),
    ("sessions", &["save"], "chela sessions export"),
    (
        "sessions",
        &["create", "new"],
        "chela chat --new-session NAME",
    ),
    ("skills", &["create", "init"], "chela skills new"),
    ("skills", &["off"], "chela skills disable"),
    ("skills", &["on"], "chela skills enable"),
    ("skills", &["install"], "chela skills add"),
    ("skills", &["show", "view"], "chela skills info"),
    ("skills", &["uninstall"], "chela skills remove"),
    ("trust", &["add"], "chela trust approve"),
    ("trust", &["list", "ls"], "chela trust status"),
    ("trust", &["remove", "rm"], "chela trust revoke"),
    ("turn", &["last", "latest"], "chela turn show last"),
    ("workspace", &["log"], "chela workspace history"),
    ("workspace", &["create", "init"], "chela init"),
    ("workspace", &["ls"], "chela workspace list"),
    ("workspace", &["status"], "chela workspace diff"),
];

/// Words that other programs use for commands and that begin no request to an agent.
const NEVER_SAID: &[&str] = &[
    "allow",
    "approve",
    "export",
    "import",
    "login",
    "logout",
    "permissions",
    "serve",
    "uninstall",
    "upgrade",
];
/// Things that other programs have commands for, and what is then done to them.
const NAMES_OF_THINGS: &[&str] = &[
    "extension",
    "extensions",
    "hook",
    "hooks",
    "job",
    "jobs",
    "key",
    "keys",
    "plugin",
    "plugins",
    "profile",
    "profiles",
    "tool",
    "tools",
];
const DONE_TO_THINGS: &[&str] = &[
    "add", "delete", "disable", "enable", "info", "install", "list", "ls", "new", "remove", "rm",
    "set", "show", "status", "test", "use",
];
/// More words than a command has behind it.
const MOST_BEHIND: usize = 3;

/// Whether words, typed one by one, are a command of another program rather than a message.
pub(super) fn is_command_elsewhere(words: &[std::ffi::OsString]) -> bool {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    let is_one_of = |at, known: &[&str]| word(at).is_some_and(|word| known.contains(&word));
    words.len() <= MOST_BEHIND
        && (is_one_of(0, NEVER_SAID)
            || (is_one_of(0, NAMES_OF_THINGS) && is_one_of(1, DONE_TO_THINGS)))
}

/// What a word is called here that a command does not have.
pub(super) fn known_word(command: &str, word: &str) -> Option<&'static str> {
    let fits = |(of, words, _): &&KnownWord| {
        *of == command && words.iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    KNOWN_WORDS.iter().find(fits).map(|(_, _, here)| *here)
}

/// Options of other programs, and what there is here instead.
const KNOWN_OPTIONS: &[(&[&str], &str)] = &[
    (
        &[
            "--allowed-tools",
            "--allowedTools",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-skip-permissions",
            "--full-auto",
            "--permission-mode",
            "--yes-always",
            "--yolo",
        ],
        "`chela approvals allow PROGRAM` pre-approves a command, `chela approvals set yolo` all; \
         the guard still asks once untrusted content was read",
    ),
    (
        &["--output-format"],
        "that is `--json` here, or `--json-stream` for events as they come",
    ),
    (
        &["--append-system-prompt", "--system", "--system-prompt"],
        "the persona is a file here: `chela workspace edit SOUL.md`",
    ),
    (&["--debug", "--verbose"], "that is `--log debug` here"),
    (
        &["-v"],
        "`chela --version` says the version; `--log debug` shows more",
    ),
    (
        &["--last"],
        "`chela --continue` continues the newest conversation",
    ),
    (&["--resume"], "that is `chela resume ID` here"),
    (&["--tail"], "that is `--lines N` here"),
    (
        &["--since", "--today"],
        "`chela usage --by day` shows each day",
    ),
    (
        &["--cwd", "--dir", "--directory", "--workdir"],
        "that is `--cd DIR` here",
    ),
    (
        &["--attach", "--attachment", "--file", "-f"],
        "pictures go with `--image FILE`; text goes in with a pipe: chela 'explain this' < FILE",
    ),
];

/// Commands that take nothing more, what is typed behind them all the same, and how it is said. No
/// words at all stand for any.
const WORDS_BEHIND: &[KnownWord] = &[
    (
        "sessions export",
        &[],
        "`chela sessions export ID -o FILE` writes a file",
    ),
    (
        "sessions list",
        &[],
        "`chela resume WORDS` finds a conversation by what was said in it",
    ),
    ("stop", &[], "`chela stop --all` stops every agent"),
    (
        "undo",
        &["--last"],
        "`chela undo` alone undoes the newest change",
    ),
    (
        "memory search",
        &["--date", "--day"],
        "`chela memory search --on yesterday` searches one day, `--since` and `--until` several",
    ),
    (
        "skills add",
        &["--yes", "-y", "--force"],
        "what is fetched waits for you: `chela skills trust NAME` after you looked at it",
    ),
    (
        "usage",
        &[],
        "`chela usage --by day` shows each day, `--by model` each model",
    ),
];

/// What to type instead of an argument that a command does not take.
pub(super) fn known_argument(command: &str, typed: &str) -> Option<&'static str> {
    let fits = |(of, words, _): &&KnownWord| {
        let is_any = words.is_empty() && !typed.starts_with('-');
        *of == command && (is_any || words.contains(&typed))
    };
    let behind = WORDS_BEHIND.iter().find(fits).map(|(_, _, here)| *here);
    behind.or_else(|| known_option(typed))
}

/// What an option of another program is called here.
fn known_option(typed: &str) -> Option<&'static str> {
    let name = typed.split(['=', ' ']).next().unwrap_or(typed);
    let mut known = KNOWN_OPTIONS.iter();
    let found = known.find(|(names, _)| names.contains(&name));
    found.map(|(_, here)| *here)
}

/// The commands, answering to the names of other programs as well.
pub(super) fn with_habits(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .flat_map(Command::get_name_and_visible_aliases)
        .map(str::to_owned)
        .collect();
    command.mut_subcommands(|inner| {
        let same = SAME_EVERYWHERE
            .iter()
            .find(|(here, _)| *here == inner.get_name());
        let free = same.into_iter().flat_map(|(_, others)| others.iter());
        let free: Vec<&'static str> = free
            .copied()
            .filter(|other| !names.iter().any(|name| name == other))
            .collect();
        with_habits(inner).aliases(free)
    })
}
