//! Fetching with git: no questions, no hooks, no links, no other repositories.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use chela_config::is_secret_key;
use chela_core::Host;
use chela_core::secret::Redactor;

use super::source::FetchError;
use crate::origin::GitSource;

/// What makes git do nothing but fetch.
const QUIET: [&str; 10] = [
    "-c",
    "core.symlinks=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "http.lowSpeedLimit=1000",
    "-c",
    "http.lowSpeedTime=30",
];

/// Fetches one version into an empty folder and says which commit it is.
pub(super) fn clone(source: &GitSource, into: &Path, host: &Host) -> Result<String, FetchError> {
    check_url(&source.url)?;
    let wanted = source.reference.as_deref().unwrap_or("HEAD");
    let in_folder = |words: &[&str]| {
        let mut git = git(host);
        git.arg("-C").arg(into).args(words);
        run(git, &source.url)
    };
    let mut init = git(host);
    init.args(["init", "--quiet", "--template="]).arg(into);
    run(init, &source.url)?;
    in_folder(&[
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--",
        &source.url,
        wanted,
    ])?;
    in_folder(&["checkout", "--quiet", "--force", "FETCH_HEAD"])?;
    let said = in_folder(&["rev-parse", "HEAD"])?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The commit that a branch, a tag or the repository as a whole has now.
pub(super) fn newest_commit(source: &GitSource, host: &Host) -> Result<String, FetchError> {
    check_url(&source.url)?;
    let wanted = source.reference.as_deref().unwrap_or("HEAD");
    let is_commit = wanted.len() == 40 && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit {
        return Ok(wanted.to_owned());
    }
    let mut git = git(host);
    git.args(["ls-remote", "--quiet", "--", &source.url, wanted]);
    let said = run(git, &source.url)?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    // The commit a tag points to stands behind the tag itself.
    let mut lines = said
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    lines
        .next_back()
        .map(str::to_owned)
        .ok_or_else(|| FetchError::Git {
            url: source.url.clone(),
            message: format!("there is no `{wanted}`"),
        })
}

fn check_url(url: &str) -> Result<(), FetchError> {
    match Redactor::default().find(url.as_bytes()).is_empty() {
        true => Ok(()),
        false => Err(FetchError::Password),
    }
}

fn git(host: &Host) -> Command {
    let secrets = Redactor::default();
    let holds_one = |text: &str| !secrets.find(text.as_bytes()).is_empty();
    let mut git = Command::new("git");
    // Whatever git starts needs none of the owner's keys.
    let env = host.env.iter();
    let env = env.filter(|(name, value)| !is_secret_key(name) && !holds_one(value));
    git.env_clear()
        .envs(env)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
        .args(QUIET)
        .stdin(Stdio::null());
    git
}

fn run(mut git: Command, url: &str) -> Result<Output, FetchError> {
    let failed = |message: String| FetchError::Git {
        url: url.to_owned(),
        message,
    };
    let output = git.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FetchError::NoGit,
        _ => failed(error.to_string()),
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    Err(failed(crate::one_line::one_line(last, 200)))
}
