//! Where commands run: inside walls the kernel holds.
//!
//! [`standing`] says whether a session is sandboxed and how; a [`Plan`] turns a [`Launch`] into
//! one that starts inside. Two backends build the walls: bubblewrap with namespaces of its own,
//! and Landlock with seccomp where there is no bubblewrap. Both go through the [`helper`]: the
//! program starts itself again under a hidden name, gives up what the command must not have, and
//! becomes the command. What is said of a sandbox, in the prompt and by `chela sandbox explain`,
//! comes from the same [`Plan`].
//!
//! [`Launch`]: crate::process::Launch

mod bounds;
mod bubblewrap;
mod cgroup;
mod decide;
mod egress;
mod elevated;
mod folder;
pub mod helper;
mod machine;
mod order;
mod plan;
mod prune;
mod settings;
mod walls;

pub use bounds::Bounds;
pub use cgroup::{Cgroup, Counting};
pub use decide::{SandboxAsk, Standing, standing, wants};
pub use egress::{Hosts, Proxy, read_proxy_head};
pub use elevated::{Elevation, ElevationAsk, Who, elevation};
pub use machine::{Backend, Machine, is_known};
pub use order::{HELPER_COMMAND, Namespaces};
pub use plan::{Network, Plan};
pub use prune::{Stale, Work, prune, remove, stale};
pub use settings::keys_without_effect;
pub use walls::Walls;
