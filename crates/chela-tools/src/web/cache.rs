//! What was read from the web, for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use chela_core::lock;
use tokio::time::Instant;

const MOST_ENTRIES: usize = 100;

/// Remembers values for a time; the oldest go first.
#[derive(Debug)]
pub struct TimedCache<K, V> {
    keep: Duration,
    entries: Mutex<HashMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash + Clone, V: Clone> TimedCache<K, V> {
    /// Minutes as the config has them; none for nothing, negative numbers and nonsense.
    pub fn for_minutes(minutes: f64) -> Self {
        let keep = Duration::try_from_secs_f64(minutes * 60.0).unwrap_or_default();
        Self {
            keep,
            entries: Mutex::default(),
        }
    }

    pub fn get(&self, key: &K) -> Option<V> {
        let entries = lock(&self.entries);
        let (since, value) = entries.get(key)?;
        (since.elapsed() < self.keep).then(|| value.clone())
    }

    pub fn put(&self, key: K, value: V) {
        let mut entries = lock(&self.entries);
        entries.retain(|_, (since, _)| since.elapsed() < self.keep);
        if entries.len() >= MOST_ENTRIES {
            let oldest = entries.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                entries.remove(&oldest);
            }
        }
        entries.insert(key, (Instant::now(), value));
    }
}
