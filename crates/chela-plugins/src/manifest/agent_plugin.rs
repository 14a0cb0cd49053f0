//! Agent Plugins 1.0: `plugin.json`, with what is ours in `extensions."dev.chela"`.

use chela_config::is_plugin_id;

use super::extension::read_extension;
use super::{ManifestError, ManifestFile, PackageForm, PluginManifest, PluginParts};
use crate::grant::GrantSet;

const SCHEMAS: [&str; 2] = [
    "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json",
];
const FIELDS: [&str; 10] = [
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "extensions",
];
/// Our place in a manifest.
const NAMESPACE: &str = "dev.chela";

pub(super) fn read(file: &ManifestFile<'_>) -> Result<PluginManifest, ManifestError> {
    let value = &file.value;
    let schema = value["$schema"].as_str().unwrap_or_default();
    if !SCHEMAS.contains(&schema) {
        return Err(file.wrong(format!(
            "`$schema` must be {}: no other version of Agent Plugins is known here",
            SCHEMAS[0]
        )));
    }
    let name = value["name"].as_str().unwrap_or_default();
    if !is_plugin_id(name) {
        return Err(file.wrong(
            "`name` must have 1 to 64 lower-case letters, digits, `-` and `.`, none of these twice in a row",
        ));
    }
    for key in [
        "version",
        "description",
        "homepage",
        "repository",
        "license",
    ] {
        if !value[key].is_null() && !value[key].is_string() {
            return Err(file.wrong(format!("`{key}` must be a text")));
        }
    }
    if let Some(author) = value.get("author") {
        let fields = author.as_object();
        let known = |(name, value): (&String, &serde_json::Value)| {
            ["name", "email", "url"].contains(&name.as_str()) && value.is_string()
        };
        if !fields.is_some_and(|fields| fields.iter().all(known)) {
            return Err(file.wrong("`author` may have `name`, `email` and `url`, each a text"));
        }
    }
    if let Some(keywords) = value.get("keywords") {
        let words = keywords.as_array();
        if !words.is_some_and(|words| words.iter().all(serde_json::Value::is_string)) {
            return Err(file.wrong("`keywords` must be a list of texts"));
        }
    }
    let mut left_out: Vec<String> = value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !FIELDS.contains(&key.as_str()))
        .map(|(key, _)| {
            format!(
                "plugin.json: `{}` is not part of the format",
                super::one_line(key)
            )
        })
        .collect();
    let mut parts = PluginParts {
        servers: Some("mcp.json".into()),
        ..PluginParts::default()
    };
    let mut asks = GrantSet::default();
    let mut is_required = false;
    match value.get("extensions") {
        None => {}
        Some(extensions) if extensions.is_object() => {
            let ours = &extensions[NAMESPACE];
            if !ours.is_null() {
                let extension = read_extension(file, ours)?;
                parts.program = extension.program;
                parts.commands = extension.commands;
                asks = extension.asks;
                is_required = extension.is_required;
                left_out.extend(extension.left_out);
            }
        }
        Some(_) => left_out.push("plugin.json: `extensions` is not an object".to_owned()),
    }
    Ok(PluginManifest {
        id: name.to_owned(),
        form: PackageForm::AgentPlugin,
        version: file.line("version"),
        description: file.line("description"),
        author: file.author(),
        parts,
        asks,
        is_required,
        offers_tools: false,
        left_out,
    })
}
