//! Text of a hook among the files a session begins with.

use std::path::PathBuf;

use chela_core::{Audience, ContentHash, Origin, Trust, Zone};
use chela_workspace::{BootstrapContext, BootstrapExtension, ContextFile, FileStatus};

/// What a hook adds to the bootstrap files. It stands there under the hook's name, as a plugin's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookText {
    pub hook: String,
    pub text: String,
}

impl BootstrapExtension for HookText {
    fn id(&self) -> &str {
        &self.hook
    }

    fn adjust(&self, files: &mut Vec<ContextFile>, _: &BootstrapContext<'_>) {
        let name = format!("{}.md", plain_name(&self.hook));
        let path = PathBuf::from("hooks").join(&name);
        files.push(ContextFile {
            shown_path: path.to_string_lossy().into_owned(),
            name,
            path,
            content: self.text.as_str().into(),
            origin: Origin::Plugin {
                id: self.hook.clone(),
                hash: ContentHash::of(&self.text),
            },
            trust: Trust::Plugin,
            audience: Audience::Shared,
            zone: Zone::Stable,
            raw_chars: self.text.chars().count(),
            injected_chars: 0,
            status: FileStatus::Injected,
        });
    }
}

/// A name that leads nowhere else.
fn plain_name(hook: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    hook.chars().map(plain).collect()
}
