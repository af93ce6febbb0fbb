//! Finds out why this machine refuses namespaces, and what a person can do about it.

use std::path::Path;

use super::landlock;

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

/// What a person can change to reach level `full`, as far as we can tell.
pub fn fixes() -> Vec<String> {
    let refuses = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let knobs = KNOBS.iter().filter(|(path, value, _)| refuses(path, value)).map(|(_, _, fix)| (*fix).to_owned());
    let container = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists());
    let container = container.then(|| {
        "this is a container: start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
            .to_owned()
    });
    let otherwise = if landlock::version() >= landlock::NEEDED {
        "or rely on level landlock"
    } else {
        "or use --sandbox off, if a container or a virtual machine confines testudo already"
    };
    knobs.chain(container).chain([otherwise.to_owned()]).collect()
}
