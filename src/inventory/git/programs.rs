//! Programs and files in the project that git's configuration names: hooks in `.githooks`, a filter, a pager. git runs them
//! outside the sandbox, so commands must not write them.

use std::path::{Path, PathBuf};

use super::config::Setting;
use super::harmless::is_harmless;
use super::repository::{Repository, settings};
use crate::base::lexical;

/// What the configuration of a repository names, by absolute paths. None of it need exist.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Named {
    /// Directories with hooks.
    pub hooks: Vec<PathBuf>,
    /// Programs that git runs in ordinary work.
    pub programs: Vec<PathBuf>,
    /// Further files with settings.
    pub configs: Vec<PathBuf>,
}

/// How many files an `include` may lead to.
const MOST_INCLUDED: usize = 32;

/// Sections whose programs git runs only when the person types a command that is about them.
const BY_NAME: [&str; 10] =
    ["alias", "browser", "difftool", "guitool", "help", "instaweb", "man", "mergetool", "sendemail", "web"];

/// Whose configuration is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum From {
    /// The person's own files only. A command may have written those of the repository.
    Person,
    Both,
}

/// Reads the person's own configuration and that of the repository.
pub fn named(repository: &Repository, home: Option<&Path>, from: From) -> Named {
    let mut found = Named::default();
    let own = ["/etc/gitconfig".into()]
        .into_iter()
        .chain(home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]));
    let repositorys = [repository.common.join("config"), repository.git.join("config.worktree")];
    let mut files: Vec<PathBuf> = own.chain(repositorys.into_iter().filter(|_| from == From::Both)).collect();
    let mut next = 0;
    while let Some(file) = files.get(next).cloned() {
        next += 1;
        for setting in settings(&file) {
            if matches!(setting.section.as_str(), "include" | "includeif") {
                let path = expand(&setting.text(), file.parent().unwrap_or(Path::new("/")), home);
                if files.len() < MOST_INCLUDED && !files.contains(&path) {
                    files.push(path.clone());
                    found.configs.push(path);
                }
            } else if setting.name() == "core.hookspath" {
                found.hooks.push(expand(&setting.text(), &repository.top, home));
            } else if runs_programs(&setting) {
                found.programs.extend(words(&setting.text()).filter_map(|word| {
                    let path = expand(word, &repository.top, home);
                    (word.contains('/') || path.is_file()).then_some(path)
                }));
            }
        }
    }
    found
}

fn runs_programs(setting: &Setting) -> bool {
    !BY_NAME.contains(&setting.section.as_str()) && !is_harmless(setting, &|_| true)
}

/// The words of a command line, as far as they can be paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| c.is_whitespace() || "'\"`;&|()<>{}$!=".contains(c);
    text.split(between).filter(|word| !word.is_empty() && !word.starts_with('-') && !word.contains("://"))
}

fn expand(path: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => lexical::normal(&home.join(rest)),
        _ => lexical::normal(&base.join(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Repository as Scratch;
    use super::*;

    #[test]
    fn what_the_configuration_names_is_found_through_includes_and_the_persons_own_file() {
        let scratch = Scratch::new();
        let top = scratch.path().to_owned();
        let home = top.join("home");
        scratch.write("home/.gitconfig", "[core]\n\thooksPath = .husky/_\n");
        scratch.write("tool.sh", "");
        scratch.write(".gitconfig", "[filter \"f\"]\n\tclean = python3 tools/clean.py %f\n\tsmudge = tool.sh\n");
        scratch.git(&["config", "core.hooksPath", ".githooks"]);
        scratch.git(&["config", "include.path", "../.gitconfig"]);
        scratch.git(&["config", "alias.x", "!scripts/mine"]);
        scratch.git(&["config", "core.pager", "less -R"]);
        let found = named(&Repository::at(&top).unwrap(), Some(&home), From::Both);
        assert_eq!(found.hooks, [top.join(".husky/_"), top.join(".githooks")]);
        assert_eq!(found.programs, [top.join("tools/clean.py"), top.join("tool.sh")]);
        assert_eq!(found.configs, [top.join(".gitconfig")]);
    }
}
