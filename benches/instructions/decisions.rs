//! Decisions of the policy, without a server.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use testudo::gate::Machine;
use testudo::policy::{Policy, Scene, Settings, Subject};

use crate::commands::ORDINARY;

const PROGRAMS: [&str; 12] = ["ls", "git", "cargo", "grep", "find", "cat", "wc", "head", "tail", "sort", "sed", "rm"];

/// A directory of programs that is the same on every machine.
pub fn programs(scratch: &Path) -> std::io::Result<PathBuf> {
    let directory = scratch.join("programs");
    std::fs::create_dir(&directory)?;
    for name in PROGRAMS {
        std::fs::File::options().write(true).create_new(true).mode(0o755).open(directory.join(name))?;
    }
    Ok(directory)
}

/// Judges every command line so many times.
pub fn run(programs: &Path, rounds: usize) -> anyhow::Result<()> {
    let allow = PROGRAMS.iter().map(ToString::to_string).collect();
    let policy = Policy::new(&Settings { allow, ..Settings::default() })?;
    let machine = Machine::new(programs.as_os_str());
    let cwd = Path::new("/");
    let scene = Scene::in_project(cwd);
    for text in (0..rounds).flat_map(|_| ORDINARY) {
        std::hint::black_box(policy.judge(&Subject::ShellText { text, cwd, search_path: None }, &scene, &machine));
    }
    Ok(())
}
