//! Finds out whether the log was tampered with, and where first.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::chain::{self, GENESIS, Tip};
use super::head::Head;
use super::store::{self, Part};

/// A log in which every line fits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Intact {
    pub lines: u64,
    pub files: usize,
    /// A server was killed while it wrote its last line. The next server removes that part.
    pub torn: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("{}:{line}: {what}", .file.display())]
    Line { file: PathBuf, line: u64, what: String },
    #[error("{}: {what}", .directory.display())]
    Log { directory: PathBuf, what: String },
    #[error("failed to read {}: {error}", .file.display())]
    Unreadable { file: PathBuf, error: io::Error },
}

/// Reads all files of the log, the oldest first.
pub fn verify(directory: &Path) -> Result<Intact, Broken> {
    let whole = |what: String| Broken::Log { directory: directory.to_owned(), what };
    let (parts, head) = store::open_all(directory).map_err(|error| whole(error.to_string()))?;
    let head = head.map_err(|error| whole(error.to_string()))?;
    let (files, mut walk) = (parts.len(), Walk { head: head.clone(), tip: None, lines: 0, torn: false });
    for (index, part) in parts.into_iter().enumerate() {
        walk.file(part, index + 1 == files)?;
    }
    let last = walk.tip.as_ref().map_or(0, |tip| tip.seq);
    match head {
        None if walk.lines > 0 => {
            Err(whole("audit.head is missing, so the end of the log cannot be checked".to_owned()))
        }
        Some(head) if head.seq > last => {
            Err(whole(format!("the lines {} to {} are missing at the end", last + 1, head.seq)))
        }
        _ => Ok(Intact { lines: walk.lines, files, torn: walk.torn }),
    }
}

struct Walk {
    head: Option<Head>,
    /// The line before the next one.
    tip: Option<Tip>,
    lines: u64,
    torn: bool,
}

impl Walk {
    fn file(&mut self, part: Part, is_last: bool) -> Result<(), Broken> {
        let Part { path, file, size } = part;
        let unreadable = |error| Broken::Unreadable { file: path.clone(), error };
        let mut input = BufReader::with_capacity(256 * 1024, file).take(size);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if input.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            let broken = |what: String| Broken::Line { file: path.clone(), line: number, what };
            if line.pop() != Some(b'\n') {
                if is_last && self.head.as_ref().is_none_or(|head| self.next() > head.seq) {
                    self.torn = true;
                    break;
                }
                return Err(broken("it was cut off".to_owned()));
            }
            self.line(&line).map_err(broken)?;
        }
        Ok(())
    }

    fn next(&self) -> u64 {
        self.tip.as_ref().map_or(1, |tip| tip.seq + 1)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let link = chain::check(line)?;
        let (seq, hash) = (link.tip.seq, &link.tip.hash);
        let oldest = self.head.as_ref().map_or(1, |head| head.oldest);
        let expected = match &self.tip {
            Some(tip) => Some((tip.seq + 1, tip.hash.as_str())),
            // A crash may keep a file longer than the head says.
            None if seq <= oldest && seq > 1 => None,
            None => Some((oldest, if oldest == 1 { GENESIS } else { link.prev.as_str() })),
        };
        if let Some((number, prev)) = expected {
            if seq > number {
                return Err(format!("the lines {number} to {} are missing before it", seq - 1));
            }
            if seq < number {
                return Err(format!("its number is {seq} instead of {number}: it was moved or repeated"));
            }
            if link.prev != prev {
                return Err("it does not follow the line before it: that line was changed".to_owned());
            }
        }
        if self.head.as_ref().is_some_and(|head| head.seq == seq && head.hash != *hash) {
            return Err("it is not the line that was written here: the line and its hash were replaced".to_owned());
        }
        self.tip = Some(link.tip);
        self.lines += 1;
        Ok(())
    }
}
