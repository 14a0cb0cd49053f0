//! `chela setup`, as typed.

use clap::{Args, ValueEnum};

#[derive(Debug, Default, Args)]
pub struct SetupArgs {
    /// Which provider: anthropic, openai, google, openrouter, ollama, or a name for a server of
    /// your own
    #[arg(long, value_name = "ID")]
    pub provider: Option<String>,

    /// The address of a server of your own
    #[arg(long, value_name = "URL", requires = "provider")]
    pub base_url: Option<String>,

    /// What it speaks, where that is not plain from the address
    #[arg(long, value_name = "API", requires = "base_url")]
    pub api: Option<String>,

    /// Which of its models; without one you pick, or a good one is taken
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Read the key from standard input
    #[arg(long)]
    pub key_stdin: bool,

    /// Where the key is kept
    #[arg(long, value_enum, value_name = "PLACE")]
    pub keep: Option<KeyPlace>,

    /// Take the first model that is found, without asking
    #[arg(long, short)]
    pub yes: bool,

    /// Do not begin a chat afterwards
    #[arg(long)]
    pub no_chat: bool,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyPlace {
    /// The secret store of the system (libsecret, Keychain)
    Keyring,
    /// A file only you can read, in ~/.chela/keys
    File,
}

pub const AFTER_HELP: &str = "\
Examples:
  chela setup                                         asks, tests, ends in a chat
  chela setup --yes --no-chat                         takes what is found: a local server, a key in
                                                      the environment
  pass openai | chela setup --provider openai --key-stdin --no-chat
  chela setup --provider mine --base-url http://10.0.0.5:8000/v1 --no-chat

It can be run again: what it asks about is replaced, the rest of the config stays as it is. The key
goes into the secret store of the system or a file only you can read, never into the config.";
