//! `chela audit …`: what was decided and done, and whether the record is whole.

mod journalled;

use std::io::BufReader;
use std::path::Path;

use chela_core::Host;
use chela_ledger::{
    AuditFilter, AuditKind, DamageKind, DamagedPlace, ExportError, InstallationKey, Ledger,
    LedgerDamage, VerifyReport, ledger_file, verify_absent, verify_export,
};
use chela_session::RecordLoss;
use chela_store::block_on;
use chela_tools::approvals::shown;

use journalled::{journalled_calls, missing_calls};

use super::time::utc;
use super::turn::number;
use super::{CommandOutcome, ledger};
use crate::cli::audit::AuditCommand;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::{unreadable, unwritable};
use crate::screen::{Screen, count_noun, shorten};

impl From<ExportError> for CommandError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Ledger(error) => error.into(),
            ExportError::Write(error) => error.into(),
            ExportError::Line { .. } => Self::new(error),
        }
    }
}

pub fn run(host: &Host, screen: &mut Screen, command: AuditCommand) -> CommandOutcome {
    match command {
        AuditCommand::Verify {
            file: Some(file),
            json,
        } => verify_file(host, screen, &host.expand(&file.to_string_lossy()), json),
        AuditCommand::Verify { file: None, json } => {
            if let Some(loss) = ledger::ledger_loss(host) {
                return tell_absent(host, screen, Some(&loss), json);
            }
            match Ledger::open_existing(host)? {
                Some(ledger) => {
                    // Whoever acts notes it in the record first: so the journals are read first.
                    let changes = journalled_calls(host);
                    let mut verdict = block_on(ledger.verify())?;
                    verdict.damage.extend(missing_calls(&ledger, changes)?);
                    tell_verdict(screen, &verdict, json)
                }
                None => tell_absent(host, screen, None, json),
            }
        }
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
            ledger::with_ledger(host, screen, |ledger, screen| {
                show(ledger, screen, &filter, json)
            })
        }
        AuditCommand::Export { output } => ledger::with_ledger(host, screen, |ledger, screen| {
            export(host, ledger, screen, output.as_deref())
        }),
    }
}

/// A ledger that was never begun is no damage; one that is gone is.
fn tell_absent(
    host: &Host,
    screen: &mut Screen,
    loss: Option<&RecordLoss>,
    as_json: bool,
) -> CommandOutcome {
    let mut verdict = verify_absent(host);
    if let Some(loss) = loss
        && verdict.is_sound()
    {
        verdict.damage.push(LedgerDamage {
            place: DamagedPlace::File,
            what: DamageKind::Missing,
            words: loss.words_before_new_one(),
        });
    }
    match verdict.is_sound() && !as_json {
        true => ledger::tell_none(screen),
        false => tell_verdict(screen, &verdict, as_json),
    }
}

fn tell_verdict(screen: &mut Screen, verdict: &VerifyReport, as_json: bool) -> CommandOutcome {
    if as_json {
        screen.json(verdict)?;
        return Ok(exit(&verdict.damage));
    }
    let size = format!(
        "{}, {}, {}",
        count_noun(number(verdict.entries), "entry"),
        count_noun(number(verdict.requests), "request"),
        count_noun(number(verdict.contents), "stored text"),
    );
    tell(screen, &verdict.damage, &size)?;
    if let (true, Some((seq, hash))) = (verdict.is_sound(), verdict.newest) {
        screen.line(format!("  the newest entry is {seq}, SHA-256 {hash}"))?;
    }
    Ok(exit(&verdict.damage))
}

fn verify_file(host: &Host, screen: &mut Screen, file: &Path, as_json: bool) -> CommandOutcome {
    let opened = std::fs::File::open(file).map_err(|error| unreadable(file.display(), &error))?;
    let key = InstallationKey::beside(&ledger_file(host));
    let report = verify_export(&mut BufReader::new(opened), key).map_err(|error| match error {
        ExportError::Write(error) => unreadable(file.display(), &error),
        ExportError::Line { .. } => CommandError::new(format!("{}: {error}", file.display()))
            .hint("`chela audit export -o FILE` writes one"),
        ExportError::Ledger(error) => error.into(),
    })?;
    if as_json {
        screen.json(&report.damage)?;
        return Ok(exit(&report.damage));
    }
    tell(screen, &report.damage, &file.display().to_string())?;
    if !report.proofs_checked {
        screen.line(
            "  only its hashes were checked: who wrote the entries can be verified only with \
                that installation's key",
        )?;
    }
    Ok(exit(&report.damage))
}

fn tell(screen: &mut Screen, damage: &[LedgerDamage], what: &str) -> Result<(), CommandError> {
    let paint = screen.paint;
    if damage.is_empty() {
        screen.line(format!("{} {what}", paint.good("Intact:")))?;
        return Ok(());
    }
    screen.line(format!("{} {what}", paint.bad("Not intact:")))?;
    for one in damage {
        screen.line(format!("  {} {}", paint.bad("✗"), shown(&one.words)))?;
    }
    Ok(())
}

fn exit(damage: &[LedgerDamage]) -> CommandExit {
    match damage {
        [] => CommandExit::Fine,
        _ => CommandExit::Findings,
    }
}

fn show(
    ledger: &Ledger,
    screen: &mut Screen,
    filter: &AuditFilter,
    as_json: bool,
) -> CommandOutcome {
    let entries = block_on(ledger.audit(filter))?;
    if as_json {
        screen.json(&entries)?;
        return Ok(CommandExit::Fine);
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
    Ok(CommandExit::Fine)
}

fn export(
    host: &Host,
    ledger: &Ledger,
    screen: &mut Screen,
    output: Option<&Path>,
) -> CommandOutcome {
    let mut lines = Vec::new();
    let count = block_on(ledger.export_audit(&mut lines))?;
    match output {
        None => screen.bytes(&lines)?,
        Some(path) => {
            let path = host.expand(&path.to_string_lossy());
            std::fs::write(&path, &lines)
                .map_err(|error| unwritable(host.compact(&path), &error))?;
            screen.line(format!("Wrote {count} entries to {}", host.compact(&path)))?;
        }
    }
    Ok(CommandExit::Fine)
}

fn kind_named(word: &str) -> Result<AuditKind, CommandError> {
    AuditKind::named(word).ok_or_else(|| {
        let all = AuditKind::ALL.map(AuditKind::as_str).join(", ");
        CommandError::usage(format!("`{word}` is not a kind of entry"))
            .hint(format!("the kinds are {all}"))
    })
}
