//! Finds what is protected in a directory: protected names, and the files of whatever git would take for a repository.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::git::programs::{From, Named, named};
use super::git::repository::Repository;
use super::inventory::Inventory;
use super::item::Kind;
use super::report::Report;
use super::root::Listing;
use super::tree::Look;
use super::window::Window;

/// Directories that are looked at at once, at most.
const MOST_NEAR: usize = 256;

impl Inventory {
    /// Looks at one directory. Returns the directories in it that are new.
    pub(super) fn visit(&mut self, path: &Path, window: &Window, report: &mut Report) -> Vec<PathBuf> {
        if !self.root.answers(path) {
            return Vec::new();
        }
        match self.tree.look(&self.root, path) {
            Look::Gone => {
                self.near.remove(path);
                Vec::new()
            }
            Look::Same => Vec::new(),
            Look::Changed(listing) => self.survey(path, &listing, window, report),
        }
    }

    /// Judges what lies at a path or above it, and nothing else.
    pub(super) fn visit_only(&mut self, path: &Path, window: &Window, report: &mut Report) {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for directory in above {
            let Ok(listing) = self.root.list(directory) else { return };
            let is_git = is_git_directory(&listing);
            for (name, kind) in &listing.names {
                let child = directory.join(name);
                if path.starts_with(&child)
                    && !self.items.contains_key(&child)
                    && let Some(kind) = self.kind_of(&child, *kind, is_git)
                {
                    self.check_new(&child, kind, window, report);
                }
            }
        }
    }

    /// Finds what is protected in a directory, and judges it if it is new.
    fn survey(&mut self, path: &Path, listing: &Listing, window: &Window, report: &mut Report) -> Vec<PathBuf> {
        let is_git = is_git_directory(listing);
        let has_git = listing.has(".git");
        let baseline = window.is_idle();
        if has_git {
            self.find_repository(path, baseline);
        }
        let (mut found, mut below) = (Vec::new(), Vec::new());
        for (name, kind) in &listing.names {
            let child = path.join(name);
            let hidden = name.as_encoded_bytes().eq_ignore_ascii_case(b".git");
            let directory = *kind == FileType::Directory;
            if let Some(kind) = self.kind_of(&child, *kind, is_git) {
                found.push((child, kind));
            } else if directory && self.root.answers(&child) && !(is_git && is_store(&child)) {
                let new = self.tree.enter(&self.root, &child, &listing.stamp, baseline);
                let in_git = is_git || path.ends_with("modules") || path.ends_with("worktrees");
                let near = hidden
                    || in_git && name != "refs" && name != "logs" && name != "info"
                    || self.names.protecting_inside(&child).is_some();
                if self.near.contains(path) && near && self.near.len() < MOST_NEAR {
                    self.near.insert(child.clone());
                }
                if new {
                    below.push(child);
                }
            }
        }
        if (has_git || is_git) && self.near.len() < MOST_NEAR {
            self.near.insert(path.to_owned());
        }
        for (child, kind) in found {
            if !self.items.contains_key(&child) {
                self.check_new(&child, kind, window, report);
            }
        }
        below
    }

    fn kind_of(&self, path: &Path, file: FileType, in_git: bool) -> Option<Kind> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let hooks = || self.names.is_one(Path::new(".git/hooks"));
        match name {
            _ if name.eq_ignore_ascii_case(".git") && file != FileType::Directory => Some(Kind::Pointer),
            "hooks" if in_git && hooks() => Some(Kind::Hooks),
            "config" | "config.worktree" if in_git => Some(Kind::Config),
            "commondir" if in_git => Some(Kind::Pointer),
            _ if self.hooks.contains(path) => Some(Kind::Hooks),
            _ if self.configs.contains(path) => Some(Kind::Config),
            _ if self.programs.contains(path) && file != FileType::Directory => Some(Kind::Name),
            _ if self.names.is_one(path) => Some(Kind::Name),
            // A link in place of a directory that contains protected names.
            _ if file == FileType::Symlink && self.names.protecting_inside(path).is_some() => Some(Kind::Name),
            _ => None,
        }
    }

    /// Takes note of a working tree: what its configuration names and, if it is the person's, what its history holds.
    fn find_repository(&mut self, top: &Path, baseline: bool) {
        let Some(repository) = Repository::at(&self.root.path().join(top)) else { return };
        let Named { hooks, programs, configs } =
            named(&repository, self.home.as_deref(), if baseline { From::Both } else { From::Person });
        let inside = |paths: Vec<PathBuf>| {
            let relative =
                paths.into_iter().filter_map(|path| path.strip_prefix(self.root.path()).ok().map(Path::to_owned));
            relative.filter(|path| !path.as_os_str().is_empty()).collect::<Vec<_>>()
        };
        let (hooks, programs, configs) = (inside(hooks), inside(programs), inside(configs));
        for path in hooks.iter().chain(&programs).chain(&configs) {
            let near = path.parent().map(Path::to_owned).filter(|_| self.near.len() < MOST_NEAR);
            self.near.extend(near);
        }
        self.hooks.extend(hooks);
        self.programs.extend(programs);
        self.configs.extend(configs);
        if baseline {
            self.remember(&repository);
            self.note_tracked(&repository);
        }
    }
}

/// Where git keeps objects: many directories, in which nobody works. A directory that only looks like a repository is no
/// such place.
fn is_store(path: &Path) -> bool {
    let named = |name: &str| path.ends_with(name);
    (named("objects") || named("lfs")) && path.iter().any(|name| name.as_encoded_bytes().eq_ignore_ascii_case(b".git"))
}

/// Whether git would take a directory for a repository, or for the part of one that working trees share.
fn is_git_directory(listing: &Listing) -> bool {
    let parts = ["config", "config.worktree", "commondir", "objects", "refs", "hooks"];
    listing.has("HEAD") && parts.into_iter().any(|part| listing.has(part))
        || listing.has("objects") && listing.has("refs")
}
