//! What an entry says about where its text comes from, taken out of its body so that it can be
//! asked for without reading bodies.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The words of trust a label may have.
const LEVELS: [&str; 5] = ["external", "plugin", "agent", "owner", "operator"];
/// The word of a source that is not written down.
const PERSON: &str = "person";

/// Trust and source of an entry, as words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryMarks {
    /// [`EntryMarks::FOREIGN`] if anything in the body is, or if its label cannot be read; else
    /// the word of its label.
    pub trust: Option<&'static str>,
    /// Of a user's message: what made it.
    pub source: Option<String>,
}

impl EntryMarks {
    pub const FOREIGN: &'static str = LEVELS[0];
    pub const PERSON: &'static str = PERSON;

    pub fn of(kind: &str, body: &str) -> Self {
        if kind != "message" {
            return Self {
                trust: speaks_of_foreign_text(body).then_some(Self::FOREIGN),
                source: None,
            };
        }
        let Ok(message) = serde_json::from_str::<MarkedMessage>(body) else {
            return Self {
                trust: Some(Self::FOREIGN),
                source: None,
            };
        };
        let trust = match message.meta.label {
            None => None,
            Some(label) => Some(known_level(label).unwrap_or(Self::FOREIGN)),
        };
        let foreign = trust == Some(Self::FOREIGN) || speaks_of_foreign_text(body);
        Self {
            trust: if foreign { Some(Self::FOREIGN) } else { trust },
            source: (message.message.role == "user")
                .then(|| message.meta.source.unwrap_or_else(|| PERSON.to_owned())),
        }
    }

    pub fn is_from_a_person(&self) -> bool {
        self.source.as_deref() == Some(PERSON)
    }
}

fn known_level(label: serde_json::Value) -> Option<&'static str> {
    let word = label.get("trust")?.as_str()?;
    LEVELS.into_iter().find(|level| *level == word)
}

#[derive(Deserialize)]
struct MarkedMessage {
    message: MessageRole,
    #[serde(default)]
    meta: MessageMeta,
}

#[derive(Deserialize)]
struct MessageRole {
    role: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageMeta {
    label: Option<serde_json::Value>,
    source: Option<String>,
}

/// Whether a field called `trust` anywhere in it says so: besides a label there are the blocks
/// the runtime sent along. Text that is quoted in it is no field.
fn speaks_of_foreign_text(body: &str) -> bool {
    if !body.contains("\"trust\"") {
        return false;
    }
    let mut found = false;
    let mut reader = serde_json::Deserializer::from_str(body);
    let read = ForeignField(&mut found).deserialize(&mut reader);
    found || read.is_err()
}

/// Looks through any JSON for a foreign `trust`.
struct ForeignField<'f>(&'f mut bool);

impl<'de> DeserializeSeed<'de> for ForeignField<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ForeignField<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(ForeignField(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if *self.0 {
                fields.next_value::<IgnoredAny>()?;
            } else if name == "trust" {
                fields.next_value_seed(TrustField(self.0))?;
            } else {
                fields.next_value_seed(ForeignField(self.0))?;
            }
        }
        Ok(())
    }
}

/// The value of a field called `trust`.
struct TrustField<'f>(&'f mut bool);

impl<'de> DeserializeSeed<'de> for TrustField<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        *self.0 |= value.as_str() == Some(EntryMarks::FOREIGN);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
