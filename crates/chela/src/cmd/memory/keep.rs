//! `chela memory forget` and `chela memory lint`: keeping memory good.

use std::path::PathBuf;

use chela_memory::forget::{ForgetCandidate, ForgetTarget};
use chela_memory::lint::{FindingKind, LintLimits, LintReport, lint_memory};
use chela_workspace::trust::TrustRecords;
use serde_json::json;

use super::{explained, open};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, shorten};

/// What was typed as what is meant.
pub fn parse_target(
    text: Option<String>,
    file: Option<String>,
    lines: Option<&str>,
) -> Result<ForgetTarget, CommandError> {
    match (text, file, lines) {
        (Some(text), None, _) if text.trim().chars().count() >= 3 => Ok(ForgetTarget::Text(text)),
        (Some(_), None, _) => Err(CommandError::usage(
            "fewer than three characters would match too much",
        )),
        (_, Some(label), Some(lines)) => {
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            match (first.trim().parse(), last.trim().parse()) {
                (Ok(first), Ok(last)) if first >= 1 && first <= last => {
                    Ok(ForgetTarget::Lines { label, first, last })
                }
                _ => Err(
                    CommandError::usage(format!("`{lines}` is not a line range"))
                        .hint("--lines 12-14"),
                ),
            }
        }
        _ => Err(CommandError::usage("say what to forget")),
    }
}

pub fn forget(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    what: &ForgetTarget,
    yes: bool,
    as_json: bool,
) -> CommandOutcome {
    let opened = open(setup, agent)?;
    let mut memory = opened.memory()?;
    let doomed = memory.find_to_forget(what);
    if doomed.is_empty() {
        let finished = memory.finish_forgetting().map_err(explained)?;
        if finished && !as_json {
            screen.line("Finished forgetting what an interrupted run had left.")?;
            return Ok(CommandExit::Fine);
        }
        if as_json {
            screen.json(&json!({ "entries": [], "forgotten": finished }))?;
        } else {
            screen.line("Nothing in memory matches; `chela memory search` shows what is in it.")?;
        }
        return Ok(CommandExit::Findings);
    }
    if !yes {
        if as_json {
            screen.json(&json!({ "entries": doomed, "forgotten": false }))?;
            return Ok(CommandExit::Fine);
        }
        for entry in &doomed {
            let from = if entry.from_file {
                ""
            } else {
                " (from the index only)"
            };
            screen.line(format!(
                "{}#L{}-L{}{from}",
                screen.paint.accent(&entry.label),
                entry.start_line,
                entry.end_line
            ))?;
            screen.line(format!(
                "  {}",
                shorten(&entry.text.replace('\n', " "), 100)
            ))?;
        }
        screen.line(format!(
            "{} would be removed. Add --yes to forget.",
            entries(doomed.len())
        ))?;
        return Ok(CommandExit::Fine);
    }
    let trusted = trusted_files(setup, agent, &doomed)?;
    let gone = memory.forget(doomed).map_err(explained)?;
    let trusted: Vec<&str> = trusted.iter().map(String::as_str).collect();
    crate::cmd::trust::owner_wrote(
        setup,
        &setup.agent(agent.agent.as_deref())?,
        &trusted,
        "chela memory forget",
    );
    forget_versions(setup, agent, &gone.entries)?;
    if as_json {
        screen
            .json(&json!({ "entries": gone.entries, "copies": gone.copies, "forgotten": true }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!("Forgot {}.", entries(gone.entries.len())))?;
    for copy in &gone.copies {
        screen.line(format!("  copy: {}", setup.host.compact(copy)))?;
    }
    if !gone.copies.is_empty() {
        screen.paragraph(
            "",
            "The copy, conversations in which it was said and the workspace's git history still \
             contain it: delete those by hand if it must be gone for good.",
        )?;
    }
    Ok(CommandExit::Fine)
}

/// Trusted versions of the files from before are not kept with what was forgotten in them.
fn forget_versions(
    setup: &CommandSetup,
    agent: &AgentArg,
    entries: &[ForgetCandidate],
) -> Result<(), CommandError> {
    let view = setup.view(&setup.agent(agent.agent.as_deref())?)?;
    let custody = chela_agent::trust::custody_of(&setup.host, &setup.loaded, &view);
    let in_files = entries.iter().filter(|entry| entry.from_file);
    let texts: Vec<(PathBuf, String)> = in_files
        .map(|entry| {
            let path = custody.resolved(&custody.root().join(&entry.label));
            (path, entry.text.clone())
        })
        .collect();
    let gone = TrustRecords::forget_texts(&setup.host, &texts).map_err(CommandError::new)?;
    tracing::info!(gone, "earlier versions went with what was forgotten");
    Ok(())
}

/// The files that change and were trusted before; what somebody else wrote stays somebody else's.
fn trusted_files(
    setup: &CommandSetup,
    agent: &AgentArg,
    doomed: &[ForgetCandidate],
) -> Result<Vec<String>, CommandError> {
    let view = setup.view(&setup.agent(agent.agent.as_deref())?)?;
    let custody = chela_agent::trust::custody_of(&setup.host, &setup.loaded, &view);
    let records = custody.records();
    let labels = doomed.iter().filter(|entry| entry.from_file);
    let mut labels: Vec<String> = labels.map(|entry| entry.label.clone()).collect();
    labels.sort();
    labels.dedup();
    labels.retain(|label| {
        let path = custody.root().join(label);
        let judged = custody.look(&path).map(|(judged, _)| judged);
        records.entry(&custody.resolved(&path)).is_some()
            && judged.is_some_and(|judged| !judged.judgement.waits())
    });
    Ok(labels)
}

fn entries(count: usize) -> String {
    if count == 1 {
        "1 entry".into()
    } else {
        format!("{count} entries")
    }
}

pub fn lint(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    diff: bool,
    as_json: bool,
) -> CommandOutcome {
    let opened = open(setup, agent)?;
    let memory = opened.memory()?;
    let limits = LintLimits {
        memory_chars: usize::try_from(setup.loaded.config.memory.lint.max_chars)
            .unwrap_or(usize::MAX),
        ..LintLimits::default()
    };
    let LintReport { findings, proposal } = lint_memory(&memory, &limits);
    if diff {
        match proposal {
            Some(proposal) => screen.raw(&proposal.diff)?,
            None => screen.line("Nothing to move out of MEMORY.md.")?,
        }
        return Ok(CommandExit::Fine);
    }
    if as_json {
        let diff = proposal.map(|proposal| proposal.diff);
        screen.json(&json!({ "findings": findings, "diff": diff }))?;
    } else {
        let paint = screen.paint;
        for finding in &findings {
            let kind = match finding.kind {
                FindingKind::Duplicate => "duplicate",
                FindingKind::Contradiction => "contradiction",
                FindingKind::StaleDate => "stale date",
                FindingKind::Oversized => "oversized",
            };
            screen.line(format!(
                "{} {}",
                paint.warn(format!("{kind}:")),
                finding.message
            ))?;
            for place in &finding.places {
                let text = shorten(&place.text.replace('\n', " "), 80);
                screen.line(format!("  {}:{}  {text}", place.label, place.line))?;
            }
        }
        match (findings.len(), proposal) {
            (0, _) => screen.line("No problems found.")?,
            (_, Some(_)) => screen
                .line("`chela memory lint --diff` proposes moving entries to a daily note.")?,
            (_, None) => {}
        }
    }
    Ok(if findings.is_empty() {
        CommandExit::Fine
    } else {
        CommandExit::Findings
    })
}
