//! The endpoints and models Chela knows by itself.

mod known;
mod servers;

pub use known::{KNOWN_SINCE, Known, known};
pub use servers::{BUILT_IN, BuiltIn, built_in};
