//! Writing files where the file system can do less than a local one: FUSE, network file systems, those without hard links.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::{Client, Refused, StartOptions, World, refuse, text, until};

const NOBODY: u32 = 65534;

/// Makes, overwrites and edits files in a directory of the project.
fn writes_files(world: &World, server: &mut Client, directory: &Path) {
    let path = |name: &str| text(&directory.join(name));
    let in_directory = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    for name in ["new", "made/for/it"] {
        let reply = server.call("create_file", json!({ "path": path(name), "content": "one\n" })).ok();
        assert_eq!(reply, format!("Created {} (4 bytes)", path(name)), "{}", server.log());
        assert_eq!(in_directory(name), "one\n");
    }
    server.call("create_file", json!({ "path": path("new"), "content": "two\n" })).ok();
    assert_eq!(in_directory("new"), "two\n");
    server.call("str_replace", json!({ "path": path("new"), "old_str": "two", "new_str": "three" })).ok();
    assert_eq!(in_directory("new"), "three\n");
    let mut names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["made", "new"], "nothing else is left behind");
    assert!(directory.starts_with(world.project()));
}

/// A world for each user that this test can run a server as, with the words that start one.
fn worlds() -> Vec<(World, Vec<String>)> {
    let mut worlds = vec![(World::new(), vec!["env".to_owned()])];
    if rustix::process::getuid().is_root() {
        let words = ["setpriv", &format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"];
        worlds.push((World::for_user(NOBODY), words.map(str::to_owned).to_vec()));
    }
    worlds
}

fn command(world: &World, words: &[String]) -> Command {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.command_by(&words, &["--sandbox", "off"])
}

#[test]
fn a_file_is_made_whatever_the_file_system_lacks() {
    let nameless = (libc::SYS_openat, Some((2, libc::O_TMPFILE.unsigned_abs())), libc::EOPNOTSUPP);
    let rename = |error| (libc::SYS_renameat2, Some((4, libc::RENAME_NOREPLACE)), error);
    let link = |error| (libc::SYS_linkat, None, error);
    let rows: [&[Refused]; 9] = [
        &[nameless],
        // FUSE, and a kernel without the call.
        &[nameless, rename(libc::EINVAL)],
        &[nameless, rename(libc::ENOSYS)],
        // Without hard links too: exFAT, some network file systems.
        &[nameless, rename(libc::EINVAL), link(libc::EPERM)],
        &[nameless, rename(libc::EINVAL), link(libc::EOPNOTSUPP)],
        // A file without a name can be made but not linked.
        &[link(libc::EOPNOTSUPP)],
        &[link(libc::ENOENT), rename(libc::EINVAL)],
        // No modes, no syncing.
        &[(libc::SYS_fchmod, None, libc::EPERM)],
        &[(libc::SYS_fsync, None, libc::EINVAL)],
    ];
    for refused in rows {
        for (world, words) in worlds() {
            let directory = world.project().join("d");
            std::fs::create_dir(&directory).unwrap();
            std::os::unix::fs::chown(&directory, owner(&words), None).unwrap();
            let mut command = command(&world, &words);
            refuse(&mut command, refused);
            writes_files(&world, &mut Client::connect(command, StartOptions::default()), &directory);
        }
    }
}

fn owner(words: &[String]) -> Option<u32> {
    (words[0] == "setpriv").then_some(NOBODY)
}

/// Whatever the way a new file gets its name, a file that another program made meanwhile is not lost.
#[test]
fn two_servers_that_make_one_file_at_once_never_lose_a_write_silently() {
    let lacking: [&[Refused]; 2] = [
        &[
            (libc::SYS_openat, Some((2, libc::O_TMPFILE.unsigned_abs())), libc::EOPNOTSUPP),
            (libc::SYS_renameat2, Some((4, libc::RENAME_NOREPLACE)), libc::EINVAL),
        ],
        &[
            (libc::SYS_openat, Some((2, libc::O_TMPFILE.unsigned_abs())), libc::EOPNOTSUPP),
            (libc::SYS_renameat2, Some((4, libc::RENAME_NOREPLACE)), libc::EINVAL),
            (libc::SYS_linkat, None, libc::EPERM),
        ],
    ];
    for refused in lacking {
        let world = World::new();
        let mut servers = [(); 2].map(|()| {
            let mut command = world.command(&["--sandbox", "off"]);
            refuse(&mut command, refused);
            Client::connect(command, StartOptions::default())
        });
        for round in 0..30 {
            let name = format!("f{round}");
            let pending = servers.each_mut().map(|server| {
                let content = format!("by {}\n", server.pid());
                server.start("create_file", json!({ "path": name, "content": content }))
            });
            pending.into_iter().for_each(|pending| drop(pending.reply().ok()));
            let content = world.read(&name);
            assert!(servers.iter().any(|server| content == format!("by {}\n", server.pid())), "{content:?}");
        }
        assert_eq!(std::fs::read_dir(world.project()).unwrap().count(), 30, "nothing else is left behind");
    }
}

/// A directory that a FUSE daemon serves. Dropping it ends the daemon.
struct Mounted {
    daemon: Child,
    at: PathBuf,
}

impl Mounted {
    /// Shows one directory at another place.
    fn new(directory: &Path, at: &Path) -> Self {
        let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().unwrap());
        let before = device(at);
        let daemon = Command::new("bindfs").arg("-f").args([directory, at]).stdin(Stdio::null()).spawn().unwrap();
        let mounted = Self { daemon, at: at.to_owned() };
        until("the mount", || (device(at) != before).then_some(()));
        mounted
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// `scripts/test` installs the daemon where the kernel has FUSE. Elsewhere the tests above stand in for it.
#[test]
fn files_on_fuse_are_made_and_changed() {
    if !Path::new("/dev/fuse").exists() || !rustix::process::getuid().is_root() {
        return;
    }
    for (world, words) in worlds() {
        let (behind, at) = (world.outside().join("behind"), world.project().join("fuse"));
        for directory in [&behind, &at] {
            std::fs::create_dir(directory).unwrap();
            std::os::unix::fs::chown(directory, owner(&words), None).unwrap();
        }
        let _mounted = Mounted::new(&behind, &at);
        writes_files(&world, &mut Client::connect(command(&world, &words), StartOptions::default()), &at);
    }
}
