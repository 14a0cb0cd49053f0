//! Skills as things people make, fetch, check, keep up to date and remove.

mod accept;
mod add;
mod check;
mod clone;
mod copy;
mod install;
mod new;
mod replace;
mod source;
mod unpack;

pub use accept::{MoveError, RemovedSkill, accept, remove};
pub use add::{AddError, AddRequest, AddedSkill, StagedSkill, StagedSkills, add, stage};
pub use check::{CheckedSkill, check_folder};
pub use install::{InstallPlan, InstallStep, InstallWishes, install_steps, missing_programs};
pub use new::{NewError, NewSkill, create};
pub use replace::{FileDifference, differences, replace};
pub use source::{AddSource, FetchError, RegistryName};

#[cfg(test)]
mod tests;
