//! Finding a value: the agent's own, the one for all agents, or the default.

use std::sync::Arc;

use serde_json::Value;

use super::{ResolvedValue, ValueProvenance};
use crate::key_path::KeyPath;
use crate::load::Loaded;
use crate::migrate::MovedKey;
use crate::node::{ConfigNode, NodeKind};
use crate::node_read::FromNode;
use crate::sources::GatheredConfig;

/// Looks values up for one agent.
#[derive(Clone)]
pub struct ValueLookup {
    pub tree: Arc<ConfigNode>,
    moves: Arc<[MovedKey]>,
    gathered: Arc<GatheredConfig>,
    /// The agent's entry in the roster.
    pub entry: Option<KeyPath>,
    pub defaults: KeyPath,
}

impl std::fmt::Debug for ValueLookup {
    /// Leaves the values out: they hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// What was found for a key: up to two layers.
pub struct FoundLayers<'l> {
    pub own: Option<(&'l ConfigNode, KeyPath)>,
    pub shared: Option<(&'l ConfigNode, KeyPath)>,
}

impl ValueLookup {
    pub fn new(loaded: &Loaded, entry: Option<KeyPath>) -> Self {
        Self {
            tree: Arc::clone(&loaded.tree),
            moves: Arc::clone(&loaded.moves),
            gathered: Arc::clone(&loaded.gathered),
            entry,
            defaults: KeyPath::root().key("agents").key("defaults"),
        }
    }

    /// A key that stands under the agent and under `agents.defaults`.
    pub fn find(&self, key: &str) -> FoundLayers<'_> {
        self.find_in(key, &self.defaults, key)
    }

    /// A key of the agent whose counterpart for all agents stands elsewhere.
    pub fn find_in(&self, own_key: &str, home: &KeyPath, shared_key: &str) -> FoundLayers<'_> {
        FoundLayers {
            own: self
                .entry
                .as_ref()
                .and_then(|entry| self.at(entry, own_key)),
            shared: self.at(home, shared_key),
        }
    }

    /// A key that only exists for all agents.
    pub fn shared(&self, home: &KeyPath, key: &str) -> FoundLayers<'_> {
        FoundLayers {
            own: None,
            shared: self.at(home, key),
        }
    }

    fn at(&self, home: &KeyPath, key: &str) -> Option<(&ConfigNode, KeyPath)> {
        let mut node = self.tree.at_path(home)?;
        for key in key.split('.') {
            node = node.get(key)?;
        }
        // Most keys are not set: the path is made only for those that are.
        let path = || key.split('.').fold(home.clone(), |path, key| path.key(key));
        (node.kind != NodeKind::Null).then(|| (node, path()))
    }

    /// The winning layer alone, or `default`.
    pub fn one<T: FromNode>(&self, found: FoundLayers<'_>, default: T) -> ResolvedValue<T> {
        let winner = found.own.or(found.shared);
        match winner.and_then(|(node, path)| Some((node.read().ok()?, self.from(node, path)))) {
            Some((value, from)) => ResolvedValue { value, from },
            None => ResolvedValue {
                value: default,
                from: ValueProvenance::Default,
            },
        }
    }

    /// The same for a key that need not have a value.
    pub fn optional<T: FromNode>(&self, found: FoundLayers<'_>) -> ResolvedValue<Option<T>> {
        self.one(found, None)
    }

    /// Both layers merged, key by key; the agent's wins. Keys set in neither have their defaults.
    pub fn merged<T: FromNode + Default>(&self, found: FoundLayers<'_>) -> ResolvedValue<T> {
        match (found.shared, found.own) {
            (Some((shared, _)), Some((own, path))) => {
                let mut node = shared.clone();
                overlay(&mut node, own);
                ResolvedValue {
                    value: node.read().unwrap_or_default(),
                    from: self.from(own, path),
                }
            }
            (shared, own) => self.one(FoundLayers { own, shared }, T::default()),
        }
    }

    pub fn from(&self, node: &ConfigNode, path: KeyPath) -> ValueProvenance {
        let place = self.gathered.place(node.at);
        let own = self
            .entry
            .as_ref()
            .is_some_and(|entry| path.starts_with(entry));
        // People know the key as they wrote it.
        let path =
            crate::migrate::written_at(&self.moves, &path).map_or(path, |(written, _)| written);
        if own {
            ValueProvenance::Agent { path, place }
        } else {
            ValueProvenance::Defaults { path, place }
        }
    }
}

/// Lays one value over another: objects key by key, anything else whole.
pub fn overlay(under: &mut ConfigNode, over: &ConfigNode) {
    let (NodeKind::Object(members), NodeKind::Object(more)) = (&mut under.kind, &over.kind) else {
        *under = over.clone();
        return;
    };
    for member in more
        .iter()
        .filter(|member| member.value.kind != NodeKind::Null)
    {
        match members.iter_mut().find(|known| known.key == member.key) {
            Some(known) => overlay(&mut known.value, &member.value),
            None => members.push(member.clone()),
        }
    }
}

/// Lays one JSON object over another, key by key.
pub fn overlay_json(
    under: &mut serde_json::Map<String, Value>,
    over: &serde_json::Map<String, Value>,
) {
    for (key, value) in over {
        under.insert(key.clone(), value.clone());
    }
}
