//! A place that lies, floods or falls silent costs its own client an answer, and nobody else anything.

use std::io::Read;

use serde_json::json;

use crate::fake_place::{Reply, client_of, fake_place, welcome};
use crate::stdio_client::StdioClient;
use crate::world::World;

fn place(to_calls: Reply) -> String {
    fake_place(move |request| welcome(request).unwrap_or_else(|| to_calls.clone()))
}

#[test]
fn an_answer_in_good_order_that_is_none_is_no_success() {
    let progress =
        r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    let others = r#"{"jsonrpc":"2.0","id":999,"result":{"content":[{"type":"text","text":"exit_code: 0"}]}}"#;
    for reply in [
        Reply::Stream(format!("{progress}\n\n")),
        Reply::Stream(format!("data: {others}\n\n")),
        Reply::Json(others.to_owned()),
        Reply::Json("{}".to_owned()),
        Reply::Json(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"te"#.to_owned()),
        Reply::Json(String::new()),
    ] {
        let world = World::new();
        let gateway = world.gateway_to(&[&place(reply)], "patience = 1");
        let answer = client_of(&gateway).bash("make all");
        let result = &answer.message()["result"];
        assert_eq!(result["isError"], true, "{answer:?}");
        assert_eq!(result["_meta"]["testudo/outcome"], "running", "{answer:?}");
    }
}

#[test]
fn an_endless_answer_is_cut_and_the_gateway_stays_small() {
    for kind in ["application/json", "text/event-stream"] {
        let world = World::new();
        let gateway = world.gateway_to(&[&place(Reply::Endless(kind))], "patience = 600");
        let answer = client_of(&gateway).bash("make all");
        let result = &answer.message()["result"];
        assert_eq!(result["_meta"]["testudo/outcome"], "running", "{answer:?}");
        assert!(answer.text().contains("more than 64 MB"), "{answer:?}");
        let peak = gateway.status("VmHWM");
        assert!(peak < 400 << 20, "{kind}: {peak} bytes");
    }
}

#[test]
fn a_silent_place_holds_up_neither_the_end_of_a_session_nor_the_gateway() {
    let world = World::new();
    let gateway = world.gateway_to(&[&place(Reply::Silence)], "patience = 1");
    let client = client_of(&gateway);
    assert_eq!(client.send("DELETE", "", &[]).unwrap().status, 502, "the client hears that nobody answered");
}

#[test]
fn a_client_on_stdio_of_a_silent_place_can_cancel_and_leave() {
    let world = World::new();
    let address = place(Reply::Silence);
    let url = format!("http://{address}/mcp");
    let mut client = StdioClient::start(&world, &["--place", &url, "--token", "t"], |_| {});
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    client.ask(1, "initialize", hello);
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "bash"}}));
    for _ in 0..50 {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    }
    client.end();
}

#[test]
fn clients_that_listen_and_a_full_house_do_not_hold_up_the_end_of_a_gateway() {
    let world = World::new();
    let server = world.server("project");
    let mut gateway = world.gateway(&[&server], "connections = 1\ndrain = 600");
    let mut stream = gateway.client("alice-token").listen();
    gateway.signal("-TERM");
    assert_eq!(gateway.wait(), 0);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the stream ended in good order: {rest}");
}
