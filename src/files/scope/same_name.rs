//! When a file is not where it was looked for: where else in the scope something of that name lies.

use std::sync::Arc;
use std::time::Duration;

use super::{DenyGlobs, RequestedPath, Root};
use crate::files::Interrupt;

const MOST: usize = 3;
/// A hint is worth a moment, not a wait.
const PATIENCE: Duration = Duration::from_millis(500);

/// Up to three paths, ignored ones left out.
pub fn find(roots: &[Arc<Root>], deny: &DenyGlobs, asked: &RequestedPath) -> Vec<String> {
    let shown = asked.shown();
    let Some(wanted) = shown.file_name().map(|name| name.to_string_lossy().to_lowercase()) else { return Vec::new() };
    let stop = Interrupt::after(PATIENCE);
    let mut found = Vec::new();
    for root in roots {
        let (denied, kept) = (deny.clone(), root.clone());
        let named = move |path: &std::path::Path| kept.path().join(path.strip_prefix(kept.real()).unwrap_or(path));
        let name_in_walk = named.clone();
        let walk = ignore::WalkBuilder::new(root.real())
            .hidden(false)
            .require_git(false)
            .filter_entry(move |entry| {
                entry.file_name() != ".git" && !denied.hides(entry.path()) && !denied.hides(&name_in_walk(entry.path()))
            })
            .build();
        for entry in walk.flatten() {
            if stop.is_due() || found.len() == MOST {
                return found;
            }
            let path = named(entry.path()).display().to_string();
            let same = entry.depth() > 0 && entry.file_name().to_string_lossy().to_lowercase() == wanted;
            if same && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}
