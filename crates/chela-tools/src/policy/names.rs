//! Lists of tools: names, groups, patterns.

/// Groups and what is in them. `group:fs` holds our own ways of looking at files besides the
/// four everybody has: whoever closes the group means them too.
const GROUPS: [(&str, &[&str]); 11] = [
    (
        "fs",
        &["read", "write", "edit", "apply_patch", "grep", "find", "ls"],
    ),
    ("runtime", &["exec", "process", "code_execution"]),
    (
        "sessions",
        &[
            "sessions",
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "sessions_send",
            "sessions_spawn",
            "sessions_yield",
            "conversations_list",
            "conversations_send",
            "conversations_turn",
            "subagents",
            "session_status",
            "suggest_task",
            "dismiss_task",
        ],
    ),
    ("memory", &["memory_search", "memory_get"]),
    ("web", &["web_search", "x_search", "web_fetch"]),
    (
        "ui",
        &[
            "browser",
            "screen",
            "dashboard",
            "terminal",
            "portal",
            "canvas",
            "show_widget",
        ],
    ),
    ("automation", &["heartbeat_respond", "cron", "gateway"]),
    ("messaging", &["message"]),
    ("nodes", &["nodes", "computer"]),
    (
        "agents",
        &[
            "agents_list",
            "get_goal",
            "create_goal",
            "update_goal",
            "update_plan",
            "progress_card",
            "ask_user",
            "skill_workshop",
            "skills_search",
            "tools_find",
        ],
    ),
    (
        "media",
        &[
            "image",
            "view_image",
            "image_generate",
            "music_generate",
            "video_generate",
            "tts",
        ],
    ),
];

/// Groups that `group:openclaw` leaves out: files and commands are everybody's.
const NOT_IN_OWN_GROUP: [&str; 2] = ["fs", "runtime"];

/// What the profiles hold; `full` holds everything.
pub(super) const MINIMAL: [&str; 1] = ["session_status"];
pub(super) const CODING: [&str; 16] = [
    "group:fs",
    "group:runtime",
    "group:web",
    "group:sessions",
    "group:memory",
    "group:media",
    "cron",
    "get_goal",
    "create_goal",
    "update_goal",
    "update_plan",
    "progress_card",
    "ask_user",
    "skill_workshop",
    "tools_find",
    "bundle-mcp",
];
pub(super) const MESSAGING: [&str; 16] = [
    "group:messaging",
    "sessions",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "sessions_yield",
    "conversations_list",
    "conversations_send",
    "conversations_turn",
    "subagents",
    "session_status",
    "ask_user",
    "tools_find",
    "bundle-mcp",
];

/// Whether this is one of Chela's own tools, present or to come, and not a plugin's.
pub fn is_built_in(tool: &str) -> bool {
    let tool = plain(tool);
    GROUPS
        .iter()
        .any(|(_, names)| names.contains(&tool.as_str()))
}

/// A list of tools as the config writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames(Vec<String>);

impl ToolNames {
    pub fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter().map(|name| plain(name.as_ref()));
        Self(names.filter(|name| !name.is_empty()).collect())
    }

    /// The entry that lets a tool in. Whoever may write may patch: `write` lets `apply_patch` in;
    /// and whoever may read a skill may look for it.
    pub(super) fn allowing(&self, tool: &str) -> Option<&str> {
        let tool = plain(tool);
        self.matching(&tool).or_else(|| match tool.as_str() {
            "apply_patch" => self.matching("write"),
            "skills_search" => self.matching("read"),
            _ => None,
        })
    }

    /// The entry that keeps a tool out. `grep` prints what is in files, so whoever takes `read`
    /// away takes `grep` away too.
    pub(super) fn denying(&self, tool: &str) -> Option<&str> {
        let tool = plain(tool);
        self.matching(&tool).or_else(|| match tool.as_str() {
            "grep" => self.matching("read"),
            _ => None,
        })
    }

    /// Groups that do not exist.
    pub(super) fn unknown_groups(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).filter(|name| {
            name.strip_prefix("group:").is_some_and(|group| {
                !matches!(group, "openclaw" | "chela" | "plugins")
                    && !GROUPS.iter().any(|(known, _)| *known == group)
            })
        })
    }

    fn matching(&self, tool: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|name| matches_one(name, tool))
            .map(String::as_str)
    }
}

fn matches_one(name: &str, tool: &str) -> bool {
    if let Some(group) = name.strip_prefix("group:") {
        return in_group(group, tool);
    }
    if name == "bundle-mcp" {
        return server_of(tool).is_some();
    }
    if wildcard(name.as_bytes(), tool.as_bytes()) {
        return true;
    }
    // A server or plugin stands for everything it brings.
    server_of(tool).is_some_and(|server| server == name)
}

fn in_group(group: &str, tool: &str) -> bool {
    match group {
        "openclaw" | "chela" => {
            is_built_in(tool) && !NOT_IN_OWN_GROUP.iter().any(|group| in_group(group, tool))
        }
        "plugins" => !is_built_in(tool),
        group => GROUPS
            .iter()
            .any(|(name, tools)| *name == group && tools.contains(&tool)),
    }
}

/// `server__tool` is what a tool of a server is called.
fn server_of(tool: &str) -> Option<&str> {
    tool.split_once("__").map(|(server, _)| server)
}

fn plain(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match name.as_str() {
        "bash" => "exec".to_owned(),
        "apply-patch" => "apply_patch".to_owned(),
        _ => name,
    }
}

/// Whether a pattern with `*` matches. Linear for all practical patterns.
fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(t) {
        let wanted = pattern.get(p);
        if wanted == Some(&b'*') {
            back = Some((p, t));
            p += 1;
        } else if wanted == Some(byte) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = back {
            back = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern.iter().skip(p).all(|byte| *byte == b'*')
}
