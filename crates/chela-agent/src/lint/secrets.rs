//! Keys and passwords in files that go to a model provider with every message.

use super::{Finding, Severity};

/// Well-known shapes: the beginning, how many characters follow at least, and whose it is.
const SHAPES: &[(&str, usize, &str)] = &[
    ("sk-ant-", 20, "an Anthropic key"),
    ("sk-proj-", 20, "an OpenAI key"),
    ("sk-or-", 20, "an OpenRouter key"),
    ("sk-", 32, "an API key"),
    ("ghp_", 36, "a GitHub token"),
    ("gho_", 36, "a GitHub token"),
    ("ghs_", 36, "a GitHub token"),
    ("github_pat_", 22, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("xoxb-", 20, "a Slack token"),
    ("xoxp-", 20, "a Slack token"),
    ("xapp-", 20, "a Slack token"),
    ("AKIA", 16, "an AWS key id"),
    ("AIza", 35, "a Google API key"),
    ("hf_", 30, "a Hugging Face token"),
    ("npm_", 36, "an npm token"),
    ("SG.", 40, "a SendGrid key"),
    ("eyJhbGciOi", 40, "a signed web token"),
];

/// Words before `:` or `=` that announce a secret.
const NAMES: [&str; 6] = [
    "password",
    "passwd",
    "passphrase",
    "api key",
    "api_key",
    "secret key",
];

pub fn secrets(file: &str, text: &str) -> Vec<Finding> {
    (1u32..)
        .zip(text.lines())
        .filter_map(|(line, content)| Some((line, what_secret(content)?)))
        .map(|(line, what)| Finding {
            severity: Severity::Error,
            code: "secret",
            file: file.to_owned(),
            line,
            message: format!("this looks like {what}; it would be sent to the model provider with every message"),
            suggestion: "take it out, change it where it is used, and keep it in the environment or the config".to_owned(),
        })
        .collect()
}

/// What kind of secret a line holds, never the secret itself.
pub fn what_secret(line: &str) -> Option<&'static str> {
    if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
        return Some("a private key");
    }
    let known = SHAPES
        .iter()
        .find(|(prefix, length, _)| has_shape(line, prefix, *length));
    known
        .map(|(_, _, what)| *what)
        .or_else(|| named_secret(line).then_some("a password or key"))
}

fn has_shape(line: &str, prefix: &str, length: usize) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let starts_word = !line[..at].ends_with(|c: char| c.is_alphanumeric());
        let tail = line[at + prefix.len()..].chars();
        let body = tail.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        starts_word && body.count() >= length
    })
}

/// `password: hunter2`, but not `password: ask the owner`.
fn named_secret(line: &str) -> bool {
    let lower = line.to_lowercase();
    NAMES.iter().any(|name| {
        lower.match_indices(name).any(|(at, _)| {
            let tail = lower[at + name.len()..].trim_start_matches(['*', '`', ' ']);
            let Some(value) = tail.strip_prefix([':', '=']) else {
                return false;
            };
            let value = value.trim().trim_matches(['*', '`', '"', '\'']);
            let one_word = !value.is_empty() && !value.contains(char::is_whitespace);
            let mixed = value.chars().any(|c| c.is_ascii_digit()) || value.len() >= 16;
            one_word && value.len() >= 6 && mixed && !value.starts_with(['<', '$', '{'])
        })
    })
}
