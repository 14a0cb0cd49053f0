//! Secrets that leave: named and sent in one line, or followed from where they are read to where
//! they go.

mod flow;

pub(super) use flow::flows;

use super::pattern::{Pattern, patterns};
use super::{Sign, Weight};
use crate::inspect::hosts::{Known, Link, Place, links};
use crate::inspect::page::{Kind, Line, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    SSH = r"\.ssh\b/?(?:id_|[\x22'`\s*)/]|$)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b";
    CLOUD = r"\.aws/credentials|(?:~|\$home|\$\{home\})/\.aws\b|\.config/gcloud|\.azure/|\.kube/config|\.docker/config\.json|application_default_credentials";
    BROWSER = r"login data\b|cookies\.sqlite|logins\.json|key4\.db|(?:chrome|brave|edge|chromium|firefox|opera).{0,60}(?:cookies|user data|local state|profiles?\b.*/default)|cookies\.binarycookies";
    KEYCHAIN = r"dump-keychain|login\.keychain|keychain-db";
    WALLET = r"wallet\.dat|exodus(?:\.wallet|/)|electrum/wallets|nkbihfbeogaeaoehlefnkodbefgpgknn|\.ethereum/keystore|atomic/local storage|ledger live|\bbfnaelmomeimhlpmgjnjophhpkkoljpa\b";
    TOKENS = r"\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials|gh/hosts\.yml|/etc/shadow|\.gnupg\b|(?:bash|zsh)_history|fish_history|\bgh\b[\x22',\s]+auth[\x22',\s]+token\b|\bnpm token create|print-access-token|\bop item get\b|\bbw export\b";
    ENVIRONMENT = r"dict\(\s*os\.environ|json\.dumps\(\s*(?:dict\()?\s*os\.environ|os\.environ\.(?:copy|items)\(|=\s*os\.environ\s*$|[(,:{]\s*os\.environ\s*[,)}]|json\.stringify\(\s*process\.env\s*[,)]|object\.(?:entries|keys|assign)\([^)]*process\.env|\bprintenv\b\s*(?:$|[|>)])|(?:^|[;&|(`]\s*)env\s*(?:\||>|\)|$)";
    SCREEN = r"\bpbpaste\b|screencapture\b|pyperclip\.paste|imagegrab|pynput|getclipboard|xclip\s+-o|keylog";
    DOT_ENV = r#"(?:^|[\s"'`/~=@(<])\.env(?:\.[a-z]+)?\b"#;
    AGENT = r"\.(?:openclaw|clawdbot|moltbot|chela|claude|codex|clawd)/?[^\s]{0,40}(?:\.env|credentials|openclaw\.json|clawdbot\.json|chela\.json|auth|token|settings)|auth-profiles\.json|find-generic-password|find-internet-password|solana/id\.json";

    SINK = r"requests\.(?:post|put|request|get|patch)\s*\(|session\.post\s*\(|httpx\.\w+\s*\(|client\.post\s*\(|urlopen\s*\(|urllib\.request\.request\s*\(|\bfetch\s*\(|axios(?:\.\w+)?\s*\(|\.sendall\s*\(|https?\.request\s*\(|https?\.get\s*\(|\bcurl\b|\bwget\b|\bncat?\b\s+\S+\s+\d+|invoke-(?:webrequest|restmethod)|\.senddocument\s*\(|sendbeacon\s*\(|http\.post\s*\(|putobject|\bscp\b|\brsync\b|\breq(?:uest)?\.write\s*\(|\bconn(?:ection)?\.request\s*\(";
    SHELL_SINK = r"\b(?:curl|wget|ncat?|scp|rsync|invoke-webrequest|invoke-restmethod)\b";
    SENT_FILE = r#"(?:=?@|-t\s+|--upload-file\s+|<\s*|\bcat\s+|\bbase64\s+(?:-\S+\s+)*|\btar\s+\S+\s+\S*\s*|--post-file=?\s*|\bscp\s+)["'$({]*[^\s"']*(?:\.env\b|\.ssh\b|id_rsa|id_ed25519|\.aws/|openclaw\.json|clawdbot\.json|login\.keychain|wallet\.dat|\.netrc|\.npmrc|credentials|shadow|_history|\.gnupg|\.config/gcloud|\.kube/config)"#;
    PIPED_ENV = r"(?:^|[\s;&|(`])(?:env|printenv|set)\s*(?:\|\s*(?:grep|base64|gzip|sort|tr|xxd)[^|]*)*\|\s*(?:curl|nc|ncat|wget|base64)\b|\$\(\s*(?:env|printenv|cat\s+\S*(?:\.env|id_rsa|credentials)\S*)\s*(?:\|[^)]*)?\)";
    KEY_FILE = r"\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.aws/credentials|/etc/shadow|login\.keychain|wallet\.dat|\.gnupg";
    BEACON = r"\$\(\s*(?:hostname|whoami|id|uname|ifconfig|cat)\b|\$user\b|\$\{user\}|`(?:hostname|whoami)`|os\.hostname\s*\(|socket\.gethostname|getpass\.getuser|os\.userinfo|platform\.node";
    MUTED = r">\s*/dev/null|2>&1|\|\|\s*true|--silent|\s-s\b|except\s*:|catch\s*\{|-outnull|out-null";
    PIPED_OUT = r"\|\s*(?:base64\b[^|]*\|\s*)?curl\b.*(?:--data\S*|-d)\s*[\x22']?@-";
    NAMES_SECRET = r"credential|secret|token|passw|api_?key|private|\benv\b|env_|base64|\.ssh|shadow|passwd|history";
    SYSTEM_FILE = r"/etc/shadow\b|(?:\.\./){3,}(?:etc|root|home)\b|/proc/(?:self|1)/environ|lsass\b|sam\.hive|ntds\.dit";
    IN_QUERY = r"[?&](?:key|token|secret|data|d|q|k|env|creds?|password|pass|api_?key|payload|info|u)=[\x22']?\s*(?:[\x22']\s*\+|\.\.|\$\{?|#\{|\{|%s|\x22\s*\.)";
    ENV_SECRET = r"(?:getenv|environ(?:\.get)?|env)\s*[\[(]\s*[\x22'][a-z0-9_]*(?:key|token|secret|passw|cred)[a-z0-9_]*[\x22']|process\.env\.[a-z0-9_]*(?:key|token|secret|passw|cred)|std::env::var\s*\(";
    DNS_CALL = r"\bdns\.(?:resolve|lookup)\w*\s*\(\s*(?:[`][^`]*\$\{|f[\x22'][^\x22']*\{|[\x22'][^\x22']*[\x22']\s*\+)|\bgethostbyname\s*\(\s*(?:f[\x22'][^\x22']*\{|[a-z_]+\s*\+)";
    KEY_IN_BODY = r"\b(?:body|data|json)\s*[:=]\s*(?:json\.(?:stringify|dumps)\()?\s*\{?[^)}]{0,40}\b(?:private_?key|mnemonic|seed_?phrase)\b";
    PACKED = r"\b(?:tar\s+-?\w*c\w*f?|zip\s+-\w+|cp\s+(?:-\w+\s+)?|cat\s)\s*\S*.{0,200}|>\s*/|--output\s";
    SENT_ANY_FILE = r"\bcurl\b.*(?:-f\s*\S*=@|--data-binary\s+@|-d\s*@|-t\s+|--upload-file\s+)\s*[\x22']?(/tmp/\S+|[\w./-]+\.(?:tgz|tar\.gz|zip|tar|txt|gz|json))";
    DNS = r"\b(?:dig|nslookup|host|ping)\b.{0,60}(?:\$\(|`|\$\{?[a-z_]).{0,80}\.[a-z]{2,}";
    SPOKEN = r"\.env\b.{0,12}files?|files? (?:named|called) [`\x22']?\.env|\.ssh\b|ssh (?:private |public )?(?:keys?|files|folder)|private keys?|seed phrase|recovery phrase|mnemonic|wallet keys|\bkeychain|browser (?:passwords|cookies|history|data)|saved passwords|clipboard|pbpaste|environment variables|credentials? files?|all (?:api keys|credentials|tokens|passwords|secrets)|system prompt|conversation (?:history|transcript|log)|chat (?:history|log)|screenshot\.png|openclaw\.json|memory\.md|password file";
    SENDS_TO = r"\bcurl\b.{0,200}(?:\s-f\b|\s-d\b|--data|\s-t\b|--form|--upload|-x\s*post).{0,300}|(?:upload|send|post|transmit|exfiltrate|forward|submit|report|deliver).{0,120}\b(?:to|at|via)\b.{0,80}(?:https?://|endpoint|webhook)|requests\.post\s*\(";
    HEADER = r"authorization|bearer|x-api-key|api[-_]key|apikey|headers|x-auth|access_token";
    READ_WHOLE = r"\.read\s*\(\s*\)|read_text\s*\(|readfilesync\s*\(|readfile\s*\(|\$\(\s*cat\s|get-content|base64";
    ASSIGN = r"^(?:export\s+|const\s+|let\s+|var\s+|local\s+|self\.|this\.)?\$?([a-z_]\w*)\s*(?::\s*[\w\[\], |]+\s*)?\+?=[^=]";
    BOUND = r"\bas\s+([a-z_]\w*)\s*:|\bfor\s+(?:\w+\s*,\s*)?([a-z_]\w*)\s+(?:in|of)\b|\bfor\s*\(\s*(?:const|let|var)\s+([a-z_]\w*)\s+of\b";
    GROWS = r"^(?:self\.)?([a-z_]\w*)(?:\.(?:append|extend|update|add|push|set|write|writestr|insert)\s*\(|\[[^\]]*\]\s*\+?=)";
    DEFINES = r"^(?:async\s+)?(?:def|function)\s+([a-z_]\w*)\s*\(|^(?:const|let)\s+([a-z_]\w*)\s*=\s*(?:async\s*)?\([^)]*\)\s*=>|^([a-z_]\w*)\s*\(\)\s*\{";
}

/// What kind of secret a line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Secret {
    Keys,
    Cloud,
    Browser,
    Keychain,
    Wallet,
    Tokens,
    Environment,
    Screen,
    /// Files a skill may well read its own key from.
    Settings,
}

const SECRETS: [(&Pattern, Secret); 10] = [
    (&SSH, Secret::Keys),
    (&CLOUD, Secret::Cloud),
    (&BROWSER, Secret::Browser),
    (&KEYCHAIN, Secret::Keychain),
    (&WALLET, Secret::Wallet),
    (&TOKENS, Secret::Tokens),
    (&ENVIRONMENT, Secret::Environment),
    (&SCREEN, Secret::Screen),
    (&AGENT, Secret::Settings),
    (&DOT_ENV, Secret::Settings),
];

pub(super) fn secret_in(line: &Line) -> Option<Secret> {
    if !line.words.have(Words::SECRET) {
        return None;
    }
    let found = SECRETS
        .iter()
        .find(|(pattern, _)| pattern.is_in(&line.text));
    found
        .map(|(_, secret)| *secret)
        .filter(|_| !line.text.contains(".pub"))
}

/// A secret and its way out in one line, or in two neighbouring lines of instructions.
pub(super) fn look(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    let (words, text) = (line.words, line.text.as_str());
    let near_only = || links(text).iter().any(|link| link.place == Place::Near);
    if words.have(Words::SECRET | Words::POST)
        && SHELL_SINK.is_in(text)
        && (SENT_FILE.is_in(text) || PIPED_ENV.is_in(text))
        && (KEY_FILE.is_in(text) || !near_only())
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "sends a file of secrets, or the whole environment, to another machine",
        ));
    }
    if words.have(Words::POST)
        && text.contains("$(")
        && DNS.is_in(text)
        && words.have(Words::SECRET)
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "hides data in a name look-up",
        ));
    }
    if page.kind == Kind::Code
        && text.contains("dns.") | text.contains("gethostbyname")
        && DNS_CALL.is_in(text)
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "hides data in a name look-up",
        ));
    }
    if words.have(Words::POST) && words.have(Words::SECRET) && KEY_IN_BODY.is_in(text) {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "sends the key of a wallet to another machine",
        ));
    }
    if words.have(Words::POST) && line.zone == Zone::Code {
        packed(page, at, signs);
    }
    if words.have(Words::POST)
        && PIPED_OUT.is_in(text)
        && NAMES_SECRET.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "pipes something secret or hidden to an address the skill is not about",
        ));
    }
    if page.kind == Kind::Code
        && words.have(Words::POST)
        && SINK.is_in(text)
        && BEACON.is_in(text)
        && MUTED.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
    {
        signs.push(Sign::new(
            "reports-home",
            Weight::Dangerous,
            "tells a strange place which machine it runs on, and hides that it does",
        ));
    }
    if line.zone == Zone::Code && words.have(Words::SECRET) && SYSTEM_FILE.is_in(text) {
        signs.push(Sign::new(
            "system-file",
            Weight::Suspicious,
            "reads a file in which the system keeps its secrets",
        ));
    }
    if page.kind == Kind::Code
        && words.have(Words::LINK)
        && IN_QUERY.is_in(text)
        && links(text).iter().any(|link| foreign(link, known))
        && page
            .near(at, 4)
            .iter()
            .any(|near| near.words.have(Words::SECRET) && ENV_SECRET.is_in(&near.text))
    {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Suspicious,
            "puts a key into an address the skill is not about",
        ));
    }
    let inbox = words.have_any(Words::LINK | Words::BAD_HOST)
        && links(text)
            .iter()
            .any(|link| link.place == Place::Inbox && !link.target.starts_with("discord"));
    if inbox {
        let secret = page
            .near(at, 12)
            .iter()
            .any(|near| secret_in(near).is_some());
        let weight = if secret || page.kind == Kind::Code && line.zone == Zone::Code {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        signs.push(Sign::new(
            "inbox-host",
            weight,
            "sends to an inbox that keeps whatever arrives for whoever made it",
        ));
    }
    if page.kind == Kind::Code && words.have_any(Words::LINK | Words::BAD_HOST) {
        tunnelled(line, signs);
    }
    if page.kind == Kind::Prose {
        told_to_send(page, at, known, signs);
    }
}

/// Secrets put into a file, and the file sent a few lines below.
fn packed(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    let Some(file) = SENT_ANY_FILE.captured(&line.text) else {
        return;
    };
    let file = file.trim_matches(['"', '\'']);
    let filled = page.near(at, 8).iter().any(|near| {
        near.number < line.number
            && near.text.contains(file)
            && PACKED.is_in(&near.text)
            && secret_in(near).is_some_and(|secret| secret != Secret::Settings)
    });
    if filled {
        let what = "sends a file into which secrets were put above";
        signs.push(Sign::new("secrets-out", Weight::Dangerous, what));
    }
}

/// A program that sends through a way to somebody's own machine.
fn tunnelled(line: &Line, signs: &mut Vec<Sign>) {
    let tunnel = links(&line.text).into_iter().any(|link| {
        link.place == Place::Tunnel
            && [
                "ngrok",
                "trycloudflare",
                "loca.lt",
                "serveo",
                "localtunnel",
                "bore.pub",
                "pagekite",
            ]
            .iter()
            .any(|name| link.host().contains(name))
    });
    if tunnel {
        let weight = if line.words.have(Words::POST) && SINK.is_in(&line.text) {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        let what = "goes through a tunnel to a machine nobody can name";
        signs.push(Sign::new("tunnel", weight, what));
    }
}

fn foreign(link: &Link, known: &Known) -> bool {
    match link.place {
        Place::Site => !known.has(link),
        Place::RawIp | Place::ExampleIp | Place::Paste | Place::Inbox | Place::Tunnel => true,
        _ => false,
    }
}

/// Instructions to collect something private and send it away.
fn told_to_send(page: &Page, at: usize, known: &Known, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have_any(Words::UPLOAD | Words::POST) || !SENDS_TO.is_in(&line.text) {
        return;
    }
    if !links(&line.text).iter().any(|link| foreign(link, known)) {
        return;
    }
    let near = page.near(at, 4);
    let private = near.iter().any(|near| {
        near.words.have(Words::SECRET) && SPOKEN.is_in(&near.text)
            || near.words.have(Words::ORDER) && SPOKEN.is_in(&near.text)
    });
    let always = near.iter().any(|near| near.words.have(Words::ALWAYS));
    if private {
        signs.push(Sign::new(
            "secrets-out",
            Weight::Dangerous,
            "says to collect something private and send it to a place the skill is not about",
        ));
    } else if always || links(&line.text).iter().any(Link::is_borrowed) {
        let weight = if always && links(&line.text).iter().any(Link::is_borrowed) {
            Weight::Dangerous
        } else {
            Weight::Suspicious
        };
        signs.push(Sign::new(
            "reports-home",
            weight,
            "says to send something away to a place the skill is not about",
        ));
    }
}
