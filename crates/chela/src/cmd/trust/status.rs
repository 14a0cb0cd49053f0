//! `chela trust status`.

use chela_agent::skills::skills_of;
use chela_skills::{AgentSkill, Source, TrustState};
use chela_workspace::trust::{Act, Ground, Held, OnChange, State, Version, Watched, Writer};
use serde_json::{Value, json};

use super::Desk;
use crate::cmd::Outcome;
use crate::cmd::time::utc;
use crate::fail::Exit;
use crate::screen::{Paint, Screen, counted, shorten};

pub(super) fn run(desk: &Desk<'_>, screen: &mut Screen, json: bool) -> Outcome {
    let files = desk.survey();
    let skills = skills(desk);
    let book = desk.custody.book();
    let root = desk.custody.root();
    let ground = match desk.custody.foreign_root(&book, &root.join("AGENTS.md")) {
        Some(_) => Ground::Foreign,
        None => Ground::Own,
    };
    let policy = desk.custody.policies().on(ground);
    if json {
        screen.json(&json!({
            "agent": desk.agent,
            "workspace": root,
            "ground": ground,
            "policy": policy,
            "broken": book.broken,
            "files": files.iter().map(row_json).collect::<Vec<_>>(),
            "skills": skills.iter().map(skill_json).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Fine);
    }
    let paint = screen.paint;
    screen.line(format!(
        "{}  {}",
        paint.bold(desk.host().compact(root)),
        paint.dim(rule_in_words(ground, policy))
    ))?;
    if let Some(why) = &book.broken {
        let told = format!(
            "state/trust.json cannot be read ({why}): every file counts as changed by someone else until you approve it."
        );
        screen.paragraph("", &paint.bad(told))?;
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
    tell_what_waits(screen, &files)?;
    Ok(Exit::Fine)
}

fn rule_in_words(ground: Ground, policy: OnChange) -> String {
    let whose = match ground {
        Ground::Own => "your own",
        Ground::Foreign => "somebody else's folder",
    };
    let rule = match policy {
        OnChange::Allow => "what others change is used",
        OnChange::Warn => "what others change is used, and told",
        OnChange::Quarantine => "what others change is set aside",
    };
    format!("{whose}; {rule}")
}

fn row(file: &Watched, paint: Paint) -> Vec<String> {
    let version = file.entry.as_ref().and_then(|entry| entry.trusted.as_ref());
    let Some(judged) = &file.judged else {
        return vec![
            paint.dim("gone"),
            file.shown.clone(),
            String::new(),
            paint.dim("on record, but not there"),
        ];
    };
    let state = judged.judgement.state;
    let mark = match state {
        State::Trusted => paint.good(state.as_str()),
        State::Unknown | State::Changed => paint.warn(state.as_str()),
        State::Held | State::Revoked => paint.bad(state.as_str()),
    };
    let (who, what) = match state {
        State::Trusted => trusted_in_words(version),
        _ => (
            waiting_writer(file, state),
            used_in_words(judged.judgement.act),
        ),
    };
    vec![mark, file.shown.clone(), who, paint.dim(what)]
}

fn trusted_in_words(version: Option<&Version>) -> (String, String) {
    let Some(version) = version else {
        return ("chela".to_owned(), "as Chela wrote it".to_owned());
    };
    let how = match &version.writer {
        Writer::Agent {
            turn,
            question: Some(question),
        } => format!("turn {turn}, allowed by you ({question})"),
        Writer::Agent { turn, .. } => format!("turn {turn}"),
        _ => version.how.clone(),
    };
    let trust = match version.trust < chela_core::Trust::Agent {
        true => ", read as foreign text",
        false => "",
    };
    (
        version.writer.as_str().to_owned(),
        format!("{}  {}{trust}", utc(version.at), shorten(&how, 60)),
    )
}

fn waiting_writer(file: &Watched, state: State) -> String {
    match (
        state,
        file.entry.as_ref().and_then(|entry| entry.held.as_ref()),
    ) {
        (State::Held, Some(Held { turn, .. })) => format!("agent, turn {turn}"),
        (State::Revoked, _) => "-".to_owned(),
        _ => "someone else".to_owned(),
    }
}

fn used_in_words(act: Act) -> String {
    match act {
        Act::Use => "used as it is".to_owned(),
        Act::UseTrusted(hash) => format!("the trusted version {} is used", hash.short()),
        Act::Withhold => "not used".to_owned(),
    }
}

fn tell_what_waits(screen: &mut Screen, files: &[Watched]) -> std::io::Result<()> {
    let waits = |file: &&Watched| {
        let judged = file.judged.as_ref();
        judged.is_some_and(|judged| judged.judgement.waits())
    };
    let waiting: Vec<&Watched> = files.iter().filter(waits).collect();
    screen.blank()?;
    match waiting.as_slice() {
        [] => screen.line("Nothing waits for you."),
        [one] => screen.paragraph(
            "",
            &format!(
                "1 file waits for you: chela trust diff {0}, then chela trust approve {0} or chela trust restore {0}.",
                one.shown
            ),
        ),
        more => screen.paragraph(
            "",
            &format!(
                "{} wait for you: chela trust diff shows them, chela trust approve FILE or --all settles them.",
                counted(more.len(), "file")
            ),
        ),
    }
}

fn row_json(file: &Watched) -> Value {
    let judged = file.judged.as_ref();
    json!({
        "file": file.shown,
        "path": file.path,
        "kind": file.kind,
        "state": judged.map_or("gone", |judged| judged.judgement.state.as_str()),
        "hash": judged.map(|judged| judged.hash),
        "ground": judged.map(|judged| judged.ground),
        "used": judged.map(|judged| match judged.judgement.act {
            Act::Use => "file",
            Act::UseTrusted(_) => "trusted-version",
            Act::Withhold => "nothing",
        }),
        "trust": judged.map(|judged| judged.judgement.trust),
        "found": judged.and_then(|judged| judged.found.as_ref()),
        "record": file.entry,
    })
}

/// Those of the build are as trustworthy as the build.
fn skills(desk: &Desk<'_>) -> Vec<AgentSkill> {
    let setup = desk.setup;
    let Some(view) = setup.loaded.agent(&desk.agent) else {
        return Vec::new();
    };
    let skills = skills_of(&setup.host, &setup.loaded, &view);
    skills
        .skills()
        .iter()
        .filter(|skill| {
            skill.skill().source != Source::Bundled
                || skill.entry.trust.state != TrustState::Trusted
        })
        .cloned()
        .collect()
}

fn skill_row(skill: &AgentSkill, paint: Paint) -> Vec<String> {
    let trust = &skill.entry.trust;
    let mark = match trust.state {
        TrustState::Trusted | TrustState::New => paint.good(trust.state.as_str()),
        TrustState::Changed => paint.warn(trust.state.as_str()),
        TrustState::Quarantined => paint.bad(trust.state.as_str()),
    };
    vec![mark, skill.skill().name.clone(), paint.dim(&trust.reason)]
}

fn skill_json(skill: &AgentSkill) -> Value {
    json!({
        "skill": skill.skill().name,
        "path": skill.skill().file,
        "state": skill.entry.trust.state,
        "reason": skill.entry.trust.reason,
        "tree": skill.skill().tree,
    })
}
