//! Something that goes along with every group of writes.

use super::{JobError, WriteDurability};

/// Takes part in every group: a lock between processes, a file that is written after a commit.
pub trait GroupWatch: Send {
    /// Before the transaction. Refusing fails the whole group.
    fn begin(&mut self) -> Result<(), JobError>;

    /// After the commit, before anybody is answered.
    fn committed(&mut self, durability: WriteDurability) -> Result<(), JobError>;

    /// Always last, whatever became of the group.
    fn end(&mut self);
}
