//! `chela trust status`.

use std::io;

use chela_agent::skills::skills_of;
use chela_core::Host;
use chela_inspect::trust_report::{TrustReport, TrustSurvey, TrustedFile, TrustedSkill};
use chela_skills::{TrustLock, TrustState};
use chela_workspace::custody::WatchedFile;
use chela_workspace::trust::{
    FileVersion, FolderGround, HeldVersion, OnChange, TrustAct, TrustStanding, VersionWriter,
};

use super::AgentFiles;
use crate::cmd::CommandOutcome;
use crate::cmd::time::utc;
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen, count_noun, shorten};

pub(super) fn run(agent_files: &AgentFiles<'_>, screen: &mut Screen, json: bool) -> CommandOutcome {
    let files = agent_files.survey();
    let setup = agent_files.setup;
    let view = setup.view(&agent_files.agent)?;
    let skills = skills_of(&setup.host, &setup.loaded, &view);
    let lock = TrustLock::open(&agent_files.host().state_dir());
    let report = TrustReport::of(TrustSurvey {
        agent: &agent_files.agent,
        custody: &agent_files.custody,
        files: &files,
        skills: skills.skills(),
        lock: &lock,
    });
    match json {
        true => screen.json(&report)?,
        false => print_report(screen, agent_files.host(), &report)?,
    }
    Ok(CommandExit::Fine)
}

fn print_report(screen: &mut Screen, host: &Host, report: &TrustReport<'_>) -> io::Result<()> {
    let paint = screen.paint;
    screen.line(format!(
        "{}  {}",
        paint.bold(host.compact(report.workspace)),
        paint.dim(rule_in_words(report.ground, report.policy))
    ))?;
    if let Some(why) = &report.broken {
        let told = format!(
            "state/trust.json cannot be read ({why}): every file counts as changed by someone else until you approve it."
        );
        screen.paragraph("", &paint.bad(told))?;
    }
    if report.files.is_empty() {
        screen.line(match report.workspace.is_dir() {
            true => "  no file shapes this agent yet",
            false => "  there is no workspace yet: chela init",
        })?;
    }
    let rows: Vec<Vec<String>> = report.files.iter().map(|file| row(file, paint)).collect();
    screen.table("  ", &rows)?;
    for file in &report.files {
        if let Some(found) = file.found {
            let severity = found.severity.as_str();
            screen.paragraph(
                "  ",
                &format!("{}: {severity} suspicion: {}", file.file, found.what),
            )?;
        }
    }
    if !report.skills.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Skills"))?;
        let skills = report.skills.iter();
        let rows: Vec<Vec<String>> = skills.map(|skill| skill_row(skill, paint)).collect();
        screen.table("  ", &rows)?;
    }
    tell_what_waits(screen, report)
}

fn rule_in_words(ground: FolderGround, policy: OnChange) -> String {
    let whose = match ground {
        FolderGround::Own => "your own",
        FolderGround::Foreign => "someone else's folder",
    };
    let rule = match policy {
        OnChange::Allow => "what others change is used",
        OnChange::Warn => "what others change is used, with a warning",
        OnChange::Quarantine => "what others change is quarantined",
    };
    format!("{whose}; {rule}")
}

fn row(told: &TrustedFile<'_>, paint: ColourMode) -> Vec<String> {
    let file = told.watched;
    let version = told.record.and_then(|entry| entry.trusted.as_ref());
    let Some(judgement) = told.judgement else {
        let what = match file.proposed() {
            Some(_) => "the agent wants to write it",
            None => "recorded, but missing",
        };
        return vec![
            paint.dim("gone"),
            file.shown.clone(),
            String::new(),
            paint.dim(what),
        ];
    };
    let state = judgement.state;
    let mark = match state {
        TrustStanding::Trusted => paint.good(state.as_str()),
        TrustStanding::Deleted => paint.dim(state.as_str()),
        TrustStanding::Unknown | TrustStanding::Changed | TrustStanding::Gone => {
            paint.warn(state.as_str())
        }
        TrustStanding::Held | TrustStanding::Revoked => paint.bad(state.as_str()),
    };
    let (who, mut what) = match state {
        TrustStanding::Trusted => trusted_in_words(version),
        TrustStanding::Deleted => deleted_in_words(file),
        _ => (
            waiting_writer(file, state),
            used_in_words(file, judgement.act),
        ),
    };
    if file.proposed().is_some() {
        what.push_str("; a change is waiting for you");
    }
    vec![mark, file.shown.clone(), who, paint.dim(what)]
}

fn deleted_in_words(file: &WatchedFile) -> (String, String) {
    let gone = file.entry.as_ref().and_then(|entry| entry.gone.as_ref());
    match gone {
        Some(gone) => (
            gone.writer.as_str().to_owned(),
            format!(
                "{}  {}",
                utc(gone.at),
                how_in_words(&gone.writer, &gone.how)
            ),
        ),
        None => ("-".to_owned(), "removed".to_owned()),
    }
}

fn how_in_words(writer: &VersionWriter, how: &str) -> String {
    match writer {
        VersionWriter::Agent {
            turn,
            question: Some(question),
        } => format!("{how}, turn {turn}, allowed by you (question {question})"),
        VersionWriter::Agent { turn, .. } => format!("{how}, turn {turn}"),
        _ => how.to_owned(),
    }
}

fn trusted_in_words(version: Option<&FileVersion>) -> (String, String) {
    let Some(version) = version else {
        return ("chela".to_owned(), "as Chela wrote it".to_owned());
    };
    let how = how_in_words(&version.writer, &version.how);
    let trust = match version.trust < chela_core::Trust::Agent {
        true => ", read as untrusted content",
        false => "",
    };
    (
        version.writer.as_str().to_owned(),
        format!("{}  {}{trust}", utc(version.at), shorten(&how, 80)),
    )
}

fn waiting_writer(file: &WatchedFile, state: TrustStanding) -> String {
    match (
        state,
        file.entry.as_ref().and_then(|entry| entry.held.as_ref()),
    ) {
        (TrustStanding::Held, Some(HeldVersion { turn, .. })) => format!("agent, turn {turn}"),
        (TrustStanding::Revoked, _) => "-".to_owned(),
        _ => "someone else".to_owned(),
    }
}

fn used_in_words(file: &WatchedFile, act: TrustAct) -> String {
    match act {
        TrustAct::Use if file.judged.is_none() => "nothing used instead".to_owned(),
        TrustAct::Use => "used as it is".to_owned(),
        TrustAct::UseTrusted(hash) => format!("the trusted version {} is used", hash.short()),
        TrustAct::Withhold => "not used".to_owned(),
    }
}

fn tell_what_waits(screen: &mut Screen, report: &TrustReport<'_>) -> io::Result<()> {
    let files = report.files.iter();
    let waiting: Vec<&TrustedFile<'_>> = files.filter(|file| file.waits).collect();
    screen.blank()?;
    let skills = report.skills.iter().filter(|skill| skill.waits);
    let skills: Vec<&str> = skills.map(|skill| skill.skill).collect();
    for name in &skills {
        let told = format!(
            "Skill {name} is waiting for you: chela skills diff {name}, then chela skills trust \
                {name} or chela skills untrust {name}."
        );
        screen.paragraph("", &told)?;
    }
    match waiting.as_slice() {
        [] if skills.is_empty() => screen.line("Nothing is waiting for you."),
        [] => Ok(()),
        [one] => {
            let no = match one.is_agents() {
                true => "refuse",
                false => "restore",
            };
            screen.paragraph(
                "",
                &format!(
                    "1 file is waiting for you: chela trust diff {0}, then chela trust approve \
                        {0} or chela trust {no} {0}.",
                    one.file
                ),
            )
        }
        more => screen.paragraph(
            "",
            &format!(
                "{} are waiting for you: review them with `chela trust diff`, then run `chela \
                    trust approve FILE` or --all.",
                count_noun(more.len(), "file")
            ),
        ),
    }
}

fn skill_row(skill: &TrustedSkill<'_>, paint: ColourMode) -> Vec<String> {
    let mark = match skill.state {
        TrustState::Trusted | TrustState::New => paint.good(skill.state.as_str()),
        TrustState::Changed => paint.warn(skill.state.as_str()),
        TrustState::Quarantined => paint.bad(skill.state.as_str()),
    };
    vec![mark, skill.skill.to_owned(), paint.dim(skill.reason)]
}
