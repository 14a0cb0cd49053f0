//! The approvals document: what may run on this machine, kept apart from the config so that
//! changing the config cannot widen it.
//!
//! `exec-approvals.json` in the state folder, version 1. A file that cannot be read denies
//! everything: it is never taken for an empty one. Keys that are not known here are kept.

use std::path::{Path, PathBuf};

use chela_config::model::{ExecAsk, ExecSecurity};
use chela_core::{AgentId, ContentHash, Host};
use chela_files::announce_write;
use chela_store::{StoreError, WaitHere as _, document_at};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::witness::remember_written;

/// The agent whose entries hold for all.
pub const EVERY_AGENT: &str = "*";
const VERSION: u64 = 1;
/// No document a person wrote is larger.
const LARGEST: usize = 4 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalsDocument {
    pub version: u64,
    #[serde(default)]
    pub defaults: ApprovalLimits,
    #[serde(default)]
    pub agents: indexed::ApprovalAgents,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How far commands may go; what is not set limits nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<ExecSecurity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<ExecAsk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_fallback: Option<ExecSecurity>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One agent's limits and list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentApprovals {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<ExecSecurity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<ExecAsk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_fallback: Option<ExecSecurity>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowlist: Vec<ApprovalEntry>,
    /// Calls of other tools: allowed from now on, allowed once, or waiting for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<KnownCall>,
    /// Hosts that sandboxed commands may reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostGrant>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A host that sandboxed commands may reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostGrant {
    pub id: String,
    /// As `sandbox.egress` writes hosts.
    pub host: String,
    /// Milliseconds since 1970.
    pub granted_at: u64,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Something that may run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalEntry {
    /// A path or glob of paths, or a bare name that stands for what PATH finds.
    pub pattern: String,
    /// A regular expression for all arguments joined by blanks, or `sha256:` and the hash of
    /// exactly these arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// The content of the program or script that was approved, where the agent could change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The words its arguments begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Vec<String>>,
    /// The folder it was given in, and holds in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As people read it, for entries that are hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_resolved_path: Option<String>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A call the owner was asked about while nobody was there, or allowed for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownCall {
    pub id: String,
    /// The exact shape of the call: tool, arguments, program.
    pub shape: ContentHash,
    pub state: KnownState,
    pub tool: String,
    pub summary: String,
    /// Every argument, made safe to print.
    pub exact: Vec<(String, String)>,
    pub why: String,
    /// The session that asked. An answer for once holds there alone.
    pub session: String,
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownState {
    /// Waits for the owner.
    Pending,
    /// May be made once.
    Once,
    Always,
}

mod indexed {
    use std::collections::BTreeMap;

    pub type ApprovalAgents = BTreeMap<String, super::AgentApprovals>;
}

/// Why the document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("{} cannot be read: {error}. No command runs until it can", path.display())]
    Read {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{} is broken: {error}. No command runs until it is fixed or removed", path.display())]
    Broken {
        path: PathBuf,
        error: serde_json::Error,
    },
    #[error("{} has version {version}, this program reads version {VERSION}. No command runs with it", path.display())]
    Version { path: PathBuf, version: u64 },
    #[error("{} is larger than 4 MB. No command runs with it", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} cannot be written: {error}", path.display())]
    Write {
        path: PathBuf,
        error: std::io::Error,
    },
}

impl Default for ApprovalsDocument {
    fn default() -> Self {
        Self {
            version: VERSION,
            defaults: ApprovalLimits::default(),
            agents: indexed::ApprovalAgents::default(),
            other: Map::new(),
        }
    }
}

impl ApprovalsDocument {
    /// Where it is kept.
    pub fn path(host: &Host) -> PathBuf {
        host.state_dir().join("exec-approvals.json")
    }

    /// The document; an empty one when there is none.
    pub fn load(path: &Path) -> Result<Self, DocumentError> {
        let text = document_at(path).read().wait();
        Self::found(text, path)
    }

    fn found(text: Result<Option<String>, StoreError>, path: &Path) -> Result<Self, DocumentError> {
        match text {
            Ok(None) => Ok(Self::default()),
            Ok(Some(text)) if text.len() > LARGEST => Err(DocumentError::TooLarge {
                path: path.to_owned(),
            }),
            Ok(Some(text)) => Self::read(&text, path),
            Err(error) => Err(DocumentError::Read {
                path: path.to_owned(),
                error: error.into(),
            }),
        }
    }

    /// A document from its text; the path is for the error.
    pub fn read(text: &str, path: &Path) -> Result<Self, DocumentError> {
        let document: Self = serde_json::from_str(text).map_err(|error| DocumentError::Broken {
            path: path.to_owned(),
            error,
        })?;
        match document.version {
            VERSION => Ok(document),
            version => Err(DocumentError::Version {
                path: path.to_owned(),
                version,
            }),
        }
    }

    /// Reads, changes and replaces the document. Two programs that change it at once take turns.
    pub fn change(path: &Path, change: impl FnOnce(&mut Self)) -> Result<Self, DocumentError> {
        let wrong = |error| DocumentError::Write {
            path: path.to_owned(),
            error,
        };
        let store = document_at(path);
        let mut held = store.hold().wait().map_err(|error| wrong(error.into()))?;
        let mut document = Self::found(held.read().wait(), path)?;
        change(&mut document);
        let text = serde_json::to_string_pretty(&document).map_err(|error| wrong(error.into()))?;
        let text = format!("{text}\n");
        remember_written(&text);
        let announced = path.parent().map(|home| announce_write(home, path));
        let replaced = held.replace(&text).wait();
        replaced.map_err(|error| wrong(error.into()))?;
        if let Some(announced) = announced {
            announced.finish(text.as_bytes());
        }
        Ok(document)
    }

    /// The list that holds for an agent: its own, then everyone's.
    pub fn allowlist<'a>(&'a self, agent: &AgentId) -> impl Iterator<Item = &'a ApprovalEntry> {
        [agent.as_str(), EVERY_AGENT]
            .into_iter()
            .filter_map(|id| self.agents.get(id))
            .collect::<Vec<_>>()
            .into_iter()
            .flat_map(|agent| &agent.allowlist)
    }

    /// The hosts that sandboxed commands of an agent may reach.
    pub fn hosts<'a>(&'a self, agent: &AgentId) -> impl Iterator<Item = &'a HostGrant> {
        let of = |id: &str| self.agents.get(id).map(|agent| agent.hosts.iter());
        let own = of(agent.as_str()).into_iter().flatten();
        own.chain(of(EVERY_AGENT).into_iter().flatten())
    }

    /// Lets sandboxed commands of an agent reach a host, unless they may already.
    pub fn allow_host(&mut self, agent: &str, grant: HostGrant) {
        let hosts = &mut self.agents.entry(agent.to_owned()).or_default().hosts;
        if hosts.iter().all(|known| known.host != grant.host) {
            hosts.push(grant);
        }
    }

    /// Removes the host of an id; says what it was.
    pub fn revoke_host(&mut self, id: &str) -> Option<(String, HostGrant)> {
        for (agent, approvals) in &mut self.agents {
            if let Some(at) = approvals.hosts.iter().position(|grant| grant.id == id) {
                return Some((agent.clone(), approvals.hosts.remove(at)));
            }
        }
        None
    }

    /// Adds an entry for an agent, unless it is there: then it counts as given anew.
    pub fn allow(&mut self, agent: &str, entry: ApprovalEntry) {
        self.allow_under_id(agent, entry);
    }

    /// The same; gives the id the entry has.
    pub(super) fn allow_under_id(&mut self, agent: &str, entry: ApprovalEntry) -> String {
        let list = &mut self.agents.entry(agent.to_owned()).or_default().allowlist;
        let same = list.iter_mut().find(|known| {
            known.pattern == entry.pattern
                && known.arg_pattern == entry.arg_pattern
                && known.sha256 == entry.sha256
                && known.prefix == entry.prefix
                && known.folder == entry.folder
        });
        match same {
            Some(known) => {
                known.granted_at = entry.granted_at.or(known.granted_at);
                // Without one it could not be revoked.
                if known.id.is_empty() {
                    known.id = entry.id;
                }
                known.id.clone()
            }
            None => {
                let id = entry.id.clone();
                list.push(entry);
                id
            }
        }
    }

    /// The calls other than commands that are known for an agent.
    pub fn calls<'a>(&'a self, agent: &AgentId) -> impl Iterator<Item = &'a KnownCall> {
        self.agents
            .get(agent.as_str())
            .into_iter()
            .flat_map(|agent| &agent.calls)
    }

    /// Adds a call for an agent; one of the same shape and session is replaced. Questions nobody
    /// ever answered make room.
    pub fn know(&mut self, agent: &str, call: KnownCall) {
        const MOST_PENDING: usize = 100;
        let calls = &mut self.agents.entry(agent.to_owned()).or_default().calls;
        calls.retain(|known| {
            known.shape != call.shape
                || known.state == KnownState::Always
                || known.session != call.session
        });
        let is_pending = |known: &KnownCall| known.state == KnownState::Pending;
        if calls.iter().filter(|known| is_pending(known)).count() >= MOST_PENDING
            && let Some(oldest) = calls.iter().position(is_pending)
        {
            calls.remove(oldest);
        }
        calls.push(call);
    }

    /// Removes the call of an id; says what it was.
    pub fn forget_call(&mut self, id: &str) -> Option<(String, KnownCall)> {
        for (agent, approvals) in &mut self.agents {
            if let Some(at) = approvals.calls.iter().position(|call| call.id == id) {
                return Some((agent.clone(), approvals.calls.remove(at)));
            }
        }
        None
    }

    /// Removes the entry of an id; says what it was.
    pub fn revoke(&mut self, id: &str) -> Option<(String, ApprovalEntry)> {
        for (agent, approvals) in &mut self.agents {
            let found = approvals.allowlist.iter().position(|entry| entry.id == id);
            if let Some(at) = found {
                return Some((agent.clone(), approvals.allowlist.remove(at)));
            }
        }
        None
    }

    /// Gives every entry an id, so that it can be revoked.
    pub fn number(&mut self, host: &Host) {
        for approvals in self.agents.values_mut() {
            for entry in &mut approvals.allowlist {
                if entry.id.is_empty() {
                    entry.id = host.random_hex(4);
                }
            }
        }
    }
}
