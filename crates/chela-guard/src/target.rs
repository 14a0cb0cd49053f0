//! What a call is about, in the one form that is judged and used.

use std::path::PathBuf;

use crate::WebAddress;

/// One thing a call is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallTarget {
    /// One file, links and detours resolved.
    File(PathBuf),
    /// A folder and whatever lies below it, links and detours resolved.
    Tree(PathBuf),
    /// An address as its server sees it.
    Url(WebAddress),
    /// A host alone: of a service the owner has set up, whatever it is asked.
    Host(String),
    /// A session, by its full key.
    Session(String),
    /// An agent or a sub-agent, by the name the call gives it.
    Agent(String),
    /// A command that runs in the background.
    Process(String),
    /// A command line.
    Command(String),
}

/// Whether what a call names looks like a secret of somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretLook {
    Plain,
    /// An address with a key, a token or a signature in it.
    InAddress,
}
