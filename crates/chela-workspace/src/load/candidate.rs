//! Which files a session might get, and which of them it may not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::{Audience, Origin, Trust, Zone, ok_or_debug, sanitize};

use super::{ContextDraft, LoadRequest, TurnPosition};
use crate::context_file::ContextFile;
use crate::core_file::{CoreFile, FileNeed, SessionScope, file_name, is_meant_by};
use crate::extension::ExtendedFile;
use crate::glob::expand;
use crate::record::WorkspaceAge;
use crate::report::FileStatus;
use crate::settings::{BootstrapSettings, ContextInjection, HeartbeatFile};
use crate::spelling::CoreSpelling;
use crate::workspace::Workspace;

/// A file that might be in the prompt.
pub(super) struct FileCandidate {
    pub(super) core: Option<CoreFile>,
    pub(super) place: FilePlace,
    /// The folder its links may not leave.
    pub(super) root: PathBuf,
    pub(super) path: PathBuf,
    /// How the operator's lists name it: relative to its folder.
    pub(super) relative: PathBuf,
    pub(super) shown_path: String,
    pub(super) need: FileNeed,
    pub(super) trust: Trust,
    pub(super) audience: Audience,
    pub(super) zone: Zone,
    pub(super) name_use: NameUse,
}

/// Whether a path may be another name of a file that was already met; then it is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameUse {
    First,
    Second,
}

/// Workspace files stand before those of the folder a session runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FilePlace {
    Workspace,
    Execution,
}

pub(super) fn candidates(workspace: &Workspace, request: &LoadRequest<'_>) -> Vec<FileCandidate> {
    let execution = request.execution.and_then(|folder| {
        let root = std::fs::canonicalize(folder.dir);
        let root = ok_or_debug!(root, "the folder a session runs in cannot be found")?;
        (root != workspace.root).then(|| execution_rules(root, folder.trust))
    });
    let search = Search {
        workspace,
        settings: request.settings,
        is_elsewhere: execution.is_some(),
    };
    let spelling = CoreSpelling::of(&workspace.root);
    let mut candidates: Vec<_> = CoreFile::ALL
        .iter()
        .map(|core| search.candidate(Path::new(spelling.name(*core)), NameUse::First))
        .collect();
    candidates.push(search.candidate(Path::new(CoreFile::LOWER_MEMORY), NameUse::Second));
    candidates.extend(search.extra_files());
    candidates.extend(execution);
    candidates
}

struct Search<'a> {
    workspace: &'a Workspace,
    settings: &'a BootstrapSettings,
    /// The session runs in another folder.
    is_elsewhere: bool,
}

impl Search<'_> {
    fn candidate(&self, relative: &Path, name_use: NameUse) -> FileCandidate {
        let core = CoreFile::of(&file_name(relative));
        let need = match core.map_or(FileNeed::Optional, CoreFile::need) {
            FileNeed::Required
                if self
                    .settings
                    .skip_optional
                    .iter()
                    .any(|e| is_skipped(e, core)) =>
            {
                FileNeed::Optional
            }
            need => need,
        };
        let text = relative.to_string_lossy();
        let is_dynamic = core == Some(CoreFile::Heartbeat)
            || self
                .settings
                .dynamic
                .iter()
                .any(|entry| is_meant_by(entry, &text));
        // A relative name would mean another folder to the tools of a session that runs elsewhere.
        let shown_path = if self.is_elsewhere {
            sanitize::literal(&self.workspace.dir().join(relative).to_string_lossy()).into_owned()
        } else {
            sanitize::literal(&text).into_owned()
        };
        FileCandidate {
            core,
            place: FilePlace::Workspace,
            root: self.workspace.root.clone(),
            path: self.workspace.root.join(relative),
            relative: relative.to_owned(),
            shown_path,
            need,
            trust: Trust::Owner,
            audience: core.map_or(Audience::Shared, CoreFile::audience),
            zone: if is_dynamic {
                Zone::Volatile
            } else {
                Zone::Stable
            },
            name_use,
        }
    }

    fn extra_files(&self) -> Vec<FileCandidate> {
        if self.settings.extra_files.is_empty() {
            return Vec::new();
        }
        let root = &self.workspace.root;
        let spelling = CoreSpelling::of(root);
        let is_listed = |relative: &Path| {
            let mut names = CoreFile::ALL.into_iter();
            names.any(|core| Path::new(spelling.name(core)) == relative)
                || relative == Path::new(CoreFile::LOWER_MEMORY)
        };
        expand(root, &self.settings.extra_files)
            .iter()
            .filter_map(|path| path.strip_prefix(root).ok())
            .filter(|relative| !is_listed(relative))
            .map(|relative| self.candidate(relative, NameUse::Second))
            .collect()
    }
}

/// The rules of the folder a session runs in.
fn execution_rules(root: PathBuf, trust: Trust) -> FileCandidate {
    let relative = PathBuf::from(CoreFile::Agents.name());
    let path = root.join(&relative);
    FileCandidate {
        core: Some(CoreFile::Agents),
        place: FilePlace::Execution,
        shown_path: sanitize::literal(&path.to_string_lossy()).into_owned(),
        root,
        path,
        relative,
        need: FileNeed::Optional,
        trust: trust.min(Trust::Owner),
        audience: Audience::Shared,
        zone: Zone::Stable,
        name_use: NameUse::Second,
    }
}

/// AGENTS.md and TOOLS.md hold the rules; the operator cannot declare them optional.
fn is_skipped(entry: &str, core: Option<CoreFile>) -> bool {
    core.is_some_and(|core| {
        matches!(core, CoreFile::Soul | CoreFile::Identity | CoreFile::User)
            && core.name().eq_ignore_ascii_case(entry.trim())
    })
}

/// Why this session may not have the file, if so.
pub(super) fn gate(request: &LoadRequest<'_>, candidate: &FileCandidate) -> Option<FileStatus> {
    let settings = request.settings;
    if settings.skip {
        return Some(FileStatus::DisabledByConfig {
            key: "agents.defaults.skipBootstrap",
        });
    }
    let is_off = match settings.injection {
        ContextInjection::Always => false,
        ContextInjection::ContinuationSkip => request.turn == TurnPosition::Continuation,
        ContextInjection::Never => true,
    };
    if is_off {
        return Some(FileStatus::DisabledByConfig {
            key: "agents.defaults.contextInjection",
        });
    }
    let Some(core) = candidate.core else {
        return Some(FileStatus::UnknownName);
    };
    if core == CoreFile::Bootstrap && request.age == WorkspaceAge::Settled {
        return Some(FileStatus::NotBrandNew);
    }
    if core == CoreFile::Heartbeat {
        match settings.heartbeat {
            HeartbeatFile::Read => {}
            HeartbeatFile::HeartbeatsOff => return Some(FileStatus::HeartbeatsOff),
            HeartbeatFile::OnlyHeartbeats => {
                return Some(FileStatus::DisabledByConfig {
                    key: "agents.defaults.heartbeat.includeSystemPromptSection",
                });
            }
        }
    }
    let is_inherited = || {
        matches!(request.session, SessionScope::Subagent | SessionScope::Cron)
            && core != CoreFile::Bootstrap
            && settings
                .inherit
                .iter()
                .any(|entry| is_meant_by(entry, &candidate.relative.to_string_lossy()))
    };
    if !core.is_for(request.session) && !is_inherited() {
        return Some(FileStatus::FilteredBySession);
    }
    (!candidate.audience.may_reach(request.audience)).then_some(FileStatus::FilteredByAudience)
}

impl FileCandidate {
    /// A link does not make private text public: what it leads to keeps its audience.
    pub(super) fn heed_target(&mut self, resolved: &Path) {
        if resolved == self.path {
            return;
        }
        let relative = resolved.strip_prefix(&self.root).unwrap_or(resolved);
        let core = CoreFile::of(&file_name(relative)).map_or(Audience::Shared, CoreFile::audience);
        let is_note = relative.starts_with("memory");
        let target = if is_note { Audience::Private } else { core };
        self.audience = self.audience.min(target);
    }

    pub(super) fn into_draft(self, status: FileStatus) -> ContextDraft {
        ContextDraft {
            place: self.place,
            touched: ExtendedFile {
                file: ContextFile {
                    name: file_name(&self.path),
                    path: self.path,
                    shown_path: self.shown_path,
                    content: Arc::from(""),
                    origin: Origin::BuiltIn,
                    trust: self.trust,
                    audience: self.audience,
                    zone: self.zone,
                    raw_chars: 0,
                    injected_chars: 0,
                    status,
                },
                changes: Vec::new(),
            },
            source: None,
            hash: None,
            remarks: Vec::new(),
        }
    }
}
