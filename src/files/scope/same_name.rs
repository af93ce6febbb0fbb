//! A hint for "file not found": where else in the scope a file of that name lies.

use std::sync::Arc;
use std::time::Duration;

use super::{DenyGlobs, RequestedPath, Root};
use crate::files::Interrupt;

const MOST: usize = 3;
/// A hint is not worth a longer wait.
const PATIENCE: Duration = Duration::from_millis(500);

/// Up to three paths. Ignored and denied ones are left out.
pub fn find(roots: &[Arc<Root>], deny: &DenyGlobs, requested: &RequestedPath) -> Vec<String> {
    let path = requested.without_dots();
    let Some(wanted) = path.file_name().map(|name| name.to_string_lossy().to_lowercase()) else { return Vec::new() };
    let interrupt = Interrupt::after(PATIENCE);
    let mut found = Vec::new();
    for root in roots {
        let (names, deny) = (root.names().clone(), deny.clone());
        let walk = ignore::WalkBuilder::new(root.real())
            .hidden(false)
            .require_git(false)
            .filter_entry(move |entry| {
                let below = entry.path().strip_prefix(&names.real).unwrap_or(entry.path());
                entry.file_name() != ".git" && !names.is_denied_below(&deny, below)
            })
            .build();
        for entry in walk.flatten() {
            if interrupt.is_due() || found.len() == MOST {
                return found;
            }
            if entry.depth() == 0 || entry.file_name().to_string_lossy().to_lowercase() != wanted {
                continue;
            }
            let below = entry.path().strip_prefix(root.real()).unwrap_or(entry.path());
            let path = root.path().join(below).display().to_string();
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}
