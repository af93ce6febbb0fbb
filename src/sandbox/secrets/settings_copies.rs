//! Copies of settings without their credentials, for level `landlock`, where nothing can be mounted over the original. The
//! tool's own variable leads to the copy. Without it, a tool that cannot read its settings may silently use a public
//! registry.

use std::path::{Path, PathBuf};

use super::mask::{Mask, Shows};

/// These name a directory, in which the tool looks for the file.
const DIRECTORIES: [&str; 1] = ["DOCKER_CONFIG"];

/// Writes the copies below a directory, and returns the variables that lead to them. A file without credentials needs no
/// copy: commands may read it.
pub fn write(masks: &[Mask], below: &Path) -> Vec<(String, PathBuf)> {
    let mut variables: Vec<(String, PathBuf)> = Vec::new();
    for mask in masks.iter().filter(|mask| !mask.is_clean()) {
        let Shows::Cleaned { variable: Some(variable), .. } = &mask.shows else { continue };
        let (Some(content), Some(name)) = (mask.cleaned(), mask.at.file_name()) else { continue };
        let directory = below.join(variable);
        let file = directory.join(name);
        if std::fs::create_dir_all(&directory).is_err() || std::fs::write(&file, content).is_err() {
            continue;
        }
        variables.retain(|(name, _)| name != variable);
        variables.push((variable.clone(), if DIRECTORIES.contains(&variable.as_str()) { directory } else { file }));
    }
    variables
}
