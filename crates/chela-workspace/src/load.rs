//! Gathering the context files of one session: find, filter, read, let extensions adjust, share
//! out the room, and keep account of every file, injected or not.

mod candidate;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use chela_core::cut::PinOutcome;
use chela_core::{AgentId, Audience, ContentHash, Origin, Trust};

use crate::budget::{Claim, ClaimText, Share, share_out};
use crate::context_file::ContextFile;
use crate::core_file::{CoreFile, Need, PromptOrder};
use crate::extension::{self, BootstrapContext, BootstrapExtension, Touched};
use crate::markdown::heartbeat_has_work;
use crate::notice::{PromptNotice, prompt_notice};
use crate::read::{Located, Look, look};
use crate::report::{Budget, FileReport, FileStatus, Remark};
use crate::settings::{BootstrapSettings, TruncationWarning};
use crate::source::Source;
use crate::trust::{Custody, Reads, Ruling};
use crate::workspace::Workspace;
use candidate::{Candidate, NameUse, Place, candidates, gate};

/// Which session wants its context files, and how.
#[derive(Clone, Copy)]
pub struct LoadRequest<'a> {
    pub agent: &'a AgentId,
    pub session: SessionScope,
    /// Who reads along in this session.
    pub audience: Audience,
    pub turn: Turn,
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

/// The kinds of session that differ in which files they get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionScope {
    Main,
    Subagent,
    Cron,
    /// A heartbeat with `lightContext`: HEARTBEAT.md alone.
    LightHeartbeat,
}

/// Whether the model may still have the files of an earlier turn before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// The first turn of a session, a heartbeat, or a retry after compaction.
    Full,
    Continuation,
}

/// Whether the first conversation is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkspaceAge {
    BrandNew,
    Settled,
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
struct Draft {
    place: Place,
    touched: Touched,
    /// Where its text came from, while that is still the text.
    source: Option<Arc<Source>>,
    hash: Option<ContentHash>,
    remarks: Vec<Remark>,
}

pub(crate) fn load(workspace: &Workspace, request: &LoadRequest<'_>) -> LoadedContext {
    let mut drafts = Vec::new();
    let mut met: Vec<(String, Located)> = Vec::new();
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
    mut candidate: Candidate,
    met: &mut Vec<(String, Located)>,
) -> Option<Draft> {
    let found = look(&candidate.root, &candidate.path);
    if matches!(found, Look::Absent) {
        let proposed = proposed(request, &candidate, &candidate.path);
        let mut draft = absent(request, candidate)?;
        draft.remarks.extend(proposed);
        return Some(draft);
    }
    if let Look::Found(located) = &found {
        candidate.heed_target(&located.resolved);
    }
    let located = match (gate(request, &candidate), found) {
        (Some(status), _) | (None, Look::Refused(status)) => {
            return Some(candidate.into_draft(status));
        }
        (None, Look::Absent) => return None,
        (None, Look::Found(located)) => located,
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
fn proposed(request: &LoadRequest<'_>, candidate: &Candidate, resolved: &Path) -> Option<Remark> {
    let book = request.custody?.book();
    let proposed = book.entry(resolved)?.proposed.as_ref()?;
    Some(Remark::of_proposal(
        proposed,
        &candidate.shown_path,
        request.agent,
    ))
}

/// A file that was read, as far as its record lets it into the prompt.
fn settled(
    request: &LoadRequest<'_>,
    candidate: Candidate,
    source: Arc<Source>,
    ruling: Option<Ruling>,
) -> Draft {
    let core = candidate.core;
    let says_something = |text: &str| match core {
        Some(CoreFile::Heartbeat) => heartbeat_has_work(text),
        _ => !text.trim().is_empty(),
    };
    let reads = ruling.as_ref().map_or(&Reads::File, |ruling| &ruling.reads);
    let has_something = match (reads, core) {
        (Reads::File, Some(CoreFile::Heartbeat)) => source.has_heartbeat_work(),
        (Reads::File, _) => source.has_text,
        (Reads::Trusted { text, .. }, _) => says_something(text),
        (Reads::Nothing, _) => true,
    };
    let status = match reads {
        Reads::Nothing => FileStatus::SetAside,
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
        draft.remarks.extend(Remark::of_trust(
            &ruling.judged,
            &file.shown_path,
            request.agent,
        ));
    }
    let path = file.shown_path.clone();
    match reads {
        Reads::File => {
            file.origin = Origin::File {
                path,
                hash: source.hash,
            };
            draft.source = has_something.then_some(source);
        }
        Reads::Trusted { hash, text } => {
            file.origin = Origin::File { path, hash: *hash };
            if has_something {
                file.content = Arc::clone(text);
            }
        }
        Reads::Nothing => {
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
fn absent(request: &LoadRequest<'_>, candidate: Candidate) -> Option<Draft> {
    let core = candidate
        .core
        .filter(|_| candidate.place == Place::Workspace)?;
    let ruling = request
        .custody
        .filter(|_| gate(request, &candidate).is_none())
        .and_then(|custody| custody.rule_absent(&candidate.path));
    if candidate.path.ends_with(CoreFile::LOWER_MEMORY) && ruling.is_none() {
        return None;
    }
    let remark = ruling
        .as_ref()
        .and_then(|(absent, _)| Remark::of_absence(absent, &candidate.shown_path, request.agent));
    if let Some((absent, Reads::Trusted { hash, text })) = &ruling {
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
    let is_missed = candidate.need == Need::Required && gate(request, &candidate).is_none();
    let need = if is_missed {
        Need::Required
    } else {
        Need::Optional
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

fn is_same_file(one: &Located, other: &Located) -> bool {
    one.resolved == other.resolved
        || (one.stamp.identity != (0, 0) && one.stamp.identity == other.stamp.identity)
}

fn extend(workspace: &Workspace, request: &LoadRequest<'_>, mut drafts: Vec<Draft>) -> Vec<Draft> {
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
        drafts.extend(touched.map(|touched| Draft {
            place: Place::Workspace,
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

fn fit(drafts: &mut [Draft], settings: &BootstrapSettings) {
    let mut present: Vec<&mut Draft> = drafts
        .iter_mut()
        .filter(|draft| draft.touched.file.status.is_in_prompt())
        .collect();
    let claims: Vec<Claim> = present
        .iter()
        .map(|draft| Claim {
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
            Share::NoRoom => {
                file.status = FileStatus::OverTotalBudget {
                    limit: settings.total,
                };
                file.content = Arc::from("");
            }
            Share::Given { text, by } => {
                file.content = Arc::clone(&text.text);
                file.injected_chars = text.chars;
                if !text.dropped.is_empty() {
                    let limit = match by {
                        Budget::PerFile => settings.per_file,
                        Budget::Total => settings.total,
                    };
                    file.status = FileStatus::Truncated {
                        by,
                        limit,
                        dropped: text.dropped.clone(),
                    };
                }
                if let PinOutcome::OverLimit { needed } = text.pins {
                    draft.remarks.push(Remark::PinsOverLimit { needed });
                }
            }
        }
        if let Some(source) = &draft.source {
            source.let_go();
        }
    }
}

fn finish(drafts: Vec<Draft>, request: &LoadRequest<'_>) -> LoadedContext {
    let report: Vec<FileReport> = drafts.iter().map(Draft::report).collect();
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

impl Draft {
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
