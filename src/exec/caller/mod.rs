//! Who has connected to us: a process outside, or a command of one of our own sessions. Such a command must not become a
//! client: it would answer its own questions.
//!
//! A socket says nothing about its process, so this goes by what the kernel knows. The peer of a TCP connection on this
//! machine is a socket with an inode number ([`tcp_socket`]). The process that holds that inode in its table of open files
//! is the caller, and its parents tell whether it belongs to a session ([`processes`]). A server in a user namespace of its
//! own cannot look for itself, and has left somebody outside who can ([`lookout`]).
//!
//! A command cannot get around this with the help of other processes of its session. They all descend from our guards,
//! and no matter which of them holds the socket, it is a session's. A socket can also be on its way in a message between
//! two processes, where nobody holds it. Then there is no caller to be found, and the connection is refused too.

pub mod lookout;
mod processes;
mod tcp_socket;

use std::net::{SocketAddr, UdpSocket};

use tcp_socket::TcpSocket;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Caller {
    Outside,
    /// A process of one of our sessions.
    Session,
    /// It comes from this machine, and nothing proves that no session is behind it.
    Unknown,
}

/// The process at the other end of a TCP connection. `own` and `peer` are the addresses of our end.
pub fn of_tcp(own: SocketAddr, peer: SocketAddr) -> Caller {
    match tcp_socket::find(own, peer) {
        Some(socket) => of_socket(&socket),
        // The peer of a local connection may have closed its socket already. Its request could still be read.
        None if is_local(peer) => Caller::Unknown,
        None => Caller::Outside,
    }
}

/// The process that has connected to our unix socket. The kernel gives its id, or none if it is outside our pid namespace.
/// Our sessions are always inside.
pub fn of_unix(pid: Option<i32>) -> Caller {
    pid.filter(|pid| *pid > 0).map_or(Caller::Outside, processes::caller)
}

/// As [`of_unix`], for a socket on which people decide: besides our own sessions, those of every other server are kept off. A
/// process outside our pid namespace cannot be looked at, and is kept off, too.
pub fn of_person(pid: Option<i32>) -> Caller {
    pid.filter(|pid| *pid > 0).map_or(Caller::Unknown, processes::caller_of_any_server)
}

/// As [`of_person`], for a port on loopback: only programs of our own user, and of root, are people's.
pub fn of_person_over_tcp(own: SocketAddr, peer: SocketAddr) -> Caller {
    let own_user = rustix::process::geteuid().as_raw();
    let Some(socket) = tcp_socket::find(own, peer).filter(|socket| [own_user, 0].contains(&socket.user)) else {
        return Caller::Unknown;
    };
    match processes::holder(socket.inode) {
        Some(pid) => of_person(Some(pid)),
        // Some browsers let nobody look into their processes. But a session cannot leave its control group.
        None if socket.cgroup.is_some_and(processes::no_guarded_is_in_cgroup) => Caller::Outside,
        None => Caller::Unknown,
    }
}

fn of_socket(socket: &TcpSocket) -> Caller {
    let own_user = rustix::process::geteuid();
    // The commands of an ordinary user cannot become another user, nor give a socket to one.
    if !own_user.is_root() && socket.user != own_user.as_raw() {
        return Caller::Outside;
    }
    match processes::holder(socket.inode) {
        Some(pid) => processes::caller(pid),
        // We cannot look into every process. But a session cannot leave its control group.
        None if socket.cgroup.is_some_and(processes::no_session_is_in_cgroup) => Caller::Outside,
        None => Caller::Unknown,
    }
}

/// Whether an address is one of this machine: it can be bound to. If even an address that nobody has can be bound to
/// (`ip_nonlocal_bind`), this shows nothing, and only loopback counts.
fn is_local(peer: SocketAddr) -> bool {
    const NOBODYS: [&str; 2] = ["192.0.2.1:0", "[2001:db8::1]:0"];
    let ip = peer.ip().to_canonical();
    let can_bind = |address: SocketAddr| UdpSocket::bind(address).is_ok();
    let nobodys = NOBODYS[usize::from(ip.is_ipv6())].parse().expect("an address");
    let mut own = SocketAddr::new(ip, 0);
    if let (SocketAddr::V6(own), SocketAddr::V6(peer)) = (&mut own, peer) {
        own.set_scope_id(peer.scope_id());
    }
    ip.is_loopback() || can_bind(own) && !can_bind(nobodys)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Our own process is no guard's child, so it is outside its own sessions. It is skipped as a holder, though: it may
    /// hold a session's socket for a moment.
    #[test]
    fn both_ends_in_one_process_are_nobodys() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let target = if address == "[::1]:0" { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") };
            let client = TcpStream::connect(target).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            let socket = tcp_socket::find(accepted.local_addr().unwrap(), peer).unwrap();
            assert_eq!(socket.user, rustix::process::geteuid().as_raw());
            assert!(socket.inode > 0);
            assert_eq!(processes::holder(socket.inode), None);
            drop(client);
        }
    }

    #[test]
    fn addresses_of_this_machine() {
        for (address, local) in
            [("127.0.0.1:9", true), ("[::1]:9", true), ("[::ffff:127.0.0.1]:9", true), ("192.0.2.7:9", false)]
        {
            assert_eq!(is_local(address.parse().unwrap()), local, "{address}");
        }
    }
}
