//! Skills as things people make, fetch, check and remove.

mod accept;
mod add;
mod check;
mod copy;
mod fetch;
mod new;

pub use accept::{MoveError, RemovedSkill, accept, remove};
pub use add::{AddError, AddRequest, AddedSkill, add};
pub use check::{CheckedSkill, check_folder};
pub use fetch::{AddSource, FetchError};
pub use new::{NewError, NewSkill, create};

#[cfg(test)]
mod tests;
