//! Puts something else in the place of secrets that no overlay masks: those outside the home, and all of them where no
//! overlay can be mounted. What a cover shows is read before it is put up, because the cover hides the original.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::super::failure::{Doing, Failure};
use super::super::home::shown_directories;
use super::super::secrets::{Mask, Shows, read};
use super::calls::{self, HARMLESS, READ_ONLY};
use super::hide::{self, SSH_SETTINGS, WORKSHOP};

/// A mask with everything that it shows.
pub struct Cover {
    at: PathBuf,
    content: Content,
}

enum Content {
    Nothing,
    File(Vec<u8>),
    /// It lies in the session's own `/dev` already.
    Prepared(&'static str),
    /// Files by their paths in it, and mounts of directories by theirs.
    Directory {
        files: Vec<(PathBuf, Vec<u8>)>,
        mounts: Vec<(PathBuf, OwnedFd)>,
    },
}

/// Reads what the masks show, which are sorted by path. The caller sees the originals.
pub fn prepare(masks: &[Mask]) -> Vec<Cover> {
    let mut outermost: Vec<&Mask> = Vec::new();
    for mask in masks {
        // A directory comes right before everything in it.
        if outermost.last().is_none_or(|outer| !mask.at.starts_with(&outer.at)) {
            outermost.push(mask);
        }
    }
    let there = outermost.into_iter().filter(|mask| mask.at.exists());
    there.map(|mask| Cover { at: mask.at.clone(), content: content(mask, masks) }).collect()
}

fn content(mask: &Mask, masks: &[Mask]) -> Content {
    match &mask.shows {
        Shows::Cleaned { .. } => mask.cleaned().map_or(Content::Nothing, Content::File),
        Shows::Only(_) if mask.at.is_dir() => {
            let files = mask.shown_entries().into_iter();
            let mut files: Vec<_> =
                files.filter_map(|entry| Some((entry.clone(), read(&mask.at.join(entry))?))).collect();
            let below = masks.iter().filter(|inner| inner.at != mask.at && inner.at.starts_with(&mask.at));
            files.extend(
                below.filter_map(|inner| Some((inner.at.strip_prefix(&mask.at).ok()?.to_owned(), inner.cleaned()?))),
            );
            // Only a process of the session can clone mounts; the guard shows the files alone.
            let mount = |path: PathBuf| {
                let mount = calls::clone_at(&path).ok()?;
                calls::set_cloned(&mount, HARMLESS | READ_ONLY).ok()?;
                Some((path.strip_prefix(&mask.at).ok()?.to_owned(), mount))
            };
            Content::Directory { files, mounts: shown_directories(mask).into_iter().filter_map(mount).collect() }
        }
        Shows::Nothing | Shows::Only(_) => Content::Nothing,
    }
}

impl Cover {
    /// The settings of ssh for the whole machine, with the command in front that leads to the proxy. The person's own settings
    /// win over it. `None` without ssh. Has to be made while the session's `/dev` is still writable: to write the content into a
    /// file system of its own, as for other covers, would make every session start milliseconds later.
    pub fn of_ssh(command: &str) -> io::Result<Option<Self>> {
        const SETTINGS: &str = "/etc/ssh/ssh_config";
        let Some(original) = read(Path::new(SETTINGS)).filter(|_| !command.is_empty()) else { return Ok(None) };
        let own = format!("Host * !localhost !127.0.0.1 !::1\n    ProxyCommand {command}\nHost *\n");
        std::fs::write(SSH_SETTINGS, [own.into_bytes(), original].concat())?;
        Ok(Some(Self { at: SETTINGS.into(), content: Content::Prepared(SSH_SETTINGS) }))
    }

    /// Mounts the cover. The caller is in the session's namespaces.
    pub fn put_up(self) -> Result<(), Failure> {
        // Gone meanwhile.
        let Ok(real) = self.at.canonicalize() else { return Ok(()) };
        let shown = self.at.display().to_string();
        match self.content {
            Content::Nothing => hide::hide(&self.at),
            Content::File(content) => {
                let write = |room: &Path| {
                    std::fs::write(room.join("file"), content)?;
                    calls::clone_at(&room.join("file"))
                };
                put_together(&real, write).doing(|| format!("show {shown} with other content"))
            }
            Content::Prepared(path) => calls::clone_at(Path::new(path))
                .and_then(|mount| attach(&mount, &real))
                .doing(|| format!("show {shown} with other content")),
            Content::Directory { files, mounts } => {
                let write = |room: &Path| {
                    for (name, content) in &files {
                        let path = room.join(name);
                        std::fs::create_dir_all(path.parent().unwrap_or(room))?;
                        std::fs::write(path, content)?;
                    }
                    mounts.iter().try_for_each(|(name, _)| std::fs::create_dir_all(room.join(name)))?;
                    calls::clone_at(room)
                };
                put_together(&real, write).doing(|| format!("show a part of {shown}"))?;
                mounts.iter().try_for_each(|(name, mount)| {
                    calls::attach(mount, &real.join(name)).doing(|| format!("show {}", name.display()))
                })
            }
        }
    }
}

/// Writes the content into a small file system of its own and mounts what `write` returns at the path, on top of an earlier
/// cover.
fn put_together(at: &Path, write: impl FnOnce(&Path) -> io::Result<OwnedFd>) -> io::Result<()> {
    let room = Path::new(WORKSHOP);
    calls::mount_new("tmpfs", room, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, "mode=755,size=16m")?;
    let mount = write(room);
    calls::detach(room)?;
    attach(&mount?, at)
}

fn attach(mount: &OwnedFd, at: &Path) -> io::Result<()> {
    calls::set_cloned(mount, HARMLESS | READ_ONLY)?;
    calls::attach(mount, at)
}
