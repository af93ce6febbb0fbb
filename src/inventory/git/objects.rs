//! Reads objects from git's database and checks that each of them has the content that its name promises. So a command
//! that overwrites objects, adds packs or replaces references cannot make us believe in a history that never was.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;

use super::files;
use super::object_id::{ObjectFormat, ObjectId};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

#[derive(Debug)]
pub struct Objects {
    format: ObjectFormat,
    directories: Vec<PathBuf>,
    packs: Vec<Pack>,
}

#[derive(Debug)]
struct Pack {
    index: File,
    data: File,
    count: u32,
}

/// Commits and trees are far smaller. A larger object is not read.
const LARGEST: usize = 64 << 20;
/// git itself makes chains of at most 4095 deltas.
const LONGEST_CHAIN: usize = 4100;
/// How deep `objects/info/alternates` may nest.
const MOST_DIRECTORIES: usize = 16;

impl Objects {
    pub fn open(directory: &Path, format: ObjectFormat) -> Self {
        let mut directories = vec![directory.to_owned()];
        let mut next = 0;
        while let Some(directory) = directories.get(next).cloned() {
            next += 1;
            let alternates = files::read(&directory.join("info/alternates"), 1 << 20).unwrap_or_default();
            for line in String::from_utf8_lossy(&alternates).lines().filter(|line| !line.starts_with('#')) {
                let path = directory.join(line);
                if directories.len() < MOST_DIRECTORIES && !directories.contains(&path) {
                    directories.push(path);
                }
            }
        }
        let packs = directories.iter().flat_map(|directory| packs_in(&directory.join("pack"))).collect();
        Self { format, directories, packs }
    }

    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Whether there is an object of this name, whatever it holds.
    pub fn has(&self, id: &ObjectId) -> bool {
        self.directories.iter().any(|directory| files::metadata(&loose_path(directory, id)).is_some())
            || self.packs.iter().any(|pack| pack.offset(id, self.format).is_some())
    }

    /// `None` if it is missing, or if its content does not have this name.
    pub fn read(&mut self, id: &ObjectId) -> Option<(Kind, Vec<u8>)> {
        let loose = self.directories.iter().filter_map(|directory| loose(directory, id).ok());
        let mut candidates = loose.filter(|(kind, content)| self.is_named(id, *kind, content));
        if let Some(found) = candidates.next() {
            return Some(found);
        }
        for number in 0..self.packs.len() {
            let Some(offset) = self.packs[number].offset(id, self.format) else { continue };
            let read = packed(&self.packs[number], offset, self.format);
            if let Ok((kind, content)) = read
                && self.is_named(id, kind, &content)
            {
                // The next object is most likely in the same pack.
                self.packs.swap(0, number);
                return Some((kind, content));
            }
        }
        None
    }

    fn is_named(&self, id: &ObjectId, kind: Kind, content: &[u8]) -> bool {
        self.format.of(kind.name(), content) == *id
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    fn read(name: &[u8]) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag].into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

fn packs_in(directory: &Path) -> Vec<Pack> {
    let indexes = files::list(directory)
        .map(|(path, _)| path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "idx"));
    indexes.filter_map(|path| Pack::open(&path).ok()).collect()
}

fn loose(directory: &Path, id: &ObjectId) -> io::Result<(Kind, Vec<u8>)> {
    let bytes = inflate(files::open(&loose_path(directory, id))?, LARGEST)?;
    let head = memchr::memchr(0, bytes.get(..64.min(bytes.len())).unwrap_or_default()).ok_or_else(invalid)?;
    let space = memchr::memchr(b' ', &bytes[..head]).ok_or_else(invalid)?;
    Ok((Kind::read(&bytes[..space]).ok_or_else(invalid)?, bytes[head + 1..].to_vec()))
}

fn loose_path(directory: &Path, id: &ObjectId) -> PathBuf {
    let name = id.to_string();
    directory.join(&name[..2]).join(&name[2..])
}

fn inflate(from: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(from).take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most { Err(invalid()) } else { Ok(bytes) }
}

impl Pack {
    /// Version 2 of the index, which git has written since 2008.
    fn open(index: &Path) -> io::Result<Self> {
        let data = files::open(&index.with_extension("pack"))?;
        let index = files::open(index)?;
        let mut head = [0; 8];
        index.read_exact_at(&mut head, 0)?;
        if head != *b"\xfftOc\0\0\0\x02" {
            return Err(invalid());
        }
        let count = number_at(&index, 8 + 255 * 4)?;
        Ok(Self { index, data, count })
    }

    fn offset(&self, id: &ObjectId, format: ObjectFormat) -> Option<u64> {
        let first = u64::from(*id.bytes().first()?);
        let fan = |number: u64| number_at(&self.index, 8 + number * 4).ok();
        let (mut low, mut high) = (if first == 0 { 0 } else { fan(first - 1)? }, fan(first)?.min(self.count));
        let (ids, length) = (8 + 256 * 4, format.length());
        let mut name = [0; 32];
        while low < high {
            let middle = low + (high - low) / 2;
            self.index.read_exact_at(&mut name[..length], ids + u64::from(middle) * length as u64).ok()?;
            match name[..length].cmp(id.bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset_at(middle, length),
            }
        }
        None
    }

    fn offset_at(&self, number: u32, length: usize) -> Option<u64> {
        let count = u64::from(self.count);
        let small = 8 + 256 * 4 + count * (length as u64 + 4);
        let offset = number_at(&self.index, small + u64::from(number) * 4).ok()?;
        if offset & 0x8000_0000 == 0 {
            return Some(u64::from(offset));
        }
        let mut large = [0; 8];
        let at = small + count * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        self.index.read_exact_at(&mut large, at).ok()?;
        Some(u64::from_be_bytes(large))
    }
}

fn number_at(file: &File, at: u64) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u32::from_be_bytes(bytes))
}

/// Reads an object from a pack: a base, and the deltas that make the object of it.
fn packed(pack: &Pack, mut offset: u64, format: ObjectFormat) -> io::Result<(Kind, Vec<u8>)> {
    let mut deltas: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut at = At { file: &pack.data, offset };
        let (kind, size) = at.head()?;
        let base = match kind {
            6 => offset.checked_sub(at.distance()?).ok_or_else(invalid)?,
            7 => {
                let mut name = vec![0; format.length()];
                at.read_exact(&mut name)?;
                let id = format.id(&name).ok_or_else(invalid)?;
                pack.offset(&id, format).ok_or_else(invalid)?
            }
            kind => {
                let kind = match kind {
                    1 => Kind::Commit,
                    2 => Kind::Tree,
                    3 => Kind::Blob,
                    4 => Kind::Tag,
                    _ => return Err(invalid()),
                };
                let mut content = inflate(at, size.min(LARGEST))?;
                while let Some(delta) = deltas.pop() {
                    content = apply(&content, &delta).ok_or_else(invalid)?;
                }
                return Ok((kind, content));
            }
        };
        deltas.push(inflate(at, size.min(LARGEST))?);
        if deltas.len() > LONGEST_CHAIN {
            return Err(invalid());
        }
        offset = base;
    }
}

/// A position in a pack.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

impl At<'_> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// Kind and size of the object that begins here.
    fn head(&mut self) -> io::Result<(u8, usize)> {
        let mut byte = self.byte()?;
        let (kind, mut size, mut shift) = (byte >> 4 & 7, usize::from(byte & 15), 4);
        while byte & 128 != 0 {
            byte = self.byte()?;
            size |= usize::from(byte & 127).checked_shl(shift).ok_or_else(invalid)?;
            shift += 7;
        }
        Ok((kind, size))
    }

    /// How far back the base of a delta lies.
    fn distance(&mut self) -> io::Result<u64> {
        let mut byte = self.byte()?;
        let mut value = u64::from(byte & 127);
        while byte & 128 != 0 {
            byte = self.byte()?;
            value = (value + 1).checked_mul(128).ok_or_else(invalid)? | u64::from(byte & 127);
        }
        Ok(value)
    }
}

fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta.iter();
    let mut size = || {
        let (mut value, mut shift) = (0usize, 0);
        loop {
            let byte = *rest.next()?;
            value |= usize::from(byte & 127).checked_shl(shift)?;
            shift += 7;
            if byte & 128 == 0 {
                return Some(value);
            }
        }
    };
    let (before, after) = (size()?, size()?);
    if before != base.len() || after > LARGEST {
        return None;
    }
    let mut out = Vec::with_capacity(after);
    while let Some(order) = rest.next() {
        if order & 128 != 0 {
            let mut part = |bits: &[u8]| -> Option<usize> {
                let mut value = 0;
                for (number, bit) in bits.iter().enumerate() {
                    if order & bit != 0 {
                        value |= usize::from(*rest.next()?) << (8 * number);
                    }
                }
                Some(value)
            };
            let (from, length) = (part(&[1, 2, 4, 8])?, part(&[16, 32, 64])?);
            let length = if length == 0 { 0x10000 } else { length };
            out.extend_from_slice(base.get(from..from.checked_add(length)?)?);
        } else if *order == 0 {
            return None;
        } else {
            let (new, after) = rest.as_slice().split_at_checked(usize::from(*order))?;
            out.extend_from_slice(new);
            rest = after.iter();
        }
        if out.len() > after {
            return None;
        }
    }
    (out.len() == after).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Repository;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_object_of_a_real_repository_is_read_loose_and_packed() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let repository = Repository::with_format(format);
            for number in 0..30 {
                let long: Vec<String> = (0..200).map(|line| format!("line {line} {}", line * number)).collect();
                repository.write("long", &long.join("\n"));
                repository.write(&format!("d{}/f", number % 3), &number.to_string());
                repository.git(&["add", "-A"]);
                repository.git(&["commit", "-qm", "more"]);
            }
            repository.git(&["tag", "-am", "x", "tag"]);
            for packed in [false, true] {
                if packed {
                    repository.git(&["gc", "-q", "--prune=now"]);
                }
                let list = repository.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
                let mut objects = Objects::open(&repository.path().join(".git/objects"), format);
                assert_eq!(objects.packs.len(), usize::from(packed));
                assert!(list.lines().count() > 90);
                for line in list.lines() {
                    let id = format.hex(line.as_bytes()).unwrap();
                    assert!(objects.has(&id) && objects.read(&id).is_some(), "{line} packed: {packed}");
                }
            }
        }
    }

    #[test]
    fn an_object_with_other_content_than_its_name_says_is_not_believed() {
        let repository = Repository::new();
        repository.write("f", "true");
        repository.git(&["add", "f"]);
        repository.write("g", "false");
        repository.git(&["add", "g"]);
        let path = |content: &[u8]| {
            let name = ObjectFormat::Sha1.of("blob", content).to_string();
            repository.path().join(".git/objects").join(&name[..2]).join(&name[2..])
        };
        std::fs::remove_file(path(b"true")).unwrap();
        std::fs::copy(path(b"false"), path(b"true")).unwrap();
        let mut objects = Objects::open(&repository.path().join(".git/objects"), ObjectFormat::Sha1);
        assert!(objects.read(&ObjectFormat::Sha1.of("blob", b"false")).is_some());
        assert!(objects.read(&ObjectFormat::Sha1.of("blob", b"true")).is_none());
    }

    proptest! {
        #[test]
        fn rubbish_is_no_delta(base: Vec<u8>, delta: Vec<u8>) {
            apply(&base, &delta);
        }
    }
}
