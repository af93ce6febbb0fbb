//! System V shared memory that no process has attached any more. It stays until somebody removes it, so no kill frees it.
//! Only level `full` has such segments: they are in the session's own IPC namespace.

/// A segment that nobody uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segment {
    id: i32,
    pub bytes: u64,
}

/// All of them, in the namespace of the calling process.
pub fn left() -> Vec<Segment> {
    left_in(&std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default())
}

/// Removes them. Returns the bytes that were in them.
pub fn remove() -> u64 {
    let left = left();
    for segment in &left {
        // SAFETY: with IPC_RMID the kernel reads no structure.
        unsafe { libc::shmctl(segment.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
    left.iter().map(|segment| segment.bytes).sum()
}

/// The header names the columns.
fn left_in(table: &str) -> Vec<Segment> {
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let column = |name: &str| header.iter().position(|title| *title == name);
    let (Some(id), Some(attached), Some(resident)) = (column("shmid"), column("nattch"), column("rss")) else {
        return Vec::new();
    };
    let segment = |fields: Vec<&str>| {
        let unused = *fields.get(attached)? == "0";
        let segment = Segment { id: fields.get(id)?.parse().ok()?, bytes: fields.get(resident)?.parse().ok()? };
        unused.then_some(segment)
    };
    lines.filter_map(segment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_nobody_has_attached_are_found() {
        let table = "\
       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
         0          3   600               1048576    70    71      0     0     0     0     0 1700000000 1700000000 1700000000               8192                     0
         0          4   600               1048576    70    71      2     0     0     0     0 1700000000 1700000000 1700000000               4096                     0
";
        assert_eq!(left_in(table), [Segment { id: 3, bytes: 8192 }]);
        assert_eq!(left_in(""), []);
    }
}
