use std::path::{Path, PathBuf};

use super::super::cleaning::{self, Cleaned, Format};
use crate::base::packed::{Malformed, Reader, put_count, put_text};
use crate::base::wildcard;

/// A path that commands do not see as it is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Mask {
    /// Absolute. No directory above it is a symbolic link; it may be one itself, or not exist.
    pub at: PathBuf,
    pub shows: Shows,
}

/// What commands see instead.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Shows {
    Nothing,
    /// A directory with these entries only: names with `*` for any part, or paths below it.
    Only(Vec<String>),
    /// The file without the credentials in it. The variable names the file to its tool.
    Cleaned {
        format: Format,
        variable: Option<String>,
    },
}

/// Larger files are not shown: a file of settings is smaller.
const LARGEST: u64 = 1 << 20;
/// The most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 1000;

impl Mask {
    pub fn hidden(at: PathBuf) -> Self {
        Self { at, shows: Shows::Nothing }
    }

    /// Whether commands cannot read this path because of this mask.
    pub fn hides(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.at) else { return false };
        match &self.shows {
            Shows::Nothing | Shows::Cleaned { .. } => true,
            Shows::Only(_) => below != Path::new("") && !self.shows_entry(below),
        }
    }

    /// Whether a path below the directory is, or leads to, something that is shown.
    fn shows_entry(&self, below: &Path) -> bool {
        let Shows::Only(entries) = &self.shows else { return false };
        let first = below.components().next().map(|name| name.as_os_str().to_string_lossy().into_owned());
        entries.iter().any(|entry| {
            let by_name = first.as_ref().is_some_and(|first| wildcard::matches(entry, first));
            by_name || entry.contains('/') && (below.starts_with(entry) || Path::new(entry).starts_with(below))
        })
    }

    /// The entries that exist and are shown, relative to the directory.
    pub fn shown_entries(&self) -> Vec<PathBuf> {
        let Shows::Only(entries) = &self.shows else { return Vec::new() };
        let listed = std::fs::read_dir(&self.at).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let by_name = listed.map(|entry| PathBuf::from(entry.file_name()));
        let by_name =
            by_name.filter(|name| entries.iter().any(|entry| wildcard::matches(entry, &name.to_string_lossy())));
        let by_path = entries.iter().filter(|entry| entry.contains('/')).map(PathBuf::from);
        let mut shown: Vec<PathBuf> = by_name.chain(by_path.filter(|path| self.at.join(path).exists())).collect();
        shown.sort();
        shown
    }

    /// What commands see of the file: `None` if it does not exist or cannot be shown.
    pub fn cleaned(&self) -> Option<Vec<u8>> {
        let (content, cleaned) = self.clean()?;
        match cleaned {
            Cleaned::Unchanged => Some(content.into_bytes()),
            Cleaned::Without(cleaned) => Some(cleaned.into_bytes()),
            Cleaned::Unreadable => None,
        }
    }

    /// Whether the file has no credentials in it, so that it can be shown as it is.
    pub fn is_clean(&self) -> bool {
        self.clean().is_some_and(|(_, cleaned)| cleaned == Cleaned::Unchanged)
    }

    fn clean(&self) -> Option<(String, Cleaned)> {
        let Shows::Cleaned { format, .. } = &self.shows else { return None };
        let content = String::from_utf8(read(&self.at)?).ok()?;
        let cleaned = cleaning::clean(*format, &content);
        Some((content, cleaned))
    }
}

/// The content of a regular file of moderate size.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    std::fs::read(path).ok()
}

pub fn encode(out: &mut Vec<u8>, masks: &[Mask]) {
    put_count(out, masks.len());
    for mask in masks {
        put_text(out, &mask.at);
        match &mask.shows {
            Shows::Nothing => put_count(out, 0),
            Shows::Only(entries) => {
                put_count(out, 1);
                put_count(out, entries.len());
                entries.iter().for_each(|entry| put_text(out, entry));
            }
            Shows::Cleaned { format, variable } => {
                put_count(out, 2);
                put_count(out, *format as usize);
                put_text(out, variable.as_deref().unwrap_or_default());
            }
        }
    }
}

pub fn decode(rest: &mut Reader<'_>) -> Result<Vec<Mask>, Malformed> {
    let word = |rest: &mut Reader<'_>| rest.text()?.into_string().map_err(|_| Malformed);
    let mask = |rest: &mut Reader<'_>| {
        let at = PathBuf::from(rest.text()?);
        let shows = match rest.count()? {
            0 => Shows::Nothing,
            1 => Shows::Only((0..rest.count()?).map(|_| word(rest)).collect::<Result<_, _>>()?),
            2 => Shows::Cleaned {
                format: Format::decode(rest.count()?)?,
                variable: Some(word(rest)?).filter(|name| !name.is_empty()),
            },
            _ => return Err(Malformed),
        };
        Ok(Mask { at, shows })
    };
    (0..rest.count()?).map(|_| mask(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(entries: &[&str]) -> Mask {
        Mask { at: "/h/.ssh".into(), shows: Shows::Only(entries.iter().map(|entry| (*entry).to_owned()).collect()) }
    }

    #[test]
    fn a_directory_hides_everything_but_its_exceptions() {
        let mask = only(&["known_hosts*", "*.pub", "sub/key"]);
        for (path, hidden) in [
            ("/h/.ssh/id_ed25519", true),
            ("/h/.ssh/id_ed25519.pub", false),
            ("/h/.ssh/known_hosts.old", false),
            ("/h/.ssh/sub", false),
            ("/h/.ssh/sub/key", false),
            ("/h/.ssh/sub/other", true),
            ("/h/.ssh", false),
            ("/h/x", false),
        ] {
            assert_eq!(mask.hides(Path::new(path)), hidden, "{path}");
        }
        assert!(Mask::hidden("/h/.netrc".into()).hides(Path::new("/h/.netrc")));
    }

    #[test]
    fn masks_survive_the_wire() {
        let masks = vec![
            Mask::hidden("/a b".into()),
            only(&["x", "*.y"]),
            Mask { at: "/n".into(), shows: Shows::Cleaned { format: Format::Yaml, variable: None } },
            Mask { at: "/n".into(), shows: Shows::Cleaned { format: Format::Xml, variable: Some("V".into()) } },
        ];
        let mut bytes = Vec::new();
        encode(&mut bytes, &masks);
        assert_eq!(decode(&mut Reader(&bytes)), Ok(masks));
    }
}
