//! The words that make a line worth a closer look, found all at once.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Kinds of words, as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Words(u32);

macro_rules! kinds {
    ($($bit:literal $name:ident: [$($word:literal),+ $(,)?];)+) => {
        impl Words {
            $(pub(super) const $name: Self = Self(1 << $bit);)+
        }
        const TABLE: &[(Words, &[&str])] = &[$((Words::$name, &[$($word),+])),+];
    };
}

// Lower case: lines are lowered before they are searched.
kinds! {
    0 FETCH: [
        "curl", "wget", "iwr", "invoke-webrequest", "irm ", "invoke-restmethod", "downloadstring",
        "downloadfile", "webclient", "requests.get", "requests.request", "urlopen", "urlretrieve",
        "fetch(", "axios", "http.get", "https.get", "got(", "bitsadmin", "certutil",
        "bitstransfer", "httpx", "aiohttp", "mshta", "regsvr32", "http.client", "urllib",
    ];
    1 SHELL: [
        "|sh", "| sh", "|bash", "| bash", "|zsh", "| zsh", "|sudo", "| sudo", "|python",
        "| python", "|node", "| node", "|perl", "| perl", "|ruby", "| ruby", "iex",
        "invoke-expression", "bash -c", "sh -c", "bash <(", "sh <(", "source <(", "eval",
        "| iex", "bash -s", "osascript", "| /bin", "|/bin", "| env", "|php", "| php", "|ash", "| ash",
        "|dash", "| dash", "|ksh", "| ksh", ". <(", "| xargs",
    ];
    2 DECODE: [
        "base64", "b64decode", "atob(", "-enc", "fromcharcode", "unhexlify", "fromhex", "xxd -r",
        "zlib.decompress", "marshal.loads", "rot13", "rot_13", "'hex'", "\"hex\"", "decompress(",
        "a85decode", "b32decode", "openssl enc",
    ];
    3 RUN: [
        "exec(", "eval(", "os.system", "subprocess", "popen", "child_process", "execsync",
        "spawn", "shell=true", "invoke-expression", "start-process", "chmod", "do shell script",
        "new function", "runinthiscontext", "runinnewcontext", "__import__", "shell_exec", "passthru(",
        "runtime.getruntime", "execfile", "importlib", "os.exec", "startfile", "bash ", "sh ", "./",
        "installer", "open ", "tempfile", "nohup",
    ];
    4 LINK: ["://"];
    5 SECRET: [
        ".ssh", "id_rsa", "id_ed25519", ".aws/", "aws/credentials", ".env", "environ", "process.env",
        "printenv", "env |", "env|", "set |", "login data", "cookies", "local state", "user data", "logins.json",
        "key4.db", "keychain", "op item", "bw export", "auth token", "token create", "find-generic-password", "find-internet-password", "wallet",
        "exodus", "electrum", "metamask", "mnemonic", "seed phrase", "private key", "private_key",
        "privatekey", "solana/id.json", "keystore", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
        ".docker/config", ".kube/config", "gcloud", "/etc/shadow", "/etc/passwd", "_history",
        ".gnupg", "credentials", "pbpaste", "screencapture", "getclipboard", "pyperclip", "pynput",
        "keylog", "access_key", "_pat", "auth-profiles", "openclaw.json", "clawdbot.json", "chela.json", "gh/hosts.yml",
        "secret", "token", "api key", "api_key", "api-key", "password", "systeminfo", "ssh key",
    ];
    6 POST: [
        ".post(", "-x post", "-xpost", "--request post", "--data", " -d ", " -f ", " -f'", " -t ", "-d@", "--form", "--upload-file",
        "'post'", "\"post\"", "`post`", "sendbeacon", "http.request", "https.request", "nc ", "ncat ", "webhook",
        "senddocument", "sendmessage", "data=", "files=", "putobject", "s3 cp", "scp ", "rsync ",
        ".put(", "nslookup", "dig ", "smtp", "ftp", "--post-file", "--post-data", "--body-file", "-body", "urlencode", "?data=",
        "method: post", "requests.get(", "fetch(", "urlopen(", "urllib", "sendall(", "req.write(", "request.write(", ".send(", "axios", "https.get", "http.get", "curl",
    ];
    7 ARCHIVE: [
        ".zip", ".rar", ".7z", ".dmg", ".exe", ".pkg", ".msi", ".tar", ".tgz", "archive", "unzip",
        "extract", "7z ", ".appimage", ".jar", ".scr", ".bat", ".ps1", ".deb", ".iso", "解压",
    ];
    8 PASSWORD: ["password", "pass:", "pass ", "passcode", "passphrase", "pwd", "-p", "密码", "contraseña", "пароль", "passwort"];
    9 REQUIRE: [
        "prerequisite", "require", "must be installed", "must install", "not work", "won't work",
        "before using", "before proceeding", "mandatory", "necessary", "needed", "need to", "must",
        "essential", "dependency", "dependencies", "first", "before", "先决", "必须", "前置", "需要",
    ];
    10 TERMINAL: ["terminal", "powershell", "command prompt", "cmd.exe", "console", "终端", "shell", "as administrator", "run dialog"];
    11 COPY: ["copy", "paste", "execute", "run ", "launch", "open ", "double-click", "double click", "粘贴", "执行", "运行", "start "];
    12 PERSIST: [
        "crontab", "launchctl", "launchagents", "launchdaemons", "systemctl", "systemd", ".bashrc", ".zshrc",
        ".profile", ".bash_profile", ".zprofile", "authorized_keys", "schtasks", "currentversion\\run",
        "start menu", "startup\\", ".git/hooks", "hookspath", "/etc/cron", "sudoers", "login item", "ld_preload",
        "autostart", "rc.local", "post-commit", "pre-commit",
    ];
    13 AGENT_FILE: [
        "soul.md", "agents.md", "heartbeat.md", "memory.md", "claude.md", "tools.md", "identity.md",
        "user.md", "bootstrap.md", "openclaw.json", "clawdbot.json", "chela.json", "exec-approvals", ".mcp.json",
        "mcp.json", "claude/settings", "gemini.md", ".cursorrules", ".cursor/rules", ".windsurfrules", "copilot-instructions",
    ];
    14 WRITE: [
        ">>", "> ", ">~", "write", "append", "tee ", "'a'", "\"a\"", "'w'", "\"w\"", "add ", "insert", "modify",
        "update", "edit", "replace", "put ", "inject", "sed -i", "cp ", "mv ",
    ];
    15 STRIP: ["xattr", "spctl", "unblock-file", "mppreference", "csrutil", "gatekeeper", "quarantine", "setenforce", "defender"];
    16 BACKDOOR: [
        "/dev/tcp", "/dev/udp", "nc -", "ncat", "socat", "mkfifo", "pty.spawn", "dup2", "-i >&", "-i>&", "meterpreter",
        "msfvenom", "tcpclient", "/bin/sh", "/bin/bash", "cmd.exe", "fsockopen", "connectback", "reverse shell", "netcat", ".connect(", "net.dial", "tcpsocket", "tcpstream", "command::new", "exec.command", "instance_eval", ":system",
    ];
    17 ORDER: [
        "ignore", "disregard", "forget", "override", "tell the user", "mention", "inform", "without asking",
        "silent", "hidden from", "jailbreak", "developer mode", "unrestricted", "auto-approve", "autoapprove", "bypass",
        "system prompt", "secret", "approve", "confirmation", "reveal", "disclose", "notify the user", "alert the user", "permission",
        "show the user", "user know", "safety", "restrictions", "previous instructions", "无视", "忽略", "tell them", "never tell", "not tell", "don't tell", "without telling",
        "instructions", "guidelines", "conceal", "hide ", "quietly", "covert", "knowledge", "without their", "no longer bound", "pretend",
        "disable", "comply", "from the user", "user is not", "aware", "do not log", "don't log", "not log", "above", "rules",
    ];
    18 UPLOAD: ["upload", "send", "post", "exfil", "transmit", "forward", "submit", "sync", "report", "log ", "backup", "back up", "share", "上传", "发送", "collect"];
    19 GARBLED: ["_0x", "\\x", "fromcharcode", "chr(", "\\u00", "%00"];
    21 BAD_HOST: [
        "webhook.site", "requestbin", "pipedream.net", "hookbin", "beeceptor", "interact.sh", "oast.", "oastify",
        "burpcollaborator", "ngrok", "trycloudflare", "loca.lt", "serveo", "pastebin", "glot.io", "rentry.", "requestcatcher",
    ];
    22 DESTROY: [
        "rm -", "rm(", "rmtree", "rimraf", "removeall", "remove_dir_all", "rmsync", "removesync", "mkfs", "dd if=", "/dev/sd", ":(){",
        "history", "histfile", "histsize", "/var/log", "wevtutil", "eventlog", "auditctl", "auditd", "vssadmin", "wbadmin", "bcdedit", "tmutil",
        "chmod", "ufw ", "iptables", "advfirewall", "firewalld", "apparmor", "falcon", "encrypt", "lock ", "admin", "useradd", "net user",
        "superuser", "format c:", "shred", "clamav", "> /dev/", "delete all", "remove all", "erase", "wipe", "delete every", "docker.sock", "--privileged",
        "nsenter", "fork bomb", "exhaust",
    ];
    23 MINE: ["stratum+", "xmrig", "minerd", "cryptonight", "coinhive", "cpuminer", "minexmr", "supportxmr", "moneroocean", "nanopool", "hashvault"];
    24 LOOP: ["range(", "while true", "for (;;)", "for(;;)", "seq ", "while(", "while ("];
    25 AUTORUN: [
        "install\"", "\"prepare", "\"command\"", "\"args\"", "\"arg\"", "\"run\"", "\"script\"", "createcommand", "startcommand",
    ];
    26 TURN: [
        "[inst]", "<|", "system:", "<system", "[system", "<important", "[admin", "### system", "new instruction", "hidden instruction",
        "end of", "begin ", "assistant:", "</",
    ];
    27 ACT: [
        "read ", "send", "upload", "forward", "collect", "execute", "run ", "transfer", "post ", "transmit", "copy ", "exfil", "delete",
        "email ", "submit", "share ", "leak", "install", "download", "append", "include ", "encode", "deliver", "sync ", "fetch ",
    ];
    20 ALWAYS: [
        "after every", "after any", "after each", "after finishing", "after completing", "always", "every task", "any task", "each task",
        "every time", "every request", "every message", "every response", "whenever", "each time", "on every", "each conversation",
        "every conversation", "every session",
    ];
}

static FINDER: LazyLock<Option<(AhoCorasick, Vec<Words>)>> = LazyLock::new(|| {
    let all = || {
        TABLE
            .iter()
            .flat_map(|(kind, words)| words.iter().map(|word| (*kind, *word)))
    };
    let finder = AhoCorasick::new(all().map(|(_, word)| word)).ok()?;
    Some((finder, all().map(|(kind, _)| kind).collect()))
});

impl Words {
    /// The kinds of words in a line in lower case. Should the finder not build, every kind counts
    /// as present: then everything is looked at, only slower.
    pub(super) fn of(line: &str) -> Self {
        let Some((finder, kinds)) = FINDER.as_ref() else {
            return Self(u32::MAX);
        };
        let mut found = Self::default();
        for hit in finder.find_overlapping_iter(line) {
            found.0 |= kinds[hit.pattern().as_usize()].0;
        }
        found
    }

    /// Whether all of these kinds are present.
    pub(super) fn have(self, kinds: Self) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    pub(super) fn have_any(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOr for Words {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
