//! Skills as things people make, fetch, check and remove.

mod accept;
mod add;
mod check;
mod copy;
mod fetch;
mod new;

pub use accept::{MoveError, Removed, accept, remove};
pub use add::{AddError, AddRequest, Added, add};
pub use check::{Checked, check_folder};
pub use fetch::{AddSource, FetchError};
pub use new::{NewError, NewSkill, create};

#[cfg(test)]
mod tests;
