use std::path::Path;

/// Whether commands have put something of their own at a path of the home, or at a directory above it: a file, a link, a
/// deletion, or a directory that hides the person's. `below` is relative to the home, and `upper` is the upper layer.
pub fn decides(upper: &Path, below: &Path) -> bool {
    let mut path = upper.to_owned();
    for name in below {
        path.push(name);
        match path.symlink_metadata() {
            Err(_) => return false,
            Ok(found) if !found.is_dir() || is_opaque(&path) => return true,
            Ok(_) => {}
        }
    }
    true
}

/// Whether a directory of the layer does not show what is underneath.
fn is_opaque(directory: &Path) -> bool {
    rustix::fs::lgetxattr(directory, "user.overlay.opaque", &mut [0; 1]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{XattrFlags, setxattr};

    #[test]
    fn what_commands_wrote_linked_or_hid_is_theirs() {
        let world = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let upper = world.path();
        std::fs::create_dir_all(upper.join(".cargo/bin")).unwrap();
        std::fs::create_dir_all(upper.join("new/bin")).unwrap();
        std::fs::write(upper.join(".cargo/bin/rg"), "").unwrap();
        std::os::unix::fs::symlink("new", upper.join("link")).unwrap();
        setxattr(upper.join("new"), "user.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
        for (name, theirs) in [
            (".cargo/bin/rg", true),
            (".cargo/bin/cargo", false),
            (".local/bin/git", false),
            ("link/bin/git", true),
            ("new/bin/git", true),
        ] {
            assert_eq!(decides(upper, Path::new(name)), theirs, "{name}");
        }
    }
}
