//! `testudo home`: the private homes of projects, and emptying them.

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use super::output::{print, print_error};
use crate::base::size;
use crate::config::Config;
use crate::exec::{ProjectLayer, ProjectLayers, TreeSize};

/// More entries of a home are summed up.
const MOST_ENTRIES: usize = 12;

pub fn list(config: &Config) -> anyhow::Result<ExitCode> {
    let layers = ProjectLayers::of_homes(&config.state_dir).all();
    if layers.is_empty() {
        print("no project has a private home yet; a project gets one with its first session\n")?;
    }
    for layer in &layers {
        print(&described(layer))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Empties the home of the project, or of all projects. One that a session uses is left alone, and the exit code says so.
pub fn reset(config: &Config, all: bool) -> anyhow::Result<ExitCode> {
    let layers = ProjectLayers::of_homes(&config.state_dir);
    let chosen = if all { layers.all() } else { vec![layers.find(&project(config))] };
    let mut code = ExitCode::SUCCESS;
    for layer in chosen {
        let Some(project) = layer.project() else {
            print("this project has no private home; there was nothing to empty\n")?;
            continue;
        };
        let size = layer.size();
        if layer.reset()? {
            print(&format!("emptied the private home of {} ({})\n", project.display(), in_words(size)))?;
        } else {
            print_error(&format!(
                "testudo: the private home of {} is in use; end the servers of this project first",
                project.display()
            ));
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// The line that `doctor` shows for the project's own.
pub fn size_of(config: &Config) -> String {
    format!("{} of {}", size::text(bytes(config)), size::text(config.sandbox.limits.home))
}

/// What the project's own takes on disk.
pub fn bytes(config: &Config) -> u64 {
    ProjectLayers::of_homes(&config.state_dir).find(&project(config)).size().bytes
}

/// Says so if the project's own is nearly as large as it may be.
pub fn fullness(config: &Config) -> Option<String> {
    let limit = config.sandbox.limits.home;
    (bytes(config) >= limit / 10 * 9).then(|| {
        format!(
            "the private home of this project is nearly full ({}): empty it with testudo home --reset, or raise \
             sandbox.limits.home",
            size_of(config)
        )
    })
}

fn project(config: &Config) -> std::path::PathBuf {
    let project = config.directories.project_dir();
    project.canonicalize().unwrap_or_else(|_| project.clone())
}

fn described(layer: &ProjectLayer) -> String {
    let project = layer.project().unwrap_or_default();
    let (entries, whole) = (layer.entries(), layer.size());
    let state = if layer.is_in_use() { "in use".to_owned() } else { changed(layer.changed()) };
    let gone = if Path::new(&project).is_dir() { "" } else { ", the project is gone" };
    let mut text =
        format!("{}\n  {}, {state}{gone}\n  {}\n", project.display(), in_words(whole), layer.upper().display());
    for (name, size) in entries.iter().take(MOST_ENTRIES) {
        let size = size.map_or_else(|| "deleted".to_owned(), |size| size::text(size.bytes));
        text.push_str(&format!("    {name}  {size}\n"));
    }
    if entries.len() > MOST_ENTRIES {
        text.push_str(&format!("    … {} more\n", entries.len() - MOST_ENTRIES));
    }
    text
}

fn in_words(size: TreeSize) -> String {
    // The directory itself counts as one.
    format!("{}, {} files and directories", size::text(size.bytes), size.files.saturating_sub(1))
}

pub fn changed(at: Option<SystemTime>) -> String {
    let days = at.and_then(|at| at.elapsed().ok()).map_or(0, |age| age.as_secs() / 86_400);
    match days {
        0 => "changed today".to_owned(),
        1 => "changed yesterday".to_owned(),
        days => format!("changed {days} days ago"),
    }
}
