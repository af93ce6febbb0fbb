//! What a login shell would add to the environment. A desktop client starts the server with a bare `PATH`, and the agent
//! would not find the programs that the person's terminal finds. So the server asks a login shell once, inside a sandbox
//! and with a deadline: a start-up file that waits for input costs three seconds, once.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::async_fd::async_fd;
use super::environment::{Login, Settings};
use super::output::{pipe, read_some};
use super::{KeeperLink, environment};
use crate::keeper::protocol::Start;

type Variables = Vec<(OsString, OsString)>;

/// How long the person's start-up files may take.
const DEADLINE: Duration = Duration::from_secs(3);
const LONGEST: usize = 1 << 20;
/// Start-up files may print too; the answer begins after this mark.
const MARK: &[u8] = b"\0testudo-environment\0";
const QUESTION: &str = r"printf '\0testudo-environment\0'; command env -0";

/// Directories that are in every user's PATH.
const SYSTEM: [&str; 9] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/games",
    "/usr/local/games",
    "/snap/bin",
];

/// Whether to ask the login shell. With `auto`: when the server's environment shows no trace of a shell.
pub fn wanted(server: &[(OsString, OsString)], settings: &Settings) -> bool {
    match settings.login {
        Login::On => true,
        Login::Off => false,
        Login::Auto => {
            let get = |name: &str| server.iter().find(|(key, _)| key == name).map(|(_, value)| value);
            let bare = |path: &OsString| {
                std::env::split_paths(path).all(|entry| SYSTEM.iter().any(|system| entry == Path::new(system)))
            };
            get("HOME").is_some() && get("SHLVL").is_none() && get("PATH").is_none_or(bare)
        }
    }
}

/// The person's login shell.
#[derive(Clone, Debug)]
pub struct LoginShell {
    pub shell: PathBuf,
    pub home: PathBuf,
}

impl LoginShell {
    /// The environment with what the shell adds, or unchanged when the shell does not answer.
    pub async fn extend(&self, keeper: &KeeperLink, server: &[(OsString, OsString)], settings: &Settings) -> Variables {
        let before = environment::initial(server.iter().cloned(), settings);
        let added = tokio::time::timeout(DEADLINE, self.ask(keeper, &before)).await.ok().flatten();
        let Some(added) = added else {
            tracing::warn!(shell = %self.shell.display(), "the login shell did not say what it adds to the environment");
            return before;
        };
        merge(before, environment::initial(added, settings))
    }

    async fn ask(&self, keeper: &KeeperLink, environment: &Variables) -> Option<Variables> {
        let (reader, writer) = pipe().ok()?;
        let null = || std::fs::File::options().read(true).write(true).open("/dev/null").ok();
        let name = self.shell.file_name()?;
        let start = Start {
            program: self.shell.clone().into(),
            arguments: vec![name.to_owned(), "-l".into(), "-c".into(), QUESTION.into()],
            environment: environment.clone(),
            cwd: self.home.clone(),
            ..Start::default()
        };
        let (process, _) = keeper.start(&start, vec![null()?.into(), writer, null()?.into()]).await.ok()?;
        let reader = async_fd(reader).ok()?;
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16 * 1024]);
        while let Some(count) = read_some(&reader, &mut buffer).await {
            bytes.extend_from_slice(&buffer[..count]);
            if bytes.len() > LONGEST {
                return None;
            }
        }
        drop(process);
        Some(parse(&bytes)).filter(|variables| !variables.is_empty())
    }
}

fn parse(bytes: &[u8]) -> Variables {
    let Some(at) = memchr::memmem::rfind(bytes, MARK) else { return Vec::new() };
    let pairs = bytes[at + MARK.len()..].split(|byte| *byte == 0).filter_map(|pair| {
        let equals = memchr::memchr(b'=', pair)?;
        Some((OsString::from_vec(pair[..equals].to_vec()), OsString::from_vec(pair[equals + 1..].to_vec())))
    });
    pairs.collect()
}

/// The server's own values win. Only PATH is joined: the shell's directories first, then the server's.
fn merge(mut before: Variables, added: Variables) -> Variables {
    for (name, value) in added {
        match before.iter_mut().find(|(known, _)| *known == name) {
            Some((_, path)) if name == "PATH" => *path = joined(&value, path),
            Some(_) => {}
            // These describe the login shell itself.
            None if ["_", "SHLVL", "PWD", "OLDPWD", "TMPDIR"].iter().any(|own| name == *own) => {}
            None => before.push((name, value)),
        }
    }
    before
}

fn joined(first: &OsStr, then: &OsStr) -> OsString {
    let mut entries: Vec<PathBuf> = std::env::split_paths(first).collect();
    entries.extend(std::env::split_paths(then).filter(|entry| !entries.contains(entry)).collect::<Vec<_>>());
    entries.retain(|entry| entry != Path::new("") && !entry.as_os_str().as_bytes().contains(&b':'));
    std::env::join_paths(entries).unwrap_or_else(|_| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn only_an_environment_that_no_shell_has_seen_asks_for_one() {
        let auto = Settings::default();
        assert!(wanted(&variables(&[("HOME", "/h"), ("PATH", "/usr/bin:/bin")]), &auto));
        assert!(!wanted(&variables(&[("HOME", "/h"), ("PATH", "/usr/bin:/h/bin")]), &auto));
        assert!(!wanted(&variables(&[("HOME", "/h"), ("PATH", "/usr/bin"), ("SHLVL", "1")]), &auto));
        assert!(!wanted(&variables(&[]), &Settings { login: Login::Off, ..auto.clone() }));
        assert!(wanted(&variables(&[("SHLVL", "1")]), &Settings { login: Login::On, ..auto }));
    }

    #[test]
    fn the_shells_words_come_after_what_its_files_print() {
        let said = parse(b"Welcome!\n\0testudo-environment\0A=1\0B=x=y\nz\0");
        assert_eq!(said, variables(&[("A", "1"), ("B", "x=y\nz")]));
        assert_eq!(parse(b"nothing"), variables(&[]));
    }

    #[test]
    fn the_path_grows_and_the_rest_stays() {
        let merged = merge(
            variables(&[("PATH", "/usr/bin:/opt/x"), ("KEEP", "mine")]),
            variables(&[("PATH", "/h/bin:/usr/bin"), ("KEEP", "theirs"), ("NEW", "1"), ("SHLVL", "1")]),
        );
        assert_eq!(merged, variables(&[("PATH", "/h/bin:/usr/bin:/opt/x"), ("KEEP", "mine"), ("NEW", "1")]));
    }
}
