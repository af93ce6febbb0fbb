use std::path::PathBuf;

use crate::inventory::Undone;
use crate::policy::action::Preview;
use crate::policy::{Action, Subject};

/// Have a protected file as a command left it. It was put back or moved aside already.
#[derive(Debug)]
pub struct KeepChange {
    path: PathBuf,
    name: String,
    because: String,
    content: String,
}

impl KeepChange {
    pub fn new(undone: &Undone) -> Self {
        let Undone { path, name, because, .. } = undone;
        Self { path: path.clone(), name: name.clone(), because: because.clone(), content: undone.shown() }
    }
}

impl Action for KeepChange {
    fn subject(&self) -> Subject<'_> {
        Subject::Write { path: &self.path, protected: Some(&self.name) }
    }

    fn summary(&self) -> String {
        format!("let {} stay ({})", self.path.display(), self.because)
    }

    fn preview(&self) -> Preview {
        Preview { text: self.summary(), content: Some(self.content.clone()), ..Preview::default() }
    }
}
