//! Landlock: which files the session may open for what. At level `full` it is the second wall behind the mounts; at level
//! `landlock` it is the first, and secrets are kept by granting their siblings instead of the directory they are in.
//!
//! Rights up to ABI 3 (Linux 6.2) are required, what later kernels know is used where it exists: scopes for signals and
//! abstract sockets (ABI 6), named sockets (ABI 9). Landlock does not mediate chmod, chown, utimes, xattr and stat.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::failure::{Doing, Failure};
use super::profile::Sockets;
use super::{Level, Profile};

/// Without these the promises about writing do not hold.
const NEEDED: ABI = ABI::V3;
/// The newest that we know.
const NEWEST: ABI = ABI::V9;

pub fn enforce(profile: &Profile) -> Result<(), Failure> {
    let mut rules = Rules(ruleset().map_err(io::Error::other).doing(|| "make a Landlock ruleset".to_owned())?);
    match profile.level {
        Level::Full => {
            rules.add(Path::new("/"), read())?;
            // Devices and shared memory of the session's own, and what processes say about themselves.
            rules.add(Path::new("/dev"), write())?;
            rules.add(Path::new("/proc"), AccessFs::WriteFile | AccessFs::Truncate)?;
        }
        Level::Landlock | Level::None => {
            // Names can be listed everywhere: a right on a directory is one on everything below it.
            rules.add(Path::new("/"), AccessFs::ReadDir.into())?;
            for path in without(Path::new("/"), &profile.secrets) {
                rules.add(&path, AccessFs::ReadFile | AccessFs::Execute)?;
            }
            for device in DEVICES {
                rules.add(Path::new(device), AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev)?;
            }
        }
    }
    for path in profile.writable.iter().map(PathBuf::as_path).chain([profile.tmp_seen()]) {
        match profile.level {
            Level::Full => rules.add(path, read() | write())?,
            // Here a scope with secrets in it is granted in parts, and nothing new can be made beside them.
            Level::Landlock | Level::None => {
                without(path, &profile.secrets).iter().try_for_each(|part| rules.add(part, read() | write()))?;
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

/// What the running kernel offers; 0 is no Landlock at all.
pub fn version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call reads neither pointer nor size.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Whether Landlock can tell one named socket from another; without it, level `landlock` has to refuse them all.
pub fn knows_sockets() -> bool {
    version() >= 9
}

/// Written to by every program, and nobody's data.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

fn ruleset() -> Result<RulesetCreated, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

fn read() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST)
}

/// Device nodes are left out: as root one could make the machine's disk appear in the project.
fn write() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

struct Rules(RulesetCreated);

impl Rules {
    /// What does not exist gets no rule.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), Failure> {
        let Ok(descriptor) = PathFd::new(path) else { return Ok(()) };
        let rule = PathBeneath::new(descriptor, access);
        let added = (&mut self.0).add_rule(rule).map(drop).map_err(io::Error::other);
        added.doing(|| format!("grant {}", path.display()))
    }
}

/// The largest directories and files that together are everything below a directory but the secrets. A secret that does
/// not exist yet counts too: it might come.
fn without(directory: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    let mut granted = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if secrets.contains(&path) {
            continue;
        }
        if !secrets.iter().any(|secret| secret.starts_with(&path)) {
            granted.push(path);
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            // A link grants nothing by itself: what it leads to is granted, or not, where it is.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                open.push(entry.path());
            }
        }
    }
    granted
}

#[cfg(test)]
mod tests {
    use super::*;

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
