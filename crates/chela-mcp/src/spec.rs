//! What is known of a server before it is spoken to: how to reach it, and what its owner grants it.

mod effects;
mod from_config;

use std::path::PathBuf;
use std::time::Duration;

use chela_core::ContentHash;
use chela_model::KeySource;
use chela_sandbox::WorkFolder;
use globset::GlobSet;
use serde_json::json;

pub use chela_config::model::McpEffect;
pub use effects::ToolEffects;
pub use from_config::{SpecFault, prefix_of, specs_of};

/// A server, as whoever set it up describes it. Cheap to compare: a server whose spec is another one is
/// started anew.
#[derive(Debug, Clone)]
pub struct McpServerSpec {
    /// As the config or the package calls it.
    pub name: String,
    /// What its tools' names begin with.
    pub prefix: String,
    /// Who set it up, for people: a key of the config, a package.
    pub set_up_by: String,
    pub reach: ServerReach,
    pub grants: ServerGrants,
    pub patience: ServerPatience,
    pub filter: ToolNameFilter,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum ServerReach {
    /// It is started.
    Program {
        command: String,
        args: Vec<String>,
        env: Vec<(String, SpecValue)>,
        /// Where it starts; its own folder unless said.
        cwd: Option<PathBuf>,
    },
    /// It runs somewhere.
    Http {
        url: String,
        transport: HttpTransport,
        headers: Vec<(String, SpecValue)>,
        login: LoginSettings,
    },
}

/// How messages travel over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// One address that is posted to.
    Streamable,
    /// The older way: a stream of events, and an address it names.
    Events,
}

/// A value that may be a secret. Neither `Debug` nor anything else shows it.
#[derive(Clone)]
pub enum SpecValue {
    Plain(String),
    /// Kept elsewhere; `at` names its place in the config.
    Secret {
        source: KeySource,
        at: String,
    },
}

impl std::fmt::Debug for SpecValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SpecValue(…)")
    }
}

impl SpecValue {
    /// The value. The error says what is missing, never what is there.
    pub(crate) async fn fetch(&self) -> Result<String, String> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Secret { source, at } => match source.fetch().await {
                Ok(Some(key)) => Ok(key.expose().to_owned()),
                Ok(None) => Err(format!("{at} has no value")),
                Err(why) => Err(format!("{at} is not available: {why}")),
            },
        }
    }
}

/// How to sign in, where the server does not say it all.
#[derive(Debug, Clone, Default)]
pub struct LoginSettings {
    pub client_id: Option<String>,
    pub client_secret: Option<SpecValue>,
    pub client_metadata_url: Option<String>,
    pub scope: Option<String>,
    pub issuer: Option<String>,
}

/// What the owner lets a server have and do. Nothing unless said.
#[derive(Debug, Clone, Default)]
pub struct ServerGrants {
    pub hosts: Vec<String>,
    pub folders: Vec<WorkFolder>,
    /// Files and folders it came in, which it may read.
    pub package: Vec<PathBuf>,
    /// Names of variables of the owner it gets.
    pub pass_env: Vec<String>,
    pub effects: ToolEffects,
    pub walls: ServerWalls,
}

/// Whether a program runs in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerWalls {
    /// It does, or it does not run.
    #[default]
    Required,
    /// The same, and there is no other way for it.
    Always,
    /// It may do what the owner may.
    Off,
}

/// How long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerPatience {
    pub request: Duration,
    pub connect: Duration,
    /// Unused for so long, it is stopped.
    pub idle: Duration,
}

impl Default for ServerPatience {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(60),
            connect: Duration::from_secs(30),
            idle: Duration::from_secs(600),
        }
    }
}

/// Which tools are used.
#[derive(Debug, Clone, Default)]
pub struct ToolNameFilter {
    /// `None`: all.
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl ToolNameFilter {
    pub fn takes(&self, tool: &str) -> bool {
        let included = self.include.as_ref().is_none_or(|set| set.is_match(tool));
        included && !self.exclude.is_match(tool)
    }
}

impl McpServerSpec {
    /// Whether what it is told leaves this machine.
    pub fn is_networked(&self) -> bool {
        match &self.reach {
            ServerReach::Http { .. } => true,
            ServerReach::Program { .. } => {
                !self.grants.hosts.is_empty() || self.grants.walls == ServerWalls::Off
            }
        }
    }

    /// The hosts it reaches, as far as they are named.
    pub fn hosts(&self) -> Vec<String> {
        match &self.reach {
            ServerReach::Http { url, .. } => host_of(url).into_iter().collect(),
            ServerReach::Program { .. } => self.grants.hosts.clone(),
        }
    }

    /// Whether it can change files that somebody else reads, too.
    pub fn writes_folders(&self) -> bool {
        match &self.reach {
            ServerReach::Http { .. } => false,
            ServerReach::Program { .. } => {
                let mut folders = self.grants.folders.iter();
                self.grants.walls == ServerWalls::Off
                    || folders.any(|folder| folder.access == chela_sandbox::FolderAccess::Write)
            }
        }
    }

    /// The folders its owner lets it write in.
    pub fn written_folders(&self) -> impl Iterator<Item = PathBuf> {
        let is_program = matches!(self.reach, ServerReach::Program { .. });
        let folders = self.grants.folders.iter().filter(move |folder| {
            is_program && folder.access == chela_sandbox::FolderAccess::Write
        });
        folders.map(|folder| folder.path.clone())
    }

    /// What it is known by as a thing to be started: no secret, and nothing of what it may do.
    pub fn launch_hash(&self) -> ContentHash {
        let told = match &self.reach {
            ServerReach::Program {
                command, args, cwd, ..
            } => json!(["program", command, args, cwd]),
            ServerReach::Http { url, .. } => json!(["http", url]),
        };
        ContentHash::of(told.to_string())
    }

    /// In one line, for people. Arguments may hold anything, so they are not told.
    pub fn describe(&self) -> String {
        match &self.reach {
            ServerReach::Program { command, args, .. } => match args.len() {
                0 => command.clone(),
                1 => format!("{command} (1 argument)"),
                many => format!("{command} ({many} arguments)"),
            },
            ServerReach::Http { url, .. } => without_query(url),
        }
    }
}

/// The host of an address, with its port where it is not the usual one.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let without_port = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!without_port.is_empty()).then(|| without_port.to_ascii_lowercase())
}

/// An address without what may be a secret in it.
pub(crate) fn without_query(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = match rest.find('/') {
                Some(at) => rest.split_at(at),
                None => (rest, ""),
            };
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    }
}
