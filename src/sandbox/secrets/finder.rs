//! Where the secrets are on this machine.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::mount_table::MountTable;
use super::catalogue::{FOR_ROOT, HIDDEN, HIDDEN_BUT, HOST_KEYS, MIXED, MOVED};
use super::mask::{Mask, Shows};
use super::names::Names;
use crate::base::search_path::variable;
use crate::base::{lexical, mounts};

/// Everything that decides which files are secret.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    /// The home directory of the environment. It may differ from the one in the user database.
    pub home: Option<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    /// testudo's own files.
    pub own: Vec<PathBuf>,
    /// `sandbox.reveal`, with `~` expanded.
    pub reveal: Vec<PathBuf>,
}

impl Finder {
    /// Every secret of the user that we run as, sorted by path.
    pub fn find(&self) -> Vec<Mask> {
        let (homes, mut places) = (self.homes(), Places::default());
        let mut named: Vec<Mask> = homes.iter().flat_map(|home| in_home(home)).collect();
        named.extend(self.moved());
        named.extend(self.own.iter().cloned().map(Mask::hidden));
        named.extend(backups(&named, &mut places.names));
        if rustix::process::geteuid().is_root() {
            named.extend(FOR_ROOT.iter().map(|path| Mask::hidden(path.into())));
            named.extend(host_keys(Path::new(HOST_KEYS)).into_iter().map(Mask::hidden));
        }
        let table = MountTable::read();
        let too_wide = |path: &Path| homes.iter().any(|home| home.starts_with(path));
        let mut masks: Vec<Mask> = Vec::new();
        for mask in named {
            let Some(mask) = self.reveal(mask, &mut places) else { continue };
            for at in places.of(&mask.at).into_iter().filter(|at| !too_wide(at)) {
                let aliases = if places.names.may_have(&at) { table.aliases(&at) } else { Vec::new() };
                masks.extend(aliases.into_iter().map(|at| Mask { at, shows: mask.shows.clone() }));
                masks.push(Mask { at, shows: mask.shows.clone() });
            }
        }
        without_nested(masks)
    }

    /// The home of the environment, and that of the user database; for root all homes, because root can read them all.
    fn homes(&self) -> Vec<PathBuf> {
        let everybody = rustix::process::geteuid().is_root();
        let user = rustix::process::getuid().as_raw();
        let database = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let all = self.home.iter().cloned().chain(homes_in(&database, user, everybody));
        let mut homes: Vec<PathBuf> = all.filter_map(|home| resolve(&home)).collect();
        homes.retain(|home| home != Path::new("/"));
        homes.sort();
        homes.dedup();
        homes
    }

    /// Secrets in directories that variables name.
    fn moved(&self) -> Vec<Mask> {
        let mut masks = Vec::new();
        for (name, part) in MOVED {
            let Some(value) = variable(&self.environment, name) else { continue };
            for base in std::env::split_paths(value).filter(|base| base.is_absolute()) {
                // Often `/dev/null`, to have none.
                if !mounts::answers(&base) || base.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
                    continue;
                }
                let below = |mask: Mask| {
                    let rest = mask.at.strip_prefix(part).ok()?;
                    let at = if rest == Path::new("") { base.clone() } else { base.join(rest) };
                    Some(Mask { at, ..mask })
                };
                masks.extend(in_home(Path::new("")).filter_map(below));
            }
        }
        masks
    }

    /// The mask without what a person has chosen to reveal, or none if that is all of it.
    fn reveal(&self, mut mask: Mask, places: &mut Places) -> Option<Mask> {
        if self.reveal.is_empty() {
            return Some(mask);
        }
        let places = places.of(&mask.at);
        for revealed in &self.reveal {
            if mask.at.starts_with(revealed) || places.iter().any(|at| at.starts_with(revealed)) {
                return None;
            }
            let below = places.iter().chain([&mask.at]).find_map(|at| revealed.strip_prefix(at).ok());
            let Some(below) = below.and_then(Path::to_str) else { continue };
            match &mut mask.shows {
                Shows::Only(entries) => entries.push(below.to_owned()),
                shows => *shows = Shows::Only(vec![below.to_owned()]),
            }
        }
        Some(mask)
    }
}

/// What such a file held before `testudo install` changed it.
fn backups(named: &[Mask], names: &mut Names) -> Vec<Mask> {
    let backup = |mask: &Mask| PathBuf::from(format!("{}.testudo-backup", mask.at.display()));
    let there = |path: &PathBuf| names.may_have(path) && mounts::answers(path) && path.exists();
    named.iter().map(backup).filter(there).map(Mask::hidden).collect()
}

/// The catalogue, below one directory.
fn in_home(home: &Path) -> impl Iterator<Item = Mask> {
    let hidden = HIDDEN.iter().map(|name| (*name, Shows::Nothing));
    let owned = |entries: &[&str]| Shows::Only(entries.iter().map(|entry| (*entry).to_owned()).collect());
    let partly = HIDDEN_BUT.iter().map(move |(name, entries)| (*name, owned(entries)));
    let mixed = MIXED.iter().map(|(name, format, variable)| {
        (*name, Shows::Cleaned { format: *format, variable: variable.map(str::to_owned) })
    });
    hidden.chain(partly).chain(mixed).map(|(name, shows)| Mask { at: home.join(name), shows })
}

/// Where paths really are. Many secrets have the same directory, which is resolved once.
#[derive(Default)]
struct Places {
    parents: HashMap<PathBuf, PathBuf>,
    names: Names,
}

impl Places {
    /// The path with the links above it resolved and, if it is a link itself, also where that leads.
    fn of(&mut self, path: &Path) -> Vec<PathBuf> {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { return Vec::new() };
        let own = self.real(parent).join(name);
        if !mounts::answers(&own) {
            return Vec::new();
        }
        let target = if self.names.may_have(&own) && own.is_symlink() { resolve(&own) } else { None };
        [Some(own), target].into_iter().flatten().collect()
    }

    /// A directory with links resolved, as far as it exists.
    fn real(&mut self, directory: &Path) -> PathBuf {
        if let Some(known) = self.parents.get(directory) {
            return known.clone();
        }
        let resolved = if self.names.may_have(directory) { resolve(directory) } else { None };
        let real = resolved.unwrap_or_else(|| match directory.parent().zip(directory.file_name()) {
            Some((above, name)) => self.real(above).join(name),
            None => directory.to_owned(),
        });
        self.parents.insert(directory.to_owned(), real.clone());
        real
    }
}

/// A path with links resolved. What lies on a file system that does not answer counts as missing until it does.
fn resolve(path: &Path) -> Option<PathBuf> {
    let target =
        || path.parent().zip(path.read_link().ok()).map(|(parent, target)| lexical::normal(&parent.join(target)));
    let answers = mounts::answers(path) && target().is_none_or(|target| mounts::answers(&target));
    if answers { path.canonicalize().ok() } else { None }
}

/// What lies in a hidden directory needs no mask of its own, except a file that is shown there without its credentials.
/// A directory that shows something is listed before what lies in it.
fn without_nested(mut masks: Vec<Mask>) -> Vec<Mask> {
    // By path, and the strictest first.
    let strictness = |shows: &Shows| match shows {
        Shows::Nothing => 0,
        Shows::Only(_) => 1,
        Shows::Cleaned { .. } => 2,
    };
    masks.sort_by(|a, b| a.at.cmp(&b.at).then(strictness(&a.shows).cmp(&strictness(&b.shows))));
    masks.dedup_by(|later, earlier| later.at == earlier.at);
    let mut kept: Vec<Mask> = Vec::new();
    // Those around the mask, as numbers in `kept`, the innermost last. A directory comes right before everything in it.
    let mut around: Vec<usize> = Vec::new();
    for mask in masks {
        while around.pop_if(|outer| !mask.at.starts_with(&kept[*outer].at)).is_some() {}
        let outer = around.last().map(|outer| &kept[*outer]);
        if outer.is_none_or(|outer| !outer.hides(&mask.at) || shows_file_in(outer, &mask)) {
            around.push(kept.len());
            kept.push(mask);
        }
    }
    kept
}

fn shows_file_in(outer: &Mask, mask: &Mask) -> bool {
    matches!(outer.shows, Shows::Only(_)) && matches!(mask.shows, Shows::Cleaned { .. })
}

fn homes_in(database: &str, user: u32, everybody: bool) -> Vec<PathBuf> {
    let line = |line: &str| {
        let mut fields = line.split(':').skip(2);
        let id: u32 = fields.next()?.parse().ok()?;
        let home = PathBuf::from(fields.nth(2)?);
        (id == user || everybody && (id == 0 || id >= 1000)).then_some(home)
    };
    let there = |home: &PathBuf| mounts::answers(home) && home.is_dir();
    let mut homes: Vec<PathBuf> = database.lines().filter_map(line).filter(there).collect();
    homes.sort();
    homes.dedup();
    homes
}

fn host_keys(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let private = |name: &str| name.starts_with("ssh_host_") && name.ends_with("_key");
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(private))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf) {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("home")).unwrap();
        (world, root)
    }

    fn at<'a>(masks: &'a [Mask], path: &Path) -> Option<&'a Mask> {
        masks.iter().find(|mask| mask.at == path)
    }

    #[test]
    fn root_has_secrets_in_every_home_and_a_user_in_their_own() {
        let database = "root:x:0:0:root:/:/bin/sh\nsys:x:3:3::/usr:/bin/sh\nme:x:1000:1000::/etc:/bin/sh\nyou:x:1001:1::/bin:/bin/sh\n";
        assert_eq!(homes_in(database, 1000, false), [PathBuf::from("/etc")]);
        assert_eq!(homes_in(database, 0, true), ["/", "/bin", "/etc"].map(PathBuf::from));
    }

    #[test]
    fn a_secret_behind_a_link_is_masked_by_name_and_at_its_target() {
        let (_world, root) = world();
        std::fs::create_dir_all(root.join("data/ssh")).unwrap();
        std::fs::create_dir_all(root.join("data/config/gh")).unwrap();
        std::fs::write(root.join("data/netrc"), "").unwrap();
        symlink(root.join("data/ssh"), root.join("home/.ssh")).unwrap();
        symlink("../data/config", root.join("home/.config")).unwrap();
        symlink("../data/netrc", root.join("home/.netrc")).unwrap();
        symlink("..", root.join("home/.aws")).unwrap();
        let finder = Finder { home: Some(root.join("home")), own: vec!["/x/audit.jsonl".into()], ..Finder::default() };
        let masks = finder.find();
        for path in ["home/.ssh", "data/ssh", "data/config/gh", "home/.netrc", "data/netrc", "home/.aws"] {
            assert!(at(&masks, &root.join(path)).is_some(), "{path}");
        }
        assert!(at(&masks, &root.join("home/.config/gh")).is_none(), "it is masked where it really is");
        assert!(at(&masks, &root).is_none(), "a link cannot hide the home directory");
        assert!(at(&masks, Path::new("/x/audit.jsonl")).is_some());
        std::fs::write(root.join("home/.claude.json.testudo-backup"), "").unwrap();
        assert!(at(&finder.find(), &root.join("home/.claude.json.testudo-backup")).is_some());
    }

    #[test]
    fn variables_move_secrets_and_dev_null_is_none() {
        let (_world, root) = world();
        let environment =
            [("CARGO_HOME", root.join("c")), ("PIP_CONFIG_FILE", "/dev/null".into()), ("KUBECONFIG", root.join("k"))]
                .map(|(name, value)| (name.into(), value.into_os_string()));
        let finder = Finder { environment: environment.to_vec(), ..Finder::default() };
        let masks = finder.find();
        assert!(at(&masks, &root.join("c/credentials.toml")).is_some());
        assert!(matches!(at(&masks, &root.join("c/config.toml")).unwrap().shows, Shows::Cleaned { .. }));
        assert!(at(&masks, &root.join("k")).is_some());
        assert!(at(&masks, Path::new("/dev/null")).is_none());
    }

    #[test]
    fn a_person_can_reveal_a_secret_or_a_part_of_one() {
        let (_world, root) = world();
        let home = root.join("home");
        let reveal = [".netrc", ".ssh/id_work", ".aws/config", ".npmrc"].map(|name| home.join(name)).to_vec();
        let masks = Finder { home: Some(home.clone()), reveal, ..Finder::default() }.find();
        assert!(at(&masks, &home.join(".netrc")).is_none());
        assert!(at(&masks, &home.join(".npmrc")).is_none());
        let ssh = at(&masks, &home.join(".ssh")).unwrap();
        assert!(!ssh.hides(&home.join(".ssh/id_work")) && ssh.hides(&home.join(".ssh/id_home")));
        let aws = at(&masks, &home.join(".aws")).unwrap();
        assert!(!aws.hides(&home.join(".aws/config")) && aws.hides(&home.join(".aws/credentials")));
    }

    #[test]
    fn settings_are_shown_in_a_directory_that_is_hidden() {
        let (_world, root) = world();
        let home = root.join("home");
        let masks = Finder { home: Some(home.clone()), ..Finder::default() }.find();
        assert!(matches!(at(&masks, &home.join(".docker")).unwrap().shows, Shows::Only(_)));
        assert!(matches!(at(&masks, &home.join(".docker/config.json")).unwrap().shows, Shows::Cleaned { .. }));
        assert!(at(&masks, &home.join(".claude/.credentials.json")).is_none(), "its directory hides it");
    }
}
