//! The key of one service that goes to another.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::inspect::hosts::{Link, Place, links};
use crate::inspect::page::{Page, Zone};
use crate::inspect::words::Words;

patterns! {
    VARIABLE = r#"\$\{?([a-z][a-z0-9]*(?:_[a-z0-9]+)*_(?:key|token|secret|pat|password|id|credentials?|sid))\b|(?:environ(?:\.get)?|getenv|env\.get|std::env::var)\s*[\[(]\s*["']([a-z][a-z0-9_]*_(?:key|token|secret|pat|password|credentials?))["']|process\.env\.([a-z][a-z0-9_]*_(?:key|token|secret|pat|password|credentials?))\b|env\[["']([a-z][a-z0-9_]*_(?:key|token|secret|pat))["']\]"#;
    SENDS = r"\bcurl\b|\bwget\b|requests\.\w+\s*\(|httpx\.\w+\s*\(|urlopen\s*\(|\bfetch\s*\(|axios|invoke-(?:webrequest|restmethod)|\bnc(?:at)?\s|\bdig\b|\bnslookup\b|https?\.(?:request|get|post)\s*\(";
    AS_HEADER = r"authorization|bearer|x-api-key|api-key:|x-auth|x-\w+-(?:key|token)|private-token|\s-u\s";
}

/// How the names of a service's keys begin, and what its own addresses hold.
const SERVICES: [(&str, &[&str]); 44] = [
    ("aws", &["amazonaws", "aws"]),
    ("azure", &["azure", "microsoft", "windows.net"]),
    ("google", &["google", "gstatic"]),
    ("gcp", &["google"]),
    ("gemini", &["google"]),
    ("github", &["github"]),
    ("gh", &["github"]),
    ("gitlab", &["gitlab"]),
    ("openai", &["openai", "azure"]),
    ("anthropic", &["anthropic", "claude"]),
    ("claude", &["anthropic", "claude"]),
    ("slack", &["slack"]),
    ("discord", &["discord"]),
    ("telegram", &["telegram"]),
    ("stripe", &["stripe"]),
    ("twilio", &["twilio"]),
    ("sendgrid", &["sendgrid", "twilio"]),
    ("mailgun", &["mailgun"]),
    ("notion", &["notion"]),
    ("linear", &["linear"]),
    ("jira", &["atlassian", "jira"]),
    ("atlassian", &["atlassian"]),
    ("npm", &["npmjs"]),
    ("pypi", &["pypi"]),
    ("docker", &["docker"]),
    ("dockerhub", &["docker"]),
    ("heroku", &["heroku"]),
    ("vercel", &["vercel"]),
    ("netlify", &["netlify"]),
    ("cloudflare", &["cloudflare"]),
    ("cf", &["cloudflare"]),
    ("digitalocean", &["digitalocean"]),
    ("datadog", &["datadog", "ddog"]),
    ("dd", &["datadog", "ddog"]),
    ("sentry", &["sentry"]),
    ("supabase", &["supabase"]),
    ("firebase", &["firebase", "google"]),
    ("hf", &["huggingface", "hf.co"]),
    ("huggingface", &["huggingface", "hf.co"]),
    ("shopify", &["shopify"]),
    ("paypal", &["paypal"]),
    ("coinbase", &["coinbase"]),
    ("binance", &["binance"]),
    ("pagerduty", &["pagerduty"]),
];

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    let text = line.text.as_str();
    if !line.words.have(Words::SECRET | Words::POST) || !SENDS.is_in(text) {
        return;
    }
    let targets: Vec<Link> = links(text)
        .into_iter()
        .filter(|link| link.place != Place::Near)
        .collect();
    if targets.is_empty() {
        return;
    }
    let Some(regex) = VARIABLE.regex() else {
        return;
    };
    for groups in regex.captures_iter(text) {
        let Some(name) = groups.iter().skip(1).flatten().next() else {
            continue;
        };
        let prefix = name.as_str().split('_').next().unwrap_or_default();
        let Some((_, own)) = SERVICES.iter().find(|(known, _)| *known == prefix) else {
            continue;
        };
        let fits = |link: &Link| {
            // Without what is asked for there: the name of the key is part of that.
            let place = link.target.split(['?', '$']).next().unwrap_or_default();
            own.iter().any(|part| place.contains(part)) || link.host().contains(prefix)
        };
        if targets.iter().any(fits) {
            continue;
        }
        let header = AS_HEADER.is_in(text);
        let weight = match (header, line.zone) {
            (false, Zone::Code) => Weight::Dangerous,
            (false, Zone::Prose) => Weight::Suspicious,
            // Services that speak another's protocol take its key in the same place.
            (true, _) => Weight::Note,
        };
        let what = "sends the key of one service to another";
        signs.push(Sign::new("foreign-key", weight, what));
        return;
    }
}
