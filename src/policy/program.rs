use std::path::{Path, PathBuf};

use super::Programs;

/// A program as a command names it, and all the names it goes by.
#[derive(Clone, Debug)]
pub struct Program {
    pub written: String,
    /// The base names of what is written, of the file it runs, and of what that file is a link to: a rule that denies
    /// any of them denies this program.
    pub names: Vec<String>,
    /// The file, links resolved, where it can be known. Several if the working directory may be one of several.
    pub files: Vec<PathBuf>,
}

impl Program {
    /// `cwds` are the directories a relative path may start from; none if that is not known.
    pub fn new(written: &str, cwds: Option<&[PathBuf]>, programs: &dyn Programs) -> Self {
        let found: Vec<PathBuf> = if !written.contains('/') {
            programs.find(written).into_iter().collect()
        } else if written.starts_with('/') {
            vec![written.into()]
        } else {
            cwds.unwrap_or_default().iter().map(|cwd| cwd.join(written)).collect()
        };
        let files: Vec<PathBuf> = found.iter().map(|file| programs.real(file)).collect();
        let mut names = vec![base_name(Path::new(written))];
        names.extend(found.iter().chain(&files).map(|file| base_name(file)));
        if names[0] == "[" {
            names.push("test".to_owned());
        }
        names.dedup();
        Self { written: written.to_owned(), names, files }
    }

    pub fn name(&self) -> &str {
        &self.names[0]
    }

    /// The name under which its arguments are known: `[` is `test`.
    pub fn known_as(&self) -> &str {
        if self.name() == "[" { "test" } else { self.name() }
    }

    pub fn is_path(&self) -> bool {
        self.written.contains('/')
    }

    /// For a rule that denies or asks: any of the names will do.
    pub fn goes_by(&self, name: &str) -> bool {
        self.written == name || self.names.iter().any(|own| own == name)
    }

    /// For a rule that allows: it must be the very program, so a path has to lead to the file that the name runs.
    pub fn is(&self, name: &str, project_dir: &Path, programs: &dyn Programs) -> bool {
        if !name.contains('/') && !self.is_path() {
            return self.written == name || self.known_as() == name;
        }
        if !name.contains('/') && self.name() != name {
            return false;
        }
        let meant = if name.contains('/') { Some(project_dir.join(name)) } else { programs.find(name) };
        let meant = meant.map(|file| programs.real(&file));
        !self.files.is_empty() && self.files.iter().all(|file| meant.as_ref() == Some(file))
    }
}

fn base_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
