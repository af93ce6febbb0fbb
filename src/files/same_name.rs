//! When a file is not where it was looked for: where else in the scope something of that name lies.

use std::time::Duration;

use super::{Asked, Scope, Stop};

const MOST: usize = 3;
/// A hint is worth a moment, not a wait.
const PATIENCE: Duration = Duration::from_millis(500);

/// Up to three paths, ignored ones left out.
pub fn find(scope: &Scope, asked: &Asked) -> Vec<String> {
    let shown = asked.shown();
    let Some(wanted) = shown.file_name().map(|name| name.to_string_lossy().to_lowercase()) else { return Vec::new() };
    let stop = Stop::after(PATIENCE);
    let mut found = Vec::new();
    for root in scope.directories() {
        let deny = scope.deny().clone();
        let walk = ignore::WalkBuilder::new(&root)
            .hidden(false)
            .require_git(false)
            .filter_entry(move |entry| entry.file_name() != ".git" && !deny.hides(entry.path()))
            .build();
        for entry in walk.flatten() {
            if stop.is_due() || found.len() == MOST {
                return found;
            }
            if entry.depth() > 0 && entry.file_name().to_string_lossy().to_lowercase() == wanted {
                let path = entry.path().display().to_string();
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        }
    }
    found
}
