//! Reads typed values straight from nodes.
//!
//! A `null` member counts as absent, so that it means "not set" for every key.

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::node::{Kind, Node};

impl Node {
    /// The value as a type of the model. After a clean check this does not fail.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        T::deserialize(self)
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Kind::String(text) => visitor.visit_borrowed_str(text),
            Kind::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Kind::Object(members) => visitor.visit_map(MapDeserializer::new(
                members
                    .iter()
                    .filter(|member| member.value.kind != Kind::Null)
                    .map(|member| (member.key.as_str(), &member.value)),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.kind {
            Kind::String(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => Err(serde::de::Error::custom(format!(
                "{} where a word is expected",
                self.type_name()
            ))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
