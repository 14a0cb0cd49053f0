//! `chela auth`, as typed.

use clap::{Args, Subcommand, ValueEnum};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Log in to a provider that offers OAuth
    #[command(after_help = "\
Examples:
  chela auth login work --issuer https://login.example.org --client-id chela --base-url https://llm.example.org/v1
  chela auth login work            again: the settings are remembered
  chela auth login work --flow browser

Endpoints are discovered at the issuer (RFC 8414). Where it offers device codes, no browser is needed on
this machine; otherwise the login returns to 127.0.0.1 (authorization code with PKCE). Tokens are stored in
~/.chela/keys, in files only you can read, and renewed before a chat once they have expired.")]
    Login(Box<LoginArgs>),
    /// Delete a provider's tokens
    Logout { provider: String },
    /// List logins and stored keys
    List(JsonArgs),
}

#[derive(Debug, Args)]
pub struct LoginArgs {
    /// The provider's name in the config
    pub provider: String,

    /// The OAuth issuer
    #[arg(long, value_name = "URL")]
    pub issuer: Option<String>,

    /// The OAuth client id
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,

    /// The OAuth scope, if the issuer requires one
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,

    /// The URL of its models, if not in the config
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// How to log in
    #[arg(long, value_enum, value_name = "FLOW")]
    pub flow: Option<LoginFlow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoginFlow {
    /// Enter a code on any device
    Device,
    /// Use a browser on this machine
    Browser,
}
