//! Breaking things: wiping disks and traces, locking files away, using the machine up.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    WIPE = r#"(?:^|[;&|`]\s*|\$\s|\bsudo\s+|\b(?:os\.system|system|exec|execsync|popen|run|call)\s*\(\s*\[?[frb]*["'`]\s*|-c\s+["'])rm\s+(?:-\S+\s+)*-\S*(?:r\S*f|f\S*r|recursive)\S*\s+(?:-\S+\s+)*["']?(?:/|~|\$home|\$\{home\}|/(?:etc|usr|var|bin|boot|home|root|lib|users|opt|srv|system)|c:\\?)/?\*?["']?\s*(?:$|[;&|)`"',#>2])"#;
    WIPE_CALL = r#"(?:rmtree|removesync|rmsync|rimraf|rmdirsync|remove_dir_all|removeall|rm_rf)\s*\(\s*(?:os\.path\.expanduser\s*\(\s*)?["'](?:~/?|/|/home/?|/etc/?|/usr/?|/users/?|c:\\+)["']|(?:rmtree|removesync|rmsync|rimraf|remove_dir_all|removeall)\s*\(\s*(?:path\.home\s*\(\s*\)|os\.homedir\s*\(\s*\)|homedir\s*\(\s*\))\s*[,)]"#;
    DISK = r"\bmkfs(?:\.\w+)?\s+(?:-\S+\s+)*/dev/|\bdd\s+if=/dev/(?:zero|u?random)\s+of=/dev/|>\s*/dev/(?:sd[a-z]|nvme\d)|\bformat\s+c:|:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:";
    TRACES = r"\bhistory\s+-c\b|(?:\brm\s|\bshred\s|\btruncate\s|>\s?)[^;&|]{0,120}?(?:\.bash_history|\.zsh_history|/var/log/(?:audit|auth|syslog|secure|wtmp|\*))|\bunset\s+histfile|histfile=/dev/null|histsize=0|\bwevtutil\s+cl\b|clear-eventlog|\bauditctl\s+-e\s*0|systemctl\s+(?:stop|disable)\s+(?:auditd|rsyslog|falcon|crowdstrike|clamav|ufw|firewalld)";
    SHADOWS = r"vssadmin(?:\.exe)?\s+delete\s+shadows|wbadmin\s+delete|bcdedit.*recoveryenabled\s+no|tmutil\s+(?:disable|deletelocalsnapshots)";
    SETUID = r"\bchmod\s+(?:-\S+\s+)?(?:u\+s|\+s|ug\+s|[246][0-7]{3})\s+\S*(?:/bin/|bash|/sh\b|/tmp/|python)|\bcp\s+/bin/(?:ba)?sh\s+\S+.{0,40}chmod\s+\S*s";
    GUARD_DOWN = r"\bufw\s+disable\b|iptables\s+-f\b|netsh\s+advfirewall\s+set\s+\w+\s+state\s+off|systemctl\s+(?:stop|disable)\s+(?:firewalld|apparmor|falco)";
    MINER = r"stratum\+(?:tcp|ssl)://|\bxmrig\b|\bminerd\b|cryptonight|coinhive|\bcpuminer\b|minexmr|supportxmr|moneroocean|nanopool\.org|hashvault";
    LOCKS_FILES = r"\b(?:encrypt|lock|password[- ]protect)\b.{0,80}\b(?:all|each|every|identified|user'?s?)\b.{0,40}\b(?:files?|documents?|folders?)\b|create a zip archive of the file and lock";
    LOSES_KEY = r"(?:delete|remove|overwrite|shred).{0,30}(?:original|source|unencrypted)|random.{0,60}(?:number|password|key)|ransom|bitcoin|pay(?:ment)?\b.{0,40}(?:decrypt|unlock|recover)";
    HARD_CIPHER = r"fernet\s*\(|aes\.new\s*\(|createcipheriv\s*\(|openssl\s+enc\s+-aes|\bgpg\s+(?:-\S+\s+)*(?:-c\b|--symmetric)";
    WALKS = r"os\.walk\s*\(|\.rglob\s*\(|glob\s*\(\s*[\x22']\*\*|readdirsync\s*\(|\bfind\s+(?:~|/|\$home)\S*\s";
    DROPS = r"os\.(?:remove|unlink)\s*\(|\.unlink\s*\(|unlinksync\s*\(|\bshred\b|-exec\s+rm\b|-delete\b";
    DECRYPTS = r"decrypt";
    WIPE_SPOKEN = r"\b(?:always|run|execute|begin|start|first|use)\b.{0,60}\brm\s+-\S*r\S*\s+(?:/|~|\$home)(?:home|etc|usr|var|root|users)?/?\*?(?:\s|`|$)|\b(?:delete|remove|erase|wipe|destroy)\s+(?:all|every|everything)(?:\s+of)?(?:\s+the)?(?:\s+user'?s?)?(?:\s+(?:files?|data|documents|emails|backups|records|folders))\b.{0,60}(?:\b(?:workspace|home|disk|machine|system|drive|account|directory|mailbox|project)\b|when (?:finished|done)|\bwithout\b)";
    ESCAPE = r"docker\.sock|--privileged\b|--pid[= ]host|nsenter\s+(?:-\S+\s+)*-t\s*1\b|cap_add.{0,10}sys_admin";
    BOMB = r"fork bomb|exhaust (?:all )?(?:memory|cpu|disk|resources)";
    FLOOD = r"for\s+\w+\s+in\s+range\s*\(\s*\d{3,}|while\s+true\b|for\s*\(\s*;;\s*\)|\bseq\s+1?\s*\d{3,}|while\s*\(\s*(?:true|1)\s*\)";
    ADMIN = r"\b(?:add|create|insert|register)\b.{0,50}\b(?:admin|administrator|root|superuser|backdoor)\b.{0,40}\b(?:account|user|login)\b.{0,80}\bpassword\b|\bnet\s+user\s+\S+\s+\S+\s+/add\b|\bnet\s+localgroup\s+administrators\b.*/add|\buseradd\b.{0,60}(?:-g\s+(?:sudo|wheel|root)|-ou\s*0|--uid\s+0)";
}

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have_any(Words::DESTROY | Words::MINE) {
        return;
    }
    let text = line.text.as_str();
    let code = line.zone == Zone::Code;
    let done = if code {
        Weight::Dangerous
    } else {
        Weight::Note
    };
    let mut sign = |code: &'static str, weight: Weight, what: &'static str| {
        signs.push(Sign::new(code, weight, what));
    };
    if line.words.have(Words::DESTROY) {
        if WIPE.is_in(text) || WIPE_CALL.is_in(text) || DISK.is_in(text) {
            sign(
                "destroys",
                done,
                "deletes a whole disk, system or home folder",
            );
        }
        if SHADOWS.is_in(text) {
            sign(
                "destroys",
                done,
                "deletes the copies from which files could be restored",
            );
        }
        if TRACES.is_in(text) {
            sign(
                "wipes-traces",
                done,
                "wipes the records of what was done on the machine",
            );
        }
        if SETUID.is_in(text) {
            sign(
                "persistence",
                done,
                "lets a program run as the system's owner from now on",
            );
        }
        if GUARD_DOWN.is_in(text) {
            let weight = done.min(Weight::Suspicious);
            sign(
                "guard-down",
                weight,
                "switches a protection of the machine off",
            );
        }
        if ADMIN.is_in(text) {
            sign(
                "persistence",
                Weight::Suspicious,
                "adds an account that lets somebody else in",
            );
        }
        if page.kind == Kind::Prose && !code && WIPE_SPOKEN.is_in(text) {
            let weight = if text.contains("rm -") {
                Weight::Dangerous
            } else {
                Weight::Suspicious
            };
            sign(
                "destroys",
                weight,
                "tells the agent to delete more than its own files",
            );
        }
        if ESCAPE.is_in(text) || (!code && BOMB.is_in(text)) {
            sign(
                "escape",
                Weight::Note,
                "reaches for the machine around its container",
            );
        }
        if page.kind == Kind::Prose && LOCKS_FILES.is_in(text) && !DECRYPTS.is_in(text) {
            let near = page.near(at, 6);
            if near.iter().any(|near| LOSES_KEY.is_in(&near.text)) {
                sign(
                    "locks-files",
                    Weight::Dangerous,
                    "locks a person's files away behind a key",
                );
            }
        }
    }
    if line.words.have(Words::MINE) && MINER.is_in(text) {
        let weight = if code {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        sign(
            "miner",
            weight,
            "uses the machine to make money for somebody else",
        );
    }
}

/// What shows only in a program as a whole.
pub(super) fn across(page: &Page) -> Vec<crate::finding::Finding> {
    let mut found = Vec::new();
    let has = |pattern: &super::pattern::Pattern| {
        page.lines
            .iter()
            .position(|line| line.zone == Zone::Code && pattern.is_in(&line.text))
    };
    if page.kind == Kind::Code
        && let Some(at) = has(&HARD_CIPHER)
        && has(&WALKS).is_some()
        && has(&DROPS).is_some()
        && has(&DECRYPTS).is_none()
    {
        let what = "encrypts files one after the other and deletes what they were";
        let sign = Sign::new("locks-files", Weight::Dangerous, what);
        found.push(super::finding(&page.path, &page.lines[at], &sign));
    }
    for (at, line) in page.lines.iter().enumerate() {
        let loops = line.words.have(Words::LOOP) && FLOOD.is_in(&line.text);
        if !loops
            || !page
                .near(at, 4)
                .iter()
                .any(|near| near.words.have(Words::ALWAYS))
        {
            continue;
        }
        let calls = page.lines.iter().skip(at).take(3).any(|next| {
            next.words.have(Words::FETCH | Words::LINK) && next.number <= line.number + 2
        });
        if calls && page.kind == Kind::Prose {
            let what = "has the agent call an address hundreds of times";
            let sign = Sign::new("flood", Weight::Dangerous, what);
            found.push(super::finding(&page.path, line, &sign));
        }
    }
    found
}
