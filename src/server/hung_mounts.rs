use std::path::Path;

use crate::base::mounts;

/// Whether the file system of a path answers. It is asked on another thread, because a mount that hangs is given a second.
pub async fn answers(path: &Path) -> bool {
    if !mounts::may_hang(path) {
        return true;
    }
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || mounts::answers(&path)).await.unwrap_or(true)
}
