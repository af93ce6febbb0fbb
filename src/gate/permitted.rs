use std::ops::Deref;

/// Proof that the gate has permitted this action.
#[derive(Debug)]
pub struct Permitted<A> {
    action: A,
}

impl<A> Permitted<A> {
    /// Only the gate can call this, so a `Permitted` proves that the gate was asked.
    pub(super) fn new(action: A) -> Self {
        Self { action }
    }
}

impl<A> Deref for Permitted<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.action
    }
}
