//! Which commands ran at the same time: of what changed meanwhile nobody can tell whose it was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chela_core::lock;

/// The commands of all conversations of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandOverlap(Arc<Mutex<RunningCommands>>);

#[derive(Debug, Default)]
struct RunningCommands {
    next: u64,
    /// Whether another one ran meanwhile, by number.
    overlapped: HashMap<u64, bool>,
}

/// A command that runs, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct OverlapWatch {
    commands: CommandOverlap,
    number: u64,
}

impl CommandOverlap {
    pub(crate) fn begin(&self) -> OverlapWatch {
        let mut running = lock(&self.0);
        let number = running.next;
        running.next += 1;
        let is_alone = running.overlapped.is_empty();
        running
            .overlapped
            .values_mut()
            .for_each(|other| *other = true);
        running.overlapped.insert(number, !is_alone);
        OverlapWatch {
            commands: self.clone(),
            number,
        }
    }
}

impl OverlapWatch {
    /// Whether no other command ran since it began.
    pub(crate) fn was_alone(&self) -> bool {
        let running = lock(&self.commands.0);
        running.overlapped.get(&self.number) == Some(&false)
    }
}

impl Drop for OverlapWatch {
    fn drop(&mut self) {
        lock(&self.commands.0).overlapped.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_of_two_at_once_are_not_alone() {
        let commands = CommandOverlap::default();
        let first = commands.begin();
        assert!(first.was_alone());
        let second = commands.begin();
        assert!(!first.was_alone() && !second.was_alone());
        drop(first);
        assert!(!second.was_alone());
        drop(second);
        assert!(commands.begin().was_alone());
    }
}
