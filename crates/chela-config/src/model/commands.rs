//! `commands`: chat commands and who counts as the owner.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Chat commands and who counts as the owner.
    struct Commands {
        /// Read `/` commands in chats.
        text: bool = true,
        /// Register commands with the platform.
        [later]
        native: OrAuto<bool> = OrAuto::Auto(AutoLiteral::Auto),
        /// Register skills as commands with the platform.
        [later]
        native_skills: OrAuto<bool> = OrAuto::Auto(AutoLiteral::Auto),
        /// Allow `!cmd`.
        [later]
        bash: bool,
        /// Wait this many milliseconds for `!cmd`.
        [max 30_000, later]
        bash_foreground_ms: u64 = 2_000,
        /// Allow `/config`.
        config: bool,
        /// Allow `/mcp`.
        [later]
        mcp: bool,
        /// Allow `/plugins`.
        [later]
        plugins: bool,
        /// Allow `/debug`.
        [later]
        debug: bool,
        /// Allow `/restart`.
        [later]
        restart: bool = true,
        /// Check groups of people as well.
        [later]
        use_access_groups: Option<bool>,
        /// Ids of the owner, as `channel:id` or `id`.
        owner_allow_from: Vec<IdText>,
        /// How owner ids appear in the prompt.
        owner_display: OwnerDisplay,
        /// Secret that owner ids are hashed with. Default: one created for this installation.
        owner_display_secret: Option<SecretSetting>,
        /// Who may use commands, per channel, `*` for all. When set, nothing else counts.
        [later]
        allow_from: Option<BTreeMap<String, Vec<IdText>>>,
    }
}

words! {
    /// How owner ids appear in the prompt.
    enum OwnerDisplay {
        /// The first 12 digits of a keyed hash.
        Hash = "hash",
        /// As they are.
        Raw = "raw",
    }
}
