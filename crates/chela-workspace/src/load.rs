//! Gathering the context files of one session: find, filter, read, let extensions adjust, share
//! out the room, and keep account of every file, injected or not.

mod candidate;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use chela_core::cut::PinOutcome;
use chela_core::{AgentId, Audience, ContentHash, Origin, Trust};

use crate::budget::{BudgetClaim, BudgetShare, ClaimText, share_out};
use crate::context_file::ContextFile;
use crate::core_file::{CoreFile, FileNeed, PromptOrder, SessionScope};
use crate::custody::{Custody, FileRuling, ReadVersion};
use crate::extension::{self, BootstrapContext, BootstrapExtension, ExtendedFile};
use crate::markdown::heartbeat_has_work;
use crate::notice::{PromptNotice, prompt_notice};
use crate::read::{LocatedFile, PathLook, look};
use crate::record::WorkspaceAge;
use crate::report::{CutBudget, FileRemark, FileReport, FileStatus};
use crate::settings::{BootstrapSettings, TruncationWarning};
use crate::source::ReadFile;
use crate::workspace::Workspace;
use candidate::{FileCandidate, FilePlace, NameUse, candidates, gate};

/// Which session wants its context files, and how.
#[derive(Clone, Copy)]
pub struct LoadRequest<'a> {
    pub agent: &'a AgentId,
    pub session: SessionScope,
    /// Who reads along in this session.
    pub audience: Audience,
    pub turn: TurnPosition,
    pub age: WorkspaceAge,
    pub settings: &'a BootstrapSettings,
    /// The folder the session runs in, when it is not the workspace.
    pub execution: Option<ExecutionFolder<'a>>,
    pub extensions: &'a [&'a dyn BootstrapExtension],
    /// Keys of prompt notices given in earlier sessions; matters to `TruncationWarning::Once`.
    pub notices_seen: &'a BTreeSet<ContentHash>,
    /// Who watches the files. `None`: every file is taken as it is.
    pub custody: Option<&'a Custody>,
}

/// Whether the model may still have the files of an earlier turn before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TurnPosition {
    /// The first turn of a session, a heartbeat, or a retry after compaction.
    #[default]
    Full,
    Continuation,
}

/// A folder, other than the workspace, in which a session runs. Only its AGENTS.md is read.
#[derive(Debug, Clone, Copy)]
pub struct ExecutionFolder<'a> {
    pub dir: &'a Path,
    /// `External` until the owner trusts the folder.
    pub trust: Trust,
}

/// The context files of one session, in prompt order, and what became of every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedContext {
    pub files: Vec<ContextFile>,
    /// One row per file that is in the prompt or might have been.
    pub report: Vec<FileReport>,
    /// The sentence that says what was shortened, unless the operator turned it off.
    pub notice: Option<PromptNotice>,
}

/// A file on its way into the prompt.
struct ContextDraft {
    place: FilePlace,
    touched: ExtendedFile,
    /// Where its text came from, while that is still the text.
    source: Option<Arc<ReadFile>>,
    hash: Option<ContentHash>,
    remarks: Vec<FileRemark>,
}

/// The context files of one session. Never fails: whatever is wrong with a file is in the report.
pub fn load_context(workspace: &Workspace, request: &LoadRequest<'_>) -> LoadedContext {
    let mut drafts = Vec::new();
    let mut met: Vec<(String, LocatedFile)> = Vec::new();
    for candidate in candidates(workspace, request) {
        drafts.extend(draft(workspace, request, candidate, &mut met));
    }
    if !request.extensions.is_empty() {
        drafts = extend(workspace, request, drafts);
    }
    drafts
        .sort_by_cached_key(|draft| (draft.place, PromptOrder::of(&draft.touched.file.shown_path)));
    fit(&mut drafts, request.settings);
    finish(drafts, request)
}

/// Looks at one candidate. `None` for a file nobody would ask about.
fn draft(
    workspace: &Workspace,
    request: &LoadRequest<'_>,
    mut candidate: FileCandidate,
    met: &mut Vec<(String, LocatedFile)>,
) -> Option<ContextDraft> {
    let found = look(&candidate.root, &candidate.path);
    if matches!(found, PathLook::Absent) {
        let proposed = proposed(request, &candidate, &candidate.path);
        let mut draft = absent(request, candidate)?;
        draft.remarks.extend(proposed);
        return Some(draft);
    }
    if let PathLook::Found(located) = &found {
        candidate.heed_target(&located.resolved);
    }
    let located = match (gate(request, &candidate), found) {
        (Some(status), _) | (None, PathLook::Refused(status)) => {
            return Some(candidate.into_draft(status));
        }
        (None, PathLook::Absent) => return None,
        (None, PathLook::Found(located)) => located,
    };
    if candidate.name_use == NameUse::Second
        && let Some((name, _)) = met.iter().find(|(_, other)| is_same_file(other, &located))
    {
        let status = FileStatus::SameFile { name: name.clone() };
        return Some(candidate.into_draft(status));
    }
    met.push((candidate.shown_path.clone(), located.clone()));
    let source = match workspace.sources.get(&located, workspace.clock.now()) {
        Ok(source) => source,
        Err(status) => return Some(candidate.into_draft(status)),
    };
    let ruling = request
        .custody
        .map(|custody| custody.rule(&located.resolved, &source));
    let proposed = proposed(request, &candidate, &located.resolved);
    let mut draft = settled(request, candidate, source, ruling);
    draft.remarks.extend(proposed);
    Some(draft)
}

/// What the agent would have written into a file, had somebody been there to ask.
fn proposed(
    request: &LoadRequest<'_>,
    candidate: &FileCandidate,
    resolved: &Path,
) -> Option<FileRemark> {
    let records = request.custody?.records();
    let proposed = records.entry(resolved)?.proposed.as_ref()?;
    Some(FileRemark::of_proposal(
        proposed,
        &candidate.shown_path,
        request.agent,
    ))
}

/// A file that was read, as far as its record lets it into the prompt.
fn settled(
    request: &LoadRequest<'_>,
    candidate: FileCandidate,
    source: Arc<ReadFile>,
    ruling: Option<FileRuling>,
) -> ContextDraft {
    let core = candidate.core;
    let says_something = |text: &str| match core {
        Some(CoreFile::Heartbeat) => heartbeat_has_work(text),
        _ => !text.trim().is_empty(),
    };
    let reads = ruling
        .as_ref()
        .map_or(&ReadVersion::File, |ruling| &ruling.reads);
    let has_something = match (reads, core) {
        (ReadVersion::File, Some(CoreFile::Heartbeat)) => source.has_heartbeat_work(),
        (ReadVersion::File, _) => source.has_text,
        (ReadVersion::Trusted { text, .. }, _) => says_something(text),
        (ReadVersion::Nothing, _) => true,
    };
    let status = match reads {
        ReadVersion::Nothing => FileStatus::SetAside,
        _ if has_something => FileStatus::Injected,
        _ => FileStatus::Blank,
    };
    let mut draft = candidate.into_draft(status);
    let file = &mut draft.touched.file;
    file.raw_chars = source.raw_chars;
    draft.hash = Some(source.hash);
    draft.remarks.clone_from(&source.remarks);
    if let Some(ruling) = &ruling {
        file.trust = file.trust.min(ruling.judged.judgement.trust);
        draft.remarks.extend(FileRemark::of_trust(
            &ruling.judged,
            &file.shown_path,
            request.agent,
        ));
    }
    let path = file.shown_path.clone();
    match reads {
        ReadVersion::File => {
            file.origin = Origin::File {
                path,
                hash: source.hash,
            };
            draft.source = has_something.then_some(source);
        }
        ReadVersion::Trusted { hash, text } => {
            tracing::info!(
                file = path,
                hash = hash.short(),
                "the last trusted version is used instead"
            );
            file.origin = Origin::File { path, hash: *hash };
            if has_something {
                file.content = Arc::clone(text);
            }
        }
        ReadVersion::Nothing => {
            tracing::info!(file = path, "an unapproved file is quarantined");
            let text = include_str!("../text/set-aside.txt").trim();
            file.content = text.replace("{name}", &path).into();
            file.origin = Origin::Runtime;
            file.trust = Trust::Operator;
        }
    }
    draft
}

/// A file that is not there: the agent is told only when it needs the file in this session. Where
/// nobody known deleted it, the last trusted text may stand in.
fn absent(request: &LoadRequest<'_>, candidate: FileCandidate) -> Option<ContextDraft> {
    let core = candidate
        .core
        .filter(|_| candidate.place == FilePlace::Workspace)?;
    let ruling = request
        .custody
        .filter(|_| gate(request, &candidate).is_none())
        .and_then(|custody| custody.rule_absent(&candidate.path));
    if candidate.path.ends_with(CoreFile::LOWER_MEMORY) && ruling.is_none() {
        return None;
    }
    let remark = ruling.as_ref().and_then(|(absent, _)| {
        FileRemark::of_absence(absent, &candidate.shown_path, request.agent)
    });
    if let Some((absent, ReadVersion::Trusted { hash, text })) = &ruling {
        let mut draft = candidate.into_draft(FileStatus::Injected);
        let file = &mut draft.touched.file;
        file.trust = file.trust.min(absent.judgement.trust);
        file.origin = Origin::File {
            path: file.shown_path.clone(),
            hash: *hash,
        };
        file.content = Arc::clone(text);
        if text.trim().is_empty() {
            file.status = FileStatus::Blank;
        }
        draft.remarks.extend(remark);
        return Some(draft);
    }
    let is_missed = candidate.need == FileNeed::Required && gate(request, &candidate).is_none();
    let need = if is_missed {
        FileNeed::Required
    } else {
        FileNeed::Optional
    };
    let mut draft = candidate.into_draft(FileStatus::Missing { need });
    if is_missed {
        let text = include_str!("../text/missing.txt")
            .trim()
            .replace("{name}", core.name());
        draft.touched.file.content = text.into();
    }
    draft.remarks.extend(remark);
    Some(draft)
}

fn is_same_file(one: &LocatedFile, other: &LocatedFile) -> bool {
    one.resolved == other.resolved || one.stamp.identity == other.stamp.identity
}

fn extend(
    workspace: &Workspace,
    request: &LoadRequest<'_>,
    mut drafts: Vec<ContextDraft>,
) -> Vec<ContextDraft> {
    let context = BootstrapContext {
        agent: request.agent,
        workspace: &workspace.root,
        session: request.session,
        audience: request.audience,
    };
    for draft in &mut drafts {
        if let Some(source) = &draft.source {
            draft.touched.file.content = source.text();
        }
    }
    for extension in request.extensions {
        let touched = drafts.iter().map(|draft| draft.touched.clone()).collect();
        let mut touched =
            extension::apply(*extension, touched, &context, &request.settings.pins).into_iter();
        for (draft, after) in drafts.iter_mut().zip(touched.by_ref()) {
            if after.file.content != draft.touched.file.content {
                draft.source = None;
            }
            draft.touched = after;
        }
        drafts.extend(touched.map(|touched| ContextDraft {
            place: FilePlace::Workspace,
            hash: touched.file.origin.hash(),
            touched,
            source: None,
            remarks: Vec::new(),
        }));
        for draft in &mut drafts {
            let file = &mut draft.touched.file;
            if file.status.is_in_prompt() && !file.audience.may_reach(request.audience) {
                file.status = FileStatus::FilteredByAudience;
            }
            let is_bootstrap = CoreFile::of(&file.name) == Some(CoreFile::Bootstrap);
            if is_bootstrap && request.age == WorkspaceAge::Settled && file.status.is_in_prompt() {
                file.status = FileStatus::NotBrandNew;
            }
        }
    }
    drafts
}

fn fit(drafts: &mut [ContextDraft], settings: &BootstrapSettings) {
    let mut present: Vec<&mut ContextDraft> = drafts
        .iter_mut()
        .filter(|draft| draft.touched.file.status.is_in_prompt())
        .collect();
    let claims: Vec<BudgetClaim> = present
        .iter()
        .map(|draft| BudgetClaim {
            name: draft.touched.file.shown_path.clone(),
            text: match &draft.source {
                Some(source) => ClaimText::File(Arc::clone(source)),
                None => ClaimText::Plain(Arc::clone(&draft.touched.file.content)),
            },
        })
        .collect();
    for (draft, share) in present.iter_mut().zip(share_out(&claims, settings)) {
        let file = &mut draft.touched.file;
        match share {
            BudgetShare::NoRoom => {
                tracing::debug!(file = file.shown_path, "no room for a context file");
                file.status = FileStatus::OverTotalBudget {
                    limit: settings.total,
                };
                file.content = Arc::from("");
            }
            BudgetShare::Given { text, by } => {
                file.content = Arc::clone(&text.text);
                file.injected_chars = text.chars;
                if !text.dropped.is_empty() {
                    let limit = match by {
                        CutBudget::PerFile => settings.per_file,
                        CutBudget::Total => settings.total,
                    };
                    tracing::debug!(
                        file = file.shown_path,
                        of = file.raw_chars,
                        kept = text.chars,
                        ?limit,
                        "a context file is cut"
                    );
                    file.status = FileStatus::Truncated {
                        by,
                        limit,
                        dropped: text.dropped.clone(),
                    };
                }
                if let PinOutcome::OverLimit { needed } = text.pins {
                    draft.remarks.push(FileRemark::PinsOverLimit { needed });
                }
            }
        }
        if let Some(source) = &draft.source {
            source.let_go();
        }
    }
}

fn finish(drafts: Vec<ContextDraft>, request: &LoadRequest<'_>) -> LoadedContext {
    let report: Vec<FileReport> = drafts.iter().map(ContextDraft::report).collect();
    let notice = match request.settings.warning {
        TruncationWarning::Off => None,
        TruncationWarning::Always => prompt_notice(&report),
        TruncationWarning::Once => {
            prompt_notice(&report).filter(|notice| !request.notices_seen.contains(&notice.key))
        }
    };
    let files = drafts
        .into_iter()
        .map(|draft| draft.touched.file)
        .filter(|file| file.status.is_in_prompt())
        .collect();
    LoadedContext {
        files,
        report,
        notice,
    }
}

impl ContextDraft {
    fn report(&self) -> FileReport {
        let file = &self.touched.file;
        FileReport {
            name: file.name.clone(),
            path: file.path.clone(),
            shown_path: file.shown_path.clone(),
            status: file.status.clone(),
            hash: self.hash,
            raw_chars: file.raw_chars,
            injected_chars: if file.status.is_in_prompt() {
                file.injected_chars
            } else {
                0
            },
            trust: file.trust,
            audience: file.audience,
            zone: file.zone,
            remarks: self.remarks.clone(),
            changes: self.touched.changes.clone(),
        }
    }
}

impl std::fmt::Debug for LoadRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadRequest")
            .field("agent", &self.agent)
            .field("session", &self.session)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}
