//! `skills`: where they are found, which are on, what listing them may cost.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Skills.
    struct Skills {
        /// Bundled skills that may be used, by name. Unset: all.
        allow_bundled: Option<Vec<String>>,
        /// Where skills are found.
        load: SkillsLoad,
        /// Registries that `chela skills search` and `add NAME` ask: addresses with ClawHub's API, or of
        /// index files (.json). Unset: clawhub.ai; empty: none.
        registries: Option<Vec<String>>,
        /// Where `chela skills add owner/repo` looks for repositories.
        git_host: String = "https://github.com".to_owned(),
        /// How `chela skills setup` installs the programs a skill needs.
        install: SkillsInstall,
        /// Limits.
        limits: SkillsLimits,
        /// How skills compete for space in the prompt.
        ranking: SkillsRanking,
        /// What happens when a skill changes.
        trust: SkillsTrust,
        /// Skills by name: on or off, key, variables, settings.
        entries: BTreeMap<String, SkillEntry>,
        /// Skills the agent writes itself.
        [later]
        workshop: ForeignSettings,
        /// Uploaded skills.
        [later]
        upload: ForeignSettings,
    }

    /// Where skills are found.
    struct SkillsLoad {
        /// More folders, with the lowest priority.
        extra_dirs: Vec<String>,
        /// npm packages with a `skills` folder.
        packages: Vec<String>,
        /// Folders that links may point to.
        allow_symlink_targets: Vec<String>,
        /// Notice changes while running.
        watch: bool = true,
        /// Wait this many milliseconds for more changes.
        watch_debounce_ms: u64 = 250,
    }

    /// How programs a skill needs are installed.
    struct SkillsInstall {
        /// Prefer Homebrew.
        prefer_brew: bool = true,
        /// Package manager for Node.
        node_manager: NodeManager,
        /// Allow skills from uploaded archives.
        [later]
        allow_uploaded_archives: Option<bool>,
    }

    /// Limits on skills.
    struct SkillsLimits {
        /// Skill folders read per root. Unset: all.
        [min 1]
        max_candidates_per_root: Option<u32>,
        /// Skills of one source that are described; the others are listed by name. Unset: all.
        [min 1]
        max_skills_loaded_per_source: Option<u32>,
        /// Skills described in the prompt. Where there are more, those that fit a message are described with it.
        max_skills_in_prompt: u32 = 150,
        /// Characters of the list in the prompt.
        max_skills_prompt_chars: u64 = 30_000,
        /// Tokens of the list in the prompt; used instead of the characters when set.
        max_skills_prompt_tokens: Option<u64>,
        /// Largest SKILL.md, in bytes.
        max_skill_file_bytes: u64 = 256_000,
    }

    /// What happens when a skill changes.
    struct SkillsTrust {
        /// What happens when a skill in your own folders has changed.
        on_change: SkillOnChange,
        /// Publishers whose signatures count.
        publishers: Vec<String>,
    }

    /// One skill.
    struct SkillEntry {
        /// On or off.
        enabled: Option<bool>,
        /// Key for the service the skill uses.
        api_key: Option<SecretSetting>,
        /// Variables set while the skill runs, unless they are set already.
        env: BTreeMap<String, SecretSetting>,
        /// Settings of the skill.
        config: OpenMap,
    }
}

words! {
    /// Package manager for Node.
    enum NodeManager { Npm = "npm", Pnpm = "pnpm", Yarn = "yarn", Bun = "bun" }
    /// How skills compete for space in the prompt.
    enum SkillsRanking {
        /// All while they fit; where they do not, those that fit the message.
        Auto = "auto",
        /// Workspace first, then by use.
        Stable = "stable",
        /// All names, and the descriptions that fit the message.
        Relevance = "relevance",
    }
    /// What happens when something trusted changes.
    enum OnChange { Warn = "warn", Allow = "allow", Quarantine = "quarantine" }
    /// What happens when a skill in your own folders changes.
    enum SkillOnChange {
        /// Quarantine a skill you trusted, warn about others.
        QuarantineTrusted = "quarantine-trusted",
        /// Use it and warn.
        Warn = "warn",
        /// Use it.
        Allow = "allow",
        /// Quarantine it.
        Quarantine = "quarantine",
    }
}
