//! The small values that config keys hold: durations, sizes, times, ids, secrets, models.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ExtraPath, McpFolder, McpValue};
use crate::node::{ConfigNode, NodeKind};
use crate::node_read::{FromNode, ReadError};
use crate::shape::{FixedValue, HasShape, TextForm, ValueShape};
use crate::span::cut;

/// An object whose keys are not ours to name.
pub type OpenMap = Map<String, Value>;

macro_rules! shaped {
    ($($type:ty => $shape:expr;)*) => {$(
        impl HasShape for $type {
            const SHAPE: &'static ValueShape = &$shape;
        }
    )*};
}

shaped! {
    DurationText => ValueShape::Form(TextForm::Duration);
    ByteSize => ValueShape::Form(TextForm::ByteSize);
    TimeOfDay => ValueShape::Form(TextForm::TimeOfDay);
    HexColor => ValueShape::Form(TextForm::HexColor);
    IdText => ValueShape::Form(TextForm::Id);
    ScalarValue => ValueShape::Form(TextForm::Scalar);
    FalseLiteral => ValueShape::Exactly(FixedValue::False);
    AutoLiteral => ValueShape::Exactly(FixedValue::Text("auto"));
    SecretSetting => ValueShape::Secret(&ValueShape::OneOf(&[&ValueShape::Text, SecretReference::SHAPE]));
    ModelChoice => ValueShape::OneOf(&[&ValueShape::Text, ModelChain::SHAPE]);
}

/// Values that can be written in more than one way are read in the first that fits.
macro_rules! first_that_fits {
    ($($type:ident $(<$inner:ident>)? => $($variant:ident),*;)*) => {$(
        impl $(<$inner: FromNode>)? FromNode for $type $(<$inner>)? {
            fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
                $(if let Ok(value) = FromNode::from_node(node) {
                    return Ok(Self::$variant(value));
                })*
                Err(ReadError::new(node, stringify!($type)))
            }
        }
    )*};
}

first_that_fits! {
    DurationText => Text, Number;
    ByteSize => Bytes, Text;
    OrOff<T> => Off, On;
    OrAuto<T> => Auto, Set;
    OneOrMany<T> => One, Many;
    FlagOrDetail<T> => Flag, Detail;
    SecretSetting => Text, Reference;
    ModelChoice => Name, Chain;
    ExtraPath => Path, Folder;
    McpValue => Plain, Reference;
    McpFolder => Path, Access;
}

macro_rules! as_its_content {
    ($($type:ident),*) => {$(
        impl FromNode for $type {
            fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
                FromNode::from_node(node).map(Self)
            }
        }
    )*};
}

as_its_content!(TimeOfDay, HexColor, ScalarValue);

impl FromNode for AutoLiteral {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match node.as_str() {
            Some("auto") => Ok(Self::Auto),
            _ => Err(ReadError::new(node, "`auto`")),
        }
    }
}

impl<T: HasShape> HasShape for OrOff<T> {
    const SHAPE: &'static ValueShape = &ValueShape::OneOf(&[T::SHAPE, FalseLiteral::SHAPE]);
}

impl<T: HasShape> HasShape for OrAuto<T> {
    const SHAPE: &'static ValueShape = &ValueShape::OneOf(&[T::SHAPE, AutoLiteral::SHAPE]);
}

impl<T: HasShape> HasShape for OneOrMany<T> {
    const SHAPE: &'static ValueShape = &ValueShape::OneOf(&[T::SHAPE, &ValueShape::List(T::SHAPE)]);
}

impl<T: HasShape> HasShape for FlagOrDetail<T> {
    const SHAPE: &'static ValueShape = &ValueShape::OneOf(&[&ValueShape::Bool, T::SHAPE]);
}

/// A length of time as people write it: `30m`, `1h30m`, `500ms`, or a bare number whose unit
/// the key defines.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DurationText {
    Text(String),
    Number(f64),
}

/// The unit of a bare number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BareUnit {
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

impl BareUnit {
    const fn seconds(self) -> f64 {
        match self {
            Self::Milliseconds => 0.001,
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3_600.0,
            Self::Days => 86_400.0,
        }
    }
}

impl DurationText {
    /// The duration meant; `None` when the text is none or too long to count.
    pub fn duration(&self, bare: BareUnit) -> Option<Duration> {
        match self {
            Self::Number(number) => seconds(number * bare.seconds()),
            Self::Text(text) => parse_duration(text, bare),
        }
    }
}

impl From<&str> for DurationText {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl std::fmt::Display for DurationText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Reads `1h30m`, `45`, `0.5h`. Each number but a lone one needs its unit.
pub fn parse_duration(text: &str, bare: BareUnit) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = 0.0;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = cut(rest, digits);
        let number: f64 = number.parse().ok()?;
        rest = tail.trim_start();
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (unit, tail) = cut(rest, letters);
        let unit = match unit.to_ascii_lowercase().as_str() {
            "" if parts == 0 && letters == rest.len() => bare.seconds(),
            "ms" => 0.001,
            "s" | "sec" | "secs" => 1.0,
            "m" | "min" | "mins" => 60.0,
            "h" | "hr" | "hrs" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" => 604_800.0,
            _ => return None,
        };
        total += number * unit;
        parts += 1;
        rest = tail.trim_start();
    }
    if parts == 0 { None } else { seconds(total) }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// A size as people write it: `10gb`, `512kb`, or a number of bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ByteSize {
    Bytes(u64),
    Text(String),
}

impl ByteSize {
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(*bytes),
            Self::Text(text) => parse_bytes(text),
        }
    }
}

/// Reads `10gb`, `1.5 MiB`, `2048`; all units count in steps of 1024.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = cut(&text, digits);
    let number: f64 = number.parse().ok()?;
    let scale = match unit.trim().trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = number * scale;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to lie in range on the line above"
    )]
    (bytes.is_finite() && (0.0..1.8e19).contains(&bytes)).then_some(bytes as u64)
}

/// A time of day, `00:00` to `24:00`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TimeOfDay(pub String);

/// Minutes since midnight.
pub fn parse_time_of_day(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours * 60 + minutes;
    (minutes < 60 && total <= 24 * 60).then_some(total)
}

/// A colour as `#RRGGBB`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HexColor(pub String);

/// An id that people write as text or as a number: phone numbers, chat ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct IdText(pub String);

impl FromNode for IdText {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match &node.kind {
            NodeKind::String(text) => Ok(Self(text.clone())),
            NodeKind::Number(number) if !number.is_f64() => Ok(Self(number.to_string())),
            _ => Err(ReadError::new(node, "text or a whole number")),
        }
    }
}

/// Text, a number or true/false.
pub type ScalarMap = std::collections::BTreeMap<String, ScalarValue>;

/// One plain value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ScalarValue(pub Value);

/// The literal `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FalseLiteral;

impl Serialize for FalseLiteral {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

impl FromNode for FalseLiteral {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match node.kind {
            NodeKind::Bool(false) => Ok(Self),
            _ => Err(ReadError::new(node, "`false`")),
        }
    }
}

/// A value, or `false` to turn it off.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OrOff<T> {
    Off(FalseLiteral),
    On(T),
}

/// The literal `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum AutoLiteral {
    #[default]
    #[serde(rename = "auto")]
    Auto,
}

/// A value, or `"auto"` to let Chela decide.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OrAuto<T> {
    Auto(AutoLiteral),
    Set(T),
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(item) => std::slice::from_ref(item),
            Self::Many(items) => items,
        }
    }
}

/// On or off with a switch, or with more detail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FlagOrDetail<T> {
    Flag(bool),
    Detail(T),
}

/// A credential: the text itself (better written as `${VAR}`), or where to find it.
#[derive(Clone, PartialEq)]
pub enum SecretSetting {
    Text(String),
    Reference(SecretReference),
}

impl std::fmt::Debug for SecretSetting {
    /// Never shows the text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Secret(…)"),
            Self::Reference(reference) => reference.fmt(f),
        }
    }
}

section! {
    /// Where a credential is kept.
    struct SecretReference {
        /// Kind of place.
        [required]
        source: SecretSource,
        /// Name of the entry in `secrets.providers`.
        provider: Option<String>,
        /// Which secret: a variable name, a JSON pointer in the file, or the id given to the
        /// command.
        [required]
        id: String,
    }

    /// A model and what to try after it.
    struct ModelChain {
        /// The model tried first, as `provider/model` or an alias.
        primary: Option<String>,
        /// Models tried in this order when the one before cannot answer.
        fallbacks: Vec<String>,
        /// Give up on one call after this many milliseconds.
        timeout_ms: Option<u64>,
    }
}

words! {
    /// Kind of place a credential is kept in.
    enum SecretSource {
        /// An environment variable.
        Env = "env",
        /// A file.
        File = "file",
        /// The output of a command.
        Exec = "exec",
        /// The program's own store.
        Store = "store",
    }
}

/// A model as `provider/model` or an alias, or a model with fallbacks.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    Name(String),
    Chain(ModelChain),
}

impl ModelChoice {
    pub fn primary(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Chain(chain) => chain.primary.as_deref(),
        }
    }

    pub fn fallbacks(&self) -> &[String] {
        match self {
            Self::Name(_) => &[],
            Self::Chain(chain) => &chain.fallbacks,
        }
    }
}
