//! A call runs at most once, whatever breaks between its client and its place.

use serde_json::json;

use crate::world::{World, until};

const ID: &str = "0a1b2c3d4e5f6071";

/// Appends a line, so that runs can be counted, and waits until the test lets it go on.
fn counted(world: &World) -> String {
    let (runs, release) = (world.path("runs"), world.path("release"));
    format!(
        "echo run >> {}; while ! test -e {}; do sleep 0.05; done; echo whole; exit 5",
        runs.display(),
        release.display()
    )
}

#[test]
fn a_call_that_a_killed_gateway_had_is_repeated_at_the_other_one() {
    let world = World::new();
    let server = world.server("project");
    let mut first = world.gateway(&[&server], "");
    let second = world.gateway(&[&server], "");
    let mut client = first.client("alice-token");
    let (command, mut sender) = (counted(&world), client.clone());
    let sent = command.clone();
    let cut = std::thread::spawn(move || sender.call_with_id(ID, &sent));
    until("the call", || (world.read("runs") == "run\n").then_some(()));
    first.kill();
    assert!(cut.join().unwrap().is_err(), "the client saw that the connection broke");
    client.address.clone_from(&second.address);
    client.next = 100;
    let mut again = client.clone();
    let repeated = std::thread::spawn(move || again.call_with_id(ID, &command).unwrap());
    world.write("release", "");
    let reply = repeated.join().unwrap();
    assert!(reply.text().contains("whole") && reply.text().contains("exit_code: 5"), "{reply:?}");
    assert_eq!(reply.message()["result"]["_meta"]["testudo/outcome"], "finished");
    assert_eq!(world.read("runs"), "run\n", "it ran once");
    let third = client.call_with_id(ID, &counted(&world)).unwrap();
    assert!(third.text().contains("whole"), "{third:?}");
    assert_eq!(world.read("runs"), "run\n");
}

#[test]
fn two_gateways_that_get_one_call_at_once_run_it_once() {
    let world = World::new();
    let server = world.server("project");
    let gateways = [world.gateway(&[&server], ""), world.gateway(&[&server], "")];
    let client = gateways[0].client("alice-token");
    let command = counted(&world);
    let calls = [(0, 10), (1, 20), (0, 30), (1, 40)].map(|(gateway, next)| {
        let mut sender =
            crate::http_client::Client { address: gateways[gateway].address.clone(), next, ..client.clone() };
        let command = command.clone();
        std::thread::spawn(move || sender.call_with_id(ID, &command).unwrap())
    });
    until("the call", || (world.read("runs") == "run\n").then_some(()));
    world.write("release", "");
    for call in calls {
        let reply = call.join().unwrap();
        assert!(reply.text().contains("whole") && reply.text().contains("exit_code: 5"), "{reply:?}");
    }
    assert_eq!(world.read("runs"), "run\n", "it ran once");
}

#[test]
fn the_id_of_a_call_may_stand_in_a_header() {
    let world = World::new();
    let server = world.server("project");
    let gateways = [world.gateway(&[&server], ""), world.gateway(&[&server], "")];
    let mut client = gateways[0].client("alice-token");
    let call = |number: u64| {
        json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
            "name": "bash", "arguments": {"command": "echo run >> runs; echo $RANDOM$RANDOM$RANDOM"}}})
    };
    let first = client.post(&call(50), &[("testudo-call-id", ID)]).unwrap();
    client.address.clone_from(&gateways[1].address);
    let second = client.post(&call(51), &[("testudo-call-id", ID)]).unwrap();
    assert_eq!(first.text(), second.text(), "the record");
    assert_eq!(second.message()["result"]["_meta"]["testudo/outcome"], "finished");
    assert_eq!(world.read("project/runs"), "run\n", "it ran once");
}

#[test]
fn owners_who_share_a_place_do_not_see_each_others_records() {
    let world = World::new();
    let server = world.server("project");
    let gateway = world.gateway(&[&server], "");
    let (mut alice, mut bob) = (gateway.client("alice-token"), gateway.client("bob-token"));
    let call = "echo $RANDOM$RANDOM$RANDOM";
    let first = alice.call_with_id(ID, call).unwrap().text();
    assert_eq!(alice.call_with_id(ID, call).unwrap().text(), first, "her own record");
    assert_ne!(bob.call_with_id(ID, call).unwrap().text(), first, "not his");
}

#[test]
fn a_place_that_restarts_in_mid_call_says_that_the_call_is_lost() {
    let world = World::new();
    let mut server = world.server("project");
    let gateway = world.gateway(&[&server], "");
    let mut client = gateway.client("alice-token");
    let (command, mut sender) = (counted(&world), client.clone());
    let call = std::thread::spawn(move || sender.call_with_id(ID, &command).unwrap());
    until("the call", || (world.read("runs") == "run\n").then_some(()));
    server.kill();
    let answer = call.join().unwrap();
    assert_eq!(answer.message()["result"]["_meta"]["testudo/outcome"], "lost", "{answer:?}");
    let _restarted = world.server_at("project", &server.address);
    let again = client.call_with_id(ID, &counted(&world)).unwrap();
    assert!(again.status == 404 || again.message()["result"]["isError"] == json!(true), "never a success: {again:?}");
    assert_eq!(world.read("runs"), "run\n");
}
