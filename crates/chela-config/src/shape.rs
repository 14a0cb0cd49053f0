//! What a config value may look like, as constant data.
//!
//! The types in [`crate::model`] each carry a [`ValueShape`]. The check, the JSON Schema, the
//! reference page and `config explain` read nothing else, so they cannot disagree, and nothing
//! has to be built when the program starts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What one value may look like.
#[derive(Debug)]
pub enum ValueShape {
    Anything,
    Bool,
    /// A whole number between the two, both included.
    Whole {
        min: i64,
        max: u64,
    },
    Number,
    Text,
    /// Text or a number in a form with rules of its own.
    Form(TextForm),
    /// One of some fixed words.
    Words(&'static WordList),
    /// Exactly this value.
    Exactly(FixedValue),
    List(&'static ValueShape),
    /// An object with keys of the user's choosing.
    Map(&'static ValueShape),
    Object(&'static ObjectShape),
    /// Any one of these; the first that fits is meant.
    OneOf(&'static [&'static ValueShape]),
    /// Never shown.
    Secret(&'static ValueShape),
}

/// An object with known keys.
#[derive(Debug)]
pub struct ObjectShape {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [FieldShape],
    /// What keys beyond the known ones hold; `None` refuses them.
    pub rest: Option<&'static ValueShape>,
}

/// A known key.
#[derive(Debug)]
pub struct FieldShape {
    pub key: &'static str,
    /// Lines as written; see [`FieldShape::doc`].
    pub raw_doc: &'static str,
    pub shape: &'static ValueShape,
    pub rules: FieldRules,
    pub default: fn() -> Option<Value>,
}

/// What holds for a value beyond its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldRules {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub max_len: Option<usize>,
    pub required: bool,
    /// It is read and accepted, but nothing uses it yet.
    pub later: bool,
    /// What the program takes where the key is absent, if it has no default of its own.
    pub means: Option<&'static str>,
}

impl FieldRules {
    pub const NONE: Self = Self {
        min: None,
        max: None,
        max_len: None,
        required: false,
        later: false,
        means: None,
    };
}

#[derive(Debug)]
pub struct WordList {
    pub name: &'static str,
    pub words: &'static [ListedWord],
}

#[derive(Debug)]
pub struct ListedWord {
    pub text: &'static str,
    pub raw_doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedValue {
    False,
    Text(&'static str),
}

/// A form of text that people write and the check understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    Duration,
    ByteSize,
    TimeOfDay,
    HexColor,
    /// Text, or a whole number that stands for it.
    Id,
    /// Text, a number, true or false.
    Scalar,
}

/// A type that can be read from the config.
pub trait HasShape {
    const SHAPE: &'static ValueShape;

    /// What an absent key means, if that is worth saying.
    fn implicit_default() -> Option<Value> {
        None
    }
}

/// What is said of a key that nothing uses.
const KEPT_KEY: &str = "accepted, but nothing uses it yet";
/// What is said of a part of the config that nothing runs.
const KEPT_PART: &str = "accepted, but nothing runs it yet";

impl FieldShape {
    /// The doc in one paragraph per line.
    pub fn doc(&self) -> String {
        tidy_doc(self.raw_doc)
    }

    /// Whether it holds keys of its own.
    pub fn is_part(&self) -> bool {
        let holds_keys = |shape: &ValueShape| match shape {
            ValueShape::Object(_) | ValueShape::Map(_) => true,
            ValueShape::OneOf(_) => shape.as_object().is_some(),
            _ => false,
        };
        holds_keys(self.shape) || self.shape.item().is_some_and(holds_keys)
    }

    /// What is to be said of it where nothing uses it.
    pub fn kept(&self) -> Option<&'static str> {
        self.rules.later.then(|| self.kept_as())
    }

    pub(crate) fn kept_as(&self) -> &'static str {
        match self.is_part() {
            true => KEPT_PART,
            false => KEPT_KEY,
        }
    }

    /// The value that counts while the key is absent.
    pub fn default_value(&self) -> Option<Value> {
        (self.default)().or_else(|| self.rules.means.map(Value::from))
    }
}

impl ObjectShape {
    pub fn field(&self, key: &str) -> Option<&'static FieldShape> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl ValueShape {
    /// The object inside, looking through secrets and choices.
    pub fn as_object(&self) -> Option<&'static ObjectShape> {
        match self {
            Self::Object(object) => Some(object),
            Self::OneOf(branches) => branches.iter().find_map(|branch| branch.as_object()),
            Self::Secret(inner) => inner.as_object(),
            _ => None,
        }
    }

    /// The shape of what lies under a key.
    pub fn under_key(&self, key: &str) -> Option<ShapeStep> {
        match self {
            Self::Anything => Some(ShapeStep {
                shape: &ValueShape::Anything,
                field: None,
            }),
            Self::Object(object) => match object.field(key) {
                Some(field) => Some(ShapeStep {
                    shape: field.shape,
                    field: Some(field),
                }),
                None => object.rest.map(|shape| ShapeStep { shape, field: None }),
            },
            Self::Map(shape) => Some(ShapeStep { shape, field: None }),
            Self::OneOf(branches) => branches.iter().find_map(|branch| branch.under_key(key)),
            Self::Secret(inner) => inner.under_key(key),
            _ => None,
        }
    }

    /// The shape of the items of a list.
    pub fn item(&self) -> Option<&'static ValueShape> {
        match self {
            Self::Anything => Some(&ValueShape::Anything),
            Self::List(item) => Some(item),
            Self::OneOf(branches) => branches.iter().find_map(|branch| branch.item()),
            Self::Secret(inner) => inner.item(),
            _ => None,
        }
    }

    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }
}

/// One step into a shape.
#[derive(Debug, Clone, Copy)]
pub struct ShapeStep {
    pub shape: &'static ValueShape,
    /// The known key, if it is one.
    pub field: Option<&'static FieldShape>,
}

/// Joins the lines of a doc comment; paragraphs stay apart.
pub fn tidy_doc(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    for line in raw.lines().map(str::trim) {
        if line.is_empty() {
            text.push_str("\n\n");
        } else {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push(' ');
            }
            text.push_str(line);
        }
    }
    text.trim().to_owned()
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl HasShape for $type {
            const SHAPE: &'static ValueShape =
                &ValueShape::Whole { min: <$type>::MIN as i64, max: <$type>::MAX as u64 };

            fn implicit_default() -> Option<Value> {
                Some(json!(0))
            }
        }
    )*};
}

whole!(u8, u16, u32, u64);

impl HasShape for bool {
    const SHAPE: &'static ValueShape = &ValueShape::Bool;

    fn implicit_default() -> Option<Value> {
        Some(json!(false))
    }
}

impl HasShape for f64 {
    const SHAPE: &'static ValueShape = &ValueShape::Number;

    fn implicit_default() -> Option<Value> {
        Some(json!(0))
    }
}

impl HasShape for String {
    const SHAPE: &'static ValueShape = &ValueShape::Text;
}

impl HasShape for Value {
    const SHAPE: &'static ValueShape = &ValueShape::Anything;
}

impl HasShape for Map<String, Value> {
    const SHAPE: &'static ValueShape = &ValueShape::Map(&ValueShape::Anything);
}

impl<T: HasShape> HasShape for Option<T> {
    const SHAPE: &'static ValueShape = T::SHAPE;
}

impl<T: HasShape> HasShape for Vec<T> {
    const SHAPE: &'static ValueShape = &ValueShape::List(T::SHAPE);
}

impl<T: HasShape> HasShape for BTreeMap<String, T> {
    const SHAPE: &'static ValueShape = &ValueShape::Map(T::SHAPE);
}

/// The name of a field as it stands in the file - `maxSpawnDepth` for `max_spawn_depth` - made
/// when the program is compiled.
#[derive(Debug)]
pub struct CamelKey {
    bytes: [u8; Self::LONGEST],
    len: usize,
}

impl CamelKey {
    /// A longer name does not compile.
    const LONGEST: usize = 48;

    #[expect(
        clippy::indexing_slicing,
        reason = "it runs in the compiler only, which refuses an index out of range"
    )]
    pub const fn new(snake: &str) -> Self {
        let snake = snake.as_bytes();
        let mut bytes = [0; Self::LONGEST];
        let (mut at, mut len, mut raise) = (0, 0, false);
        while at < snake.len() {
            let byte = snake[at];
            if byte == b'_' {
                raise = true;
            } else {
                bytes[len] = if raise {
                    byte.to_ascii_uppercase()
                } else {
                    byte
                };
                raise = false;
                len += 1;
            }
            at += 1;
        }
        Self { bytes, len }
    }

    pub const fn as_str(&self) -> &str {
        let (key, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(key) {
            Ok(key) => key,
            Err(_) => "",
        }
    }
}
