use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Extension;
use tokio::net::UnixListener;
use tokio::net::unix::UCred;
use tokio::task::JoinHandle;

use super::{Viewer, api, connections, servers};
use crate::base::{random, worker_threads};
use crate::exec::{Caller, PrivateSocket, caller};
use crate::server::Server;

/// The private socket of a server, while it lives.
#[derive(Debug)]
pub struct Control {
    _file: PrivateSocket,
    accepting: JoinHandle<()>,
}

/// With fewer descriptors than this there is no room for connections.
const FEWEST_FILES: u64 = 64;

impl Control {
    /// Opens the socket in the first of the directories in which that is possible. The error says why it is not possible in
    /// any of them; the server serves its clients without it.
    pub fn open(server: &Arc<Server>) -> Result<Self, String> {
        if rustix::process::getrlimit(rustix::process::Resource::Nofile).current.is_some_and(|most| most < FEWEST_FILES)
        {
            return Err(format!("the server may open fewer than {FEWEST_FILES} files, and commands need them"));
        }
        let mut reasons = Vec::new();
        for directory in &server.config().control_dirs {
            match listen(directory) {
                Ok((listener, file)) => {
                    let server = server.clone();
                    let router = move || api::router(server.clone()).layer(Extension(Viewer::Owner));
                    let accepting = tokio::spawn(connections::serve(listener, router, admit));
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

/// Programs of the same user and of root, and no command of any session.
fn admit(peer: UCred) -> Result<(), &'static str> {
    let own = rustix::process::geteuid().as_raw();
    let (uid, pid) = (peer.uid(), peer.pid());
    let found = caller::of_person(pid);
    if (uid != own && uid != 0) || found != Caller::Outside {
        tracing::warn!(uid, ?pid, caller = ?found, "a connection to the control socket was refused");
        return Err("the control socket is for programs of its own user, and not for commands of an agent");
    }
    Ok(())
}
