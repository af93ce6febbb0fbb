use std::ops::Deref;

use crate::policy::Grant;

/// Proof that the gate has permitted this action.
#[derive(Debug)]
pub struct Permitted<A> {
    action: A,
    grants: Vec<Grant>,
}

impl<A> Permitted<A> {
    /// Only the gate can call this, so a `Permitted` proves that the gate was asked.
    pub(super) fn new(action: A, grants: Vec<Grant>) -> Self {
        Self { action, grants }
    }

    /// What the rules give the action besides what the sandbox allows.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }
}

impl<A> Deref for Permitted<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.action
    }
}
