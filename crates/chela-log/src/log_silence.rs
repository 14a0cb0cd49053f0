//! Quiet while a line is made: what makes it says nothing of its own.

use std::cell::Cell;

thread_local! {
    /// Set while a line is on its way: what is said meanwhile, for example by what makes the
    /// redactor, would wait for itself.
    static UNDER_WAY: Cell<bool> = const { Cell::new(false) };
}

/// Holds back what this thread says while it is there.
#[derive(Debug)]
pub(crate) struct LogSilence(());

impl LogSilence {
    /// `None` when one is there already.
    pub fn begin() -> Option<Self> {
        let before = UNDER_WAY.try_with(|under_way| under_way.replace(true));
        // Lazily: one that is made and let go of would lift the hush that is there.
        (before == Ok(false)).then(|| Self(()))
    }
}

impl Drop for LogSilence {
    fn drop(&mut self) {
        // A thread that ends has nothing more to say.
        let _ = UNDER_WAY.try_with(|under_way| under_way.set(false));
    }
}
