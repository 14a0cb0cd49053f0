//! `chela plugins new`: the folder of a plugin that works.

use std::path::PathBuf;

use chela_config::is_plugin_id;
use chela_core::Host;

use crate::chat::clean_line;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

const MANIFEST: &str = include_str!("template/plugin.json");
const PROGRAM: &str = include_str!("template/hooks.py");

pub fn new(host: &Host, screen: &mut Screen, id: &str, folder: Option<PathBuf>) -> CommandOutcome {
    if !is_plugin_id(id) {
        return Err(CommandError::usage(format!(
            "`{}` is no id: use lower-case letters, digits, `-` and `.`",
            clean_line(id)
        )));
    }
    let folder = folder.map_or_else(|| host.cwd.join(id), |folder| host.cwd.join(folder));
    if folder.exists() {
        return Err(
            CommandError::new(format!("{} exists already", host.compact(&folder)))
                .hint("name another folder with --folder"),
        );
    }
    let shown = host.compact(&folder);
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("plugin.json"), MANIFEST.replace("{{id}}", id)))
        .and_then(|()| std::fs::write(folder.join("hooks.py"), PROGRAM));
    written.map_err(|error| CommandError::new(format!("cannot write {shown}: {error}")))?;
    screen.line(format!("Made {shown} with plugin.json and hooks.py."))?;
    screen.line(format!(
        "Add it: chela plugins add {shown}; then: chela plugins test {id}"
    ))?;
    Ok(CommandExit::Fine)
}
