//! Which files a session might get, and which of them it may not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::{Audience, Origin, Trust, Zone, sanitize};

use super::{Draft, LoadRequest, SessionScope, Turn, WorkspaceAge};
use crate::context_file::ContextFile;
use crate::core_file::{CoreFile, Need, file_name, is_meant_by};
use crate::extension::Touched;
use crate::glob::expand;
use crate::report::FileStatus;
use crate::settings::ContextInjection;
use crate::workspace::Workspace;

/// A file that might be in the prompt.
pub(super) struct Candidate {
    pub(super) core: Option<CoreFile>,
    pub(super) place: Place,
    /// The folder its links may not leave.
    pub(super) root: PathBuf,
    pub(super) path: PathBuf,
    /// How the operator's lists name it: relative to its folder.
    pub(super) relative: PathBuf,
    pub(super) shown_path: String,
    pub(super) need: Need,
    pub(super) trust: Trust,
    pub(super) audience: Audience,
    pub(super) zone: Zone,
    /// Found under a second name or by a pattern: skipped when it is a file already met.
    pub(super) may_be_another_name: bool,
}

/// Workspace files stand before those of the folder a session runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Workspace,
    Execution,
}

pub(super) fn candidates(workspace: &Workspace, request: &LoadRequest<'_>) -> Vec<Candidate> {
    let execution = request.execution.and_then(|folder| {
        let root = std::fs::canonicalize(folder.dir).ok()?;
        (root != workspace.root).then_some((root, folder))
    });
    // Relative names would mean another folder to the tools of a session that runs elsewhere.
    let shown = |relative: &Path| {
        let path = if execution.is_some() {
            workspace.dir().join(relative)
        } else {
            relative.to_owned()
        };
        sanitize::literal(&path.to_string_lossy()).into_owned()
    };
    let in_workspace = |relative: &Path, may_be_another_name| {
        let core = CoreFile::of(&file_name(relative));
        let is_skippable = request.settings.skip_optional.iter();
        let need = match core.map_or(Need::Optional, CoreFile::need) {
            Need::Required if is_skippable.clone().any(|entry| is_skipped(entry, core)) => {
                Need::Optional
            }
            need => need,
        };
        let is_dynamic = core == Some(CoreFile::Heartbeat)
            || request
                .settings
                .dynamic
                .iter()
                .any(|entry| is_meant_by(entry, &relative.to_string_lossy()));
        Candidate {
            core,
            place: Place::Workspace,
            root: workspace.root.clone(),
            path: workspace.root.join(relative),
            relative: relative.to_owned(),
            shown_path: shown(relative),
            need,
            trust: Trust::Owner,
            audience: core.map_or(Audience::Shared, CoreFile::audience),
            zone: if is_dynamic {
                Zone::Volatile
            } else {
                Zone::Stable
            },
            may_be_another_name,
        }
    };
    let mut candidates: Vec<_> = CoreFile::ALL
        .iter()
        .map(|core| in_workspace(Path::new(core.name()), false))
        .collect();
    candidates.push(in_workspace(Path::new(CoreFile::LOWER_MEMORY), true));
    if !request.settings.extra_files.is_empty() {
        for path in expand(&workspace.root, &request.settings.extra_files) {
            if let Ok(relative) = path.strip_prefix(&workspace.root) {
                let is_core = CoreFile::ALL
                    .iter()
                    .any(|core| Path::new(core.name()) == relative);
                let is_listed = is_core || relative == Path::new(CoreFile::LOWER_MEMORY);
                if !is_listed {
                    candidates.push(in_workspace(relative, true));
                }
            }
        }
    }
    candidates.extend(execution.map(|(root, folder)| {
        let name = CoreFile::Agents.name();
        let path = root.join(name);
        Candidate {
            core: Some(CoreFile::Agents),
            place: Place::Execution,
            shown_path: sanitize::literal(&path.to_string_lossy()).into_owned(),
            root,
            path,
            relative: PathBuf::from(name),
            need: Need::Optional,
            trust: folder.trust.min(Trust::Owner),
            audience: Audience::Shared,
            zone: Zone::Stable,
            may_be_another_name: true,
        }
    }));
    candidates
}

/// AGENTS.md and TOOLS.md hold the rules; the operator cannot declare them optional.
fn is_skipped(entry: &str, core: Option<CoreFile>) -> bool {
    core.is_some_and(|core| {
        matches!(core, CoreFile::Soul | CoreFile::Identity | CoreFile::User)
            && core.name().eq_ignore_ascii_case(entry.trim())
    })
}

/// Why this session may not have the file, if so.
pub(super) fn gate(request: &LoadRequest<'_>, candidate: &Candidate) -> Option<FileStatus> {
    let settings = request.settings;
    if settings.skip {
        return Some(FileStatus::DisabledByConfig {
            key: "agents.defaults.skipBootstrap",
        });
    }
    let is_off = match settings.injection {
        ContextInjection::Always => false,
        ContextInjection::ContinuationSkip => request.turn == Turn::Continuation,
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
    let is_inherited = || {
        core != CoreFile::Bootstrap
            && settings
                .inherit
                .iter()
                .any(|entry| is_meant_by(entry, &candidate.relative.to_string_lossy()))
    };
    let is_for_session = match request.session {
        SessionScope::Main => true,
        SessionScope::Subagent | SessionScope::Cron => {
            matches!(core, CoreFile::Agents | CoreFile::Tools) || is_inherited()
        }
        SessionScope::LightHeartbeat => core == CoreFile::Heartbeat,
    };
    if !is_for_session {
        return Some(FileStatus::FilteredBySession);
    }
    (!candidate.audience.may_reach(request.audience)).then_some(FileStatus::FilteredByAudience)
}

impl Candidate {
    pub(super) fn into_draft(self, status: FileStatus) -> Draft {
        Draft {
            place: self.place,
            touched: Touched {
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
