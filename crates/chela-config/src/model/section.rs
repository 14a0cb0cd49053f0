//! How a part of the config is written down: a struct whose fields carry their docs, limits and
//! defaults.

/// Declares config objects:
///
/// ```text
/// struct Queue {
///     /// Most messages held.
///     [min 1]
///     cap: u32 = 20,
///     /// Allow or deny.
///     action as "do": Option<AllowDeny>,
///     ..other: OpenMap,
/// }
/// ```
///
/// `= value` gives a key its default; without it the type's own `Default` holds (`None`, an
/// empty list, a nested object with its defaults). Keys are in camelCase in the file unless
/// `as` names them. `[later]` says that nothing uses a key yet, `[means "word"]` what counts while it
/// is absent. Unknown keys are refused unless `..` collects them.
macro_rules! section {
    ($($(#[doc = $doc:literal])* struct $name:ident {
        $(
            $(#[doc = $field_doc:literal])*
            $([$($rule:ident $($limit:literal)?),*])?
            $field:ident $(as $key:literal)?: $type:ty $(= $default:expr)?,
        )*
        $(..$rest:ident: $rest_type:ty,)?
    })*) => {$(
        $(#[doc = $doc])*
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                pub $field: $type,
            )*
            $(
                /// Keys beyond the known ones.
                pub $rest: $rest_type,
            )?
        }

        // Written out, because what `derive` makes is `#[inline]`: every crate that uses the
        // config would carry and compile all of it again.
        impl Clone for $name {
            fn clone(&self) -> Self {
                Self {
                    $($field: self.$field.clone(),)*
                    $($rest: self.$rest.clone(),)?
                }
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                true $(&& self.$field == other.$field)* $(&& self.$rest == other.$rest)?
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::node_read::debug_fields(f, stringify!($name), &[
                    $((stringify!($field), &self.$field),)*
                    $((stringify!($rest), &self.$rest),)?
                ])
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: section!(@default $($default)?),)*
                    $($rest: <$rest_type>::default(),)?
                }
            }
        }

        impl $crate::shape::HasShape for $name {
            const SHAPE: &'static $crate::shape::ValueShape = {
                // A static, because the body of a constant is carried along by every user.
                static OBJECT: $crate::shape::ObjectShape = $crate::shape::ObjectShape {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n",)*),
                    fields: &[$($crate::shape::FieldShape {
                        key: section!(@key $field $($key)?),
                        raw_doc: concat!($($field_doc, "\n",)*),
                        shape: <$type as $crate::shape::HasShape>::SHAPE,
                        rules: section!(@rules $($($rule $($limit)?),*)?),
                        default: section!(@default_json $type $(, $default)?),
                    }),*],
                    rest: section!(@rest $($rest_type)?),
                };
                &$crate::shape::ValueShape::Object(&OBJECT)
            };
        }

        impl $crate::node_read::FromNode for $name {
            fn from_node(
                node: &$crate::node::ConfigNode,
            ) -> Result<Self, $crate::node_read::ReadError> {
                let shape = <Self as $crate::shape::HasShape>::SHAPE;
                let mut members = $crate::node_read::KnownMembers::of(node, shape)?;
                let mut section = Self::default();
                $(members.read_next(&mut section.$field)?;)*
                $(members.read_rest(&mut section.$rest)?;)?
                Ok(section)
            }
        }
    )*};

    (@default) => { Default::default() };
    (@default $default:expr) => { $default };

    (@key $field:ident) => {
        $crate::shape::CamelKey::as_str(&$crate::shape::CamelKey::new(stringify!($field)))
    };
    (@key $field:ident $key:literal) => { $key };

    (@rules $($rule:ident $($limit:literal)?),*) => {
        $crate::shape::FieldRules {
            $($rule: section!(@rule $rule $($limit)?),)*
            ..$crate::shape::FieldRules::NONE
        }
    };
    (@rule required) => { true };
    (@rule later) => { true };
    (@rule max_len $limit:literal) => { Some($limit) };
    (@rule means $word:literal) => { Some($word) };
    (@rule $rule:ident $limit:literal) => { Some($limit as f64) };

    (@default_json $type:ty) => { <$type as $crate::shape::HasShape>::implicit_default };
    (@default_json $type:ty, $default:expr) => {
        || -> Option<serde_json::Value> {
            let value: $type = $default;
            serde_json::to_value(value).ok()
        }
    };

    (@rest) => { None };
    (@rest $type:ty) => {
        match <$type as $crate::shape::HasShape>::SHAPE {
            $crate::shape::ValueShape::Map(shape) => Some(*shape),
            _ => None,
        }
    };
}

/// Declares a choice between fixed words. The first is the default.
macro_rules! words {
    ($($(#[doc = $doc:literal])* enum $name:ident {
        $(#[doc = $first_doc:literal])* $first:ident = $first_text:literal,
        $($(#[doc = $word_doc:literal])* $word:ident = $text:literal),* $(,)?
    })*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum $name {
            $(#[doc = $first_doc])*
            #[default]
            $first,
            $($(#[doc = $word_doc])* $word,)*
        }

        impl $name {
            /// The word as it stands in the file.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_text,
                    $(Self::$word => $text,)*
                }
            }

            /// The value a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $first_text => Some(Self::$first),
                    $($text => Some(Self::$word),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::shape::HasShape for $name {
            const SHAPE: &'static $crate::shape::ValueShape = {
                static WORDS: $crate::shape::WordList = $crate::shape::WordList {
                    name: stringify!($name),
                    words: &[
                        $crate::shape::ListedWord {
                            text: $first_text,
                            raw_doc: concat!($($first_doc, "\n",)*),
                        },
                        $($crate::shape::ListedWord {
                            text: $text,
                            raw_doc: concat!($($word_doc, "\n",)*),
                        }),*
                    ],
                };
                &$crate::shape::ValueShape::Words(&WORDS)
            };

            fn implicit_default() -> Option<serde_json::Value> {
                Some(serde_json::Value::from($first_text))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        // Other files than the config hold such words as well.
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let words = &[$first_text, $($text),*];
                $crate::node_read::deserialize_word(deserializer, words, Self::from_word)
            }
        }

        impl $crate::node_read::FromNode for $name {
            fn from_node(
                node: &$crate::node::ConfigNode,
            ) -> Result<Self, $crate::node_read::ReadError> {
                $crate::node_read::read_word(node, Self::from_word)
            }
        }
    )*};
}
