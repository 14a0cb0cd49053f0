//! Which files and skills shape an agent, whose version of each counts, and what waits for the
//! owner.

use std::path::Path;

use chela_core::{AgentId, ContentHash, Trust};
use chela_skills::{AgentSkill, LockEntry, SkillSource, TrustLock, TrustNews, TrustState};
use chela_workspace::custody::{Custody, WatchedFile, WatchedKind};
use chela_workspace::trust::{
    FileEntry, FileJudgement, FolderGround, OnChange, ScanFinding, TrustAct,
};
use serde::Serialize;

/// Where everything stands that shapes an agent.
#[derive(Debug, Serialize)]
pub struct TrustReport<'t> {
    pub agent: &'t AgentId,
    pub workspace: &'t Path,
    pub ground: FolderGround,
    /// What is done about files that others change.
    pub policy: OnChange,
    /// Why the record cannot be read.
    pub broken: Option<String>,
    pub files: Vec<TrustedFile<'t>>,
    pub skills: Vec<TrustedSkill<'t>>,
}

/// One file, and where it stands.
#[derive(Debug, Serialize)]
pub struct TrustedFile<'t> {
    pub file: &'t str,
    pub path: &'t Path,
    pub kind: WatchedKind,
    pub state: &'static str,
    pub waits: bool,
    pub hash: Option<ContentHash>,
    pub ground: Option<FolderGround>,
    /// `file`, `trusted-version` or `nothing`.
    pub used: Option<&'static str>,
    pub trust: Option<Trust>,
    pub found: Option<&'t ScanFinding>,
    pub record: Option<&'t FileEntry>,
    #[serde(skip)]
    pub judgement: Option<FileJudgement>,
    #[serde(skip)]
    pub watched: &'t WatchedFile,
}

/// One skill, and where it stands.
#[derive(Debug, Serialize)]
pub struct TrustedSkill<'t> {
    pub record: Option<&'t LockEntry>,
    pub waits: bool,
    pub skill: &'t str,
    pub path: &'t Path,
    pub state: TrustState,
    pub reason: &'t str,
    pub tree: ContentHash,
}

/// What the report is made of.
#[derive(Debug, Clone, Copy)]
pub struct TrustSurvey<'t> {
    pub agent: &'t AgentId,
    pub custody: &'t Custody,
    pub files: &'t [WatchedFile],
    pub skills: &'t [AgentSkill],
    pub lock: &'t TrustLock,
}

impl<'t> TrustReport<'t> {
    pub fn of(survey: TrustSurvey<'t>) -> Self {
        let custody = survey.custody;
        let records = custody.records();
        let root = custody.root();
        let ground = match custody.foreign_root(&records, &root.join("AGENTS.md")) {
            Some(_) => FolderGround::Foreign,
            None => FolderGround::Own,
        };
        // Those of the build are as trustworthy as the build.
        let told = survey.skills.iter().filter(|skill| {
            skill.skill().source != SkillSource::Bundled
                || skill.entry.trust.state != TrustState::Trusted
        });
        Self {
            agent: survey.agent,
            workspace: root,
            ground,
            policy: custody.policies().on(ground),
            broken: records.broken.clone(),
            files: survey.files.iter().map(TrustedFile::of).collect(),
            skills: told
                .map(|skill| TrustedSkill::of(skill, survey.lock.entry(skill.skill())))
                .collect(),
        }
    }
}

impl<'t> TrustedFile<'t> {
    fn of(watched: &'t WatchedFile) -> Self {
        let judged = watched.judged.as_ref();
        let judgement = judged
            .map(|judged| judged.judgement)
            .or(watched.absent.map(|absent| absent.judgement));
        Self {
            file: &watched.shown,
            path: &watched.path,
            kind: watched.kind,
            state: judgement.map_or("gone", |judgement| judgement.state.as_str()),
            waits: watched.waits(),
            hash: judged.map(|judged| judged.hash),
            ground: judged.map(|judged| judged.ground),
            used: judgement.map(|judgement| match judgement.act {
                TrustAct::Use if judged.is_none() => "nothing",
                TrustAct::Use => "file",
                TrustAct::UseTrusted(_) => "trusted-version",
                TrustAct::Withhold => "nothing",
            }),
            trust: judgement.map(|judgement| judgement.trust),
            found: judged.and_then(|judged| judged.found.as_ref()),
            record: watched.entry.as_ref(),
            judgement,
            watched,
        }
    }

    /// Whether what waits is the agent's doing.
    pub fn is_agents(&self) -> bool {
        self.record
            .is_some_and(|entry| entry.held.is_some() || entry.proposed.is_some())
    }
}

impl<'t> TrustedSkill<'t> {
    fn of(skill: &'t AgentSkill, record: Option<&'t LockEntry>) -> Self {
        let trust = &skill.entry.trust;
        Self {
            record,
            waits: trust.news == TrustNews::Told,
            skill: &skill.skill().name,
            path: &skill.skill().file,
            state: trust.state,
            reason: &trust.reason,
            tree: skill.skill().tree,
        }
    }
}
