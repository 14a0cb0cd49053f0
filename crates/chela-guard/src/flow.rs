//! Information flow: where the words of a call come from, and what follows.
//!
//! Everything a session has read or been told is in its [`Provenance`]. A call is a
//! [`ProposedCall`] with the targets it will really use; [`decide`] looks up whether the owner named
//! each of them as a whole, and says whether the call may happen, must be asked about, or may
//! not. Free text is looked through for what tells: addresses, links, numbers. Nothing here knows
//! the name of any tool.

mod address_index;
mod atom;
mod chosen_names;
mod decide;
mod decision;
mod defang;
mod domain;
mod link;
mod owner_facts;
mod owner_texts;
mod phrase;
mod provenance;
mod weigh;

pub use atom::{AtomKind, FlowAtom, atoms};
pub use chosen_names::chosen_names;
pub use decide::{CallJudge, HostStanding, ProposedCall, ShelvedWhy, decide};
pub use decision::{ArgumentAtom, AtomSource, CallVerdict, Decision, DecisionRule};
pub use defang::{DefangedReply, defang};
pub use link::{FoundLink, links_in};
pub use provenance::{Provenance, SessionTaint, SourcePassage, SpanId, TextSpan};

#[cfg(test)]
mod tests;
