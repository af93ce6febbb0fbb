//! The level that the self-test found when a server like this one was last started.
//!
//! The instructions name the level, and a client gets them before this start's self-test is done. So they name the level of the
//! last start. Nobody relies on it: every call waits for the test of this start, and if that finds another level, the
//! session's first result says so.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use super::Level;

/// What the instructions tell of a self-test.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tested {
    pub level: Level,
    pub private_home: bool,
}

/// The file that remembers it. It is in the directory that no command can read or write.
#[derive(Debug)]
pub struct EarlierLevel {
    file: PathBuf,
    /// Another version, kernel, start of the machine, or configuration makes the memory worthless.
    key: String,
}

/// One line per kind of start. More are forgotten.
const MOST: usize = 20;

impl EarlierLevel {
    /// `directory` is where the server keeps what outlives it, and `configuration` all that the level may depend on.
    pub fn new(directory: &Path, configuration: &str) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (env!("CARGO_PKG_VERSION"), boot, rustix::process::geteuid().as_raw(), configuration).hash(&mut hasher);
        Self { file: directory.join("level"), key: format!("{:016x}", hasher.finish()) }
    }

    pub fn recall(&self) -> Option<Tested> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(&self.key))?;
        let (level, home) = line.trim().split_once(' ')?;
        let level = [Level::Full, Level::Landlock].into_iter().find(|known| known.to_string() == level)?;
        Some(Tested { level, private_home: home == "private" })
    }

    /// `None` forgets it.
    pub fn remember(&self, now: Option<Tested>) {
        if now == self.recall() {
            return;
        }
        let old = std::fs::read_to_string(&self.file).unwrap_or_default();
        let mut text = String::new();
        if let Some(Tested { level, private_home }) = now {
            let _ = writeln!(text, "{} {level} {}", self.key, if private_home { "private" } else { "shared" });
        }
        let others = old.lines().filter(|line| !line.starts_with(&self.key)).take(MOST - 1);
        others.for_each(|line| text.extend([line, "\n"]));
        // Without the memory, the next start waits for its test.
        let new = self.file.with_extension(std::process::id().to_string());
        let _ = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &self.file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_start_like_this_one_is_recalled() {
        let directory = tempfile::tempdir().unwrap();
        let at = |key: &str| EarlierLevel { file: directory.path().join("level"), key: key.to_owned() };
        assert_eq!(at("a").recall(), None);
        let full = Some(Tested { level: Level::Full, private_home: true });
        at("a").remember(full);
        assert_eq!((at("a").recall(), at("b").recall()), (full, None));
        let less = Some(Tested { level: Level::Landlock, private_home: false });
        at("b").remember(less);
        assert_eq!((at("a").recall(), at("b").recall()), (full, less));
        at("a").remember(None);
        assert_eq!((at("a").recall(), at("b").recall()), (None, less));
    }
}
