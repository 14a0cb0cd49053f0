//! Claude Code's plugins: `.claude-plugin/plugin.json`, `hooks/hooks.json`, `.mcp.json`.

use serde_json::Value;

use super::{
    ManifestError, ManifestFile, PackageForm, PluginManifest, PluginParts, asks_of, inside,
    read_json,
};
use crate::command_hooks::read_command_hooks;
use crate::grant::GrantSet;

pub(super) fn read(file: &ManifestFile<'_>) -> Result<PluginManifest, ManifestError> {
    let id = file.id("name")?;
    let mut left_out = Vec::new();
    let settings = match file.get("hooks") {
        Value::Object(inline) => Some(Value::Object(inline.clone())),
        Value::String(path) => match inside(path) {
            Some(path) => read_json(&file.folder.join(path))?,
            None => return Err(file.wrong("`hooks` leads out of the package")),
        },
        _ => read_json(&file.folder.join("hooks/hooks.json"))?,
    };
    let settings = settings.unwrap_or_default();
    let (commands, left) = read_command_hooks(settings.get("hooks").unwrap_or(&settings));
    left_out.extend(left.into_iter().map(|what| format!("hooks: {what}")));
    for folder in ["commands", "agents", "output-styles"] {
        if file.folder.join(folder).is_dir() {
            left_out.push(format!("{folder}/: there is nothing like it here"));
        }
    }
    let (servers, inline_servers) = match file.get("mcpServers") {
        Value::Object(inline) => (None, Some(Value::Object(inline.clone()))),
        Value::String(path) => match inside(path) {
            Some(path) => (Some(path), None),
            None => return Err(file.wrong("`mcpServers` leads out of the package")),
        },
        _ => (Some(".mcp.json".into()), None),
    };
    let skill_folders = match file.get("skills") {
        Value::String(one) => inside(one).into_iter().collect(),
        Value::Array(many) => {
            let paths = many.iter().filter_map(Value::as_str);
            paths.filter_map(inside).collect()
        }
        _ => Vec::new(),
    };
    let asks = GrantSet::of(asks_of(commands.iter().map(|command| command.hook)));
    Ok(PluginManifest {
        id,
        form: PackageForm::Claude,
        version: file.line("version"),
        description: file.line("description"),
        author: file.author(),
        parts: PluginParts {
            program: None,
            commands,
            skill_folders,
            servers,
            inline_servers,
        },
        asks,
        is_required: false,
        offers_tools: false,
        left_out,
    })
}
