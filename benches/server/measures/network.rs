//! The cost of `--network hosts`: starting a session that has a network of its own, and a download through the proxy. The
//! floor is the same with the network on.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

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
    let Some(ours) = options.ours() else { return Vec::new() };
    let port = serve();
    let host = format!("127.0.0.1:{port}");
    let variant = |flags: &[&str]| ours.with_flags("testudo, network hosts", flags);
    let (on, hosts) = (variant(&[]), variant(&["--allow-host", &host]));
    let more = (|| Ok(starts(&hosts, scratch)? - starts(&on, scratch)?))().map(|more| Figure::alone(more, "ms"));
    let speed = || -> anyhow::Result<Figure> {
        let direct = download(&on, &format!("curl -sS --noproxy '*' -o /dev/null http://{host}/"), scratch)?;
        let through = download(&hosts, &format!("curl -sS --noproxy '' -o /dev/null http://{host}/"), scratch)?;
        let rate = |milliseconds: f64| f64::from(BYTES) / 1e3 / milliseconds;
        Ok(Figure::over(rate(through), rate(direct), "MB/s"))
    };
    vec![
        row(&hosts, "session start, more than with the network on", more, Some(PROMISED_MILLISECONDS_MORE)),
        row(&hosts, "1 GB through the proxy / directly", speed(), Some(PROMISED_SPEED)),
    ]
}

fn starts(subject: &Subject, scratch: &Path) -> anyhow::Result<f64> {
    let mut connection = Connection::open(subject, scratch)?;
    let mut samples = Samples::default();
    for number in 0..SESSIONS {
        let arguments = json!({ "command": "true", "session": format!("s{number}") });
        samples.add(connection.call_tool(&subject.tool, &arguments)?);
    }
    Ok(samples.median())
}

fn download(subject: &Subject, command: &str, scratch: &Path) -> anyhow::Result<f64> {
    let mut connection = Connection::open(subject, scratch)?;
    connection.call(command)?;
    let mut samples = Samples::default();
    for _ in 0..DOWNLOADS {
        samples.add(connection.call(command)?);
    }
    Ok(samples.median())
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
