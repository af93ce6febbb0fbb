use std::ops::Deref;

/// Proof that the gate let this very action through.
#[derive(Debug)]
pub struct Permitted<A> {
    action: A,
}

impl<A> Permitted<A> {
    /// Private to the gate, which is what makes it a proof.
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
