//! Reads the lines of the log again, for people.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::store::{self, FILE};

/// Reads the log from its oldest line on, and goes on when more is written.
pub struct Reader {
    directory: PathBuf,
    current: Option<Current>,
    begun: bool,
}

struct Current {
    input: BufReader<File>,
    identity: (u64, u64),
    /// The beginning of a line whose rest has not been written yet.
    begin: Vec<u8>,
}

impl Reader {
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), current: None, begun: false }
    }

    /// Calls `with` for every line that has not been read yet. A line that is not JSON is passed over: `verify` is there to
    /// find it.
    pub fn read(&mut self, mut with: impl FnMut(&str, Value) -> io::Result<()>) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            for part in store::open_all(&self.directory)?.0 {
                // The last one stays open.
                self.take(part.file)?;
                self.rest(&mut with)?;
            }
            return Ok(());
        }
        self.rest(&mut with)?;
        // The file may have been put aside, or may exist only now.
        let path = self.directory.join(FILE);
        let found = std::fs::metadata(&path).map(|found| (found.dev(), found.ino())).ok();
        if found.is_some() && found != self.current.as_ref().map(|current| current.identity) {
            self.rest(&mut with)?;
            self.open(&path)?;
            self.rest(&mut with)?;
        }
        Ok(())
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        self.take(File::open(path)?)
    }

    fn take(&mut self, file: File) -> io::Result<()> {
        let found = file.metadata()?;
        let (input, identity) = (BufReader::with_capacity(256 * 1024, file), (found.dev(), found.ino()));
        self.current = Some(Current { input, identity, begin: Vec::new() });
        Ok(())
    }

    fn rest(&mut self, with: &mut impl FnMut(&str, Value) -> io::Result<()>) -> io::Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        loop {
            if current.input.read_until(b'\n', &mut current.begin)? == 0 || !current.begin.ends_with(b"\n") {
                return Ok(());
            }
            let line = std::mem::take(&mut current.begin);
            if let (Ok(text), Ok(event)) = (std::str::from_utf8(&line), serde_json::from_slice(&line)) {
                with(text, event)?;
            }
        }
    }
}
