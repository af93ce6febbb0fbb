//! Many clients over HTTP, through two gateways that share nothing but a key.

use serde_json::json;

use crate::http_client::Client;
use crate::world::{World, until};

#[test]
fn sessions_do_not_mix_and_any_gateway_serves_them() {
    let world = World::new();
    let servers = ["one", "two", "three"].map(|name| world.server(name));
    let servers = servers.iter().collect::<Vec<_>>();
    let gateways = [world.gateway(&servers, ""), world.gateway(&servers, "")];
    let workers = (0..6_usize).map(|worker| {
        let addresses = gateways.each_ref().map(|gateway| gateway.address.clone());
        std::thread::spawn(move || {
            for number in 0..5_usize {
                let name = format!("w{worker}-{number}");
                let mut client =
                    Client::begin(&addresses[worker % 2], if worker % 3 == 0 { "bob-token" } else { "alice-token" });
                client.bash(&format!("mkdir -p {name} && cd {name} && export NAME={name} && echo {name} > file"));
                for call in 0..3 {
                    client.address.clone_from(&addresses[call % 2]);
                    let text = client.bash("echo \"$NAME $(cat file) ${PWD##*/}\"").text();
                    assert!(text.contains(&format!("{name} {name} {name}")), "{name} got {text}");
                }
            }
        })
    });
    workers.collect::<Vec<_>>().into_iter().for_each(|worker| worker.join().unwrap());
    let projects = ["one", "two", "three"].map(|name| std::fs::read_dir(world.path(name)).unwrap().count());
    assert_eq!(projects.iter().sum::<usize>(), 30, "{projects:?}");
    assert!(projects.iter().all(|count| *count >= 5), "every place got its share: {projects:?}");
}

#[test]
fn a_client_without_sessions_has_one_place_and_a_shared_one_is_refused() {
    let world = World::new();
    let server = world.server("project");
    let gateway = world.gateway(&[&server], "");
    let mut client = Client::new(&gateway.address, "alice-token");
    let call = json!({"name": "bash", "arguments": {"command": "pwd"}});
    let refused = client.modern("tools/call", call.clone());
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("shared by several owners"), "{refused:?}");
    client.path = "/mcp/alices".to_owned();
    assert!(client.modern("server/discover", json!({})).body.contains("testudo-gateway"));
    assert!(client.modern("tools/call", call.clone()).text().contains("project"));
    let mut bob = Client { token: "bob-token".to_owned(), ..client };
    assert_eq!(bob.modern("tools/call", call).status, 404, "the place is not for him");
}

#[test]
fn a_session_that_was_deleted_is_gone_at_every_gateway() {
    let world = World::new();
    let server = world.server("project");
    let gateways = [world.gateway(&[&server], ""), world.gateway(&[&server], "")];
    let mut client = gateways[0].client("alice-token");
    assert_eq!(client.send("DELETE", "", &[]).unwrap().status, 204);
    client.address.clone_from(&gateways[1].address);
    let reply = client.bash("true");
    assert_eq!(reply.status, 404, "{reply:?}");
}

#[test]
fn a_gateway_does_not_wait_longer_for_calls_than_it_may_and_another_one_has_the_result() {
    let world = World::new();
    let server = world.server("project");
    let mut gateway = world.gateway(&[&server], "drain = 1");
    let other = world.gateway(&[&server], "");
    let mut client = gateway.client("alice-token");
    let release = world.path("release").display().to_string();
    let command = format!("echo run >> begun; while ! test -e {release}; do sleep 0.05; done; echo all of it");
    let (mut sender, sent) = (client.clone(), command.clone());
    let call = std::thread::spawn(move || sender.call_with_id("0011223344556677", &sent));
    until("the call", || world.path("project/begun").exists().then_some(()));
    gateway.signal("-TERM");
    assert_eq!(gateway.wait(), 0);
    assert!(call.join().unwrap().is_err(), "the client saw that the connection broke");
    world.write("release", "");
    client.address.clone_from(&other.address);
    client.next = 100;
    let answer = client.call_with_id("0011223344556677", &command).unwrap();
    assert!(answer.text().contains("all of it"), "{answer:?}");
    assert_eq!(world.read("project/begun"), "run\n", "it ran once");
}

#[test]
fn a_gateway_that_is_asked_to_end_lets_calls_finish() {
    let world = World::new();
    let server = world.server("project");
    let mut gateway = world.gateway(&[&server], "");
    let mut client = gateway.client("alice-token");
    let release = world.path("release").display().to_string();
    let command = format!("touch begun; while ! test -e {release}; do sleep 0.05; done; echo all of it");
    let call = std::thread::spawn(move || client.bash(&command).text());
    until("the call", || world.path("project/begun").exists().then_some(()));
    gateway.signal("-TERM");
    let address = gateway.address.clone();
    until("the port to close", || std::net::TcpStream::connect(&address).is_err().then_some(()));
    world.write("release", "");
    assert!(call.join().unwrap().contains("all of it"));
    assert_eq!(gateway.wait(), 0);
}
