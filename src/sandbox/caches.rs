//! Directories in which tools keep what they have downloaded and compiled. Where the home is not private, commands may write
//! them, because builds fail without them. Only directories of pure content are listed: a program or configuration file that a command planted in
//! one would later run outside the sandbox.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::base::{mounts, search_path};

/// Which program uses which cache. If the program is installed and its cache is missing, we create the cache.
const MAKERS: [(&str, &str); 9] = [
    ("~/.cargo", "cargo"),
    ("~/.npm", "npm"),
    ("~/.cache/pip", "pip3"),
    ("~/.cache/yarn", "yarn"),
    ("~/.cache/go-build", "go"),
    ("~/go", "go"),
    ("~/.gradle", "gradle"),
    ("~/.m2", "mvn"),
    ("~/.cache/ccache", "ccache"),
];

/// Variables that move a cache out of the home directory.
const MOVED: [(&str, &str); 3] = [("CARGO_HOME", "~/.cargo"), ("GOPATH", "~/go"), ("XDG_CACHE_HOME", "~/.cache")];

/// The caches that exist, and those of installed tools, which have to be created before the tools can use them.
pub fn directories<'a>(
    written: &[String],
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<&'a OsStr>,
) -> Vec<PathBuf> {
    let programs = search_path::directories(variable("PATH").unwrap_or_default());
    let installed = |program: &str| search_path::find(&programs, program).is_some();
    let mut found = Vec::new();
    for text in written {
        let Some(path) = locate(text, home, &variable) else { continue };
        let maker = MAKERS.iter().find(|(prefix, _)| Path::new(text).starts_with(prefix));
        if !mounts::answers(&path) {
            continue;
        }
        let wanted = path.is_dir() || maker.is_some_and(|(_, program)| installed(program));
        found.extend(wanted.then(|| path.canonicalize().unwrap_or(path)));
    }
    found
}

fn locate<'a>(text: &str, home: Option<&Path>, variable: &impl Fn(&str) -> Option<&'a OsStr>) -> Option<PathBuf> {
    for (name, prefix) in MOVED {
        if let (Some(value), Ok(rest)) = (variable(name), Path::new(text).strip_prefix(prefix))
            && Path::new(value).is_absolute()
        {
            return Some(Path::new(value).join(rest));
        }
    }
    match Path::new(text).strip_prefix("~") {
        Ok(rest) => Some(home?.join(rest)),
        Err(_) => Some(PathBuf::from(text)).filter(|path| path.is_absolute()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_move_caches_and_only_installed_tools_get_new_ones() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let (home, cargo, bin) = (root.join("home"), root.join("cargo"), root.join("bin"));
        for directory in [&home, &cargo, &bin, &home.join(".cache/ccache")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::os::unix::fs::symlink("/bin/sh", bin.join("cargo")).unwrap();
        let variables = [("CARGO_HOME", cargo.clone()), ("PATH", bin)];
        let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, path)| path.as_os_str());
        let written = ["~/.cargo/registry", "~/.npm/_cacache", "~/.cache/ccache"].map(str::to_owned);
        assert_eq!(directories(&written, Some(&home), variable), [cargo.join("registry"), home.join(".cache/ccache")]);
    }
}
