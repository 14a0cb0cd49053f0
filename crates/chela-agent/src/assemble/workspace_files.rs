//! The files of a workspace that a prompt holds, and those that found no room in it.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use chela_config::LoadedConfig;
use chela_core::cut::CutLimit;
use chela_core::secret::Redactor;
use chela_core::{AgentId, ContentHash, Host, SessionForm, SessionKey};
use chela_prompt::{ContextFile, FileCompleteness};
use chela_workspace::{
    BootstrapExtension, BootstrapSettings, FileReport, FileStatus, HeartbeatFile, LoadRequest,
    LoadedContext, NoticeStore, SessionScope, TruncationWarning, WorkspaceCondition, load_context,
};

use super::PromptAssembler;
use super::known_agent::KnownAgent;
use super::prompt_request::PromptRequest;
use crate::prompt_knobs::PromptKnobs;
use crate::toolset::PromptSize;

/// What a small model reads of the workspace files.
fn short_bootstrap(settings: &BootstrapSettings) -> BootstrapSettings {
    /// Of one file and of all, in tokens.
    const PER_FILE: usize = 140;
    const TOTAL: usize = 270;
    BootstrapSettings {
        per_file: CutLimit::Tokens(PER_FILE),
        total: CutLimit::Tokens(TOTAL),
        ..settings.clone()
    }
}

fn scope_of(session: &SessionKey, knobs: &PromptKnobs) -> SessionScope {
    match session.form {
        SessionForm::Subagent { .. } => SessionScope::Subagent,
        SessionForm::Cron { .. } => SessionScope::Cron,
        SessionForm::Heartbeat { .. } if knobs.light_heartbeat => SessionScope::LightHeartbeat,
        _ => SessionScope::Main,
    }
}

fn context_file(file: &chela_workspace::ContextFile, redactor: &Redactor) -> ContextFile {
    ContextFile {
        path: file.shown_path.clone(),
        content: chela_prompt::CleanText::new(&redactor.redact(&file.content)),
        origin: file.origin.clone(),
        trust: file.trust,
        audience: file.audience,
        zone: Some(file.zone),
        completeness: match file.status {
            FileStatus::Truncated { .. } => FileCompleteness::Cut,
            FileStatus::Missing { .. } | FileStatus::SetAside => FileCompleteness::Absent,
            _ => FileCompleteness::Whole,
        },
    }
}

/// The files that found no room.
pub(super) fn left_out(context: &LoadedContext) -> Vec<String> {
    let no_room = |file: &&FileReport| matches!(file.status, FileStatus::OverTotalBudget { .. });
    let files = context.report.iter().filter(no_room);
    files.map(|file| file.shown_path.clone()).collect()
}

impl<H: Borrow<Host>, L: Borrow<LoadedConfig>> PromptAssembler<H, L> {
    pub(super) fn context(
        &self,
        agent: &AgentId,
        session: &SessionKey,
        known: &KnownAgent,
        (ask, size): (&PromptRequest, PromptSize),
    ) -> LoadedContext {
        let Some(workspace) = &known.workspace else {
            return LoadedContext {
                files: Vec::new(),
                report: Vec::new(),
                notice: None,
            };
        };
        let mut settings = match size {
            PromptSize::Full => known.knobs.bootstrap.clone(),
            PromptSize::Short => short_bootstrap(&known.knobs.bootstrap),
        };
        if let SessionForm::Heartbeat { .. } = session.form {
            settings.heartbeat = HeartbeatFile::Read;
        }
        let extensions: Vec<&dyn BootstrapExtension> = ask
            .hooks
            .files
            .iter()
            .map(|text| text as &dyn BootstrapExtension)
            .collect();
        load_context(
            workspace,
            &LoadRequest {
                agent,
                session: scope_of(session, &known.knobs),
                audience: session.audience(),
                turn: ask.position,
                age: WorkspaceCondition::of(self.host(), workspace.dir()).age(),
                settings: &settings,
                execution: None,
                extensions: &extensions,
                notices_seen: &self.notices_seen(&settings),
                custody: Some(&known.custody),
            },
        )
    }

    /// The notices that were given; asked for only where a notice is given once.
    fn notices_seen(&self, settings: &BootstrapSettings) -> BTreeSet<ContentHash> {
        match settings.warning {
            TruncationWarning::Once => NoticeStore::of(self.host()).seen(),
            TruncationWarning::Always | TruncationWarning::Off => BTreeSet::new(),
        }
    }

    /// The files of the context. A key someone left in one is not sent along.
    pub(super) fn files(&self, context: &LoadedContext) -> Vec<ContextFile> {
        let files = context.files.iter();
        files
            .map(|file| context_file(file, self.redactor()))
            .collect()
    }
}
