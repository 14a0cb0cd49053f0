//! Finding a value: the agent's own, the one for all agents, or the default.

use std::sync::Arc;

use super::{ResolvedValue, ValueProvenance};
use crate::key_path::KeyPath;
use crate::load::LoadedConfig;
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
    lookup: &'l ValueLookup,
    pub own: Option<(&'l ConfigNode, KeyPath)>,
    pub shared: Option<(&'l ConfigNode, KeyPath)>,
}

impl ValueLookup {
    pub fn new(loaded: &LoadedConfig, entry: Option<KeyPath>) -> Self {
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
        FoundLayers {
            shared: self.at(&self.defaults, key),
            ..self.own(key)
        }
    }

    /// A key of the agent whose counterpart for all agents stands at the top of the config.
    pub fn find_or_top(&self, own_key: &str, top_key: &str) -> FoundLayers<'_> {
        FoundLayers {
            own: self.own(own_key).own,
            ..self.top(top_key)
        }
    }

    /// A key that only agents have.
    pub fn own(&self, key: &str) -> FoundLayers<'_> {
        let entry = self.entry.as_ref();
        FoundLayers {
            lookup: self,
            own: entry.and_then(|entry| self.at(entry, key)),
            shared: None,
        }
    }

    /// A key that only exists for all agents.
    pub fn top(&self, key: &str) -> FoundLayers<'_> {
        FoundLayers {
            lookup: self,
            own: None,
            shared: self.at(&KeyPath::root(), key),
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

impl FoundLayers<'_> {
    /// The winning layer alone, or `default`.
    pub fn or<T: FromNode>(self, default: T) -> ResolvedValue<T> {
        let winner = self.own.or(self.shared);
        let read = |(node, path): (&ConfigNode, _)| {
            let value = node.read().ok()?;
            let from = self.lookup.from(node, path);
            Some(ResolvedValue { value, from })
        };
        winner
            .and_then(read)
            .unwrap_or_else(|| ResolvedValue::by_default(default))
    }

    /// The same for a type that says itself what an absent key means.
    pub fn or_default<T: FromNode + Default>(self) -> ResolvedValue<T> {
        self.or(T::default())
    }

    /// Both layers merged, key by key; the agent's wins. Keys set in neither have their defaults.
    pub fn merged<T: FromNode + Default>(self) -> ResolvedValue<T> {
        match (&self.shared, &self.own) {
            (Some((shared, _)), Some((own, path))) => {
                let mut node = (*shared).clone();
                overlay(&mut node, own);
                ResolvedValue {
                    value: node.read().unwrap_or_default(),
                    from: self.lookup.from(own, path.clone()),
                }
            }
            _ => self.or_default(),
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
