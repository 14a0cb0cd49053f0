//! Which skills this machine and this agent can use, and for each of the others why not.

use std::collections::HashMap;
use std::path::PathBuf;

use chela_core::Host;
use chela_files::{FileFacts as _, FileStamp};
use serde::Serialize;

use crate::settings::{SkillCredential, SkillsSettings};
use crate::skill::Skill;
use crate::source::{PluginState, SkillSource};

/// One reason why a skill is hidden, with the way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HiddenReason {
    pub gate: SkillGate,
    /// What is the matter: `env GITHUB_TOKEN is not set`.
    pub reason: String,
    /// What to do about it.
    pub fix: String,
}

impl std::fmt::Display for HiddenReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.reason, self.fix)
    }
}

/// What stands between a skill and its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillGate {
    Disabled,
    Draft,
    AllowBundled,
    AgentAllowList,
    Plugin,
    Os,
    Bins,
    AnyBins,
    Env,
    Config,
    Tools,
}

/// What the gates are judged by.
pub struct GateContext<'a> {
    pub host: &'a Host,
    pub settings: &'a SkillsSettings,
    pub platform: SkillPlatform,
    /// Whether the config value at a path is set and true, for `requires.config`.
    pub config: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for GateContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gates")
            .field("platform", &self.platform)
            .finish_non_exhaustive()
    }
}

/// The operating system, by the names skills use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillPlatform {
    Linux,
    Darwin,
    Win32,
    Other,
}

impl SkillPlatform {
    /// The one this program was built for.
    pub const fn current() -> Self {
        if cfg!(target_os = "linux") {
            Self::Linux
        } else if cfg!(target_os = "macos") {
            Self::Darwin
        } else if cfg!(windows) {
            Self::Win32
        } else {
            Self::Other
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Darwin => "darwin",
            Self::Win32 => "win32",
            Self::Other => "other",
        }
    }

    pub(crate) fn is_named(self, name: &str) -> bool {
        let name = name.trim().to_ascii_lowercase();
        match self {
            Self::Linux => name == "linux",
            Self::Darwin => matches!(name.as_str(), "darwin" | "macos" | "mac" | "osx"),
            Self::Win32 => matches!(name.as_str(), "win32" | "windows" | "win"),
            Self::Other => false,
        }
    }
}

/// Everything that hides a skill; empty when nothing does.
pub fn hidden(
    skill: &Skill,
    gates: &GateContext<'_>,
    programs: &mut PathPrograms,
) -> Vec<HiddenReason> {
    let mut found = Vec::new();
    let mut hide =
        |gate, reason: String, fix: String| found.push(HiddenReason { gate, reason, fix });
    let settings = gates.settings;
    let key = skill.key();
    let entry = settings.entry(key, &skill.name);
    if entry.and_then(|entry| entry.enabled) == Some(false) {
        hide(
            SkillGate::Disabled,
            "it is turned off".to_owned(),
            format!("chela skills enable {}", skill.name),
        );
    }
    if skill.front.draft {
        hide(
            SkillGate::Draft,
            "it is a draft".to_owned(),
            format!(
                "fill it in and delete `draft: true` in {}",
                skill.file.display()
            ),
        );
    }
    let named = |list: &[String]| list.iter().any(|name| *name == skill.name || name == key);
    if skill.source == SkillSource::Bundled
        && settings
            .allow_bundled
            .as_deref()
            .is_some_and(|list| !named(list))
    {
        let reason = "skills.allowBundled does not name it".to_owned();
        hide(
            SkillGate::AllowBundled,
            reason,
            format!("add \"{key}\" to skills.allowBundled"),
        );
    }
    match settings.allowed.as_deref() {
        Some([]) => {
            let reason = "this agent has no skills (its `skills` list is empty)".to_owned();
            hide(
                SkillGate::AgentAllowList,
                reason,
                "change agents.list[].skills".to_owned(),
            );
        }
        Some(list) if left_out(list, &skill.name, key) => {
            let reason = "the agent's `skills` list leaves it out".to_owned();
            hide(
                SkillGate::AgentAllowList,
                reason,
                format!("chela skills enable {} --agent ID", skill.name),
            );
        }
        Some(list) if names_some(list) && !named(list) => {
            let reason = "the agent's `skills` list does not name it".to_owned();
            hide(
                SkillGate::AgentAllowList,
                reason,
                format!("chela skills enable {} --agent ID", skill.name),
            );
        }
        _ => {}
    }
    if let (SkillSource::Plugin(plugin), Some(PluginState::Disabled)) =
        (&skill.source, skill.plugin)
    {
        let path = format!("plugins.entries[\"{plugin}\"].enabled");
        hide(
            SkillGate::Plugin,
            format!("its plugin `{plugin}` is off"),
            format!("chela config set '{path}' true"),
        );
    }
    let gating = &skill.front.gating;
    if !gating.os.is_empty() && !gating.os.iter().any(|os| gates.platform.is_named(os)) {
        let reason = format!(
            "it is for {}, and this is {}",
            gating.os.join(", "),
            gates.platform.as_str()
        );
        hide(
            SkillGate::Os,
            reason,
            "use it on that kind of machine".to_owned(),
        );
    }
    if gating.always {
        return found;
    }
    let requires = &gating.requires;
    for bin in &requires.bins {
        if programs.find(bin).is_none() {
            hide(
                SkillGate::Bins,
                format!("program `{bin}` is not on PATH"),
                install_hint(skill, bin),
            );
        }
    }
    if !requires.any_bins.is_empty()
        && !requires
            .any_bins
            .iter()
            .any(|bin| programs.find(bin).is_some())
    {
        let all = requires.any_bins.join("`, `");
        hide(
            SkillGate::AnyBins,
            format!("none of `{all}` is on PATH"),
            "install one of them".to_owned(),
        );
    }
    for name in &requires.env {
        let from_entry = entry.is_some_and(|entry| {
            let given =
                |value: Option<&SkillCredential>| value.is_some_and(SkillCredential::is_given);
            let key_stands_in =
                gating.primary_env.as_ref() == Some(name) && given(entry.api_key.as_ref());
            key_stands_in || given(entry.env.get(name))
        });
        if gates.host.var(name).is_none() && !from_entry {
            let path = if gating.primary_env.as_ref() == Some(name) {
                format!("skills.entries[\"{key}\"].apiKey")
            } else {
                format!("skills.entries[\"{key}\"].env.{name}")
            };
            hide(
                SkillGate::Env,
                format!("env {name} is not set"),
                format!("export {name}=…, or set {path}"),
            );
        }
    }
    for path in &requires.config {
        if !(gates.config)(path) {
            hide(
                SkillGate::Config,
                format!("config {path} is not on"),
                format!("chela config set {path} true"),
            );
        }
    }
    found
}

/// Whether a list names skills to have; one that only leaves some out (`!name`) allows the rest.
fn names_some(list: &[String]) -> bool {
    list.iter().any(|word| !word.starts_with('!'))
}

fn left_out(list: &[String], name: &str, key: &str) -> bool {
    list.iter()
        .filter_map(|word| word.strip_prefix('!'))
        .any(|word| word == name || word == key)
}

/// The tools a skill needs that are not there, by what `has_tool` says.
pub(crate) fn missing_tools(skill: &Skill, has_tool: &dyn Fn(&str) -> bool) -> Vec<HiddenReason> {
    let gating = &skill.front.gating;
    let needed = gating.requires.tools.iter().filter(|_| !gating.always);
    needed
        .filter(|tool| !has_tool(tool))
        .map(|tool| HiddenReason {
            gate: SkillGate::Tools,
            reason: format!("the agent has no tool `{tool}`"),
            fix: "`chela agents matrix` shows its tools".to_owned(),
        })
        .collect()
}

/// What the skill itself says about getting a program, else the obvious.
fn install_hint(skill: &Skill, bin: &str) -> String {
    if !skill.front.gating.install.is_empty() {
        return format!("chela skills setup {}", skill.name);
    }
    format!("install `{bin}`")
}

/// Programs on PATH. Answers are kept until one of PATH's folders changes.
#[derive(Debug, Default)]
pub struct PathPrograms {
    folders: Vec<(PathBuf, Option<FileStamp>)>,
    found: HashMap<String, Option<PathBuf>>,
}

impl PathPrograms {
    pub fn new(host: &Host) -> Self {
        let path = host.env.get("PATH").map_or("", String::as_str);
        let folders = std::env::split_paths(path).filter(|dir| dir.is_absolute());
        let folders = folders
            .map(|dir| (dir.clone(), folder_stamp(&dir)))
            .collect();
        Self {
            folders,
            found: HashMap::new(),
        }
    }

    /// Forgets what it knows when a program may have come or gone.
    pub fn refresh(&mut self) {
        let mut changed = false;
        for (dir, stamp) in &mut self.folders {
            let now = folder_stamp(dir);
            changed |= *stamp != now;
            *stamp = now;
        }
        if changed {
            self.found.clear();
        }
    }

    pub fn find(&mut self, program: &str) -> Option<PathBuf> {
        if let Some(known) = self.found.get(program) {
            return known.clone();
        }
        let plain = !program.is_empty() && !program.contains(['/', '\\', '\0']);
        let found = plain.then(|| self.look_up(program)).flatten();
        self.found.insert(program.to_owned(), found.clone());
        found
    }

    fn look_up(&self, program: &str) -> Option<PathBuf> {
        self.folders
            .iter()
            .map(|(dir, _)| dir.join(program))
            .find(|path| {
                path.metadata()
                    .is_ok_and(|data| data.is_file() && data.is_executable())
            })
    }
}

fn folder_stamp(dir: &std::path::Path) -> Option<FileStamp> {
    dir.metadata().ok().map(|metadata| FileStamp::of(&metadata))
}

#[cfg(test)]
mod tests;
