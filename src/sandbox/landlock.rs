//! Landlock rules: which files the session may read and write. At level `full` Landlock is a second barrier behind the
//! mounts. At level `landlock` it is the only one.
//!
//! Landlock can only grant access to a directory with everything below it. To keep a secret unreadable, we grant access to
//! its siblings and not to the directory that it is in.
//!
//! Level `landlock` needs the access rights up to ABI 3 (Linux 6.2). Level `full` takes what the kernel has, because its
//! mounts hold without Landlock. Both use more where there is more: scopes for signals and abstract sockets (ABI 6), named
//! sockets (ABI 9). Landlock does not control chmod, chown, utimes, xattr and stat.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::failure::{Doing, Failure};
use super::profile::Sockets;
use super::secrets::Mask;
use super::{Level, Profile};

/// Before this version, Landlock does not control truncation, and the promises about writing do not hold.
pub const NEEDED: u32 = 3;
/// The newest version that we use.
const NEWEST: ABI = ABI::V9;

pub fn enforce(profile: &Profile) -> Result<(), Failure> {
    if let (Level::Landlock | Level::None, Some((shortcoming, _))) = (profile.level, shortcoming()) {
        return Err(io::Error::other(shortcoming)).doing(|| "restrict access to files".to_owned());
    }
    let mut rules = Rules(ruleset().map_err(io::Error::other).doing(|| "make a Landlock ruleset".to_owned())?);
    // Of the devices only the harmless ones are granted. The others are disks, memory and hardware.
    let secrets = profile.secrets.iter().map(|mask| mask.at.clone());
    let hidden: Vec<PathBuf> = secrets.chain([PathBuf::from("/dev")]).chain(profile.silent.clone()).collect();
    match profile.level {
        Level::Full => {
            rules.add(Path::new("/"), read())?;
            // These are the session's own: its devices and shared memory, and the files of its processes.
            rules.add(Path::new("/dev"), write() | AccessFs::IoctlDev)?;
            rules.add(Path::new("/proc"), AccessFs::WriteFile | AccessFs::Truncate)?;
        }
        Level::Landlock | Level::None => {
            // A right on a directory holds for everything below it, so directories can be listed everywhere.
            rules.add(Path::new("/"), AccessFs::ReadDir.into())?;
            for path in without(Path::new("/"), &hidden).into_iter().chain(shown(&profile.secrets)) {
                rules.add(&path, AccessFs::ReadFile | AccessFs::Execute)?;
            }
            for device in DEVICES {
                let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
                rules.add(Path::new(device), access)?;
            }
        }
    }
    // A domain reaches the sockets of its own processes without a rule.
    let others_sockets = profile.reaches_own_sockets_only().then_some(AccessFs::ResolveUnix);
    let work = (read() | write()) & !BitFlags::from_iter(others_sockets);
    let home = profile.home.iter().filter(|_| profile.private_home().is_some());
    let home = home.flat_map(|home| [&home.path].into_iter().chain(home.aliases.iter().map(|(alias, _)| alias)));
    for path in profile.writable.iter().chain(home).map(PathBuf::as_path).chain([profile.tmp_seen()]) {
        match profile.level {
            Level::Full => rules.add(path, work)?,
            // Without mounts, a scope with secrets in it is granted in parts. Nothing can be created beside a secret
            // then. What other programs put into a cache stays there: a socket that was moved or linked into the scope
            // would be one of the scope's.
            Level::Landlock | Level::None => {
                let ours = path == profile.tmp_seen() || profile.scope.iter().any(|scope| path.starts_with(scope));
                let access = if ours { work } else { work & !AccessFs::Refer };
                without(path, &hidden).iter().try_for_each(|part| rules.add(part, access))?;
            }
        }
    }
    match &profile.sockets {
        Sockets::All => rules.add(Path::new("/"), AccessFs::ResolveUnix.into())?,
        Sockets::Only(sockets) => {
            sockets.iter().try_for_each(|socket| rules.add(socket, AccessFs::ResolveUnix.into()))?;
        }
    }
    rules.0.restrict_self().map_err(io::Error::other).doing(|| "enforce the Landlock rules".to_owned())?;
    Ok(())
}

/// The ABI version of the running kernel, or 0 without Landlock.
pub fn version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call reads neither pointer nor size.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Why level `landlock` cannot be reached here, and what to do about it. Level `full` holds without Landlock.
pub fn shortcoming() -> Option<(String, &'static str)> {
    shortcoming_of(version())
}

fn shortcoming_of(version: u32) -> Option<(String, &'static str)> {
    match version {
        0 => Some((
            "this kernel offers no Landlock".to_owned(),
            "use Linux 6.2 or newer, booted with landlock among its lsm=...; a container uses the kernel of its host, and \
             an old container engine may refuse the system calls",
        )),
        older if older < NEEDED => Some((
            format!("this kernel offers version {older} of Landlock, and version {NEEDED} is needed"),
            "use Linux 6.2 or newer",
        )),
        _ => None,
    }
}

/// Whether Landlock can keep signals and connections to abstract sockets inside the session.
pub fn knows_scopes() -> bool {
    version() >= 6
}

/// Keeps connections to abstract sockets inside, for the supervisor and all processes that it forks: the kernel checks the
/// supervisor when it connects for a command. Every domain forbids moving files from one directory to another unless it
/// says otherwise, and below a domain that has rules for files nobody can mount.
pub fn keep_abstract_sockets_inside() -> Result<(), Failure> {
    if !knows_scopes() {
        return Ok(());
    }
    rustix::thread::set_no_new_privs(true).doing(|| "set no_new_privs".to_owned())?;
    let moves = PathFd::new("/").map_err(io::Error::other).doing(|| "open /".to_owned())?;
    let enforce = || {
        let rules = Ruleset::default().handle_access(AccessFs::Refer)?.scope(Scope::AbstractUnixSocket)?.create()?;
        rules.add_rule(PathBeneath::new(moves, AccessFs::Refer))?.restrict_self()
    };
    enforce().map(drop).map_err(io::Error::other).doing(|| "keep abstract sockets inside the session".to_owned())
}

/// Whether Landlock can grant access to single named sockets. If not, the supervisor has to look at each connection.
pub fn knows_sockets() -> bool {
    version() >= 9
}

/// Devices that ordinary programs use and that store no data.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

fn ruleset() -> Result<RulesetCreated, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

fn read() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST)
}

/// Without creating or controlling devices: root could create a node for the machine's disk in the project.
fn write() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

struct Rules(RulesetCreated);

impl Rules {
    /// Adds no rule for a path that does not exist.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), Failure> {
        let Ok(descriptor) = PathFd::new(path) else { return Ok(()) };
        let rule = PathBeneath::new(descriptor, access);
        let added = (&mut self.0).add_rule(rule).map(drop).map_err(io::Error::other);
        added.doing(|| format!("grant access to {}", path.display()))
    }
}

/// Directories and files that together contain everything below a directory except the secrets, and as few of them as
/// possible. A secret that does not exist yet counts too, because it may be created later.
fn without(directory: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    let mut granted = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if secrets.contains(&path) {
            continue;
        }
        // Only a directory can contain a secret, even if the home "directory" is a file such as /dev/null.
        if !secrets.iter().any(|secret| secret.starts_with(&path)) || !path.is_dir() {
            granted.push(path);
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            // A rule for a symbolic link would apply to its target, and the target gets its own rule or none.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                open.push(entry.path());
            }
        }
    }
    granted
}

/// What the masks show: entries of a directory that is hidden otherwise, and settings without credentials. A file with
/// credentials stays out of reach, and a variable leads its tool to a copy.
fn shown(masks: &[Mask]) -> Vec<PathBuf> {
    let entries = masks.iter().flat_map(|mask| mask.shown_entries().into_iter().map(|entry| mask.at.join(entry)));
    let clean = masks.iter().filter(|mask| mask.is_clean()).map(|mask| mask.at.clone());
    let regular = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file() || found.is_dir());
    entries.chain(clean).filter(regular).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_is_too_old_is_named_with_the_way_out() {
        for (version, words) in [(0, "no Landlock"), (2, "version 2 of Landlock")] {
            let (text, fix) = shortcoming_of(version).unwrap();
            let text = format!("{text}: {fix}");
            assert!(text.contains(words) && text.contains("use Linux 6.2"), "{text}");
        }
        assert_eq!(shortcoming_of(3), None);
    }

    #[test]
    fn siblings_of_a_secret_are_granted_and_the_secret_is_not() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap();
        for name in [".ssh", "work", ".config/gh", ".config/git"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".netrc"), "").unwrap();
        let secrets = [".ssh", ".config/gh", ".netrc", ".not-there-yet"].map(|name| home.join(name));
        let granted = without(Path::new("/"), &secrets);
        for (name, readable) in [(".ssh", false), ("work", true), (".config/gh", false), (".config/git", true)] {
            assert_eq!(granted.contains(&home.join(name)), readable, "{name}");
        }
        assert!(!granted.contains(&home), "a directory that may get a secret is not granted as a whole");
        assert!(!granted.contains(&home.join(".netrc")));
        assert!(granted.contains(&PathBuf::from("/usr")));
    }
}
