//! `chela skills sign`, `verify` and `keygen`: who stands behind a skill.

use std::fs;
use std::path::Path;

use chela_core::Host;
use chela_skills::{BrokenSignature, Package, ScanVerdict, SecretKey, Signature, inspect, new_key};
use serde_json::json;

use super::Desk;
use crate::cmd::Outcome;
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted};

pub fn sign(host: &Host, screen: &mut Screen, folder: &Path, key: &Path) -> Outcome {
    let folder = host.cwd.join(folder);
    let key_file = host.expand(&key.display().to_string());
    if !folder.is_dir() {
        return Err(Fail::new(format!("{} is no folder", host.compact(&folder))));
    }
    let text = fs::read_to_string(&key_file).map_err(|error| {
        Fail::new(format!(
            "cannot read the key {}: {error}",
            host.compact(&key_file)
        ))
        .hint("make one: chela skills keygen FILE")
    })?;
    let key = SecretKey::parse(&text)
        .map_err(|error| Fail::new(format!("{}: {error}", host.compact(&key_file))))?;
    let report = inspect(&Package::read(&folder));
    if report.verdict == ScanVerdict::Dangerous {
        let paint = screen.paint;
        screen.line(format!(
            "{} others will see this before they trust it:",
            paint.warn("note:")
        ))?;
        for found in report.findings.iter().take(3) {
            super::scan::finding(screen, "  ", found)?;
        }
    }
    let files = chela_skills::sign(&folder, &key).map_err(Fail::new)?;
    screen.line(format!(
        "Signed {} of {}.",
        counted(files, "file"),
        host.compact(&folder)
    ))?;
    screen.line(format!("Publisher: {}", key.public()))?;
    screen.line("Any later change needs a new signature.")?;
    Ok(Exit::Fine)
}

pub fn verify(desk: &Desk, screen: &mut Screen, what: &str, json: bool) -> Outcome {
    let path = desk.host.expand(what);
    let folder = match desk.skills.get(what) {
        Some(skill) if !what.contains('/') => skill.skill().folder.clone(),
        _ if path.is_dir() => path,
        _ => return Err(desk.unknown(what)),
    };
    let publishers = &desk.shelf.settings().publishers;
    let signature = chela_skills::verify(&folder);
    let known = match &signature {
        Signature::Valid(key) => publishers.find(key),
        _ => None,
    };
    let exit = if known.is_some() {
        Exit::Fine
    } else {
        Exit::Findings
    };
    if json {
        let (state, publisher, why, differences) = match &signature {
            Signature::Unsigned => ("unsigned", None, None, None),
            Signature::Valid(key) => {
                let state = if known.is_some() {
                    "trusted"
                } else {
                    "unknown-publisher"
                };
                (state, Some(known.unwrap_or(key)), None, None)
            }
            Signature::Broken(why) => {
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
    let shown = desk.host.compact(&folder);
    match (&signature, known) {
        (Signature::Valid(_), Some(publisher)) => {
            screen.line(format!(
                "{} {shown}: every file is as {} signed it.",
                paint.good("holds"),
                publisher.label()
            ))?;
        }
        (Signature::Valid(key), None) => {
            screen.line(format!(
                "{} {shown}: the signature holds, but you do not know the publisher {}.",
                paint.warn("unknown"),
                key.fingerprint()
            ))?;
            screen.line(format!(
                "If you do: chela config set skills.trust.publishers '[\"{key} NAME\"]'"
            ))?;
        }
        (Signature::Broken(why), _) => {
            screen.line(format!("{} {shown}: {why}.", paint.bad("refused")))?;
        }
        (Signature::Unsigned, _) => {
            screen.line(format!(
                "{} {shown} carries no signature.",
                paint.warn("unsigned")
            ))?;
        }
    }
    for unusable in &publishers.unusable {
        screen.line(format!("{} {unusable}", paint.warn("note:")))?;
    }
    Ok(exit)
}

pub fn keygen(host: &Host, screen: &mut Screen, file: &Path, name: Option<&str>) -> Outcome {
    let path = host.expand(&file.display().to_string());
    let name = name.unwrap_or("skills");
    let public = new_key(&path, name, host).map_err(|error| {
        Fail::new(format!("cannot write {}: {error}", host.compact(&path)))
            .hint("nothing is written over; choose another name")
    })?;
    screen.line(format!(
        "Wrote {} (keep it to yourself) and its public half.",
        host.compact(&path)
    ))?;
    screen.line(format!("Others trust what you sign with: {public}"))?;
    Ok(Exit::Fine)
}
