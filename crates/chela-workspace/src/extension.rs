//! `agent:bootstrap`: the point at which extensions may add, change or take out context files.
//!
//! An extension works on a copy. What it did is compared with what was there, and labelled: its
//! text carries its name, is trusted no further than a plugin, reaches no wider audience, passes
//! the same cleaning and the same limits. What the owner pinned it cannot take out.

use std::path::Path;
use std::sync::Arc;

use chela_core::{AgentId, Audience, ContentHash, Origin, Trust, sanitize};

use crate::context_file::ContextFile;
use crate::core_file::{CoreFile, SessionScope, file_name};
use crate::decode::{trim_blank_lines, with_line_feeds};
use crate::pins::{are_kept, pinned_text};
use crate::report::{ExtensionAction, ExtensionChange, FileStatus};

/// Files one extension may add.
const MOST_ADDED: usize = 32;

/// Something that has a say in the context files of a session, before limits apply.
pub trait BootstrapExtension: Send + Sync {
    fn id(&self) -> &str;

    /// Files are known by `path`, relative ones starting at the workspace; of a new file, `path`, `content`, `audience` and `zone` count.
    fn adjust(&self, files: &mut Vec<ContextFile>, context: &BootstrapContext<'_>);
}

/// What an extension is told about the session.
#[derive(Debug, Clone, Copy)]
pub struct BootstrapContext<'a> {
    pub agent: &'a AgentId,
    pub workspace: &'a Path,
    pub session: SessionScope,
    pub audience: Audience,
}

/// A file and what extensions did to it.
#[derive(Debug, Clone)]
pub(crate) struct ExtendedFile {
    pub(crate) file: ContextFile,
    pub(crate) changes: Vec<ExtensionChange>,
}

/// Lets one extension adjust the files.
pub(crate) fn apply(
    extension: &dyn BootstrapExtension,
    files: Vec<ExtendedFile>,
    context: &BootstrapContext<'_>,
    pinned_headings: &[String],
) -> Vec<ExtendedFile> {
    let is_present = |touched: &&ExtendedFile| touched.file.status.is_in_prompt();
    let mut offered: Vec<_> = files
        .iter()
        .filter(is_present)
        .map(|touched| touched.file.clone())
        .collect();
    let holds_private = offered
        .iter()
        .any(|file| file.audience == Audience::Private);
    extension.adjust(&mut offered, context);
    for file in &mut offered {
        if !file.path.as_os_str().is_empty() {
            file.path = context.workspace.join(&file.path);
        }
    }

    let id = extension.id();
    let mut after: Vec<_> = files
        .into_iter()
        .map(|mut touched| {
            if touched.file.status.is_in_prompt() {
                let answer = take(&mut offered, &touched.file.path);
                let action = settle(
                    &mut touched.file,
                    answer,
                    &Contributor {
                        id,
                        pinned_headings,
                    },
                );
                if let Some(action) = action {
                    tracing::info!(
                        extension = id,
                        file = touched.file.shown_path,
                        ?action,
                        "an extension adjusts a context file"
                    );
                }
                touched
                    .changes
                    .extend(action.map(|action| change(id, action)));
            }
            touched
        })
        .collect();
    for file in offered.into_iter().take(MOST_ADDED) {
        if file.path.as_os_str().is_empty() || file.content.trim().is_empty() {
            continue;
        }
        let file = added(
            file,
            id,
            &Surroundings {
                workspace: context.workspace,
                holds_private,
            },
        );
        let changes = vec![change(id, ExtensionAction::Added)];
        match after
            .iter_mut()
            .find(|touched| touched.file.path == file.path)
        {
            None => after.push(ExtendedFile { file, changes }),
            Some(touched) if touched.file.status.is_nothing_there() => {
                *touched = ExtendedFile { file, changes };
            }
            // It is kept out of this session for a reason.
            Some(_) => {}
        }
    }
    after
}

/// Takes what the extension made of `path`; more of the same path are dropped.
fn take(offered: &mut Vec<ContextFile>, path: &Path) -> Option<ContextFile> {
    let mut taken = None;
    offered.retain(|file| {
        let is_it = file.path == path;
        if is_it && taken.is_none() {
            taken = Some(file.clone());
        }
        !is_it
    });
    taken
}

struct Contributor<'a> {
    id: &'a str,
    /// What it may not take out, besides what `<!-- keep -->` holds.
    pinned_headings: &'a [String],
}

/// Brings a file to what the extension made of it, as far as that is allowed.
fn settle(
    file: &mut ContextFile,
    answer: Option<ContextFile>,
    by: &Contributor<'_>,
) -> Option<ExtensionAction> {
    let Some(answer) = answer else {
        if !pinned_text(&file.content, by.pinned_headings).is_empty() {
            return Some(ExtensionAction::Refused);
        }
        file.status = FileStatus::RemovedByExtension {
            id: by.id.to_owned(),
        };
        return Some(ExtensionAction::Removed);
    };
    file.audience = file.audience.min(answer.audience);
    file.zone = file.zone.max(answer.zone);
    if answer.content == file.content {
        return None;
    }
    let content = clean(&answer.content);
    if !are_kept(&file.content, &content, by.pinned_headings) {
        return Some(ExtensionAction::Refused);
    }
    if content.is_empty() {
        file.status = FileStatus::RemovedByExtension {
            id: by.id.to_owned(),
        };
        return Some(ExtensionAction::Removed);
    }
    file.origin = Origin::Plugin {
        id: by.id.to_owned(),
        hash: ContentHash::of(&*content),
    };
    file.trust = file.trust.join(Trust::Plugin);
    file.content = content;
    Some(ExtensionAction::Changed)
}

struct Surroundings<'a> {
    workspace: &'a Path,
    holds_private: bool,
}

/// A new file. Where private files could be read, its text may hold some of them.
fn added(file: ContextFile, id: &str, around: &Surroundings<'_>) -> ContextFile {
    let name = file_name(&file.path);
    let shown_path = file
        .path
        .strip_prefix(around.workspace)
        .unwrap_or(&file.path);
    let shown_path = sanitize::literal(&shown_path.to_string_lossy()).into_owned();
    let by_name = CoreFile::of(&name).map_or(Audience::Shared, CoreFile::audience);
    let by_content = if around.holds_private {
        Audience::Private
    } else {
        Audience::Shared
    };
    let content = clean(&file.content);
    ContextFile {
        name,
        shown_path,
        origin: Origin::Plugin {
            id: id.to_owned(),
            hash: ContentHash::of(&*content),
        },
        trust: Trust::Plugin,
        audience: file.audience.min(by_name).min(by_content),
        raw_chars: content.chars().count(),
        injected_chars: 0,
        status: FileStatus::Injected,
        content,
        ..file
    }
}

fn clean(content: &str) -> Arc<str> {
    let lines = with_line_feeds(content);
    Arc::from(trim_blank_lines(&sanitize::content(&lines).0))
}

fn change(id: &str, action: ExtensionAction) -> ExtensionChange {
    ExtensionChange {
        extension: id.to_owned(),
        action,
    }
}
