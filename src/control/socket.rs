use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::{Viewer, api, servers};
use crate::base::{random, worker_threads};
use crate::exec::{Caller, PrivateSocket, caller};
use crate::server::Server;

/// The private socket of a server, while it lives.
#[derive(Debug)]
pub struct Control {
    _file: PrivateSocket,
    accepting: JoinHandle<()>,
}

/// How long the head of a request may take.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// With fewer descriptors than this there is no room for connections.
const FEWEST_FILES: u64 = 64;
const MOST_CONNECTIONS: usize = 64;

impl Control {
    /// Opens the socket in the first of the directories in which that is possible. The error says why it is not possible in
    /// any of them; the server serves its clients without it.
    pub fn open(server: &Arc<Server>) -> Result<Self, String> {
        if rustix::process::getrlimit(rustix::process::Resource::Nofile).current.is_some_and(|most| most < FEWEST_FILES)
        {
            return Err(format!("the server may open fewer than {FEWEST_FILES} files, and commands need them"));
        }
        let mut reasons = Vec::new();
        let router = api::router(server.clone()).layer(Extension(Viewer::Owner));
        for directory in &server.config().control_dirs {
            match listen(directory) {
                Ok((listener, file)) => {
                    let accepting = tokio::spawn(accept(listener, router.clone()));
                    let directory = directory.clone();
                    tokio::spawn(worker_threads::run(move || servers::remove_abandoned(&directory)));
                    return Ok(Self { _file: file, accepting });
                }
                Err(error) => reasons.push(format!("{}: {error}", directory.display())),
            }
        }
        Err(reasons.join("; "))
    }

    /// Whether a socket could be opened: for `doctor`. Returns the directory.
    pub fn try_out(directories: &[PathBuf]) -> Result<PathBuf, String> {
        let mut reasons = Vec::new();
        for directory in directories {
            // A socket of the standard library needs no runtime.
            match crate::exec::make_private(directory).and_then(|()| PrivateSocket::listen(&new_path(directory))) {
                Ok(_) => return Ok(directory.clone()),
                Err(error) => reasons.push(format!("{}: {error}", directory.display())),
            }
        }
        Err(reasons.join("; "))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn new_path(directory: &Path) -> PathBuf {
    directory.join(format!("{}-{}{}", std::process::id(), random::hex::<6>(), servers::SUFFIX))
}

fn listen(directory: &Path) -> io::Result<(UnixListener, PrivateSocket)> {
    crate::exec::make_private(directory)?;
    let (listener, file) = PrivateSocket::listen(&new_path(directory))?;
    Ok((UnixListener::from_std(listener)?, file))
}

async fn accept(listener: UnixListener, router: Router) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    serve(stream, router).await;
                    drop(place);
                });
            }
            // For example, no descriptor is free. Other connections may free one.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(stream: UnixStream, router: Router) {
    let Ok(peer) = stream.peer_cred() else { return };
    let own = rustix::process::geteuid().as_raw();
    let pid = peer.pid();
    // This looks at `/proc`, so it does not belong on a thread of the runtime.
    let found = worker_threads::run(move || caller::of_person(pid)).await.unwrap_or(Caller::Unknown);
    if (peer.uid() != own && peer.uid() != 0) || found != Caller::Outside {
        tracing::warn!(uid = peer.uid(), ?pid, caller = ?found, "a connection to the control socket was refused");
        return;
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the control socket failed");
    }
}
