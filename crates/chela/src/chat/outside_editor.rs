//! A message written in the person's own editor.

use std::io;
use std::path::PathBuf;

use chela_core::{Host, ok_or_debug};
use chela_files::create_private_folder;

use super::clean::clean;
use crate::fail::CommandError;
use crate::owner_editor::OwnerEditor;

/// Opens what is written so far and gives back what was saved. The file is the owner's alone, and
/// gone afterwards.
pub async fn write_in_editor(host: &Host, draft: &str) -> Result<String, CommandError> {
    let file = MessageFile::create(host, draft)?;
    let editor = OwnerEditor::of(host);
    let mut command = tokio::process::Command::from(editor.command(&file.path));
    editor.check(command.status().await)?;
    let text = std::fs::read_to_string(&file.path)?;
    Ok(clean(text.trim_end()))
}

/// The message while it is open in the editor.
struct MessageFile {
    path: PathBuf,
}

impl MessageFile {
    fn create(host: &Host, draft: &str) -> io::Result<Self> {
        let folder = host.state_dir().join("state/drafts");
        create_private_folder(&folder)?;
        let name = format!("message-{}.md", std::process::id());
        let path = folder.join(name);
        std::fs::write(&path, draft)?;
        Ok(Self { path })
    }
}

impl Drop for MessageFile {
    fn drop(&mut self) {
        ok_or_debug!(std::fs::remove_file(&self.path), "a draft is left behind");
    }
}
