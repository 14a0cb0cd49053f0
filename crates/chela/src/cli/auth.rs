//! `chela auth`, as typed.

use clap::{Args, Subcommand, ValueEnum};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Log in to a provider that offers OAuth
    #[command(after_help = "\
Examples:
  chela auth login work --issuer https://login.example.org --client-id chela --base-url https://llm.example.org/v1
  chela auth login work            once more: what was said is remembered
  chela auth login work --flow browser

The endpoints are found at the issuer (RFC 8414). Where it offers device codes, no browser is needed on
this machine; else the login comes back to 127.0.0.1 (authorization code with PKCE). Tokens are kept in
~/.chela/keys, in files only you can read, and renewed before a chat when they have run out.")]
    Login(Box<LoginArgs>),
    /// Forget the tokens of a provider
    Logout { provider: String },
    /// The logins and stored keys there are
    List(JsonArgs),
}

#[derive(Debug, Args)]
pub struct LoginArgs {
    /// The name of the provider in the config
    pub provider: String,

    /// Who issues the tokens
    #[arg(long, value_name = "URL")]
    pub issuer: Option<String>,

    /// As which client
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,

    /// What for, where the issuer wants to know
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,

    /// The address of its models, where the config does not have it
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// How to log in
    #[arg(long, value_enum, value_name = "FLOW")]
    pub flow: Option<LoginFlow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoginFlow {
    /// A code, typed in on any device
    Device,
    /// A browser on this machine
    Browser,
}
