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

/// A line that may leave, and the same as the file keeps it.
#[derive(Debug)]
pub(crate) struct CleanLine {
    pub line: LogLine,
    pub json: String,
}

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

    /// Without secrets first, short then: half a secret is known to nobody.
    pub(crate) fn clean(&self, mut line: LogLine) -> CleanLine {
        self.clean_string(&mut line.message);
        self.clean_map(&mut line.ids);
        self.clean_map(&mut line.fields);
        // A name and its value tell more together than each alone.
        let json = self.through(line.to_json(), |redactor, text| redactor.redact_json(text));
        let mut line = LogLine::parse(&json).unwrap_or(line);
        match line.shorten() {
            true => CleanLine {
                json: line.to_json(),
                line,
            },
            false => CleanLine { json, line },
        }
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
