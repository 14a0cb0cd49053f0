//! `chela skills sign`, `verify` and `keygen`: who stands behind a skill.

use std::fs;
use std::path::Path;

use chela_core::Host;
use chela_skills::{
    BrokenSignature, ScanVerdict, SecretKey, SkillPackage, SkillSignature, inspect, new_key,
};
use serde_json::json;

use super::InstalledSkills;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::{unreadable, unwritable};
use crate::screen::{Screen, count_noun};

pub fn sign(host: &Host, screen: &mut Screen, folder: &Path, key: &Path) -> CommandOutcome {
    let folder = host.cwd.join(folder);
    let key_file = host.expand(&key.display().to_string());
    if !folder.is_dir() {
        let told = format!("{} is not a folder", host.compact(&folder));
        return Err(CommandError::new(told).hint("give the folder of the skill"));
    }
    let text = fs::read_to_string(&key_file).map_err(|error| {
        unreadable(format!("the key {}", host.compact(&key_file)), &error)
            .hint("create one: chela skills keygen FILE")
    })?;
    let key = SecretKey::parse(&text).map_err(|error| {
        CommandError::new(format!("{}: {error}", host.compact(&key_file)))
            .hint("create one: chela skills keygen FILE")
    })?;
    let report = inspect(&SkillPackage::read(&folder));
    if report.verdict == ScanVerdict::Dangerous {
        let paint = screen.paint;
        screen.line(format!(
            "{} others will see this before they trust it:",
            paint.warn("note:")
        ))?;
        for found in report.findings.iter().take(3) {
            super::scan::print_finding(screen, "  ", found)?;
        }
    }
    let files = chela_skills::sign(&folder, &key).map_err(CommandError::new)?;
    screen.line(format!(
        "Signed {} of {}.",
        count_noun(files, "file"),
        host.compact(&folder)
    ))?;
    screen.line(format!("Publisher: {}", key.public()))?;
    screen.line("Any later change needs a new signature.")?;
    Ok(CommandExit::Fine)
}

pub fn verify(
    installed: &InstalledSkills,
    screen: &mut Screen,
    what: &str,
    json: bool,
) -> CommandOutcome {
    let path = installed.host.expand(what);
    let folder = match installed.skills.get(what) {
        Some(skill) if !what.contains('/') => skill.skill().folder.clone(),
        _ if path.is_dir() => path,
        _ => return Err(installed.unknown(what)),
    };
    let publishers = &installed.shelf.settings().publishers;
    let signature = chela_skills::verify(&folder);
    let known = match &signature {
        SkillSignature::Valid(key) => publishers.find(key),
        _ => None,
    };
    let exit = if known.is_some() {
        CommandExit::Fine
    } else {
        CommandExit::Findings
    };
    if json {
        let (state, publisher, why, differences) = match &signature {
            SkillSignature::Unsigned => ("unsigned", None, None, None),
            SkillSignature::Valid(key) => {
                let state = if known.is_some() {
                    "trusted"
                } else {
                    "unknown-publisher"
                };
                (state, Some(known.unwrap_or(key)), None, None)
            }
            SkillSignature::Broken(why) => {
                let differences = match why {
                    BrokenSignature::Differs(differences) => Some(differences),
                    _ => None,
                };
                ("broken", None, Some(why.to_string()), differences)
            }
        };
        screen.json(&json!({
            "folder": folder, "state": state, "why": why, "differences": differences,
            "publisher": publisher.map(|key| json!({
                "name": known.map(|key| key.comment.clone()), "fingerprint": key.fingerprint(), "key": key.to_string(),
            })),
            "unusablePublishers": publishers.unusable,
        }))?;
        return Ok(exit);
    }
    let paint = screen.paint;
    let shown = installed.host.compact(&folder);
    match (&signature, known) {
        (SkillSignature::Valid(_), Some(publisher)) => {
            screen.line(format!(
                "{} {shown}: every file matches the signature of {}.",
                paint.good("holds"),
                publisher.label()
            ))?;
        }
        (SkillSignature::Valid(key), None) => {
            screen.line(format!(
                "{} {shown}: the signature is valid, but you do not trust its publisher {}.",
                paint.warn("unknown"),
                key.fingerprint()
            ))?;
            screen.line(format!(
                "If you do: chela config set skills.trust.publishers '[\"{key} NAME\"]'"
            ))?;
        }
        (SkillSignature::Broken(why), _) => {
            screen.line(format!("{} {shown}: {why}.", paint.bad("refused")))?;
        }
        (SkillSignature::Unsigned, _) => {
            screen.line(format!("{} {shown} is not signed.", paint.warn("unsigned")))?;
        }
    }
    for unusable in &publishers.unusable {
        screen.line(format!("{} {unusable}", paint.warn("note:")))?;
    }
    Ok(exit)
}

pub fn keygen(host: &Host, screen: &mut Screen, file: &Path, name: Option<&str>) -> CommandOutcome {
    let path = host.expand(&file.display().to_string());
    let name = name.unwrap_or("skills");
    let public =
        new_key(&path, name, host).map_err(|error| unwritable(host.compact(&path), &error))?;
    screen.line(format!(
        "Wrote {} (keep it secret) and its public key.",
        host.compact(&path)
    ))?;
    screen.line(format!("To trust what you sign, others add: {public}"))?;
    Ok(CommandExit::Fine)
}
