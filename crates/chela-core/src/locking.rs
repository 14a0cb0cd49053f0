//! Locks that outlive a panic: one turn that fails must not take the others' state with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock, also when somebody panicked while holding it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
