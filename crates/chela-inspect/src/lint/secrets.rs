//! Keys and passwords in files that go to a model provider with every message.

use chela_core::secret::Redactor;

use super::{LintFinding, Severity};

pub fn secrets(file: &str, text: &str) -> Vec<LintFinding> {
    let redactor = Redactor::default();
    redactor
        .find(text.as_bytes())
        .into_iter()
        .map(|hit| {
            let line = text
                .get(..hit.range.start)
                .unwrap_or_default()
                .matches('\n')
                .count()
                + 1;
            LintFinding {
                severity: Severity::Error,
                code: "secret",
                file: file.to_owned(),
                line: u32::try_from(line).unwrap_or(u32::MAX),
                message: format!(
                    "this looks like {}; it would be sent to the model provider with every message",
                    in_words(&hit.name)
                ),
                suggestion: "remove it, replace it where it is used, and keep it in the \
                    environment or the config"
                    .to_owned(),
            }
        })
        .collect()
}

/// What kind of secret a line holds, never the secret itself.
pub fn what_secret(line: &str) -> Option<String> {
    let hits = Redactor::default().find(line.as_bytes());
    hits.first().map(|hit| in_words(&hit.name))
}

/// `github-token` as people say it.
pub fn in_words(kind: &str) -> String {
    const NAMES: [(&str, &str); 14] = [
        ("1password", "1Password"),
        ("api", "API"),
        ("aws", "AWS"),
        ("digitalocean", "DigitalOcean"),
        ("github", "GitHub"),
        ("gitlab", "GitLab"),
        ("huggingface", "Hugging Face"),
        ("npm", "npm"),
        ("nvidia", "NVIDIA"),
        ("openai", "OpenAI"),
        ("openrouter", "OpenRouter"),
        ("pypi", "PyPI"),
        ("sendgrid", "SendGrid"),
        ("xai", "xAI"),
    ];
    match kind {
        "assigned" => return "a password or key".to_owned(),
        "address-password" => return "a password in an address".to_owned(),
        "private-key" => return "a private key".to_owned(),
        "web-token" => return "a signed web token".to_owned(),
        "authorization" => return "credentials of a request".to_owned(),
        _ => {}
    }
    let (whose, what) = kind.split_once('-').unwrap_or((kind, ""));
    let whose = NAMES
        .iter()
        .find(|(id, _)| *id == whose)
        .map_or_else(|| capital(whose), |(_, name)| (*name).to_owned());
    let article = match whose.chars().next() {
        Some('A' | 'E' | 'I' | 'O' | 'n' | 'N') => "an",
        _ => "a",
    };
    format!("{article} {whose} {what}").trim_end().to_owned()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_uppercase().to_string() + letters.as_str()
    })
}
