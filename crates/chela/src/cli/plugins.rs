//! `chela plugins …` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum PluginsCommand {
    /// List the plugins: whether they are used, what they were granted, what is wrong
    #[command(visible_alias = "ls")]
    List(JsonArgs),

    /// Show one plugin: its parts, what it asks for, what it was granted
    Info {
        /// Its id
        id: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },

    /// Add a plugin: a folder, an archive, a git repository or an npm package
    #[command(after_help = "\
Examples:
  chela plugins add ./notes-kit
  chela plugins add owner/repo@v1.2
  chela plugins add https://example.org/kit.tgz
  chela plugins add npm:@scope/openclaw-kit
  chela plugins add ./notes-kit --yes --grant hook:before_prompt_build --grant prompt:tail=300

Agent Plugins (plugin.json), Claude's (.claude-plugin/plugin.json) and OpenClaw's (openclaw.plugin.json)
are read. Nothing of a plugin runs while it is added, and it may do nothing you do not grant: what it
asks for is shown, with the worst it could do with it. `chela plugins hooks` lists the hooks.")]
    Add(AddArgs),

    /// Remove a plugin, its grants and its MCP servers
    #[command(visible_alias = "rm")]
    Remove {
        /// Its id
        id: String,
    },

    /// Use a plugin; one in quarantine is tried again
    Enable {
        /// Its id
        id: String,
    },

    /// Keep a plugin, and do not use it
    Disable {
        /// Its id
        id: String,
    },

    /// Let a plugin do something
    #[command(after_help = "\
Examples:
  chela plugins grant notes-kit hook:before_prompt_build prompt:tail=300
  chela plugins grant notes-kit host:api.example.org read:~/notes

Grants: hook:NAME, prompt:tail=TOKENS, prompt:system=TOKENS, replace:prompt, replace:SOUL.md,
model:PROVIDER or model:PROVIDER/MODEL, host:HOST, read:FOLDER, write:FOLDER, env:NAME,
tool:NAME=EFFECT, conversation, vouched.")]
    Grant {
        /// Its id
        id: String,
        /// What it may do
        #[arg(required = true, value_name = "GRANT")]
        grants: Vec<String>,
    },

    /// Take back what a plugin was granted
    Revoke {
        /// Its id
        id: String,
        /// What it may no longer do; everything unless given
        #[arg(value_name = "GRANT")]
        grants: Vec<String>,
    },

    /// Fetch a newer version: shows what changed, and asks when it wants more
    Update {
        /// Its id
        id: String,
        /// Grant it what it asks for besides
        #[arg(long)]
        grant_asked: bool,
        /// Ask nothing
        #[arg(long, short = 'y')]
        yes: bool,
    },

    /// Say what is wrong with plugins, and what to do
    Doctor {
        /// Its id; all of them unless given
        id: Option<String>,
    },

    /// Show what a plugin printed
    Logs {
        /// Its id
        id: String,
        /// So many lines
        #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
        lines: usize,
    },

    /// Start a plugin, ask its hooks something, and show what they answer
    Test {
        /// Its id
        id: String,
        /// Only this hook
        #[arg(long, value_name = "HOOK")]
        hook: Option<String>,
        /// What it is told besides, as JSON
        #[arg(long, value_name = "JSON", default_value = "{}")]
        told: String,
    },

    /// Make the folder of a new plugin
    New {
        /// Its id
        id: String,
        /// Where; a folder of its name here unless given
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },

    /// List the hooks: what each lets a plugin do
    Hooks(JsonArgs),
}

#[derive(Debug, Args)]
pub struct AddArgs {
    /// A folder, an archive, a git repository, or npm:NAME
    pub source: String,

    /// Let it do this
    #[arg(long, value_name = "GRANT")]
    pub grant: Vec<String>,

    /// Grant it all it asks for
    #[arg(long)]
    pub grant_asked: bool,

    /// Ask nothing: it is added and used, with what --grant names
    #[arg(long, short = 'y')]
    pub yes: bool,
}
