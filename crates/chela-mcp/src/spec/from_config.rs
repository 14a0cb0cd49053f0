//! The servers of a config.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_config::model::{
    McpAccess, McpFolder, McpLogin, McpSandbox, McpServer, McpTransport, McpValue, ScalarValue,
    SecretSetting,
};
use chela_core::Host;
use chela_model::KeySource;
use chela_sandbox::{FolderAccess, WorkFolder};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::{
    HttpTransport, LoginSettings, McpServerSpec, ServerGrants, ServerPatience, ServerReach,
    ServerWalls, SpecValue, ToolEffects, ToolNameFilter,
};

/// What the name of a server may be at most: its tools' names have 64 characters.
const LONGEST_PREFIX: usize = 24;

/// A server that is set up in a way that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecFault {
    #[error("mcp.servers.{server} has neither a command nor a url")]
    Nothing { server: String },
    #[error("mcp.servers.{server} has both a command and a url; remove one of them")]
    Both { server: String },
    #[error("mcp.servers.{server}.url is not an http or https URL")]
    NoAddress { server: String },
    #[error("mcp.servers.{server}: the transport `stdio` needs a command")]
    NoCommand { server: String },
    #[error("mcp.servers.{server}.{key}: `{pattern}` is not a pattern of names")]
    BadPattern {
        server: String,
        key: &'static str,
        pattern: String,
    },
    #[error("mcp.servers.{server} has tools called like those of {other}; rename one of them")]
    SamePrefix { server: String, other: String },
}

/// The servers that are to be used, and what is wrong with others.
pub fn specs_of(host: &Host, loaded: &LoadedConfig) -> (Vec<McpServerSpec>, Vec<SpecFault>) {
    let mut specs: Vec<McpServerSpec> = Vec::new();
    let mut faults = Vec::new();
    let idle = Duration::from_millis(loaded.config.mcp.session_idle_ttl_ms);
    for (name, server) in &loaded.config.mcp.servers {
        if server.enabled == Some(false) || !is_of_plugin_in_use(loaded, server) {
            continue;
        }
        let reader = ServerReader {
            host,
            loaded,
            name,
            server,
        };
        match reader.spec(idle) {
            Err(fault) => faults.push(fault),
            Ok(spec) => match specs.iter().find(|known| known.prefix == spec.prefix) {
                Some(other) => faults.push(SpecFault::SamePrefix {
                    server: name.clone(),
                    other: other.name.clone(),
                }),
                None => specs.push(spec),
            },
        }
    }
    (specs, faults)
}

/// What the names of a server's tools begin with: letters, digits, `_` and `-`, beginning with a
/// letter, and never two `_` in a row, which end it.
pub fn prefix_of(name: &str) -> String {
    let mut prefix = String::new();
    for c in name.chars() {
        let c = match c {
            c if c.is_ascii_alphanumeric() || c == '-' => c,
            '_' if !prefix.ends_with('_') => c,
            _ => '-',
        };
        prefix.push(c);
    }
    if !prefix.starts_with(|c: char| c.is_ascii_alphabetic()) {
        prefix.insert_str(0, "mcp-");
    }
    prefix.truncate(LONGEST_PREFIX);
    prefix.trim_end_matches('_').to_owned()
}

/// A server that a plugin brought is used while the plugin is.
fn is_of_plugin_in_use(loaded: &LoadedConfig, server: &McpServer) -> bool {
    let plugins = &loaded.config.plugins;
    server
        .plugin
        .as_ref()
        .is_none_or(|plugin| plugins.is_on(plugin))
}

struct ServerReader<'a> {
    host: &'a Host,
    loaded: &'a LoadedConfig,
    name: &'a str,
    server: &'a McpServer,
}

impl ServerReader<'_> {
    fn spec(&self, idle: Duration) -> Result<McpServerSpec, SpecFault> {
        let usual = ServerPatience::default();
        let millis = |set: Option<u64>, usual| set.map_or(usual, Duration::from_millis);
        Ok(McpServerSpec {
            name: self.name.to_owned(),
            prefix: prefix_of(self.name),
            set_up_by: format!("mcp.servers.{}", self.name),
            reach: self.reach()?,
            grants: self.grants()?,
            patience: ServerPatience {
                request: millis(self.server.request_timeout_ms, usual.request),
                connect: millis(self.server.connection_timeout_ms, usual.connect),
                idle,
            },
            filter: self.filter()?,
        })
    }

    fn reach(&self) -> Result<ServerReach, SpecFault> {
        let server = self.name.to_owned();
        let filled = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        match (filled(&self.server.command), filled(&self.server.url)) {
            (None, None) => Err(SpecFault::Nothing { server }),
            (Some(_), Some(_)) => Err(SpecFault::Both { server }),
            (Some(command), None) => Ok(ServerReach::Program {
                command,
                args: self.server.args.clone(),
                env: self.values(&self.server.env, "env"),
                cwd: filled(&self.server.cwd)
                    .map(|cwd| self.host.expand(&cwd))
                    .or_else(|| self.package()),
            }),
            (None, Some(url)) => {
                if !url.starts_with("https://") && !url.starts_with("http://") {
                    return Err(SpecFault::NoAddress { server });
                }
                let transport = match self.server.transport {
                    Some(McpTransport::Stdio) => return Err(SpecFault::NoCommand { server }),
                    Some(McpTransport::Sse) => HttpTransport::Events,
                    Some(McpTransport::StreamableHttp | McpTransport::Http) | None => {
                        HttpTransport::Streamable
                    }
                };
                Ok(ServerReach::Http {
                    url,
                    transport,
                    headers: self.values(&self.server.headers, "headers"),
                    login: self.login(),
                })
            }
        }
    }

    fn values(&self, written: &BTreeMap<String, McpValue>, key: &str) -> Vec<(String, SpecValue)> {
        let all = written.iter().map(|(name, value)| {
            let value = match value {
                McpValue::Plain(ScalarValue(Value::String(text))) => SpecValue::Plain(text.clone()),
                McpValue::Plain(ScalarValue(other)) => SpecValue::Plain(other.to_string()),
                McpValue::Reference(reference) => {
                    let at = format!("mcp.servers.{}.{key}.{name}", self.name);
                    self.secret(&SecretSetting::Reference(reference.clone()), at)
                }
            };
            (name.clone(), value)
        });
        all.collect()
    }

    fn secret(&self, written: &SecretSetting, at: String) -> SpecValue {
        let secrets = &self.loaded.config.secrets;
        let source = KeySource::of(written, secrets, self.host, self.loaded.env(), &at);
        SpecValue::Secret { source, at }
    }

    fn login(&self) -> LoginSettings {
        let oauth: &McpLogin = &self.server.oauth;
        let at = format!("mcp.servers.{}.oauth.clientSecret", self.name);
        // `auth: { scope: … }` is how some write it.
        let beside = self
            .server
            .auth
            .as_ref()
            .and_then(|auth| auth["scope"].as_str());
        LoginSettings {
            client_id: oauth.client_id.clone(),
            client_secret: (oauth.client_secret.as_ref()).map(|secret| self.secret(secret, at)),
            client_metadata_url: oauth.client_metadata_url.clone(),
            scope: oauth.scope.clone().or_else(|| beside.map(str::to_owned)),
            issuer: oauth.issuer.clone(),
        }
    }

    fn grants(&self) -> Result<ServerGrants, SpecFault> {
        let folder = |folder: &McpFolder| {
            let (path, access) = match folder {
                McpFolder::Path(path) => (path, McpAccess::Read),
                McpFolder::Access(folder) => (&folder.path, folder.access),
            };
            let path = self.host.expand(path);
            WorkFolder {
                path: path.canonicalize().unwrap_or(path),
                access: match access {
                    McpAccess::Read => FolderAccess::Read,
                    McpAccess::Write => FolderAccess::Write,
                },
                closed: Vec::new(),
            }
        };
        let effects = self.server.effects.iter();
        let (effects, wrong) =
            ToolEffects::of(effects.map(|(name, effect)| (name.clone(), *effect)));
        if let Some(pattern) = wrong.into_iter().next() {
            return Err(self.bad_pattern("effects", pattern));
        }
        Ok(ServerGrants {
            hosts: self.server.hosts.clone(),
            folders: self.server.folders.iter().map(folder).collect(),
            package: self.package_files(),
            pass_env: self.server.pass_env.clone(),
            effects,
            walls: match self.server.sandbox {
                McpSandbox::Required => ServerWalls::Required,
                McpSandbox::Off => ServerWalls::Off,
            },
        })
    }

    /// The folder of the plugin that brought it.
    fn package(&self) -> Option<PathBuf> {
        let plugin = self.server.plugin.as_ref()?;
        chela_config::plugin_folder(self.host, plugin)
    }

    /// What it came in, and what starts plugins of other forms.
    fn package_files(&self) -> Vec<PathBuf> {
        let shims = chela_config::plugins_folder(self.host).join(".shims");
        let package = self.package().into_iter();
        package
            .flat_map(|folder| [folder, shims.clone()])
            .filter(|folder| folder.exists())
            .collect()
    }

    fn filter(&self) -> Result<ToolNameFilter, SpecFault> {
        let filter = &self.server.tool_filter;
        let include = filter.include.as_ref();
        Ok(ToolNameFilter {
            include: match include {
                Some(patterns) => Some(self.globs(patterns, "toolFilter.include")?),
                None => None,
            },
            exclude: self.globs(&filter.exclude, "toolFilter.exclude")?,
        })
    }

    fn globs(&self, patterns: &[String], key: &'static str) -> Result<GlobSet, SpecFault> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let glob = Glob::new(pattern);
            set.add(glob.map_err(|_| self.bad_pattern(key, pattern.clone()))?);
        }
        let built = set.build();
        built.map_err(|_| self.bad_pattern(key, patterns.join(", ")))
    }

    fn bad_pattern(&self, key: &'static str, pattern: String) -> SpecFault {
        SpecFault::BadPattern {
            server: self.name.to_owned(),
            key,
            pattern: chela_core::sanitize::literal(&pattern).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
