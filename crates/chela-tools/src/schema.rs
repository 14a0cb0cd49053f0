//! The shape of a tool's arguments: what the model is told, and what is checked before a call.
//!
//! A tool describes its argument struct with a [`ArgumentSchema`] beside it. The same value becomes the
//! JSON Schema in the request and the check in front of the call, so a tool only ever sees what
//! its schema promises. Small slips that models make are put right: a number in quotes, `null`
//! for an argument left out.

mod check;
mod model_schema;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::ToolOutput;

pub use check::{ArgumentComplaint, check};
pub use model_schema::{brief_model_schema, model_schema};

/// The arguments of a tool, in the order in which the model is told of them.
#[derive(Debug, Clone, Default)]
pub struct ArgumentSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl ArgumentSchema {
    pub fn object() -> Self {
        Self::default()
    }

    /// An argument that must be there.
    #[must_use]
    pub fn required(mut self, name: &str, kind: ArgumentKind, about: &str) -> Self {
        self.required.push(name.into());
        self.optional(name, kind, about)
    }

    /// An argument that may be left out. One whose name says it all needs no words.
    #[must_use]
    pub fn optional(mut self, name: &str, kind: ArgumentKind, about: &str) -> Self {
        let mut property = kind.0;
        if !about.is_empty() {
            property.insert("description".to_owned(), about.into());
        }
        self.properties
            .insert(name.to_owned(), Value::Object(property));
        self
    }

    /// As JSON Schema; the order of keys is always the same.
    pub fn build(self) -> Value {
        let properties = self.properties;
        match self.required {
            none if none.is_empty() => {
                json!({ "type": "object", "properties": properties, "additionalProperties": false })
            }
            required => json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }
}

/// What an argument holds.
#[derive(Debug, Clone)]
pub struct ArgumentKind(Map<String, Value>);

impl ArgumentKind {
    pub fn text() -> Self {
        Self::of("string")
    }

    pub fn integer() -> Self {
        Self::of("integer")
    }

    pub fn number() -> Self {
        Self::of("number")
    }

    pub fn flag() -> Self {
        Self::of("boolean")
    }

    /// One of these words.
    pub fn one_of(words: &[&str]) -> Self {
        Self::text().with("enum", json!(words))
    }

    pub fn list(items: ArgumentKind) -> Self {
        Self::of("array").with("items", Value::Object(items.0))
    }

    /// An object with arguments of its own.
    pub fn nested(schema: ArgumentSchema) -> Self {
        match schema.build() {
            Value::Object(map) => Self(map),
            _ => Self::of("object"),
        }
    }

    /// An object from names to text, such as environment variables.
    pub fn text_map() -> Self {
        Self::of("object").with("additionalProperties", json!({ "type": "string" }))
    }

    #[must_use]
    pub fn min(self, least: i64) -> Self {
        self.with("minimum", least.into())
    }

    #[must_use]
    pub fn max(self, most: i64) -> Self {
        self.with("maximum", most.into())
    }

    /// Text that may not be empty.
    #[must_use]
    pub fn not_empty(self) -> Self {
        self.with("minLength", 1.into())
    }

    /// The one a small model is told of, where it is told of one alone.
    #[must_use]
    pub fn chief(self) -> Self {
        self.with(model_schema::CHIEF, true.into())
    }

    /// A name models call it by from habit.
    #[must_use]
    pub fn also_named(self, name: &str) -> Self {
        self.with(model_schema::ALIASES, json!([name]))
    }

    /// What a good value looks like; complaints quote it.
    #[must_use]
    pub fn such_as(self, example: &str) -> Self {
        self.with("examples", json!([example]))
    }

    fn of(kind: &str) -> Self {
        Self(Map::from_iter([("type".to_owned(), kind.into())]))
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.0.insert(key.to_owned(), value);
        self
    }
}

/// The arguments as the tool's own type. After [`check`] this fails only when a tool's schema
/// and type disagree, which its tests rule out.
pub fn read<A: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<A, ToolOutput> {
    A::deserialize(arguments)
        .map_err(|error| ToolOutput::failed(format!("The arguments cannot be used: {error}.")))
}

#[cfg(test)]
mod tests;
