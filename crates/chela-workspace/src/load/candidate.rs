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
use crate::settings::{BootstrapSettings, ContextInjection};
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
pub(super) enum Place {
    Workspace,
    Execution,
}

pub(super) fn candidates(workspace: &Workspace, request: &LoadRequest<'_>) -> Vec<Candidate> {
    let execution = request.execution.and_then(|folder| {
        let root = std::fs::canonicalize(folder.dir).ok()?;
        (root != workspace.root).then(|| execution_rules(root, folder.trust))
    });
    let search = Search {
        workspace,
        settings: request.settings,
        is_elsewhere: execution.is_some(),
    };
    let mut candidates: Vec<_> = CoreFile::ALL
        .iter()
        .map(|core| search.candidate(Path::new(core.name()), NameUse::First))
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
    fn candidate(&self, relative: &Path, name_use: NameUse) -> Candidate {
        let core = CoreFile::of(&file_name(relative));
        let need = match core.map_or(Need::Optional, CoreFile::need) {
            Need::Required
                if self
                    .settings
                    .skip_optional
                    .iter()
                    .any(|e| is_skipped(e, core)) =>
            {
                Need::Optional
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
        Candidate {
            core,
            place: Place::Workspace,
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

    fn extra_files(&self) -> Vec<Candidate> {
        if self.settings.extra_files.is_empty() {
            return Vec::new();
        }
        let root = &self.workspace.root;
        let is_listed = |relative: &Path| {
            let mut names = CoreFile::ALL.into_iter().map(CoreFile::name);
            names.any(|name| Path::new(name) == relative)
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
fn execution_rules(root: PathBuf, trust: Trust) -> Candidate {
    let relative = PathBuf::from(CoreFile::Agents.name());
    let path = root.join(&relative);
    Candidate {
        core: Some(CoreFile::Agents),
        place: Place::Execution,
        shown_path: sanitize::literal(&path.to_string_lossy()).into_owned(),
        root,
        path,
        relative,
        need: Need::Optional,
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
