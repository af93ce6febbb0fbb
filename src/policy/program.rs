use std::path::{Path, PathBuf};

use super::ProgramLookup;

/// A program as a command names it, with every other name that it has.
#[derive(Clone, Debug)]
pub struct Program {
    pub written: String,
    /// The base names of the written text, of the file that it runs, and of the target if that file is a link. A rule that
    /// denies one of them denies this program.
    pub names: Vec<String>,
    /// The file with links resolved, if it is known. There are several if the working directory may be one of several.
    pub files: Vec<PathBuf>,
}

impl Program {
    /// `cwds` are the directories that a relative path may start from; `None` if they are not known.
    pub fn new(written: &str, cwds: Option<&[PathBuf]>, lookup: &dyn ProgramLookup) -> Self {
        let found: Vec<PathBuf> = if !written.contains('/') {
            lookup.find(written).into_iter().collect()
        } else if written.starts_with('/') {
            vec![written.into()]
        } else {
            cwds.unwrap_or_default().iter().map(|cwd| cwd.join(written)).collect()
        };
        let files: Vec<PathBuf> = found.iter().map(|file| lookup.real(file)).collect();
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

    /// The name under which the tables list its arguments: `[` is `test`.
    pub fn known_as(&self) -> &str {
        if self.name() == "[" { "test" } else { self.name() }
    }

    pub fn is_path(&self) -> bool {
        self.written.contains('/')
    }

    /// Whether a rule that denies or asks names this program: any of its names is enough.
    pub fn goes_by(&self, name: &str) -> bool {
        self.written == name || self.names.iter().any(|own| own == name)
    }

    /// Whether a rule that allows names this program. The name alone is not enough for a path: it must lead to the file
    /// that the rule's name runs.
    pub fn is(&self, name: &str, project_dir: &Path, lookup: &dyn ProgramLookup) -> bool {
        if !name.contains('/') && !self.is_path() {
            return self.written == name || self.known_as() == name;
        }
        if !name.contains('/') && self.name() != name {
            return false;
        }
        let meant = if name.contains('/') { Some(project_dir.join(name)) } else { lookup.find(name) };
        let meant = meant.map(|file| lookup.real(&file));
        !self.files.is_empty() && self.files.iter().all(|file| meant.as_ref() == Some(file))
    }
}

fn base_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
