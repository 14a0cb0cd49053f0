//! The endpoints and models Chela knows by itself.

mod known_models;
mod servers;

pub use known_models::{KNOWN_SINCE, KnownModels, known};
pub use servers::{BUILT_IN, BuiltIn, built_in};

/// An endpoint that needs nothing but a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProvider {
    pub id: &'static str,
    /// Variables that may hold its key.
    pub keys: &'static [&'static str],
    /// The model to start with.
    pub model: &'static str,
}

/// The endpoints that need nothing but a key, the most capable first.
pub fn known_providers() -> impl Iterator<Item = KnownProvider> {
    BUILT_IN.iter().filter_map(|known| {
        Some(KnownProvider {
            id: known.id,
            keys: known.keys,
            model: known.model?,
        })
    })
}
