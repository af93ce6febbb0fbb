//! A home directory of the session's own: an overlay over the person's home. What commands write goes to a layer that is
//! kept per project, and never to the real home.
//!
//! ```text
//! upper    what commands wrote, kept below testudo's state directory
//! masks    secrets: names that do not exist, directories and files with other content (a tmpfs, made anew each time)
//! home     the person's own, read-only
//! ```
//!
//! A mask holds whatever the owner does to the file underneath, because the overlay looks the name up in the mask first.
//! The overlay is mounted in a mount namespace of its own ([`namespace`]), from which every session gets a clone. So all
//! sessions of a project share one overlay: the kernel does not define what happens when two have the same upper layer.
//! `docs/decisions/home-layer.md` has the reasons.

mod masks;
pub mod namespace;
pub mod upper;

use std::path::{Path, PathBuf};

use super::mount_table::MountTable;
use super::secrets::{Mask, Shows};
use crate::base::packed::{Malformed, Reader, put_count, put_text};

/// The home directory of a session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Home {
    /// The person's home, without symbolic links.
    pub path: PathBuf,
    /// The directory of the layer; without one the home is read-only.
    pub layer: Option<PathBuf>,
    /// Other paths that lead to the home or a directory in it, with the path of that directory in the home.
    pub aliases: Vec<(PathBuf, PathBuf)>,
    pub state: State,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum State {
    /// There is no overlay: secrets are hidden one by one, and commands can write tool caches.
    #[default]
    Bare,
    /// An overlay without an upper layer.
    ReadOnly,
    /// Commands write to their own layer.
    Private,
}

/// The names of the two directories of a layer.
pub const UPPER: &str = "upper";
pub const WORK: &str = "work";
/// A file that is locked (shared) while the layer is mounted.
pub const USE: &str = "use";

impl Home {
    pub fn is_mounted(&self) -> bool {
        self.state != State::Bare
    }

    /// File systems that are mounted below it.
    pub fn mounted_below(&self) -> Vec<PathBuf> {
        MountTable::read().below(&self.path)
    }

    /// Whether the overlay shows something else at this path. Below a file system that is mounted in the home it does not.
    pub fn masks(&self, mask: &Mask, mounted_below: &[PathBuf]) -> bool {
        let in_home = |path: &Path| path.starts_with(&self.path) && path != self.path;
        let in_alias = self.aliases.iter().any(|(alias, _)| mask.at.starts_with(alias));
        self.is_mounted()
            && (in_home(&mask.at) || in_alias)
            && !mounted_below.iter().any(|mounted| mask.at.starts_with(mounted) && mask.at != *mounted)
    }

    pub fn encode(home: Option<&Self>, out: &mut Vec<u8>) {
        put_count(out, usize::from(home.is_some()));
        let Some(home) = home else { return };
        put_text(out, &home.path);
        put_text(out, home.layer.as_deref().unwrap_or(Path::new("")));
        put_count(out, home.aliases.len());
        for (alias, part) in &home.aliases {
            put_text(out, alias);
            put_text(out, part);
        }
        put_count(out, home.state as usize);
    }

    pub fn decode(rest: &mut Reader<'_>) -> Result<Option<Self>, Malformed> {
        if rest.count()? == 0 {
            return Ok(None);
        }
        let path = PathBuf::from(rest.text()?);
        let layer = Some(PathBuf::from(rest.text()?)).filter(|layer| layer.is_absolute());
        let aliases =
            (0..rest.count()?).map(|_| Ok((rest.text()?.into(), rest.text()?.into()))).collect::<Result<_, _>>()?;
        Ok(Some(Self { path, layer, aliases, state: State::decode(rest.count()?)? }))
    }
}

impl State {
    pub fn decode(number: usize) -> Result<Self, Malformed> {
        [Self::Bare, Self::ReadOnly, Self::Private].get(number).copied().ok_or(Malformed)
    }
}

/// Other paths that lead to a home or to a directory in it: see [`Home::aliases`]. One message carries the clones for all.
pub fn aliases(home: &Path) -> Vec<(PathBuf, PathBuf)> {
    let table = MountTable::read();
    let whole = table.aliases(home).into_iter().map(|alias| (alias, PathBuf::new()));
    whole.chain(table.showing_parts(home)).take(MOST_ALIASES).collect()
}

const MOST_ALIASES: usize = 8;

/// The directories that a mask shows as they are. They are too large to be copied, so they are mounted.
pub fn shown_directories(mask: &Mask) -> Vec<PathBuf> {
    if !matches!(mask.shows, Shows::Only(_)) {
        return Vec::new();
    }
    let entries = mask.shown_entries().into_iter().map(|entry| mask.at.join(entry));
    entries.filter(|path| path.is_dir()).collect()
}
