//! Directories in which tools keep what they have downloaded and compiled. Writable, because nothing builds without
//! them; content only, because a program or a configuration file planted there would run outside.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Which program makes which cache; where it is installed, a missing cache is made for it.
const MAKERS: [(&str, &str); 12] = [
    ("~/.cargo", "cargo"),
    ("~/.npm", "npm"),
    ("~/.cache/pip", "pip3"),
    ("~/.cache/uv", "uv"),
    ("~/.cache/pnpm", "pnpm"),
    ("~/.local/share/pnpm", "pnpm"),
    ("~/.cache/yarn", "yarn"),
    ("~/.cache/go-build", "go"),
    ("~/go", "go"),
    ("~/.gradle", "gradle"),
    ("~/.m2", "mvn"),
    ("~/.cache/ccache", "ccache"),
];

/// Variables that move a part of the home directory elsewhere.
const MOVED: [(&str, &str); 3] = [("CARGO_HOME", "~/.cargo"), ("GOPATH", "~/go"), ("XDG_CACHE_HOME", "~/.cache")];

/// The caches that exist, after those of installed tools have been made.
pub fn directories<'a>(
    written: &[String],
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<&'a OsStr>,
) -> Vec<PathBuf> {
    let installed = |program: &str| {
        let path = variable("PATH").unwrap_or_default();
        std::env::split_paths(path).any(|directory| directory.join(program).is_file())
    };
    let mut found = Vec::new();
    for text in written {
        let Some(path) = locate(text, home, &variable) else { continue };
        let maker = MAKERS.iter().find(|(prefix, _)| Path::new(text).starts_with(prefix));
        if !path.exists() && maker.is_some_and(|(_, program)| installed(program)) {
            // One that cannot be made is one that the tool will complain about itself.
            let _ = std::fs::create_dir_all(&path);
        }
        found.extend(path.canonicalize().ok().filter(|path| path.is_dir()));
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
        for directory in [&home, &cargo, &bin, &home.join(".cache/bazel")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::write(bin.join("cargo"), "").unwrap();
        let variables = [("CARGO_HOME", cargo.clone()), ("PATH", bin)];
        let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, path)| path.as_os_str());
        let written = ["~/.cargo/registry", "~/.npm/_cacache", "~/.cache/bazel"].map(str::to_owned);
        assert_eq!(directories(&written, Some(&home), variable), [cargo.join("registry"), home.join(".cache/bazel")]);
    }
}
