//! Taking a JSON object apart key by key, and knowing at the end what nobody asked for.

use chela_core::suggest;
use serde_json::{Map, Value};

use super::FactsError;

/// An object of the document and where it stands. Each key is taken once; what is left at the
/// end is unknown.
pub(super) struct ObjectReader {
    path: String,
    map: Map<String, Value>,
    asked: Vec<&'static str>,
}

impl ObjectReader {
    pub(super) fn root(document: Value) -> Result<Self, FactsError> {
        Self::new(String::new(), document)
    }

    fn new(path: String, value: Value) -> Result<Self, FactsError> {
        match value {
            Value::Object(map) => Ok(Self {
                path,
                map,
                asked: Vec::new(),
            }),
            other => {
                let path = if path.is_empty() {
                    "the document".to_owned()
                } else {
                    path
                };
                Err(wrong_type(path, "an object", &other))
            }
        }
    }

    /// The text under `key`; `None` when it is absent or blank.
    pub(super) fn text(&mut self, key: impl Into<FactKey>) -> Result<Option<String>, FactsError> {
        Ok(self.raw_text(key)?.filter(|text| !text.trim().is_empty()))
    }

    /// The text under `key`, blank or not.
    pub(super) fn raw_text(
        &mut self,
        key: impl Into<FactKey>,
    ) -> Result<Option<String>, FactsError> {
        let (path, value) = self.take(key.into());
        match value {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(path, "a text", &other)),
            None => Ok(None),
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, FactsError> {
        let (path, value) = self.take(key.into());
        match value {
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong_type(path, "true or false", &other)),
            None => Ok(None),
        }
    }

    /// One of a few words; `None` when it is absent or blank.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, FactsError> {
        let Some(given) = self.text(key)? else {
            return Ok(None);
        };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given.trim()) {
            return Ok(Some(*meaning));
        }
        let allowed: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let nearest = suggest::nearest(&given, allowed.iter().copied());
        Err(FactsError::UnknownValue {
            path: self.child(key),
            given,
            allowed,
            nearest,
        })
    }

    /// The texts of a list, without blank ones.
    pub(super) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, FactsError> {
        let mut texts = Vec::new();
        for (path, value) in self.list(key)? {
            match value {
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => texts.push(text),
                Value::Null => {}
                other => return Err(wrong_type(path, "a text", &other)),
            }
        }
        Ok(texts)
    }

    pub(super) fn object(&mut self, key: &'static str) -> Result<Option<Self>, FactsError> {
        let (path, value) = self.take(key.into());
        value.map(|value| Self::new(path, value)).transpose()
    }

    pub(super) fn objects(&mut self, key: &'static str) -> Result<Vec<Self>, FactsError> {
        self.list(key)?
            .into_iter()
            .map(|(path, value)| Self::new(path, value))
            .collect()
    }

    /// The keys that are there, for an object whose keys are names.
    pub(super) fn keys(&self) -> Vec<String> {
        self.map.keys().cloned().collect()
    }

    /// Refuses the first key that nobody took.
    pub(super) fn finish(self) -> Result<(), FactsError> {
        let Some(unknown) = self.map.keys().next() else {
            return Ok(());
        };
        let nearest = suggest::nearest(unknown, self.asked.iter().copied());
        Err(FactsError::UnknownKey {
            path: self.child(unknown),
            nearest,
        })
    }

    fn list(&mut self, key: &'static str) -> Result<Vec<(String, Value)>, FactsError> {
        let (path, value) = self.take(key.into());
        match value {
            Some(Value::Array(items)) => Ok(items
                .into_iter()
                .enumerate()
                .map(|(at, item)| (format!("{path}[{at}]"), item))
                .collect()),
            Some(other) => Err(wrong_type(path, "a list", &other)),
            None => Ok(Vec::new()),
        }
    }

    /// A null is an absent value. Order is kept, so that the first unknown key is the one named.
    fn take(&mut self, key: FactKey) -> (String, Option<Value>) {
        let value = self
            .map
            .shift_remove(key.as_str())
            .filter(|value| !value.is_null());
        let path = self.child(key.as_str());
        if let FactKey::Known(key) = key {
            self.asked.push(key);
        }
        (path, value)
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

/// A key of the format, or a name the document chose.
pub(super) enum FactKey {
    Known(&'static str),
    Given(String),
}

impl FactKey {
    fn as_str(&self) -> &str {
        match self {
            Self::Known(key) => key,
            Self::Given(key) => key,
        }
    }
}

impl From<&'static str> for FactKey {
    fn from(key: &'static str) -> Self {
        Self::Known(key)
    }
}

impl From<String> for FactKey {
    fn from(key: String) -> Self {
        Self::Given(key)
    }
}

fn wrong_type(path: String, expected: &'static str, found: &Value) -> FactsError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    FactsError::WrongType {
        path,
        expected,
        found,
    }
}
