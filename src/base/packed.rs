//! Fields with their length in front: the encoding of messages between our own processes. Both sides are the same binary,
//! so there are no versions. A reader still trusts nothing and never panics.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

#[derive(Debug, thiserror::Error, Eq, PartialEq)]
#[error("malformed message")]
pub struct Malformed;

pub fn put_text(out: &mut Vec<u8>, text: impl AsRef<OsStr>) {
    let text = text.as_ref().as_bytes();
    put_count(out, text.len());
    out.extend(text);
}

pub fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

pub fn put_size(out: &mut Vec<u8>, size: u64) {
    out.extend(size.to_le_bytes());
}

pub fn put_paths(out: &mut Vec<u8>, paths: &[PathBuf]) {
    put_count(out, paths.len());
    paths.iter().for_each(|path| put_text(out, path));
}

/// The bytes that are left to read.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = tail;
        Ok(head)
    }

    pub fn number(&mut self) -> Result<i32, Malformed> {
        let bytes = self.take(4)?.try_into().map_err(|_| Malformed)?;
        Ok(i32::from_le_bytes(bytes))
    }

    pub fn size(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn count(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub fn text(&mut self) -> Result<OsString, Malformed> {
        let count = self.count()?;
        Ok(OsString::from_vec(self.take(count)?.to_vec()))
    }

    pub fn paths(&mut self) -> Result<Vec<PathBuf>, Malformed> {
        (0..self.count()?).map(|_| self.text().map(PathBuf::from)).collect()
    }
}
