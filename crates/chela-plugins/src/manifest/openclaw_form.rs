//! OpenClaw's plugins: `openclaw.plugin.json` and a module for Node.
//!
//! Which hooks a module registers is known only once it runs; what it asks for is read from its source
//! beforehand, and a hook that is registered without a grant is never asked.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{
    ManifestError, ManifestFile, PackageForm, PluginManifest, PluginParts, PluginProgram,
    ProgramKind, asks_of, inside, read_json,
};
use crate::grant::{GrantSet, PluginGrant, PromptPlace};
use crate::hook_name::HookName;

const MOST_SOURCE_FILES: usize = 400;
const MOST_SOURCE_BYTES: u64 = 2 << 20;

/// Where a hook is registered in source text.
static REGISTERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\.\s*(?:on|registerHook)\s*\(\s*\[?\s*["'`]([a-z][a-z_:]{3,40})["'`]"#).ok()
});

pub(super) fn read(file: &ManifestFile<'_>) -> Result<PluginManifest, ManifestError> {
    let id = file.id("id")?;
    let mut left_out = Vec::new();
    for key in ["channels", "providers", "kind"] {
        let given = file.get(key);
        let is_given = given.as_str().is_some_and(|kind| kind != "tool")
            || given.as_array().is_some_and(|list| !list.is_empty());
        if is_given {
            left_out.push(format!("`{key}`: plugins bring none of these here"));
        }
    }
    let entry = entry_of(file)?;
    let mut source = SourceLook::default();
    source.read(file.folder, 0);
    let SourceLook {
        hooks: names,
        offers_tools,
        ..
    } = source;
    let mut hooks = Vec::new();
    for name in names {
        match HookName::parse(&name) {
            Some(hook) if !hooks.contains(&(hook, 0)) => hooks.push((hook, 0)),
            Some(_) => {}
            None => {
                let told = format!("the hook {name}: nothing of that name happens here");
                if !left_out.contains(&told) {
                    left_out.push(told);
                }
            }
        }
    }
    let mut asks = asks_of(hooks.iter().map(|(hook, _)| *hook));
    let says = [
        HookName::BeforePromptBuild,
        HookName::HeartbeatPromptContribution,
    ];
    if hooks.iter().any(|(hook, _)| says.contains(hook)) {
        asks.push(PluginGrant::Prompt {
            place: PromptPlace::Tail,
            tokens: 1_000,
        });
    }
    let skills = file.get("skills").as_array().into_iter().flatten();
    let skill_folders = skills
        .filter_map(Value::as_str)
        .filter_map(inside)
        .collect();
    let inline_servers = file
        .value
        .get("mcpServers")
        .filter(|servers| servers.is_object());
    Ok(PluginManifest {
        id,
        form: PackageForm::OpenClaw,
        version: file.line("version"),
        description: file.line("description"),
        author: file.author(),
        parts: PluginParts {
            program: entry.map(|entry| PluginProgram {
                kind: ProgramKind::OpenClaw { entry },
                hooks,
            }),
            commands: Vec::new(),
            skill_folders,
            servers: None,
            inline_servers: inline_servers.cloned(),
        },
        asks: GrantSet::of(asks),
        is_required: false,
        offers_tools,
        left_out,
    })
}

/// The module: what `package.json` names, else where modules usually lie.
fn entry_of(file: &ManifestFile<'_>) -> Result<Option<PathBuf>, ManifestError> {
    let package = read_json(&file.folder.join("package.json"))?.unwrap_or_default();
    let package = &package;
    let openclaw = &package["openclaw"];
    let extensions = [&openclaw["extensions"], file.get("extensions")];
    let named = extensions
        .into_iter()
        .find_map(|list| list.get(0).and_then(Value::as_str))
        .or(file.get("main").as_str())
        .or(package["main"].as_str());
    let named = named.into_iter().filter_map(inside);
    let usual = [
        "index.ts",
        "index.js",
        "index.mjs",
        "src/index.ts",
        "dist/index.js",
    ];
    let mut all = named.chain(usual.map(PathBuf::from));
    Ok(all.find(|entry| file.folder.join(entry).is_file()))
}

/// What source files register.
#[derive(Default)]
struct SourceLook {
    files: usize,
    hooks: Vec<String>,
    offers_tools: bool,
}

impl SourceLook {
    fn read(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            let is_test = name.contains(".test.") || name == "test" || name == "tests";
            if name.starts_with('.') || name == "node_modules" || is_test {
                continue;
            }
            if facts.is_dir() && depth < 6 {
                self.read(&path, depth + 1);
            }
            let ends = [".ts", ".js", ".mjs", ".cjs"];
            let is_source = facts.is_file()
                && facts.len() <= MOST_SOURCE_BYTES
                && ends.iter().any(|end| name.ends_with(end));
            if is_source && self.files < MOST_SOURCE_FILES {
                self.files += 1;
                self.look_at(&std::fs::read_to_string(&path).unwrap_or_default());
            }
        }
    }

    fn look_at(&mut self, text: &str) {
        self.offers_tools |= text.contains("registerTool");
        for capture in REGISTERS
            .iter()
            .flat_map(|pattern| pattern.captures_iter(text))
        {
            if let Some(name) = capture.get(1) {
                self.hooks.push(name.as_str().to_owned());
            }
        }
    }
}
