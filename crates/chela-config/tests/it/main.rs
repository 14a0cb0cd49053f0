//! The config from outside: as the rest of Chela sees it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on stops; the lint spares test functions, not what they share"
)]

mod sources;
mod store;
mod text_edit;
mod text_properties;
mod text_read;
