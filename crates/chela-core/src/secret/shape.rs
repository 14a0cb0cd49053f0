//! The shapes in which services hand out keys and tokens.
//!
//! One pass finds every beginning of the table; what follows decides.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::assigned;
use super::special;

/// A secret whose shape tells what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapedSecret {
    pub range: Range<usize>,
    pub kind: &'static str,
}

/// What may follow the beginning of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// A-Z, 0-9.
    Upper,
    Hex,
    Alnum,
    /// Letters, digits, `_`, `-`.
    Url,
    /// The same and `.`.
    Dotted,
    /// The same and `/`.
    Path,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
}

impl Set {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

/// Kind, beginning, what follows, how many of those at least.
type Row = (&'static str, &'static str, Set, usize);

#[rustfmt::skip]
const TOKENS: &[Row] = &[
    (super::CANARY, "chela-canary-", Set::Hex, 32),
    ("aws-key", "AKIA", Set::Upper, 16),
    ("aws-key", "ASIA", Set::Upper, 16),
    ("aws-key", "ABIA", Set::Upper, 16),
    ("aws-key", "ACCA", Set::Upper, 16),
    ("github-token", "ghp_", Set::Alnum, 36),
    ("github-token", "gho_", Set::Alnum, 36),
    ("github-token", "ghu_", Set::Alnum, 36),
    ("github-token", "ghs_", Set::Alnum, 36),
    ("github-token", "ghr_", Set::Alnum, 36),
    ("github-token", "github_pat_", Set::Url, 22),
    ("gitlab-token", "glpat-", Set::Dotted, 20),
    ("gitlab-token", "gldt-", Set::Url, 20),
    ("gitlab-token", "glrt-", Set::Dotted, 20),
    ("gitlab-token", "glptt-", Set::Url, 20),
    ("gitlab-token", "glcbt-", Set::Url, 20),
    ("gitlab-token", "glsoat-", Set::Url, 20),
    ("gitlab-token", "gloas-", Set::Url, 20),
    ("slack-token", "xoxb-", Set::Url, 20),
    ("slack-token", "xoxp-", Set::Url, 20),
    ("slack-token", "xoxa-", Set::Url, 20),
    ("slack-token", "xoxr-", Set::Url, 20),
    ("slack-token", "xoxs-", Set::Url, 20),
    ("slack-token", "xoxc-", Set::Url, 20),
    ("slack-token", "xoxd-", Set::Url, 20),
    ("slack-token", "xoxe.", Set::Dotted, 20),
    ("slack-token", "xapp-", Set::Url, 20),
    ("slack-webhook", "hooks.slack.com/services/", Set::Path, 20),
    ("discord-webhook", "/api/webhooks/", Set::Path, 40),
    ("stripe-key", "sk_live_", Set::Alnum, 16),
    ("stripe-key", "sk_test_", Set::Alnum, 16),
    ("stripe-key", "rk_live_", Set::Alnum, 16),
    ("stripe-key", "rk_test_", Set::Alnum, 16),
    ("stripe-key", "whsec_", Set::Base64, 24),
    ("anthropic-key", "sk-ant-", Set::Url, 20),
    ("openai-key", "sk-proj-", Set::Url, 20),
    ("openai-key", "sk-svcacct-", Set::Url, 20),
    ("openai-key", "sk-admin-", Set::Url, 20),
    ("openrouter-key", "sk-or-", Set::Url, 20),
    ("api-key", "sk-", Set::Url, 32),
    ("groq-key", "gsk_", Set::Alnum, 40),
    ("xai-key", "xai-", Set::Alnum, 60),
    ("perplexity-key", "pplx-", Set::Alnum, 40),
    ("nvidia-key", "nvapi-", Set::Url, 50),
    ("replicate-token", "r8_", Set::Alnum, 37),
    ("tavily-key", "tvly-", Set::Url, 20),
    ("huggingface-token", "hf_", Set::Alnum, 30),
    ("huggingface-token", "api_org_", Set::Alnum, 30),
    ("google-key", "AIza", Set::Url, 35),
    ("google-token", "ya29.", Set::Dotted, 30),
    ("google-secret", "GOCSPX-", Set::Url, 24),
    ("npm-token", "npm_", Set::Alnum, 36),
    ("pypi-token", "pypi-AgEI", Set::Url, 50),
    ("rubygems-key", "rubygems_", Set::Hex, 40),
    ("crates-token", "cio", Set::Alnum, 32),
    ("docker-token", "dckr_pat_", Set::Url, 24),
    ("docker-token", "dckr_oat_", Set::Url, 24),
    ("sendgrid-key", "SG.", Set::Dotted, 60),
    ("mailgun-key", "key-", Set::Hex, 32),
    ("brevo-key", "xkeysib-", Set::Url, 60),
    ("twilio-key", "SK", Set::Hex, 32),
    ("shopify-token", "shpat_", Set::Hex, 32),
    ("shopify-token", "shpss_", Set::Hex, 32),
    ("shopify-token", "shpca_", Set::Hex, 32),
    ("shopify-token", "shppa_", Set::Hex, 32),
    ("square-token", "sq0atp-", Set::Url, 22),
    ("square-token", "sq0csp-", Set::Url, 40),
    ("linear-key", "lin_api_", Set::Alnum, 32),
    ("linear-key", "lin_oauth_", Set::Alnum, 32),
    ("notion-token", "ntn_", Set::Alnum, 40),
    ("notion-token", "secret_", Set::Alnum, 43),
    ("figma-token", "figd_", Set::Url, 36),
    ("atlassian-token", "ATATT3", Set::Base64, 60),
    ("airtable-token", "patA", Set::Dotted, 70),
    ("digitalocean-token", "dop_v1_", Set::Hex, 64),
    ("digitalocean-token", "doo_v1_", Set::Hex, 64),
    ("digitalocean-token", "dor_v1_", Set::Hex, 64),
    ("vault-token", "hvs.", Set::Url, 24),
    ("vault-token", "hvb.", Set::Url, 24),
    ("grafana-token", "glsa_", Set::Url, 32),
    ("grafana-token", "glc_", Set::Base64, 32),
    ("sentry-token", "sntrys_", Set::Base64, 40),
    ("sentry-token", "sntryu_", Set::Hex, 60),
    ("postman-key", "PMAK-", Set::Url, 50),
    ("supabase-token", "sbp_", Set::Hex, 40),
    ("databricks-token", "dapi", Set::Hex, 32),
    ("doppler-token", "dp.pt.", Set::Alnum, 40),
    ("fly-token", "fm2_", Set::Base64, 60),
    ("heroku-key", "HRKU-", Set::Url, 30),
    ("netlify-token", "nfp_", Set::Alnum, 36),
    ("newrelic-key", "NRAK-", Set::Upper, 27),
    ("pulumi-token", "pul-", Set::Hex, 40),
    ("planetscale-token", "pscale_tkn_", Set::Dotted, 30),
    ("artifactory-token", "AKCp", Set::Alnum, 60),
    ("tailscale-key", "tskey-", Set::Url, 20),
    ("1password-token", "ops_eyJ", Set::Base64, 60),
    ("age-key", "AGE-SECRET-KEY-1", Set::Upper, 50),
    ("minisign-key", "RWRTY0Iy", Set::Base64, 60),
];

/// Shapes that need more than a beginning and what follows.
const SPECIAL: &[(&str, special::ContextJudge)] = &[
    ("eyJ", special::web_token),
    (":AA", special::telegram),
    (".", special::discord),
    ("-----BEGIN ", special::private_key),
    ("PuTTY-User-Key-File-", special::putty_key),
    ("://", special::address),
    ("bearer ", special::authorization),
    ("basic ", special::authorization),
];

/// From here on the large table earns back what it costs to make: more than a start of the
/// program should take, and a few megabytes.
const LONG_TEXT: usize = 64 * 1024;

static QUICK_TO_MAKE: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| beginnings(AhoCorasickKind::ContiguousNFA));
static QUICK_TO_SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| beginnings(AhoCorasickKind::DFA));

fn beginnings(kind: AhoCorasickKind) -> Option<AhoCorasick> {
    let tokens = TOKENS.iter().map(|(_, start, _, _)| *start);
    let special = SPECIAL.iter().map(|(start, _)| *start);
    let words = assigned::WORDS.iter().copied();
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(kind))
        .build(tokens.chain(special).chain(words))
        .ok()
}

/// Everything in the text that has the shape of a secret.
pub fn find(text: &[u8]) -> Vec<ShapedSecret> {
    let search = if text.len() < LONG_TEXT {
        &QUICK_TO_MAKE
    } else {
        &QUICK_TO_SEARCH
    };
    let Some(search) = &**search else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for start in search.find_overlapping_iter(text) {
        let at = start.pattern().as_usize();
        let range = start.range();
        let shaped = if let Some(row) = TOKENS.get(at) {
            token(text, range, row)
        } else if let Some((_, judge)) = SPECIAL.get(at - TOKENS.len()) {
            judge(text, range)
        } else {
            assigned::value(text, range)
        };
        found.extend(shaped);
    }
    found
}

/// Whether a text begins as keys do: lenient, for values that are hidden rather than shown once
/// too often.
pub fn starts_like_one(text: &str) -> bool {
    // Beginnings that ordinary words have too.
    const COMMON: [&str; 4] = ["SK", "cio", "key-", "patA"];
    text.starts_with("-----BEGIN")
        || text.starts_with("eyJ")
        || text.starts_with("sk_")
        || TOKENS
            .iter()
            .any(|(_, start, _, _)| !COMMON.contains(start) && text.starts_with(start))
}

fn token(text: &[u8], start: Range<usize>, row: &Row) -> Option<ShapedSecret> {
    let (kind, beginning, set, least) = *row;
    if text[start.clone()] != *beginning.as_bytes() || !begins(text, start.start) {
        return None;
    }
    let mut tail = run(&text[start.end..], |byte| set.has(byte));
    // The end of a sentence is not part of it.
    while tail > 0 && text[start.end + tail - 1] == b'.' {
        tail -= 1;
    }
    let body = &text[start.end..start.end + tail];
    let ends = text
        .get(start.end + tail)
        .is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (tail >= least && ends && is_random(body)).then_some(ShapedSecret {
        range: start.start..start.end + tail,
        kind,
    })
}

/// Whether something can begin here: not in the middle of a word. The `n` of a line end in JSON
/// is no word.
pub fn begins(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| text[at]) else {
        return true;
    };
    let escape =
        matches!(before, b'n' | b't' | b'r' | b'b' | b'f') && at >= 2 && text[at - 2] == b'\\';
    escape || !(before.is_ascii_alphanumeric() || before == b'_')
}

/// How many bytes from the start fit.
pub fn run(text: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    text.iter()
        .position(|byte| !fits(*byte))
        .unwrap_or(text.len())
}

/// Examples repeat one letter; tokens do not, and have digits among the letters.
fn is_random(body: &[u8]) -> bool {
    let mut seen = [false; 256];
    body.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    let digit = body.iter().any(u8::is_ascii_digit);
    let letter = body.iter().any(u8::is_ascii_alphabetic);
    distinct >= 4 && letter && (digit || body.len() >= 40)
}

/// Kind, beginning, letters that may follow, how many.
#[cfg(test)]
pub fn tests_table() -> Vec<(&'static str, &'static str, &'static str, usize)> {
    let letters = |set: Set| match set {
        Set::Upper => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        Set::Hex => "0123456789abcdef",
        _ => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    };
    TOKENS
        .iter()
        .map(|(kind, start, set, least)| (*kind, *start, letters(*set), *least))
        .collect()
}
