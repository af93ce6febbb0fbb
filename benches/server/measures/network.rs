//! The cost of `--network hosts`: starting a session that has a network of its own, and a download through the proxy. The
//! floor is the same with the network on. A relay that does nothing but move bytes shows what a third process between client and
//! host costs on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use rustix::pipe::{SpliceFlags, splice};
use serde_json::json;

use super::row;
use crate::driver::Connection;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const SESSIONS: usize = 50;
const DOWNLOADS: usize = 5;
const BYTES: u32 = 1 << 30;
const BLOCK: u32 = 1 << 18;
const PROMISED_MILLISECONDS_MORE: Target = Target::ValueAtMost(3.0);
const PROMISED_SPEED: Target = Target::RatioAtLeast(0.7);

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let Some(subject) = options.ours() else { return Vec::new() };
    let port = serve();
    let (host, relay) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{}", bare_relay(port)));
    let variant = |flags: &[&str]| subject.with_flags("testudo, network hosts", flags);
    let (on, hosts) = (variant(&[]), variant(&["--allow-host", &host]));
    let more = || -> anyhow::Result<Figure> {
        let [on, hosts] = starts([&on, &hosts], scratch)?;
        Ok(Figure::alone(hosts.median() - on.median(), "ms"))
    };
    let mut bare = Err(anyhow::anyhow!("the downloads failed"));
    let mut speed = || -> anyhow::Result<Figure> {
        let command = |host: &str, proxies: &str| format!("curl -sS --noproxy '{proxies}' -o /dev/null http://{host}/");
        let all = [(&on, command(&host, "*")), (&hosts, command(&host, "")), (&on, command(&relay, "*"))];
        let [direct, through, relayed] = downloads(&all, scratch)?;
        let rate = |samples: &Samples| f64::from(BYTES) / 1e3 / samples.median();
        bare = Ok(Figure::over(rate(&relayed), rate(&direct), "MB/s"));
        Ok(Figure::over(rate(&through), rate(&direct), "MB/s"))
    };
    let mut rows = vec![
        row(&hosts, "session start, more than with the network on", more(), Some(PROMISED_MILLISECONDS_MORE)),
        row(&hosts, "1 GB through the proxy / directly", speed(), Some(PROMISED_SPEED)),
    ];
    rows.push(row(&hosts, "1 GB through a bare relay / directly", bare, None));
    rows
}

/// The first command of new sessions, in turn.
fn starts<const N: usize>(subjects: [&Subject; N], scratch: &Path) -> anyhow::Result<[Samples; N]> {
    let mut connections = Vec::new();
    for subject in subjects {
        connections.push((Connection::open(subject, scratch)?, subject));
    }
    let mut samples = std::array::from_fn(|_| Samples::default());
    for number in 0..SESSIONS {
        let arguments = json!({ "command": "true", "session": format!("s{number}") });
        for ((connection, subject), samples) in connections.iter_mut().zip(&mut samples) {
            samples.add(connection.call_tool(&subject.tool, &arguments)?);
        }
    }
    Ok(samples)
}

/// The same download, in turn.
fn downloads<const N: usize>(subjects: &[(&Subject, String); N], scratch: &Path) -> anyhow::Result<[Samples; N]> {
    let mut connections = Vec::new();
    for (subject, command) in subjects {
        let mut connection = Connection::open(subject, scratch)?;
        connection.call(command)?;
        connections.push((connection, command));
    }
    let mut samples = std::array::from_fn(|_| Samples::default());
    for _ in 0..DOWNLOADS {
        for ((connection, command), samples) in connections.iter_mut().zip(&mut samples) {
            samples.add(connection.call(command)?);
        }
    }
    Ok(samples)
}

/// A server that answers every request with the same number of bytes.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let block = vec![b'x'; BLOCK as usize];
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\nConnection: close\r\n\r\n");
            let _ = connection.write_all(head.as_bytes());
            (0..BYTES / BLOCK).try_for_each(|_| connection.write_all(&block)).unwrap_or_default();
        }
    });
    port
}

/// Moves bytes from the server to the client that connects, by the fewest calls that the kernel offers.
fn bare_relay(server: u16) -> u16 {
    const PIPE: usize = 1 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let relay = move |mut client: TcpStream| -> std::io::Result<()> {
        let mut host = TcpStream::connect(("127.0.0.1", server))?;
        let mut request = [0; 4096];
        let length = client.read(&mut request)?;
        host.write_all(&request[..length])?;
        let (outlet, inlet) = rustix::pipe::pipe()?;
        rustix::pipe::fcntl_setpipe_size(&inlet, PIPE)?;
        loop {
            let mut left = splice(&host, None, &inlet, None, PIPE, SpliceFlags::MOVE)?;
            if left == 0 {
                return Ok(());
            }
            while left > 0 {
                left -= splice(&outlet, None, &client, None, left, SpliceFlags::MOVE)?;
            }
        }
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let _ = relay(client);
        }
    });
    port
}
