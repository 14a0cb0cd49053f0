//! `chela setup`, as typed.

use clap::{Args, ValueEnum};

#[derive(Debug, Default, Args)]
pub struct SetupArgs {
    /// Which provider: anthropic, openai, google, openrouter, ollama, or a name for your own
    /// server
    #[arg(long, value_name = "ID")]
    pub provider: Option<String>,

    /// The URL of your own server
    #[arg(long, value_name = "URL", alias = "url")]
    pub base_url: Option<String>,

    /// Its API, if that is not clear from the URL
    #[arg(long, value_name = "API", requires = "base_url")]
    pub api: Option<String>,

    /// Which model; without it you pick one, or a good one is chosen
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Read the key from standard input
    #[arg(long)]
    pub key_stdin: bool,

    /// Where to store the key
    #[arg(long, value_enum, value_name = "PLACE")]
    pub keep: Option<KeyPlace>,

    /// Use the first model found, without asking
    #[arg(long, short)]
    pub yes: bool,

    /// Do not start a chat afterwards
    #[arg(long)]
    pub no_chat: bool,

    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeyPlace {
    /// The system's secret store (libsecret, Keychain)
    Keyring,
    /// A file only you can read, in ~/.chela/keys
    File,
}

pub const AFTER_HELP: &str = "\
Examples:
  chela setup                                         asks, tests, ends in a chat
  chela setup --yes --no-chat                         use what is found: a local server, a key in
                                                      the environment
  pass openai | chela setup --provider openai --key-stdin --no-chat
  chela setup --base-url http://10.0.0.5:8000/v1 --no-chat
  chela setup --provider mine --base-url http://10.0.0.6:8000/v1 --no-chat

You can run it again: what it asks about is replaced, the rest of the config is kept. The key
goes into the system's secret store or a file only you can read, never into the config.";
