//! Opens the files of a git directory that a command may have prepared: no link at the end, no FIFO, nothing endless, and
//! nothing on a file system that does not answer.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::base::mounts;

pub fn open(path: &Path) -> io::Result<File> {
    if !mounts::answers(path) {
        return Err(io::ErrorKind::HostUnreachable.into());
    }
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// The content of a regular file. A larger one is an error.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// What is in a directory. Nothing, if it cannot be read.
pub fn list(directory: &Path) -> impl Iterator<Item = (PathBuf, std::fs::FileType)> {
    let entries = mounts::answers(directory).then(|| std::fs::read_dir(directory).ok()).flatten();
    entries.into_iter().flatten().flatten().filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)))
}

/// What a path names. A link is not followed.
pub fn metadata(path: &Path) -> Option<std::fs::Metadata> {
    mounts::answers(path).then(|| path.symlink_metadata().ok()).flatten()
}
