//! Looking up a program by its name.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The absolute directories of a `PATH`. A relative entry means another directory wherever one stands, so nothing is
/// looked up there.
pub fn directories(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|directory| directory.is_absolute()).collect()
}

/// The first executable file of that name.
pub fn find(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file();
    directories.iter().map(|directory| directory.join(name)).find(runs)
}

/// The file that a name stands for in an environment, as a shell would find it. A name with a slash is a path already.
pub fn program(environment: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into());
    }
    find(&directories(variable(environment, "PATH")?), name)
}

/// A variable of an environment, unless it is empty.
pub fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_directories_are_searched() {
        assert_eq!(directories(OsStr::new("/bin::.:rel:/usr/bin")), [PathBuf::from("/bin"), "/usr/bin".into()]);
        assert!(find(&directories(OsStr::new("/bin")), "sh").is_some());
        assert!(find(&directories(OsStr::new("/bin")), "no-such-program").is_none());
    }
}
