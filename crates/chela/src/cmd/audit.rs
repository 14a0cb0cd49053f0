//! `chela audit …`: what was decided and done, and whether the record is whole.

use std::io::BufReader;
use std::path::Path;

use chela_core::Host;
use chela_ledger::{
    AuditFilter, AuditKind, Damage, ExportError, Ledger, Verdict, verify_absent, verify_export,
};
use chela_store::block_on;
use chela_tools::approvals::shown;

use super::time::utc;
use super::turn::number;
use super::{Outcome, ledger};
use crate::cli::audit::AuditCommand;
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted, shorten};

impl From<ExportError> for Fail {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Ledger(error) => error.into(),
            ExportError::Write(error) => error.into(),
            ExportError::Line { .. } => Self::new(error),
        }
    }
}

pub fn run(host: &Host, screen: &mut Screen, command: AuditCommand) -> Outcome {
    match command {
        AuditCommand::Verify {
            file: Some(file),
            json,
        } => verify_file(screen, &host.expand(&file.to_string_lossy()), json),
        AuditCommand::Verify { file: None, json } => match Ledger::open_existing(host)? {
            Some(ledger) => tell_verdict(screen, &block_on(ledger.verify())?, json),
            None => tell_absent(host, screen, json),
        },
        AuditCommand::Show {
            kind,
            about,
            since,
            limit,
            json,
        } => {
            let kind = kind.as_deref().map(kind_named).transpose()?;
            let filter = AuditFilter {
                kind,
                since,
                about,
                limit: Some(limit),
            };
            ledger::with(host, screen, |ledger, screen| {
                show(ledger, screen, &filter, json)
            })
        }
        AuditCommand::Export { output } => ledger::with(host, screen, |ledger, screen| {
            export(host, ledger, screen, output.as_deref())
        }),
    }
}

/// A ledger that was never begun is no damage; one that is gone is.
fn tell_absent(host: &Host, screen: &mut Screen, as_json: bool) -> Outcome {
    let verdict = verify_absent(host);
    match verdict.is_sound() && !as_json {
        true => ledger::tell_none(screen),
        false => tell_verdict(screen, &verdict, as_json),
    }
}

fn tell_verdict(screen: &mut Screen, verdict: &Verdict, as_json: bool) -> Outcome {
    if as_json {
        screen.json(verdict)?;
        return Ok(exit(&verdict.damage));
    }
    let size = format!(
        "{}, {}, {}",
        match verdict.entries {
            1 => "1 entry".to_owned(),
            many => format!("{} entries", chela_core::grouped(number(many))),
        },
        counted(number(verdict.requests), "request"),
        counted(number(verdict.contents), "content"),
    );
    tell(screen, &verdict.damage, &size)?;
    if let (true, Some((seq, hash))) = (verdict.is_sound(), verdict.newest) {
        screen.line(format!("  the newest entry is {seq}, SHA-256 {hash}"))?;
    }
    Ok(exit(&verdict.damage))
}

fn verify_file(screen: &mut Screen, file: &Path, as_json: bool) -> Outcome {
    let opened = std::fs::File::open(file)
        .map_err(|error| Fail::new(format!("cannot read {}: {error}", file.display())))?;
    let damage = verify_export(&mut BufReader::new(opened))?;
    if as_json {
        screen.json(&damage)?;
    } else {
        tell(screen, &damage, &file.display().to_string())?;
    }
    Ok(exit(&damage))
}

fn tell(screen: &mut Screen, damage: &[Damage], what: &str) -> Result<(), Fail> {
    let paint = screen.paint;
    if damage.is_empty() {
        screen.line(format!(
            "{} {what}",
            paint.good("Everything is as it was written:")
        ))?;
        return Ok(());
    }
    screen.line(format!(
        "{} {what}",
        paint.bad("Not everything is as it was written:")
    ))?;
    for one in damage {
        screen.line(format!("  {} {}", paint.bad("✗"), shown(&one.words)))?;
    }
    Ok(())
}

fn exit(damage: &[Damage]) -> Exit {
    match damage {
        [] => Exit::Fine,
        _ => Exit::Findings,
    }
}

fn show(ledger: &Ledger, screen: &mut Screen, filter: &AuditFilter, as_json: bool) -> Outcome {
    let entries = block_on(ledger.audit(filter))?;
    if as_json {
        screen.json(&entries)?;
        return Ok(Exit::Fine);
    }
    let paint = screen.paint;
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                paint.accent(entry.seq),
                paint.dim(utc(entry.at / 1000)),
                shown(&entry.kind),
                shorten(&shown(&entry.body), 100),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(Exit::Fine)
}

fn export(host: &Host, ledger: &Ledger, screen: &mut Screen, output: Option<&Path>) -> Outcome {
    let mut lines = Vec::new();
    let count = block_on(ledger.export_audit(&mut lines))?;
    match output {
        None => screen.bytes(&lines)?,
        Some(path) => {
            let path = host.expand(&path.to_string_lossy());
            std::fs::write(&path, &lines)
                .map_err(|error| Fail::new(format!("cannot write {}: {error}", path.display())))?;
            screen.line(format!("{count} entries are in {}", host.compact(&path)))?;
        }
    }
    Ok(Exit::Fine)
}

fn kind_named(word: &str) -> Result<AuditKind, Fail> {
    AuditKind::named(word).ok_or_else(|| {
        let all = AuditKind::ALL.map(AuditKind::as_str).join(", ");
        Fail::usage(format!("`{word}` is no kind of entry")).hint(format!("there are {all}"))
    })
}
