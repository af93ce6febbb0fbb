//! What the inventory must know of git: its configuration ([`config`], [`harmless`], [`programs`]), where a repository is
//! ([`repository`]), which files are tracked ([`index`]) and what its history holds ([`refs`], [`objects`], [`history`]).
//!
//! We read git's files ourselves. Running git in a directory that a command has prepared would run what the command has
//! configured there.

pub mod config;
mod files;
pub mod harmless;
pub mod history;
pub mod index;
mod object_id;
pub mod objects;
pub mod programs;
pub mod refs;
pub mod repository;
mod role;

pub use object_id::{ObjectFormat, ObjectId};
pub use role::git_role;

#[cfg(test)]
pub mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::ObjectFormat;

    /// A repository made by the real git.
    pub struct Repository {
        directory: tempfile::TempDir,
    }

    impl Repository {
        pub fn new() -> Self {
            Self::with_format(ObjectFormat::Sha1)
        }

        pub fn with_format(format: ObjectFormat) -> Self {
            let repository = Self { directory: tempfile::tempdir().unwrap() };
            let format = if format == ObjectFormat::Sha1 { "sha1" } else { "sha256" };
            repository.git(&["init", "-q", "-b", "main", "--object-format", format]);
            repository
        }

        pub fn path(&self) -> &Path {
            self.directory.path()
        }

        pub fn write(&self, name: &str, text: &str) {
            let path = self.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        pub fn commit(&self, name: &str, text: &str) {
            self.write(name, text);
            self.git(&["add", "-f", name]);
            self.git(&["commit", "-qm", text]);
        }

        #[track_caller]
        pub fn git(&self, arguments: &[&str]) -> String {
            let output = Command::new("git")
                .args(["-c", "user.name=n", "-c", "user.email=a@b"])
                .args(arguments)
                .current_dir(self.path())
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        }
    }
}
