//! From the config file to the settings of one agent.

use std::time::Duration;

use chela_config::model;
use chela_config::{AgentView, KeyPath, LoadedConfig, NodeKind, plugin_folder};
use chela_core::HostEnv;

use super::{
    LoadSettings, OnChange, PluginSkills, PluginState, SkillCredential, SkillEntry, SkillLimits,
    SkillNewcomers, SkillRanking, SkillsSettings, WatchSetting, WorkspaceStanding,
};
use crate::signature::TrustedPublishers;

impl SkillsSettings {
    /// What `skills.*` and the agent's own keys say. Skills of the command line are added by whoever
    /// knows them.
    pub fn of(loaded: &LoadedConfig, agent: &AgentView) -> Self {
        let skills = &loaded.config.skills;
        let limits = &agent.skills_limits.value;
        let watch = if skills.load.watch {
            WatchSetting::On
        } else {
            WatchSetting::Off
        };
        let entries = skills.entries.iter();
        Self {
            load: LoadSettings {
                extra_dirs: skills.load.extra_dirs.clone(),
                packages: skills.load.packages.clone(),
                watch,
                watch_debounce: Duration::from_millis(skills.load.watch_debounce_ms),
                allow_symlink_targets: skills.load.allow_symlink_targets.clone(),
            },
            entries: entries
                .map(|(key, entry)| (key.clone(), entry_of(entry, loaded.env())))
                .collect(),
            allow_bundled: skills.allow_bundled.clone(),
            limits: SkillLimits {
                max_candidates_per_root: limits
                    .max_candidates_per_root
                    .map(|limit| size(limit.into())),
                max_skills_loaded_per_source: limits
                    .max_skills_loaded_per_source
                    .map(|limit| size(limit.into())),
                max_skills_in_prompt: size(limits.max_skills_in_prompt.into()),
                max_skill_file_bytes: limits.max_skill_file_bytes,
                max_skills_prompt_chars: size(limits.max_skills_prompt_chars),
                max_skills_prompt_tokens: limits.max_skills_prompt_tokens.map(size),
            },
            ranking: match skills.ranking {
                model::SkillsRanking::Auto => SkillRanking::Auto,
                model::SkillsRanking::Stable => SkillRanking::Stable,
                model::SkillsRanking::Relevance => SkillRanking::Relevance,
            },
            on_change: match skills.trust.on_change {
                model::SkillOnChange::QuarantineTrusted => OnChange::QuarantineTrusted,
                model::SkillOnChange::Allow => OnChange::Allow,
                model::SkillOnChange::Warn => OnChange::Warn,
                model::SkillOnChange::Quarantine => OnChange::Quarantine,
            },
            publishers: TrustedPublishers::parse(&skills.trust.publishers),
            allowed: agent.skills.value.clone(),
            plugins: plugin_skills(loaded),
            explicit: Vec::new(),
            workspace: WorkspaceStanding::default(),
            newcomers: SkillNewcomers::default(),
        }
    }
}

/// The skills of plugins, which count while their plugin is on.
fn plugin_skills(loaded: &LoadedConfig) -> Vec<PluginSkills> {
    let plugins = &loaded.config.plugins;
    let all = plugins.entries.keys().filter_map(|id| {
        let dir = plugin_folder(loaded.host(), id)?.join("skills");
        dir.is_dir().then(|| PluginSkills {
            plugin: id.clone(),
            dir,
            state: match plugins.is_on(id) {
                true => PluginState::Enabled,
                false => PluginState::Disabled,
            },
        })
    });
    all.collect()
}

/// Whether the config value at a path is set to something other than no, nothing or blank. Some
/// switches of the ecosystem are on unless they are turned off.
pub fn config_is_on(loaded: &LoadedConfig, path: &str) -> bool {
    const ON_BY_DEFAULT: [&str; 2] = ["browser.enabled", "browser.evaluateEnabled"];
    let node = KeyPath::parse(path)
        .ok()
        .and_then(|path| loaded.get(&path).cloned());
    match node.map(|node| node.kind) {
        None => ON_BY_DEFAULT.contains(&path),
        Some(NodeKind::Null) => false,
        Some(NodeKind::Bool(value)) => value,
        Some(NodeKind::Number(number)) => number.as_f64() != Some(0.0),
        Some(NodeKind::String(text)) => !text.trim().is_empty(),
        Some(NodeKind::Array(_) | NodeKind::Object(_)) => true,
    }
}

fn entry_of(entry: &model::SkillEntry, env: &HostEnv) -> SkillEntry {
    let credential = |secret: &model::SecretSetting| credential(secret, env);
    SkillEntry {
        enabled: entry.enabled,
        api_key: entry.api_key.as_ref().and_then(credential),
        env: entry
            .env
            .iter()
            .filter_map(|(name, secret)| Some((name.clone(), credential(secret)?)))
            .collect(),
        config: entry.config.clone(),
    }
}

fn credential(secret: &model::SecretSetting, env: &HostEnv) -> Option<SkillCredential> {
    match secret {
        model::SecretSetting::Text(text) => Some(SkillCredential::Text(text.clone())),
        model::SecretSetting::Reference(reference) => match reference.source {
            model::SecretSource::Env => env.get(&reference.id).cloned().map(SkillCredential::Text),
            _ => Some(SkillCredential::Elsewhere),
        },
    }
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::config_is_on;
    use crate::{SkillCredential, SkillPlaces, SkillRanking, SkillsSettings};
    use chela_core::{AgentId, Host};

    #[test]
    fn every_key_reaches_the_settings() {
        let mut host = Host::fixed("/home/me");
        host.env.insert("TOKEN".to_owned(), "t".to_owned());
        let loaded = chela_config::load_text(
            &host,
            "{ skills: { ranking: 'relevance', allowBundled: ['a'], load: { extraDirs: ['~/x'], watchDebounceMs: 100 }, \
             limits: { maxSkillsPromptChars: 30000 }, trust: { onChange: 'quarantine', publishers: ['no key'] }, \
             entries: { gh: { enabled: false, apiKey: { source: 'env', id: 'TOKEN' }, env: { A: 'b' } } } }, \
             browser: { headless: false }, agents: { list: [{ id: 'main', skills: ['gh'], skillsLimits: { maxSkillsInPrompt: 7 } }] } }",
        );
        let view = loaded.agent(&AgentId::main()).unwrap();
        let settings = SkillsSettings::of(&loaded, &view);
        assert_eq!(settings.ranking, SkillRanking::Relevance);
        assert_eq!(settings.limits.max_skills_prompt_chars, 30_000);
        assert_eq!(settings.limits.max_skills_in_prompt, 7);
        assert_eq!(settings.allowed.as_deref(), Some(&["gh".to_owned()][..]));
        assert_eq!(
            settings.entries["gh"].api_key,
            Some(SkillCredential::Text("t".to_owned()))
        );
        assert_eq!(settings.on_change, crate::OnChange::Quarantine);
        assert_eq!(settings.publishers.unusable[0].at, 0);
        assert!(
            config_is_on(&loaded, "browser.enabled") && !config_is_on(&loaded, "browser.headless")
        );
        assert!(!config_is_on(&loaded, "nothing.here") && !config_is_on(&loaded, "]["));
        assert_eq!(
            SkillPlaces::of(&loaded, &view).project,
            None,
            "the home folder is no project"
        );
    }
}
