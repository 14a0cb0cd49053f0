//! `chela trust status`.

use chela_agent::skills::skills_of;
use chela_skills::{AgentSkill, LockEntry, SkillSource, TrustLock, TrustNews, TrustState};
use chela_workspace::custody::WatchedFile;
use chela_workspace::trust::{
    FileVersion, FolderGround, HeldVersion, OnChange, TrustAct, TrustStanding, VersionWriter,
};
use serde_json::{Value, json};

use super::AgentFiles;
use crate::cmd::CommandOutcome;
use crate::cmd::time::utc;
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen, count_noun, shorten};

pub(super) fn run(agent_files: &AgentFiles<'_>, screen: &mut Screen, json: bool) -> CommandOutcome {
    let files = agent_files.survey();
    let skills = skills(agent_files);
    let records = agent_files.custody.records();
    let root = agent_files.custody.root();
    let ground = match agent_files
        .custody
        .foreign_root(&records, &root.join("AGENTS.md"))
    {
        Some(_) => FolderGround::Foreign,
        None => FolderGround::Own,
    };
    let policy = agent_files.custody.policies().on(ground);
    let lock = TrustLock::open(&agent_files.host().state_dir());
    if json {
        screen.json(&json!({
            "agent": agent_files.agent,
            "workspace": root,
            "ground": ground,
            "policy": policy,
            "broken": records.broken,
            "files": files.iter().map(row_json).collect::<Vec<_>>(),
            "skills": skills
                .iter()
                .map(|skill| skill_json(skill, lock.entry(skill.skill())))
                .collect::<Vec<_>>(),
        }))?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    screen.line(format!(
        "{}  {}",
        paint.bold(agent_files.host().compact(root)),
        paint.dim(rule_in_words(ground, policy))
    ))?;
    if let Some(why) = &records.broken {
        let told = format!(
            "state/trust.json cannot be read ({why}): every file counts as changed by someone else until you approve it."
        );
        screen.paragraph("", &paint.bad(told))?;
    }
    if files.is_empty() {
        screen.line(match root.is_dir() {
            true => "  no file shapes this agent yet",
            false => "  there is no workspace yet: chela init",
        })?;
    }
    let rows: Vec<Vec<String>> = files.iter().map(|file| row(file, paint)).collect();
    screen.table("  ", &rows)?;
    for file in &files {
        if let Some(found) = file
            .judged
            .as_ref()
            .and_then(|judged| judged.found.as_ref())
        {
            let severity = found.severity.as_str();
            screen.paragraph(
                "  ",
                &format!("{}: {severity} suspicion: {}", file.shown, found.what),
            )?;
        }
    }
    if !skills.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Skills"))?;
        let rows: Vec<Vec<String>> = skills.iter().map(|skill| skill_row(skill, paint)).collect();
        screen.table("  ", &rows)?;
    }
    tell_what_waits(screen, &files, &skills)?;
    Ok(CommandExit::Fine)
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

fn row(file: &WatchedFile, paint: ColourMode) -> Vec<String> {
    let version = file.entry.as_ref().and_then(|entry| entry.trusted.as_ref());
    let judged = file.judged.as_ref().map(|judged| judged.judgement);
    let Some(judgement) = judged.or(file.absent.map(|absent| absent.judgement)) else {
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

fn tell_what_waits(
    screen: &mut Screen,
    files: &[WatchedFile],
    skills: &[AgentSkill],
) -> std::io::Result<()> {
    let waiting: Vec<&WatchedFile> = files.iter().filter(|file| file.waits()).collect();
    screen.blank()?;
    let skills: Vec<&str> = skills
        .iter()
        .filter(|skill| skill.entry.trust.news == TrustNews::Told)
        .map(|skill| skill.skill().name.as_str())
        .collect();
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
            let no = match is_agents(one) {
                true => "refuse",
                false => "restore",
            };
            screen.paragraph(
                "",
                &format!(
                    "1 file is waiting for you: chela trust diff {0}, then chela trust approve \
                        {0} or chela trust {no} {0}.",
                    one.shown
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

/// Whether what waits is the agent's doing.
fn is_agents(file: &WatchedFile) -> bool {
    let entry = file.entry.as_ref();
    entry.is_some_and(|entry| entry.held.is_some() || entry.proposed.is_some())
}

fn row_json(file: &WatchedFile) -> Value {
    let judged = file.judged.as_ref();
    let judgement = judged
        .map(|judged| judged.judgement)
        .or(file.absent.map(|absent| absent.judgement));
    json!({
        "file": file.shown,
        "path": file.path,
        "kind": file.kind,
        "state": judgement.map_or("gone", |judgement| judgement.state.as_str()),
        "waits": file.waits(),
        "hash": judged.map(|judged| judged.hash),
        "ground": judged.map(|judged| judged.ground),
        "used": judgement.map(|judgement| match judgement.act {
            TrustAct::Use if judged.is_none() => "nothing",
            TrustAct::Use => "file",
            TrustAct::UseTrusted(_) => "trusted-version",
            TrustAct::Withhold => "nothing",
        }),
        "trust": judgement.map(|judgement| judgement.trust),
        "found": judged.and_then(|judged| judged.found.as_ref()),
        "record": file.entry,
    })
}

/// Those of the build are as trustworthy as the build.
fn skills(agent_files: &AgentFiles<'_>) -> Vec<AgentSkill> {
    let setup = agent_files.setup;
    let Some(view) = setup.loaded.agent(&agent_files.agent) else {
        return Vec::new();
    };
    let skills = skills_of(&setup.host, &setup.loaded, &view);
    skills
        .skills()
        .iter()
        .filter(|skill| {
            skill.skill().source != SkillSource::Bundled
                || skill.entry.trust.state != TrustState::Trusted
        })
        .cloned()
        .collect()
}

fn skill_row(skill: &AgentSkill, paint: ColourMode) -> Vec<String> {
    let trust = &skill.entry.trust;
    let mark = match trust.state {
        TrustState::Trusted | TrustState::New => paint.good(trust.state.as_str()),
        TrustState::Changed => paint.warn(trust.state.as_str()),
        TrustState::Quarantined => paint.bad(trust.state.as_str()),
    };
    vec![mark, skill.skill().name.clone(), paint.dim(&trust.reason)]
}

fn skill_json(skill: &AgentSkill, record: Option<&LockEntry>) -> Value {
    json!({
        "record": record,
        "waits": skill.entry.trust.news == TrustNews::Told,
        "skill": skill.skill().name,
        "path": skill.skill().file,
        "state": skill.entry.trust.state,
        "reason": skill.entry.trust.reason,
        "tree": skill.skill().tree,
    })
}
