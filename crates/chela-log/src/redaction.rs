//! No line leaves with a secret in it.
//!
//! The redactors of the agents are shared, not copied: what one learns while it works is hidden
//! here from then on. Before there are agents - or where there never are any, as in most commands
//! - one is made from the config, when the first line needs it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use chela_core::secret::Redactor;
use serde_json::{Map, Value};

use crate::line::LogLine;

/// Takes the secrets out of lines.
pub struct LogRedaction {
    shared: RwLock<Vec<Arc<Redactor>>>,
    made: OnceLock<Redactor>,
    make: Box<dyn Fn() -> Redactor + Send + Sync>,
}

impl std::fmt::Debug for LogRedaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogRedaction")
    }
}

impl LogRedaction {
    /// `make` gives the redactor for lines before any is shared. Once it was needed, it goes on
    /// beside those that are.
    pub fn new(make: impl Fn() -> Redactor + Send + Sync + 'static) -> Self {
        Self {
            shared: RwLock::default(),
            made: OnceLock::new(),
            make: Box::new(make),
        }
    }

    /// Hides what this one knows, and what it learns.
    pub fn share(&self, redactor: Arc<Redactor>) {
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        if !shared.iter().any(|known| Arc::ptr_eq(known, &redactor)) {
            shared.push(redactor);
        }
    }

    pub fn clean_line(&self, line: &mut LogLine) {
        self.clean_string(&mut line.message);
        self.clean_map(&mut line.ids);
        self.clean_map(&mut line.fields);
    }

    /// A finished line: a name and its value tell more together than each alone.
    pub fn clean_json(&self, json: String) -> String {
        self.through(json, |redactor, text| redactor.redact_json(text))
    }

    pub fn clean_text(&self, text: String) -> String {
        self.through(text, |redactor, text| redactor.redact(text))
    }

    fn clean_string(&self, text: &mut String) {
        *text = self.clean_text(std::mem::take(text));
    }

    fn clean_map(&self, map: &mut Map<String, Value>) {
        for (_, value) in map.iter_mut() {
            if let Value::String(text) = value {
                self.clean_string(text);
            }
        }
    }

    fn through(
        &self,
        mut text: String,
        clean: impl for<'t> Fn(&Redactor, &'t str) -> Cow<'t, str>,
    ) -> String {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        let shared: Vec<Arc<Redactor>> = shared.clone();
        for redactor in &shared {
            if let Cow::Owned(cleaned) = clean(redactor, &text) {
                text = cleaned;
            }
        }
        // What was hidden once stays hidden: a span that began before an agent shared its redactor
        // still carries what only the first one knows.
        let made = match shared.is_empty() {
            true => Some(self.made.get_or_init(|| (self.make)())),
            false => self.made.get(),
        };
        if let Some(made) = made
            && let Cow::Owned(cleaned) = clean(made, &text)
        {
            text = cleaned;
        }
        text
    }
}
