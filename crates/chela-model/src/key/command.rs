//! Credentials printed by a command: it reads which ones are wanted and answers in JSON, or just
//! prints the one.

use std::process::Stdio;

use chela_core::{HostEnv, ok_or_debug};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{CommandForm, KeyError, ModelKey, SecretCommand};

const MOST_BYTES: u64 = 1 << 20;

/// What the command sees of the environment: how to find programs and its own files, and what the
/// config passes on.
pub fn environment(env: &HostEnv, pass: &[String], set: Option<&Value>) -> Vec<(String, String)> {
    let mut seen: Vec<(String, String)> = Vec::new();
    let always = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "XDG_RUNTIME_DIR"];
    for name in always.into_iter().chain(pass.iter().map(String::as_str)) {
        if let Some(value) = env.get(name) {
            seen.push((name.to_owned(), value.clone()));
        }
    }
    for (name, value) in set.and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str() {
            seen.push((name.clone(), value.to_owned()));
        }
    }
    seen
}

pub async fn run(command: &SecretCommand) -> Result<ModelKey, KeyError> {
    let shown = format!("the command of secrets.providers.{}", command.provider);
    let output = tokio::time::timeout(command.timeout, output(command))
        .await
        .map_err(|_| {
            KeyError(format!(
                "{shown} took longer than {} ms",
                command.timeout.as_millis()
            ))
        })?
        .map_err(|why| KeyError(format!("{shown} failed: {why}")))?;
    pick(command, &output)
        .ok_or_else(|| KeyError(format!("{shown} printed no secret `{}`", command.id)))
}

async fn output(command: &SecretCommand) -> Result<String, String> {
    let mut child = tokio::process::Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // What it complains about may name the secret.
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{}: {error}", command.program.display()))?;
    let wanted = json!({
        "protocolVersion": 1,
        "provider": command.provider,
        "ids": [command.id],
    });
    if let Some(mut stdin) = child.stdin.take() {
        // A command that reads nothing may be gone already.
        let asked = stdin.write_all(wanted.to_string().as_bytes()).await;
        ok_or_debug!(asked, "the command that gives a key was told nothing");
    }
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        stdout
            .take(MOST_BYTES)
            .read_to_string(&mut text)
            .await
            .map_err(|error| error.to_string())?;
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    if status.success() {
        Ok(text)
    } else {
        Err(status.to_string())
    }
}

fn pick(command: &SecretCommand, output: &str) -> Option<ModelKey> {
    let value: Option<Value> = serde_json::from_str(output).ok();
    let named = value
        .as_ref()
        .and_then(|value| value.get("values")?.get(&command.id)?.as_str());
    match (named, command.form) {
        (Some(text), _) => ModelKey::new(text),
        (None, CommandForm::Either) if !matches!(value, Some(Value::Object(_))) => {
            ModelKey::new(output)
        }
        _ => None,
    }
}
