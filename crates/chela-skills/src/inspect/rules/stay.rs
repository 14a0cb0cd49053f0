//! Staying: what runs by itself later, what changes the agent, what switches protection off.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::finding::Finding;
use crate::inspect::about::About;
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    SCHEDULE = r"\|\s*crontab\s+-|crontab\s+-\s*(?:<<|$)|>>?\s*/etc/cron|launchctl\s+(?:load|bootstrap|submit)|>>?\s*\S*launch(?:agents|daemons)/|systemctl\s+(?:--user\s+)?(?:enable|daemon-reload)|schtasks(?:\.exe)?\s+/create|currentversion\\+run\b|>>?\s*\S*autostart/|\\start menu\\programs\\startup";
    SHELL_START = r"(?:>>?|tee\s+-a)\s*[\x22']?(?:~|\$home|\$\{home\})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)|open\s*\([^)]*\.(?:bashrc|zshrc|profile|bash_profile|zprofile)[^)]*[\x22'][aw]";
    HARMLESS_START = r"export\s+\w+=|path=|alias\s|eval\s+.{0,4}\$\([\w.-]+\s+(?:init|hook|env|shellenv|completion|activate)|source\s+|completion|\bfpath\b|api_key|token|_url|_key|_id";
    GIT_HOOK = r">>?\s*[\x22']?\S*\.git/hooks/|cp\s+\S+\s+\S*\.git/hooks/|core\.hookspath";
    DOORS = r"(?:>>|tee\s+-a|echo.*>).{0,40}authorized_keys|open\s*\([^)]*authorized_keys[^)]*[\x22'][aw]|(?:>>?|tee)\s*\S*/etc/sudoers|nopasswd\s*:\s*all|useradd\b.*-o\s+-u\s*0|/etc/ld\.so\.preload";
    STRIP = r"\bxattr\s+(?:-\w*[cdr]\w*\b)|spctl\s+--(?:master-disable|global-disable|add)|unblock-file|set-mppreference.*(?:disable|exclusion)|add-mppreference.*exclusion|csrutil\s+disable|setenforce\s+0";
    AGENT_WRITE = r"(?:>>?|tee\s+(?:-a\s+)?)\s*[\x22']?\S*(?:soul|agents|heartbeat|memory|claude|identity|user|tools|bootstrap)\.md\b|(?:>>?|tee\s+(?:-a\s+)?)\s*[\x22']?\S*(?:\.cursor/rules|\.cursorrules|\.windsurfrules|copilot-instructions)|open\s*\([^)]*(?:soul|agents|heartbeat|memory|claude|identity|bootstrap)\.md[^)]*[\x22'](?:a|w)|(?:appendfile|writefile)\w*\s*\([^)]*(?:soul|agents|heartbeat|memory|claude|identity|bootstrap)\.md";
    AGENT_ORDER = r"(?:add|append|insert|write|copy|put|inject|embed|paste).{0,80}(?:\bto\b|\binto\b|\bin\b|\bin your\b).{0,40}(?:soul|heartbeat|identity)\.md";
    POLICY_WRITE = r"(?:>>?|tee|open\s*\(|writefile\w*|jq\s|sed\s+-i|config\s+set).{0,160}(?:exec-approvals|tools\.(?:allow|elevated|exec)|approvals|dangerously|skipapproval|autoapprove|bypasspermissions|sandbox\.mode)";
    AGENT_SETTINGS = r"\.claude/settings(?:\.local)?\.json|\.claude\.json|\.codex/config\.toml|\.gemini/settings\.json|\.cursor/(?:mcp|settings)\.json|openclaw\.json|clawdbot\.json|exec-approvals\.json|chela\.json";
    OPENS_TO_WRITE = r#"open\s*\([^)]*["'][wa]b?["']|json\.dump\s*\(|write_text\s*\(|writefile(?:sync)?\s*\(|>\s*["']?\S*\.json|tee\s+\S*\.json|sed\s+-i|jq\s.{0,200}>\s*"#;
    LOOSER = r#"dangerously|bypasspermissions|acceptedits|autoapprove|auto_approve|["']deny["']\]?\s*[=:]\s*\[\s*\]|["']?bash\(\*\)|["']\*["']\s*\]|skipapproval|"security"\s*:\s*"full"|approvals?\W{1,6}(?:off|never|none)"#;
    REMOTE = r"https?://|base64|\bcurl\b|\bwget\b|/dev/tcp|\beval\b|python\s+-c|/tmp/|\.hidden|/dev/shm";
}

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    let (words, text) = (line.words, line.text.as_str());
    if words.have(Words::PERSIST) {
        persistence(page, at, signs);
    }
    if words.have(Words::STRIP) && STRIP.is_in(text) {
        let code = line.zone == Zone::Code || line.raw.contains('`');
        let fetched = page
            .near(at, 12)
            .iter()
            .any(|near| near.words.have(Words::FETCH | Words::LINK) && near.number != line.number);
        let weight = match (code, fetched || words.have(Words::FETCH)) {
            (true, true) => Weight::Dangerous,
            (true, false) => Weight::Suspicious,
            _ => Weight::Note,
        };
        signs.push(Sign::new(
            "quarantine-strip",
            weight,
            "takes off the mark by which the system checks downloads",
        ));
    }
    if words.have(Words::AGENT_FILE | Words::WRITE) {
        if AGENT_WRITE.is_in(text) {
            let weight = if REMOTE.is_in(text) {
                Weight::Dangerous
            } else {
                Weight::Note
            };
            signs.push(Sign::new(
                "agent-file",
                weight,
                "writes into a file the agent lives by",
            ));
        } else if AGENT_ORDER.is_in(text) {
            signs.push(Sign::new(
                "agent-file",
                Weight::Note,
                "asks to change a file the agent lives by",
            ));
        }
    }
    if words.have_any(Words::AGENT_FILE | Words::ORDER)
        && POLICY_WRITE.is_in(text)
        && line.zone == Zone::Code
    {
        signs.push(Sign::new(
            "agent-policy",
            Weight::Suspicious,
            "changes what the agent may do without asking",
        ));
    }
}

/// A program that rewrites the agent's own settings so that it asks less.
pub(super) fn loosens(page: &Page) -> Option<Finding> {
    if page.kind != Kind::Code {
        return None;
    }
    let has = |pattern: &super::pattern::Pattern| {
        page.lines
            .iter()
            .find(|line| line.about != About::Speaks && pattern.is_in(&line.text))
    };
    has(&AGENT_SETTINGS)?;
    has(&OPENS_TO_WRITE)?;
    let line = has(&LOOSER)?;
    let what = "rewrites the agent's settings so that it asks less";
    let sign = Sign::new("agent-policy", Weight::Dangerous, what);
    Some(super::finding(&page.path, line, &sign))
}

fn persistence(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    let text = line.text.as_str();
    let foreign = REMOTE.is_in(text);
    if DOORS.is_in(text) {
        signs.push(Sign::new(
            "persistence",
            Weight::Dangerous,
            "lets somebody else in from now on",
        ));
    } else if SCHEDULE.is_in(text) {
        let weight = if foreign
            && (text.contains("curl")
                || text.contains("wget")
                || text.contains("base64")
                || text.contains("/dev/tcp"))
        {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "persistence",
            weight,
            "makes something run by itself from now on",
        ));
    } else if SHELL_START.is_in(text) && !HARMLESS_START.is_in(text) {
        let weight = if foreign {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "persistence",
            weight,
            "makes something run with every new shell",
        ));
    } else if GIT_HOOK.is_in(text) {
        let weight = if foreign {
            Weight::Dangerous
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "persistence",
            weight,
            "makes something run with every commit",
        ));
    }
}
