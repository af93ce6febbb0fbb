//! Locks that survive a panic in the thread that held them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after another thread panicked while it held it. Every critical section here leaves the data in a
/// usable state at each step, so one failed call must not take all later calls down with it.
pub trait LockExt<T> {
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T> LockExt<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The data of a mutex that nobody else uses any more.
pub fn unlocked<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
