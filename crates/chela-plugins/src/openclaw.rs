//! OpenClaw's own plugins: modules for Node, behind a shim of the interface they are written for.

use std::io;
use std::path::{Path, PathBuf};

use chela_config::plugins_folder;
use chela_core::Host;
use chela_files::{FileMode, create_private_folder, write_file};
use serde_json::{Map, Value};

use crate::manifest::{PluginManifest, ProgramKind};

/// What stands between a plugin and us.
const SHIM: &str = include_str!("../text/openclaw-shim.mjs");

const SHIM_NAME: &str = "openclaw.mjs";

/// Where shims lie, beside the plugins.
pub(crate) fn shim_folder(plugins: &Path) -> PathBuf {
    plugins.join(".shims")
}

/// Puts the shim where Node finds it. The same text is written once.
pub(crate) fn lay_out_shim(host: &Host) -> io::Result<PathBuf> {
    let folder = shim_folder(&plugins_folder(host));
    create_private_folder(&folder)?;
    let file = folder.join(SHIM_NAME);
    let is_there = std::fs::read(&file).is_ok_and(|bytes| bytes == SHIM.as_bytes());
    if !is_there {
        write_file(&file, SHIM.as_bytes(), FileMode::Private).map_err(io::Error::other)?;
    }
    Ok(file)
}

/// What Node is started with: the shim, the module, its settings.
pub(crate) fn node_arguments(shim: &Path, entry: &Path, settings: &Value) -> Vec<String> {
    vec![
        "--experimental-transform-types".to_owned(),
        "--disable-warning=ExperimentalWarning".to_owned(),
        shim.display().to_string(),
        entry.display().to_string(),
        settings.to_string(),
    ]
}

impl PluginManifest {
    /// What its tools are served by, once it lies in `home`: the same module, behind the same shim. `None`
    /// for one that offers none.
    pub fn tool_server(&self, home: &Path) -> Option<(String, Vec<String>)> {
        let program = self.parts.program.as_ref()?;
        let ProgramKind::OpenClaw { entry } = &program.kind else {
            return None;
        };
        let shim = shim_folder(home.parent()?).join(SHIM_NAME);
        let args = node_arguments(&shim, &home.join(entry), &Value::Object(Map::new()));
        self.offers_tools.then(|| ("node".to_owned(), args))
    }
}
