//! The `ProxyCommand` of ssh: our own binary, started by ssh inside the session. It asks the proxy for a tunnel and copies.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__ssh-tunnel";

/// What ssh runs. It puts the host and the port in.
pub fn command(program: &str, port: u16) -> String {
    format!("{program} {SUBCOMMAND} 127.0.0.1:{port} %h %p")
}

/// Entry point of [`SUBCOMMAND`]. The words are the proxy's address, the host and its port.
pub fn main(words: &[String]) -> io::Result<()> {
    let [proxy, host, port] = words else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut connection = TcpStream::connect(proxy)?;
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    write!(connection, "CONNECT {host}:{port} HTTP/1.1\r\n\r\n")?;
    let head = read_head(&mut connection)?;
    let first = head.lines().next().unwrap_or_default();
    if first.split(' ').nth(1) != Some("200") {
        return Err(io::Error::other(first.splitn(3, ' ').nth(2).unwrap_or("the proxy refused").to_owned()));
    }
    let mut writing = connection.try_clone()?;
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut writing);
        let _ = writing.shutdown(Shutdown::Write);
    });
    // Standard output holds lines back; ssh waits for every byte.
    let mut buffer = vec![0; 64 * 1024];
    let mut stdout = io::stdout().lock();
    loop {
        match connection.read(&mut buffer)? {
            0 => return Ok(()),
            count => stdout.write_all(&buffer[..count]).and_then(|()| stdout.flush())?,
        }
    }
}

/// Byte by byte: what follows belongs to ssh.
fn read_head(connection: &mut TcpStream) -> io::Result<String> {
    const LARGEST: usize = 16 * 1024;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < LARGEST {
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
