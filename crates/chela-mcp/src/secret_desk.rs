//! Secrets of servers: kept out of what they print, and told to whoever keeps them out of everything else.

use std::sync::{Arc, PoisonError, RwLock};

use chela_core::secret::{KnownSecret, Redactor, is_guessable};

/// What takes secrets out, which may be another one after the config changed.
pub struct SecretDesk(RwLock<Arc<Redactor>>);

impl std::fmt::Debug for SecretDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretDesk")
    }
}

impl SecretDesk {
    pub fn new(redactor: Arc<Redactor>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(redactor)))
    }

    /// From now on this one takes them out.
    pub fn replace(&self, redactor: Arc<Redactor>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = redactor;
    }

    /// Keeps a value out of everything from now on.
    pub(crate) fn learn(&self, name: &str, value: &str) {
        if !is_guessable(value) {
            self.redactor().learn(KnownSecret {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
    }

    /// A text without them.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor().redact(text).into_owned()
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
