//! A thread of its own for connections. A download at full speed must not keep a call waiting.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Handle};
use tokio_util::task::AbortOnDropHandle;

/// `None` where no thread can be started. Connections then share the thread of the calls.
static THREAD: LazyLock<Option<Handle>> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let handle = runtime.handle().clone();
    let serving = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("network".to_owned()).spawn(serving).ok()?;
    Some(handle)
});

/// Serves connections until the returned handle is dropped.
pub fn serve(serving: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(match &*THREAD {
        Some(thread) => thread.spawn(serving),
        None => tokio::spawn(serving),
    })
}
