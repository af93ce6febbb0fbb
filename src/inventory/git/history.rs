//! Whether a repository's history holds a version of a file. The search starts at commits whose ids are known, reads
//! commits and trees by their verified names, and so reaches only what those ids stand for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use super::object_id::{ObjectFormat, ObjectId};
use super::objects::{Kind, Objects};

/// A version of a file: what git would store for it.
#[derive(Clone, Debug)]
pub struct Version {
    /// One of these: line endings may differ between the working tree and the repository.
    pub blobs: Vec<ObjectId>,
    pub mode: FileMode,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileMode {
    Plain,
    Executable,
    Link,
}

impl Version {
    pub fn of(content: &[u8], mode: FileMode, format: ObjectFormat) -> Self {
        let mut blobs = vec![format.of("blob", content)];
        if mode != FileMode::Link && memchr::memmem::find(content, b"\r\n").is_some() {
            blobs.push(format.of("blob", &without_carriage_returns(content)));
        }
        Self { blobs, mode }
    }

    /// A version that the index names.
    pub fn named(blob: ObjectId, mode: FileMode) -> Self {
        Self { blobs: vec![blob], mode }
    }

    fn is(&self, mode: &[u8], blob: &ObjectId) -> bool {
        let fits = match self.mode {
            FileMode::Link => mode == b"120000",
            FileMode::Executable => mode == b"100755",
            FileMode::Plain => mode.starts_with(b"100"),
        };
        fits && self.blobs.contains(blob)
    }
}

fn without_carriage_returns(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    for (at, byte) in content.iter().enumerate() {
        if *byte != b'\r' || content.get(at + 1) != Some(&b'\n') {
            out.push(*byte);
        }
    }
    out
}

/// Whether a commit that the tips reach has this version at this path. The tips come first, so what a branch holds is found
/// at once. After the deadline the answer is no.
pub fn holds(objects: &mut Objects, tips: &[ObjectId], path: &[&[u8]], wanted: &Version, deadline: Instant) -> bool {
    // The search goes through the whole history to find nothing, and most of what is looked for is not even an object.
    if !wanted.blobs.iter().any(|blob| objects.has(blob)) {
        return false;
    }
    let mut seen: HashSet<ObjectId> = HashSet::new();
    let mut next: VecDeque<ObjectId> = tips.iter().copied().collect();
    let mut trees = Trees { known: HashMap::new(), path };
    while let Some(id) = next.pop_front() {
        if !seen.insert(id) {
            continue;
        }
        if Instant::now() > deadline {
            return false;
        }
        let Some((kind, content)) = objects.read(&id) else { continue };
        let format = objects.format();
        match kind {
            Kind::Tag => next.extend(field(&content, b"object ").filter_map(|text| format.hex(text))),
            Kind::Commit => {
                let tree = field(&content, b"tree ").next().and_then(|text| format.hex(text));
                if let Some(tree) = tree
                    && trees.find(objects, tree, 0).is_some_and(|(mode, blob)| wanted.is(&mode, &blob))
                {
                    return true;
                }
                next.extend(field(&content, b"parent ").filter_map(|text| format.hex(text)));
            }
            Kind::Tree | Kind::Blob => {}
        }
    }
    false
}

/// The values of a field in the header of a commit or tag.
fn field<'a>(content: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let header = content.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    header.filter_map(move |line| line.strip_prefix(name))
}

/// Mode and id of a file.
type Found = (Vec<u8>, ObjectId);

struct Trees<'a> {
    known: HashMap<(ObjectId, usize), Option<Found>>,
    path: &'a [&'a [u8]],
}

impl Trees<'_> {
    /// Mode and id of what the rest of the path, from that depth on, names in this tree.
    fn find(&mut self, objects: &mut Objects, tree: ObjectId, depth: usize) -> Option<Found> {
        if let Some(known) = self.known.get(&(tree, depth)) {
            return known.clone();
        }
        let found = self.look_up(objects, tree, depth);
        self.known.insert((tree, depth), found.clone());
        found
    }

    fn look_up(&mut self, objects: &mut Objects, tree: ObjectId, depth: usize) -> Option<Found> {
        let (Kind::Tree, content) = objects.read(&tree)? else { return None };
        let (name, format) = (*self.path.get(depth)?, objects.format());
        let mut rest = &content[..];
        while !rest.is_empty() {
            let space = memchr::memchr(b' ', rest)?;
            let end = memchr::memchr(0, rest)?;
            let id = format.id(rest.get(end + 1..end + 1 + format.length())?)?;
            if rest.get(space + 1..end)? == name {
                let mode = &rest[..space];
                let last = depth + 1 == self.path.len();
                let is_tree = mode == b"40000";
                return match (last, is_tree) {
                    (true, false) => Some((mode.to_vec(), id)),
                    (false, true) => self.find(objects, id, depth + 1),
                    _ => None,
                };
            }
            rest = &rest[end + 1 + format.length()..];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::refs::{Which, tips};
    use super::super::tests::Repository;
    use super::*;

    const FORMAT: ObjectFormat = ObjectFormat::Sha1;

    fn is_held(repository: &Repository, tips: &[ObjectId], path: &str, content: &[u8], mode: FileMode) -> bool {
        let mut objects = Objects::open(&repository.path().join(".git/objects"), FORMAT);
        let path: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let deadline = Instant::now() + Duration::from_mins(1);
        holds(&mut objects, tips, &path, &Version::of(content, mode, FORMAT), deadline)
    }

    #[test]
    fn history_is_what_was_reachable_when_the_tips_were_read() {
        let repository = Repository::new();
        repository.commit(".vscode/settings.json", "one");
        repository.commit(".vscode/settings.json", "two");
        repository.git(&["switch", "-qc", "side", "HEAD~1"]);
        repository.commit("d/.envrc", "side");
        repository.git(&["switch", "-q", "main"]);
        repository.write(".vscode/settings.json", "stashed");
        repository.git(&["stash", "-q"]);
        let known = tips(&repository.path().join(".git"), FORMAT, Which::All);
        repository.commit(".vscode/settings.json", "later");
        for packed in [false, true] {
            let check =
                |path: &str, content: &str| is_held(&repository, &known, path, content.as_bytes(), FileMode::Plain);
            for content in ["one", "two", "stashed"] {
                assert!(check(".vscode/settings.json", content), "{content} packed: {packed}");
            }
            assert!(check("d/.envrc", "side"));
            for (path, content) in [
                (".vscode/settings.json", "later"),
                (".vscode/settings.json", "side"),
                (".envrc", "side"),
                (".vscode", "one"),
            ] {
                assert!(!check(path, content), "{path} {content} packed: {packed}");
            }
            repository.git(&["gc", "-q"]);
        }
    }

    #[test]
    fn mode_and_line_endings() {
        let repository = Repository::new();
        repository.commit(".envrc", "a\nb\n");
        let known = tips(&repository.path().join(".git"), FORMAT, Which::All);
        assert!(is_held(&repository, &known, ".envrc", b"a\r\nb\r\n", FileMode::Plain));
        assert!(!is_held(&repository, &known, ".envrc", b"a\nb\n", FileMode::Executable));
        assert!(!is_held(&repository, &known, ".envrc", b"a\nb\n", FileMode::Link));
    }

    /// The trick: a commit object of the known history, overwritten by another commit.
    #[test]
    fn a_forged_history_holds_nothing() {
        let repository = Repository::new();
        repository.commit(".envrc", "good");
        let known = tips(&repository.path().join(".git"), FORMAT, Which::All);
        let good = repository.git(&["rev-parse", "HEAD"]);
        repository.commit(".envrc", "evil");
        let evil = repository.git(&["rev-parse", "HEAD"]);
        let path = |id: &str| repository.path().join(".git/objects").join(&id[..2]).join(id[2..].trim());
        std::fs::remove_file(path(&good)).unwrap();
        std::fs::copy(path(&evil), path(&good)).unwrap();
        repository.git(&["replace", "-f", evil.trim(), "HEAD~0"]);
        assert!(!is_held(&repository, &known, ".envrc", b"evil", FileMode::Plain));
    }
}
