//! The text agents are made of, read for what somebody may have put into it.

use std::fs;
use std::path::{Path, PathBuf};

use chela_core::secret::{CANARY, Redactor};
use chela_core::{ok_or_debug, sanitize};
use chela_guard::detect::{self, detect};
use chela_workspace::{CoreFile, CoreSpelling};

use super::{AuditInput, AuditedAgent, RiskFinding, RiskSeverity};
use RiskSeverity::{Critical, Warning};

/// Longer texts are read to here.
const MOST_BYTES: usize = 512 * 1024;
/// Memories and hooks beyond these are not read.
const MOST_FILES: usize = 500;

/// Something in a text.
pub(super) struct TextMark {
    id: &'static str,
    severity: RiskSeverity,
    line: u32,
    what: String,
    fix: &'static str,
}

impl TextMark {
    fn finding(self, whose: &str) -> RiskFinding {
        RiskFinding::new(self.id, self.severity, format!("{whose} {}", self.what)).fix(self.fix)
    }
}

pub(super) fn texts(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for AuditedAgent { id: agent, .. } in &ground.agents {
        let workspace = ground.loaded.workspace_dir(agent).value;
        let spelling = CoreSpelling::of(&workspace);
        let spelled = CoreFile::ALL.map(|core| workspace.join(spelling.name(core)));
        let core = CoreFile::names()
            .map(|name| workspace.join(name))
            .chain(spelled);
        let notes = files_below(&workspace.join("memory"), 2);
        let hooks = files_below(&workspace.join("hooks"), 3);
        for path in core.chain(notes).chain(hooks) {
            if !seen.contains(&path) {
                findings.extend(in_file(ground, &path));
                seen.push(path);
            }
        }
    }
    for path in files_below(&ground.host.state_dir().join("hooks"), 3) {
        findings.extend(in_file(ground, &path));
    }
    findings.extend(prompts(ground));
    findings
}

fn in_file(ground: &AuditInput<'_>, path: &Path) -> Vec<RiskFinding> {
    let read = fs::read(path);
    let Some(bytes) = ok_or_debug!(read, "a file is not looked through", path = %path.display())
    else {
        return Vec::new();
    };
    let text =
        String::from_utf8_lossy(bytes.get(..bytes.len().min(MOST_BYTES)).unwrap_or_default());
    let shown = ground.host.compact(path);
    look(&text, &ground.redactor)
        .into_iter()
        .map(|mark| {
            let line = mark.line;
            mark.finding(&shown).in_file(path, Some(line))
        })
        .collect()
}

/// Texts in the config that models read.
fn prompts(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    const KEYS: &[(&str, &str)] = &[
        ("agents.defaults.heartbeat.prompt", "the heartbeat prompt"),
        ("agents.list.*.heartbeat.prompt", "the heartbeat prompt"),
        ("agents.entries.*.heartbeat.prompt", "the heartbeat prompt"),
        (
            "agents.defaults.additionalSystemPrompt",
            "the added system prompt",
        ),
        (
            "agents.list.*.additionalSystemPrompt",
            "the added system prompt of an agent",
        ),
        (
            "agents.entries.*.additionalSystemPrompt",
            "the added system prompt of an agent",
        ),
        ("agents.list.*.description", "the description of an agent"),
        (
            "agents.entries.*.description",
            "the description of an agent",
        ),
        (
            "agents.defaults.compaction.customInstructions",
            "the instructions for summaries",
        ),
        (
            "agents.defaults.compaction.identifierInstructions",
            "the instructions for summaries",
        ),
        (
            "agents.defaults.compaction.memoryFlush.prompt",
            "what is asked before a summary",
        ),
        (
            "agents.defaults.compaction.memoryFlush.systemPrompt",
            "what is asked before a summary",
        ),
        ("messages.tts.hint", "the hint about speech"),
        ("channels.*.groups.*.systemPrompt", "the prompt of a group"),
        (
            "channels.*.direct.*.systemPrompt",
            "the prompt of a direct chat",
        ),
        ("secrets.named.*.description", "the description of a secret"),
        (
            "hooks.mappings.*.messageTemplate",
            "the message of a webhook",
        ),
        ("hooks.mappings.*.textTemplate", "the text of a webhook"),
        ("cron.jobs.*.message", "the message of a job"),
    ];
    let mut findings = Vec::new();
    for &(pattern, whose) in KEYS {
        for (key, node) in super::rule::places(&ground.loaded.tree, pattern) {
            let Some(text) = node.as_str() else {
                continue;
            };
            let heartbeat = pattern.ends_with("heartbeat.prompt");
            for mark in look(text, &ground.redactor) {
                let mut finding = mark.finding(whose);
                // It is said again and again while nobody looks.
                if heartbeat && finding.id == "text.injected" {
                    finding.id = "heartbeat.injected";
                    finding.severity = Critical;
                }
                findings.push(ground.at_key(finding, &key));
            }
        }
    }
    findings
}

/// What stands out in a text.
pub(super) fn look(text: &str, redactor: &Redactor) -> Vec<TextMark> {
    let mut marks = Vec::new();
    let mut add = |id, severity, at: usize, what: String, fix| {
        marks.push(TextMark {
            id,
            severity,
            line: line_of(text, at),
            what,
            fix,
        });
    };
    let found = detect(text);
    if found.severity >= detect::DetectionSeverity::Medium {
        let at = found
            .findings
            .iter()
            .find(|finding| finding.family.is_telling())
            .map_or(found.worst.start, |finding| finding.range.start);
        let why = found.explain(text);
        add(
            "text.injected",
            Critical,
            at,
            format!("looks like an injected instruction: {why}"),
            "read it; `chela workspace diff` shows what changed, `restore` undoes it",
        );
    }
    let (_, removed) = sanitize::content(text);
    if removed.total() > 0 {
        let at = text
            .char_indices()
            .find(|(_, c)| sanitize::content(&c.to_string()).1.total() > 0)
            .map_or(0, |(at, _)| at);
        add(
            "text.invisible",
            Warning,
            at,
            format!("contains {} invisible characters", removed.total()),
            "remove them; they may carry hidden instructions",
        );
    }
    for hit in redactor.find(text.as_bytes()) {
        // The owner's own bait.
        if &*hit.name == CANARY {
            continue;
        }
        let what = crate::lint::secret_in_words(&hit.name);
        add(
            "text.secret",
            Critical,
            hit.range.start,
            format!("contains what looks like {what}"),
            "remove it, replace it where it is used, and keep it in the environment",
        );
    }
    for found in chela_prompt::borrowed_headings(text) {
        let at = text
            .split_inclusive('\n')
            .take(found.line.saturating_sub(1) as usize)
            .map(str::len)
            .sum();
        add(
            "text.section-heading",
            Warning,
            at,
            format!(
                "has the heading `{}`, like a section of the prompt",
                found.heading
            ),
            "choose another title; if you did not write it, `chela workspace history` shows who did",
        );
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for (id, severity, what, fix) in line_marks(line) {
            add(id, severity, start, what.to_owned(), fix);
        }
        start += line.len();
    }
    for (at, inside) in comments(text) {
        let lower = inside.to_lowercase();
        let orders = [
            "ignore ",
            "instruction",
            "system prompt",
            "do not tell",
            "don't tell",
            "secretly",
            "you must",
            "send ",
            "execute",
        ];
        if orders.iter().any(|word| lower.contains(word)) {
            add(
                "text.hidden-comment",
                Critical,
                at,
                "gives instructions in a hidden comment".to_owned(),
                "remove the comment",
            );
        }
    }
    marks
}

type LineMark = (&'static str, RiskSeverity, &'static str, &'static str);

/// What stands out in one line.
fn line_marks(line: &str) -> Vec<LineMark> {
    let lower = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let squeezed: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    let fetches = has(&["curl ", "wget ", "fetch ", "iwr ", "invoke-webrequest"]);
    let mut marks = Vec::new();
    let shells = [
        "|sh",
        "|bash",
        "|zsh",
        "|sudo",
        "|python",
        "|node",
        "|perl",
        "|iex",
        "bash<(curl",
        "bash<(wget",
        "sh-c\"$(curl",
        "sh-c\"$(wget",
        "eval$(curl",
        "eval\"$(curl",
    ];
    if fetches && shells.iter().any(|shell| squeezed.contains(shell)) {
        marks.push((
            "text.pipe-to-shell",
            Critical,
            "pipes what it downloads into a shell",
            "remove it; install by hand what is needed",
        ));
    }
    if squeezed.contains("base64-d|")
        || squeezed.contains("base64--decode|")
        || has(&["powershell -enc", "frombase64string", "eval(atob("])
    {
        marks.push((
            "text.decoded-run",
            Critical,
            "decodes something and runs it",
            "remove it",
        ));
    }
    let places = [
        ".ssh/",
        "id_rsa",
        "id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".gnupg",
        "keychain",
        "/etc/shadow",
        ".npmrc",
        "wallet.dat",
        "chela.json",
        "sessions.sqlite",
        ".env ",
    ];
    if has(&places)
        && (fetches
            || has(&[
                "http://", "https://", "| nc ", "scp ", "upload", "send it", "post it",
            ]))
    {
        marks.push((
            "text.secrets-out",
            Critical,
            "names a place where secrets are kept and a way to send them",
            "remove it, and replace secrets that may have been read",
        ));
    }
    if has_raw_address(&lower) {
        marks.push((
            "text.raw-address",
            Warning,
            "links to a bare IP address",
            "find out whose it is, or remove it",
        ));
    }
    let drops = [
        "pastebin.com",
        "paste.ee",
        "hastebin",
        "transfer.sh",
        "webhook.site",
        "requestbin",
        "ngrok.io",
        "ngrok-free.app",
        "pipedream.net",
        "interact.sh",
        "burpcollaborator",
        "0x0.st",
        "anonfiles",
    ];
    if has(&drops) {
        marks.push((
            "text.drop-host",
            Warning,
            "links to a public drop site",
            "find out why, or remove it",
        ));
    }
    let persists = [
        "crontab -",
        "/etc/cron",
        ".bashrc",
        ".zshrc",
        ".profile",
        "authorized_keys",
        "launchctl",
        "systemctl enable",
        "rc.local",
        "launchagents",
    ];
    let writes = has(&[
        ">>",
        "add ",
        "append",
        "write",
        "echo ",
        "install",
        "crontab -",
        "launchctl load",
        "systemctl enable",
    ]);
    if has(&persists) && writes {
        marks.push((
            "text.persistence",
            Critical,
            "sets something up to run by itself later",
            "remove it",
        ));
    }
    let unasked = [
        "without asking",
        "without approval",
        "without confirmation",
        "don't ask for approval",
        "do not ask for approval",
        "never ask for approval",
        "skip approval",
        "skip the approval",
        "auto-approve",
        "disable the guard",
        "disable the sandbox",
        "turn off the guard",
        "turn off the sandbox",
        "elevated full",
    ];
    if has(&unasked) {
        marks.push((
            "text.no-asking",
            Warning,
            "tells the agent to act without asking",
            "remove it: permissions belong in the config",
        ));
    }
    let silent = [
        "do not tell the user",
        "don't tell the user",
        "do not mention this",
        "don't mention this",
        "without telling",
        "hide this from",
        "keep this secret from",
        "do not inform",
    ];
    if has(&silent) {
        marks.push((
            "text.concealment",
            Critical,
            "tells the agent to hide something from you",
            "remove it",
        ));
    }
    if has(&[
        "rm -rf /",
        "rm -rf ~",
        "rm -rf $home",
        "mkfs.",
        "dd if=/dev",
        ":(){",
        "> /dev/sd",
    ]) {
        marks.push((
            "text.destructive",
            Critical,
            "has a command that destroys data",
            "remove it",
        ));
    }
    if has(&[
        "chmod 777",
        "chmod -r 777",
        "chmod a+rwx",
        "sudo su",
        "setuid",
        "nopasswd",
    ]) {
        marks.push((
            "text.privilege",
            Warning,
            "grants excessive permissions",
            "remove it",
        ));
    }
    if has(&[
        "<|im_start|>",
        "<|im_end|>",
        "<|system|>",
        "[inst]",
        "<<sys>>",
        "<start_of_turn>",
        "<|eot_id|>",
        "external_untrusted_content",
    ]) {
        marks.push((
            "text.forged-marker",
            Critical,
            "contains a chat-role marker",
            "remove it",
        ));
    }
    if longest_encoded(line) >= 240 {
        marks.push((
            "text.encoded",
            Warning,
            "contains a long encoded text",
            "decode and check it, or remove it",
        ));
    }
    marks
}

/// `http://203.0.113.5/…`, but not an address of this machine or its network.
fn has_raw_address(line: &str) -> bool {
    line.match_indices("://").any(|(at, _)| {
        let host = line.get(at + 3..).unwrap_or_default();
        let host: String = host
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| {
            !address.is_loopback() && !address.is_private() && !address.is_unspecified()
        })
    })
}

fn longest_encoded(line: &str) -> usize {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')))
        .filter(|run| {
            run.contains(|c: char| c.is_ascii_digit())
                && run.contains(|c: char| c.is_ascii_uppercase())
        })
        .map(str::len)
        .max()
        .unwrap_or(0)
}

fn comments(text: &str) -> Vec<(usize, &str)> {
    text.match_indices("<!--")
        .map(|(at, _)| {
            let inside = text.get(at + 4..).unwrap_or_default();
            (at, inside.split("-->").next().unwrap_or(inside))
        })
        .collect()
}

fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(lines + 1).unwrap_or(u32::MAX)
}

/// The files of a folder, so many folders deep, that could hold text.
fn files_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth > 1 {
                folders.push((entry.path(), depth - 1));
            } else if kind.is_file() && found.len() < MOST_FILES {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
