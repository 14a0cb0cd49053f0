//! The words every part of Chela shares.
//!
//! Ids and session keys, where text comes from and how far it is trusted, what it costs in
//! tokens, how it is cut and cleaned, and the [`Host`] that stands for the machine. No IO and
//! no async: everything here is a value or a pure function.

mod agent_id;
mod figures;
mod hash;
mod host;
mod locking;
mod logged;
mod origin;
mod session_key;
mod severity;
mod speaker;
mod spending;

pub mod cut;
pub mod panics;
pub mod sanitize;
pub mod scan;
pub mod secret;
pub mod suggest;
pub mod tokens;

pub use agent_id::{AgentId, AgentIdError};
pub use figures::grouped;
pub use hash::ContentHash;
pub use host::{Clock, Entropy, FixedClock, FixedEntropy, Host, HostEnv, MachineFacts, vars};
pub use locking::lock;
pub use origin::{Audience, Origin, Trust, Zone};
pub use session_key::{
    ChatType, ConversationWord, SessionForm, SessionKey, SessionKeyError, SessionKind,
    SessionThread, ThreadWord,
};
pub use severity::Severity;
pub use speaker::{OwnerProof, Sender, Speaker};
pub use spending::{Prices, Usage, micro_dollars};

/// For the macros of this crate: whoever uses them need not name it.
#[doc(hidden)]
pub use tracing as tracing_for_macros;
