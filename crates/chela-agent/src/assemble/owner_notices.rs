//! What the owner hears, once, about the files a prompt is made of.

use chela_config::LoadedConfig;
use chela_core::{AgentId, ContentHash, Host};
use chela_workspace::{ContextFile, OwnerNotice};

/// An agent whose files lie among those of another one.
pub(super) fn nested_workspace(
    host: &Host,
    loaded: &LoadedConfig,
    agent: &AgentId,
) -> Option<OwnerNotice> {
    let outer = loaded.outer_workspace(agent)?;
    let nested = loaded.workspace_dir(agent).value;
    let (here, there) = (host.compact(&nested), host.compact(&outer));
    let text = format!(
        "Agent `{agent}` has its files in {here}, inside the default agent's workspace, whose \
         tools can read and change them. To move them out: mv {here} {there}"
    );
    Some(OwnerNotice {
        key: ContentHash::of(&text),
        path: nested,
        text,
    })
}

/// Headings of a file that a model could take for sections of the prompt.
pub(super) fn borrowed_headings(file: &ContextFile) -> Vec<OwnerNotice> {
    let found = chela_prompt::borrowed_headings(&file.content).into_iter();
    found
        .map(|found| OwnerNotice {
            key: ContentHash::of(format!("{}\0{}", file.path.display(), found.heading)),
            path: file.path.clone(),
            text: format!(
                "{} line {}: `{}` looks like a section of the prompt itself. Choose another title \
                 (chela context lint).",
                file.shown_path, found.line, found.heading
            ),
        })
        .collect()
}
