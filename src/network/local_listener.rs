//! Takes connections of programs on this machine, for the proxy and for published ports.

use std::io;

use rustix::net::sockopt::set_tcp_congestion;
use tokio::net::TcpListener;

/// A loopback interface loses nothing and has no queue that others share. BBR, which is the default of some machines, would
/// hold back each segment by a timer even there, at a cost to the relay. The kernel always has Reno, and lets everyone
/// choose it.
const CONGESTION_CONTROL: &str = "reno";

/// Hands the listener to the runtime. It has to be set up before a connection comes: one that has begun to pace itself goes on
/// with it under any other algorithm.
pub fn local_listener(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    // Without it, connections are slower and otherwise the same.
    let _ = set_tcp_congestion(&listener, CONGESTION_CONTROL);
    TcpListener::from_std(listener)
}

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::tcp_congestion;
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn connections_of_this_machine_are_not_paced() {
        let listener = local_listener(std::net::TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        assert_eq!(tcp_congestion(&accepted).unwrap(), "reno");
    }
}
