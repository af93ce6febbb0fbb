//! Clients that do not read their responses, or do not finish their requests. Other clients must not be affected.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{HttpClient, HttpServer, World, until};

/// Sends a request and does not read the response.
fn unread(client: &HttpClient, params: &Value) -> TcpStream {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(&client.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer tok\r\nmcp-session-id: {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        client.address,
        client.session.as_deref().unwrap(),
        body.len(),
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Whether the kernel holds data that the server has sent, because the client's receive buffer is full.
fn is_full(stream: &TcpStream) -> bool {
    let [near, far] = [stream.local_addr().unwrap().port(), stream.peer_addr().unwrap().port()];
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = |field: &str| u16::from_str_radix(field.rsplit_once(':').unwrap().1, 16).unwrap();
        (port(fields[1]), port(fields[2])) == (far, near) && !fields[4].starts_with("00000000:")
    })
}

#[test]
fn clients_that_do_not_read_do_not_block_the_others() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    // Larger than all buffers between the server and a slow client.
    let mut large = Vec::new();
    image::GrayImage::new(1, 1).write_to(&mut std::io::Cursor::new(&mut large), image::ImageFormat::Png).unwrap();
    large.resize(9 << 20, 0);
    world.file("large.png", large);
    let slow: Vec<HttpClient> = (0..8).map(|_| server.client("tok")).collect();
    let view = json!({"name": "view", "arguments": {"path": "large.png"}});
    // These commands print without end and report progress. They finish when the other clients are done.
    let talk = "until [ -e go ]; do printf '%04000d\\n' 1; done; touch done-$NUMBER";
    let mut streams: Vec<TcpStream> = slow[..4].iter().map(|client| unread(client, &view)).collect();
    for (number, client) in slow[4..].iter().enumerate() {
        let command = format!("NUMBER={number}; {talk}");
        let params = json!({"name": "bash", "arguments": {"command": command}, "_meta": {"progressToken": 1}});
        streams.push(unread(client, &params));
    }
    until("the large responses to be stuck", || streams[..4].iter().all(is_full).then_some(()));

    let (mut legacy, mut modern) = (server.client("tok"), server.modern_client("tok"));
    for number in 0..20 {
        assert_eq!(legacy.bash(&format!("echo {number}")).stdout(), format!("{number}\n"));
        assert_eq!(modern.bash(&format!("echo {number}")).stdout(), format!("{number}\n"));
    }
    assert!(streams[..4].iter().all(is_full), "they are still stuck");
    assert!(!world.project().join("done-0").exists(), "and the commands still print");

    world.file("go", "");
    until("the commands to end", || {
        (0..4).all(|number| world.project().join(format!("done-{number}")).exists()).then_some(())
    });
    // A client that reads late still gets everything.
    let mut read = 0;
    let mut buffer = vec![0; 1 << 20];
    while read < 12 << 20 {
        let count = streams[0].read(&mut buffer).unwrap();
        assert!(count > 0, "only {read} bytes came");
        read += count;
    }
}

#[test]
fn clients_that_do_not_finish_a_request_do_not_block_the_others() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    // Heads that never end, and bodies that never arrive.
    let mut stalled: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    for (index, stream) in stalled.iter_mut().enumerate() {
        let head = format!("POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer tok\r\n", server.address);
        stream.write_all(head.as_bytes()).unwrap();
        if index % 2 == 0 {
            stream.write_all(b"content-length: 1000\r\n\r\n{").unwrap();
        }
    }
    let mut client = server.client("tok");
    for number in 0..20 {
        assert_eq!(client.bash(&format!("echo {number}")).stdout(), format!("{number}\n"));
    }
    // The server still waits for them.
    for stream in &mut stalled {
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}
