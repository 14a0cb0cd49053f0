//! What a config value may look like, as constant data.
//!
//! The types in [`crate::model`] each carry a [`Shape`]. The check, the JSON Schema, the
//! reference page and `config explain` read nothing else, so they cannot disagree, and nothing
//! has to be built when the program starts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What one value may look like.
#[derive(Debug)]
pub enum Shape {
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
    Form(Form),
    /// One of some fixed words.
    Words(&'static Words),
    /// Exactly this value.
    Exactly(Literal),
    List(&'static Shape),
    /// An object with keys of the user's choosing.
    Map(&'static Shape),
    Object(&'static Object),
    /// Any one of these; the first that fits is meant.
    OneOf(&'static [&'static Shape]),
    /// Never shown.
    Secret(&'static Shape),
}

/// An object with known keys.
#[derive(Debug)]
pub struct Object {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
    /// What keys beyond the known ones hold; `None` refuses them.
    pub rest: Option<&'static Shape>,
}

/// A known key.
#[derive(Debug)]
pub struct Field {
    pub key: &'static str,
    /// Lines as written; see [`Field::doc`].
    pub raw_doc: &'static str,
    pub shape: &'static Shape,
    pub rules: Rules,
    pub default: fn() -> Option<Value>,
}

/// What holds for a value beyond its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub max_len: Option<usize>,
    pub required: bool,
    /// It is read and kept; nothing uses it yet.
    pub later: bool,
}

impl Rules {
    pub const NONE: Self = Self {
        min: None,
        max: None,
        max_len: None,
        required: false,
        later: false,
    };
}

#[derive(Debug)]
pub struct Words {
    pub name: &'static str,
    pub words: &'static [Word],
}

#[derive(Debug)]
pub struct Word {
    pub text: &'static str,
    pub raw_doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    False,
    Text(&'static str),
}

/// A form of text that people write and the check understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
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
pub trait Shaped {
    const SHAPE: &'static Shape;

    /// What an absent key means, if that is worth saying.
    fn implicit_default() -> Option<Value> {
        None
    }
}

impl Field {
    /// The doc in one paragraph per line.
    pub fn doc(&self) -> String {
        let doc = tidy_doc(self.raw_doc);
        match self.rules.later {
            true => format!("{doc} Nothing uses it yet."),
            false => doc,
        }
    }
}

impl Object {
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Shape {
    /// The object inside, looking through secrets and choices.
    pub fn as_object(&self) -> Option<&'static Object> {
        match self {
            Self::Object(object) => Some(object),
            Self::OneOf(branches) => branches.iter().find_map(|branch| branch.as_object()),
            Self::Secret(inner) => inner.as_object(),
            _ => None,
        }
    }

    /// The shape of what lies under a key.
    pub fn under_key(&self, key: &str) -> Option<Step> {
        match self {
            Self::Anything => Some(Step {
                shape: &Shape::Anything,
                field: None,
            }),
            Self::Object(object) => match object.field(key) {
                Some(field) => Some(Step {
                    shape: field.shape,
                    field: Some(field),
                }),
                None => object.rest.map(|shape| Step { shape, field: None }),
            },
            Self::Map(shape) => Some(Step { shape, field: None }),
            Self::OneOf(branches) => branches.iter().find_map(|branch| branch.under_key(key)),
            Self::Secret(inner) => inner.under_key(key),
            _ => None,
        }
    }

    /// The shape of the items of a list.
    pub fn item(&self) -> Option<&'static Shape> {
        match self {
            Self::Anything => Some(&Shape::Anything),
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
pub struct Step {
    pub shape: &'static Shape,
    /// The known key, if it is one.
    pub field: Option<&'static Field>,
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
        impl Shaped for $type {
            const SHAPE: &'static Shape =
                &Shape::Whole { min: <$type>::MIN as i64, max: <$type>::MAX as u64 };

            fn implicit_default() -> Option<Value> {
                Some(json!(0))
            }
        }
    )*};
}

whole!(u8, u16, u32, u64);

impl Shaped for bool {
    const SHAPE: &'static Shape = &Shape::Bool;

    fn implicit_default() -> Option<Value> {
        Some(json!(false))
    }
}

impl Shaped for f64 {
    const SHAPE: &'static Shape = &Shape::Number;

    fn implicit_default() -> Option<Value> {
        Some(json!(0))
    }
}

impl Shaped for String {
    const SHAPE: &'static Shape = &Shape::Text;
}

impl Shaped for Value {
    const SHAPE: &'static Shape = &Shape::Anything;
}

impl Shaped for Map<String, Value> {
    const SHAPE: &'static Shape = &Shape::Map(&Shape::Anything);
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: &'static Shape = T::SHAPE;
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: &'static Shape = &Shape::List(T::SHAPE);
}

impl<T: Shaped> Shaped for BTreeMap<String, T> {
    const SHAPE: &'static Shape = &Shape::Map(T::SHAPE);
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
