//! Places in a cluster, with a fake API server and real servers in its pods.

use serde_json::json;

use crate::fake_cluster::Cluster;
use crate::stdio_client::StdioClient;
use crate::world::{World, until};

fn client(world: &World, cluster: &Cluster, place: &str) -> StdioClient {
    StdioClient::start(world, &["--place", place, "--program-image", "gateway", "--token", "pool-token"], |command| {
        command.env("KUBECONFIG", &cluster.kubeconfig);
    })
}

#[test]
fn a_pod_is_made_for_a_client_and_ends_with_it() {
    let world = World::new();
    let cluster = Cluster::start(&world);
    cluster.put_pod_template("python");
    let mut client = client(&world, &cluster, "kubernetes:work/python");
    client.initialize(json!({}));
    assert_eq!(cluster.names().len(), 1);
    client.ask(1, "tools/call", json!({"name": "bash", "arguments": {"command": "mkdir -p deep && cd deep"}}));
    let answer = client.ask(2, "tools/call", json!({"name": "bash", "arguments": {"command": "pwd"}}));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("/deep"), "{answer}");
    client.end();
    assert_eq!(cluster.names(), Vec::<String>::new());
}

#[test]
fn a_pod_of_a_warm_pool_is_claimed() {
    let world = World::new();
    let cluster = Cluster::start(&world);
    cluster.put_warm_pool("python");
    let mut client = client(&world, &cluster, "kubernetes:work/python");
    client.initialize(json!({}));
    let answer = client.ask(2, "tools/call", json!({"name": "bash", "arguments": {"command": "echo $((40+2))"}}));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("42"), "{answer}");
    client.end();
    assert_eq!(cluster.names(), Vec::<String>::new());
}

/// Clients without protocol sessions have nothing but the record of the call to keep it from running twice.
#[test]
fn a_pod_in_the_stead_of_a_claimed_one_is_not_taken_for_it() {
    let world = World::new();
    let cluster = Cluster::start(&world);
    cluster.put_warm_pool("python");
    let mut client = client(&world, &cluster, "kubernetes:work/python");
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    client.ask(1, "server/discover", json!({"_meta": meta}));
    let began = world.path("began");
    let command = format!("echo x >> {}; read -t 600 < <(sleep 600)", began.display());
    let arguments = json!({"command": command, "timeout": 600_000});
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "bash", "arguments": arguments, "_meta": meta}}));
    until("the command to begin", || began.exists().then_some(()));
    cluster.replace_claimed_pods();
    cluster.cut();
    let answer = client.read_until(|message| message["id"] == 7).pop().unwrap();
    assert_eq!(answer["result"]["_meta"]["testudo/outcome"], "lost", "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("was deleted"), "{answer}");
    assert_eq!(world.read("began"), "x\n", "it ran once");
    client.end();
    assert_eq!(cluster.names(), Vec::<String>::new());
}

#[test]
fn a_stream_that_ends_politely_in_mid_command_is_taken_up_again() {
    let world = World::new();
    let cluster = Cluster::start(&world);
    cluster.put_pod_template("python");
    let mut client = client(&world, &cluster, "kubernetes:work/python");
    client.initialize(json!({}));
    let (began, go) = (world.path("began"), world.path("go"));
    let command = format!(
        "echo x >> {}; echo started; until [ -e {} ]; do read -t 0.05 < <(:); done; echo done; exit 5",
        began.display(),
        go.display()
    );
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "bash", "arguments": {"command": command}}}));
    until("the command to begin", || began.exists().then_some(()));
    cluster.cut();
    world.write("go", "");
    let answer = client.read_until(|message| message["id"] == 7).pop().unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "exit_code: 5\n\nstdout:\nstarted\ndone\n", "{answer}");
    assert_eq!(answer["result"]["_meta"]["testudo/outcome"], "finished");
    assert_eq!(world.read("began"), "x\n", "it ran once");
}

/// The node agent of a real cluster was killed in mid-command, and its API reported success with half of the output.
#[test]
fn half_of_an_output_is_never_a_success() {
    let world = World::new();
    let cluster = Cluster::start(&world);
    cluster.put_pod_template("python");
    let mut client = client(&world, &cluster, "kubernetes:work/python");
    client.initialize(json!({}));
    let began = world.path("began");
    let command = format!("echo started; echo x > {}; read -t 600 < <(sleep 600); exit 5", began.display());
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": command, "timeout": 600_000}}}));
    until("the command to begin", || began.exists().then_some(()));
    cluster.cut();
    cluster.fail_pods();
    let answer = client.read_until(|message| message["id"] == 7).pop().unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["_meta"]["testudo/outcome"], "lost", "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("NodeLost") && !text.contains("exit_code"), "{text}");
}

#[test]
fn a_template_that_is_missing_is_named() {
    let world = World::new();
    let cluster = Cluster::start(&world);
    let mut client = client(&world, &cluster, "kubernetes:work/python");
    let text = client.fails();
    assert!(text.contains("the namespace work has neither a SandboxWarmPool nor a PodTemplate named python"), "{text}");
}
