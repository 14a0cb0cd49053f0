//! The origin of a span, cheap to repeat.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use chela_core::Origin;

/// An [`Origin`] that many spans share. A prompt has a hundred spans, most of them Chela's own:
/// those cost nothing, the others a counter.
#[derive(Clone)]
pub struct SpanOrigin(Shared);

#[derive(Clone)]
enum Shared {
    BuiltIn,
    Other(Arc<Origin>),
}

static BUILT_IN: Origin = Origin::BuiltIn;

impl SpanOrigin {
    pub const BUILT_IN: Self = Self(Shared::BuiltIn);
}

impl From<Origin> for SpanOrigin {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::BuiltIn => Self::BUILT_IN,
            other => Self(Shared::Other(Arc::new(other))),
        }
    }
}

impl Deref for SpanOrigin {
    type Target = Origin;

    fn deref(&self) -> &Origin {
        match &self.0 {
            Shared::BuiltIn => &BUILT_IN,
            Shared::Other(origin) => origin,
        }
    }
}

impl PartialEq for SpanOrigin {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SpanOrigin {}

impl PartialEq<Origin> for SpanOrigin {
    fn eq(&self, other: &Origin) -> bool {
        **self == *other
    }
}

impl fmt::Debug for SpanOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for SpanOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
