//! Finds out why this machine refuses the sandbox, and what a person can do about it.

use std::path::Path;

use super::{Level, landlock};

/// Kernel settings: the file, the value that refuses namespaces, and the fix.
const KNOBS: &[(&str, &str, &str)] = &[
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "an AppArmor profile with `userns,` for this binary, or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

const CONTAINER: &str = "this is a container: start it with --security-opt seccomp=unconfined --security-opt \
                         systempaths=unconfined for level full (docs/containers.md)";
const DEVICES: &str = "/dev/null is missing: mount a /dev here (mount -t devtmpfs dev /dev; a container has its own)";
const LAST_RESORT: &str = "--sandbox off runs commands with the server's own rights: only where a container or a virtual \
                           machine is the boundary";

/// For a session without a temporary directory.
pub const TEMPORARY: &str = "give the server a directory that it can write: --tmpfs /tmp for a container with --read-only, \
                             else HOME or TMPDIR";

/// What a person can change to reach a higher level than this one, as far as we can tell.
pub fn fixes(reached: Level) -> Vec<String> {
    if reached == Level::Full {
        return Vec::new();
    }
    if !Path::new("/dev/null").exists() {
        return vec![DEVICES.to_owned()];
    }
    let refuses = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let knobs = KNOBS.iter().filter(|(path, value, _)| refuses(path, value)).map(|(_, _, fix)| *fix);
    let container = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists());
    let landlock = landlock::shortcoming().map(|(_, fix)| fix);
    // Level `full` needs no Landlock, so each of these ways is enough.
    let any_level = landlock.into_iter().chain([LAST_RESORT]).filter(|_| reached == Level::None);
    knobs.chain(container.then_some(CONTAINER)).chain(any_level).map(str::to_owned).collect()
}
