//! `chela backup …`: a copy of the home, checked and restored.

use std::path::{Path, PathBuf};

use chela_agent::OwnerCalendar;
use chela_backup::{
    ArchiveProver, BackupAsk, BackupError, BackupManifest, BlankedKey, ForeignArchive, RestoreAsk,
    create, restore, verify,
};
use chela_config::{FileId, KeyPath, secrets_in, text};
use chela_core::Host;
use chela_gateway::RunningGateway;
use chela_ledger::{InstallationKey, ledger_file};
use serde_json::json;

use super::{CommandOutcome, CommandSetup};
use crate::cli::backup::BackupCommand;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::{unreadable, unwritable};
use crate::screen::{Screen, count_noun};

/// The most of what was left out, or is damaged, that is listed.
const SHOWN: usize = 12;

pub fn run(host: &Host, screen: &mut Screen, command: BackupCommand) -> CommandOutcome {
    match command {
        BackupCommand::Create {
            file,
            with_secrets,
            force,
            json,
        } => {
            let ask = BackupAsk {
                home: host.state_dir(),
                file: file.map_or_else(|| usual_name(host), |file| given(host, &file)),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                now: host.unix_millis(),
                with_secrets,
                blanked_config: match with_secrets {
                    true => None,
                    false => blanked_config(host)?,
                },
                overwrite: force,
                prover: prover(host),
            };
            make(host, screen, &ask, json)
        }
        BackupCommand::Verify { file, json } => check(host, screen, &given(host, &file), json),
        BackupCommand::Restore {
            file,
            to,
            force,
            mine,
            json,
        } => {
            let ask = RestoreAsk {
                file: given(host, &file),
                home: to.map_or_else(|| host.state_dir(), |to| given(host, &to)),
                now: host.unix_millis(),
                replace: force,
                prover: prover(host),
                foreign: match mine {
                    true => ForeignArchive::Taken,
                    false => ForeignArchive::Refused,
                },
            };
            lay_out(host, screen, &ask, json)
        }
    }
}

/// Under the key of this installation, if it has one.
fn prover(host: &Host) -> Option<ArchiveProver> {
    let key = InstallationKey::beside(&ledger_file(host))?;
    Some(ArchiveProver::new(move |hash| {
        key.prove_own("backup", hash)
    }))
}

fn given(host: &Host, path: &Path) -> PathBuf {
    host.expand(&path.to_string_lossy())
}

fn usual_name(host: &Host) -> PathBuf {
    let day = OwnerCalendar::of(host, None).day(host.unix_millis());
    let of_day = host.unix_time() % 86_400;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    host.cwd.join(format!(
        "chela-backup-{day}-{hour:02}{minute:02}{second:02}.tar.gz"
    ))
}

fn make(host: &Host, screen: &mut Screen, ask: &BackupAsk, json: bool) -> CommandOutcome {
    let made = create(ask).map_err(|error| match error {
        BackupError::Exists(path) if path.is_dir() => {
            CommandError::new(format!("{} is a folder", host.compact(&path)))
                .hint("add the name of a file")
        }
        BackupError::File { source, .. } => unwritable(host.compact(&ask.file), &source),
        error => error.into(),
    })?;
    let outside = workspaces_outside(host);
    if json {
        screen.json(&json!({
            "file": made.file, "bytes": made.bytes, "entries": made.manifest.entries.len(),
            "hasSecrets": made.manifest.has_secrets, "blanked": made.manifest.blanked,
            "leftOut": made.manifest.left_out, "workspacesOutside": outside,
        }))?;
        return Ok(CommandExit::Fine);
    }
    let files = count_noun(made.manifest.entries.len(), "file");
    let size = made.bytes.div_ceil(1024);
    screen.line(format!(
        "Created {}: {files}, {size} KiB.",
        host.compact(&made.file)
    ))?;
    let left: Vec<String> = made
        .manifest
        .left_out
        .iter()
        .map(|left| format!("{} ({})", left.path, left.why))
        .collect();
    if !left.is_empty() {
        screen.line("Not in it:")?;
        list(screen, &left)?;
    }
    tell_blanked(screen, &made.manifest)?;
    for folder in outside {
        screen.line(format!(
            "The workspace {} lies outside of the home and is not in it: back it up as well.",
            host.compact(&folder)
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn tell_blanked(screen: &mut Screen, manifest: &BackupManifest) -> Result<(), CommandError> {
    for key in &manifest.blanked {
        screen.line(format!(
            "The value of {} is not in it: set the variable {} where it is restored.",
            key.key, key.variable
        ))?;
    }
    Ok(())
}

fn check(host: &Host, screen: &mut Screen, file: &Path, json: bool) -> CommandOutcome {
    let check = verify(file, prover(host).as_ref())?;
    if json {
        screen.json(&json!({
            "file": file, "sound": check.damage.is_empty(), "damage": check.damage,
            "own": check.is_own,
            "version": check.manifest.version, "made": check.manifest.made,
            "entries": check.manifest.entries.len(), "hasSecrets": check.manifest.has_secrets,
        }))?;
    } else if check.damage.is_empty() {
        let files = count_noun(check.manifest.entries.len(), "file");
        screen.line(format!(
            "Sound: {files}, made by Chela {}, {} secrets.",
            check.manifest.version,
            match check.manifest.has_secrets {
                true => "with",
                false => "without",
            }
        ))?;
        screen.line(match check.is_own {
            true => "This installation made it.",
            false => {
                "Whether this installation made it cannot be told: restore it only if it is yours \
                 (--mine)."
            }
        })?;
    } else {
        screen.line("Damaged, do not restore it:")?;
        list(screen, &check.damage)?;
    }
    Ok(match check.damage.is_empty() {
        true => CommandExit::Fine,
        false => CommandExit::Findings,
    })
}

fn lay_out(host: &Host, screen: &mut Screen, ask: &RestoreAsk, json: bool) -> CommandOutcome {
    if ask.home == host.state_dir() && RunningGateway::find(host).is_some() {
        return Err(CommandError::new(
            "the gateway of this home runs, and nothing is restored under it",
        )
        .hint("`chela gateway stop` ends it"));
    }
    let restored = restore(ask)?;
    if json {
        screen.json(&json!({
            "home": restored.home, "entries": restored.manifest.entries.len(),
            "movedAside": restored.moved_aside, "blanked": restored.manifest.blanked,
        }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "Restored {} to {}.",
        count_noun(restored.manifest.entries.len(), "file"),
        host.compact(&restored.home)
    ))?;
    if let Some(aside) = restored.moved_aside {
        screen.line(format!(
            "What was there before is in {}.",
            host.compact(&aside)
        ))?;
    }
    if !restored.manifest.has_secrets {
        screen.line(
            "The installation's key is not in it: `chela audit verify` cannot tell who wrote what \
             is on record.",
        )?;
    }
    for key in &restored.manifest.blanked {
        screen.line(format!(
            "Set {} before the first message: {} needs it.",
            key.variable, key.key
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn list(screen: &mut Screen, lines: &[String]) -> Result<(), CommandError> {
    for line in lines.iter().take(SHOWN) {
        screen.line(format!("  {}", chela_core::sanitize::literal(line)))?;
    }
    if lines.len() > SHOWN {
        screen.line(format!("  and {} more", lines.len() - SHOWN))?;
    }
    Ok(())
}

/// The bytes of a config without its secrets, and which ones were left out.
type BlankedConfig = (Vec<u8>, Vec<BlankedKey>);

/// The config with a variable in place of each secret.
fn blanked_config(host: &Host) -> Result<Option<BlankedConfig>, CommandError> {
    let path = host.state_dir().join("chela.json");
    let Ok(source) = std::fs::read_to_string(&path) else {
        return Ok(None);
    };
    let Some(root) = text::parse(&source, FileId(0)).root else {
        let told = format!(
            "{} cannot be read, so its secrets cannot be left out",
            host.compact(&path)
        );
        return Err(CommandError::new(told).hint(
            "`chela config validate` says what is wrong; --with-secrets copies it as it is",
        ));
    };
    let mut blanked = Vec::new();
    let mut kept = source;
    for (key, value) in secrets_in(&root) {
        // An object says where a secret is kept, and is none.
        if !value.is_string() {
            continue;
        }
        let variable = variable_of(&key);
        kept = text::edit::set(&kept, &key, &json!(format!("${{{variable}}}")))
            .map_err(|error| CommandError::new(format!("{}: {error}", host.compact(&path))))?;
        blanked.push(BlankedKey {
            key: key.to_string(),
            variable,
        });
    }
    Ok(Some((kept.into_bytes(), blanked)))
}

/// `models.providers.kit.apiKey` becomes `CHELA_MODELS_PROVIDERS_KIT_APIKEY`.
fn variable_of(key: &KeyPath) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    format!(
        "CHELA_{}",
        key.to_string().chars().map(plain).collect::<String>()
    )
}

fn workspaces_outside(host: &Host) -> Vec<PathBuf> {
    let setup = CommandSetup::load(host);
    let home = host.state_dir();
    let agents = setup.loaded.agents();
    let views = agents.iter().filter_map(|agent| setup.loaded.agent(agent));
    let folders = views.map(|view| view.workspace.value);
    folders
        .filter(|folder| !folder.starts_with(&home))
        .collect()
}

impl From<BackupError> for CommandError {
    fn from(error: BackupError) -> Self {
        let hint = match &error {
            BackupError::Exists(path) if path.is_dir() => {
                Some("--force moves it aside; --to FOLDER restores elsewhere")
            }
            BackupError::Exists(_) => Some("--force replaces it"),
            BackupError::InsideHome(_) => Some("name a file elsewhere"),
            BackupError::Damaged { .. } => Some("use another copy of it"),
            BackupError::Foreign(_) => Some("if it is yours, --mine restores it"),
            BackupError::NotABackup(_) => Some("`chela backup create` makes one"),
            BackupError::NoHome(_) => Some("`chela init` makes one"),
            _ => None,
        };
        let told = match error {
            BackupError::File { path, source } => return unreadable(path.display(), &source),
            error => Self::new(error),
        };
        match hint {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }
}
