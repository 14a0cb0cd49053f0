//! Information flow: where the words of a call come from, and what follows.
//!
//! Everything a session has read or been told is in its [`Provenance`], cut into atoms: words,
//! numbers, addresses, URLs, paths. A call is a [`Deed`]; [`decide`] looks up the atoms of the
//! arguments through which it reaches the world and says whether it may happen, must be asked
//! about, or may not. Nothing here knows the name of any tool.

mod atom;
mod decide;
mod decision;
mod defang;
mod provenance;

pub use atom::{Atom, AtomKind, atoms};
pub use decide::{Deed, Judge, Standing, decide};
pub use decision::{ArgumentAtom, Decision, Rule, Source, Verdict};
pub use defang::{Defanged, defang};
pub use provenance::{Passage, Provenance, Span, SpanId, Taint};

#[cfg(test)]
mod tests;
