//! A place that is slow, or silent for a while, is not taken for one that has ended.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::fake_place::{Reply, client_of, fake_place, welcome};
use crate::world::{World, until};

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"exit_code: 0"}],"_meta":{"testudo/outcome":"finished"}}}"#;

/// A place that takes its time, and the number of calls that it got.
fn slow_place(health: Reply, health_takes: Duration, call_takes: Duration) -> (String, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let address = fake_place(move |request| {
        if request.starts_with("GET /health") {
            std::thread::sleep(health_takes);
            return health.clone();
        }
        welcome(request).unwrap_or_else(|| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(call_takes);
            Reply::Json(ANSWER.to_owned())
        })
    });
    (address, calls)
}

#[test]
fn a_place_that_answers_slowly_is_waited_for() {
    let world = World::new();
    let health = Reply::Json("{}".to_owned());
    let (address, calls) = slow_place(health, Duration::from_millis(1500), Duration::from_secs(8));
    let gateway = world.gateway_to(&[&address], "patience = 0");
    let answer = client_of(&gateway).bash("make all");
    assert_eq!(answer.message()["result"]["_meta"]["testudo/outcome"], "finished", "{answer:?}");
    assert_eq!(calls.load(Ordering::Relaxed), 1, "{}", gateway.log());
}

#[test]
fn a_silent_place_whose_machine_takes_connections_gets_its_call_once() {
    let world = World::new();
    let (address, calls) = slow_place(Reply::Silence, Duration::ZERO, Duration::from_secs(8));
    let gateway = world.gateway_to(&[&address], "");
    let answer = client_of(&gateway).bash("make all");
    assert_eq!(answer.message()["result"]["_meta"]["testudo/outcome"], "finished", "{answer:?}");
    assert_eq!(calls.load(Ordering::Relaxed), 1, "{}", gateway.log());
}

#[test]
fn a_place_that_stays_silent_is_not_said_to_be_gone() {
    let world = World::new();
    let (address, calls) = slow_place(Reply::Silence, Duration::ZERO, Duration::from_mins(10));
    let gateway = world.gateway_to(&[&address], "patience = 1");
    let answer = client_of(&gateway).bash("make all");
    assert_eq!(answer.message()["result"]["_meta"]["testudo/outcome"], "running", "{answer:?}");
    assert!(answer.text().contains("nothing has come from it for") && answer.text().contains("same id"), "{answer:?}");
    assert_eq!(calls.load(Ordering::Relaxed), 1, "{}", gateway.log());
}

/// A proxy that ends closes all its connections and refuses new ones, just as the server behind it would.
#[test]
fn a_proxy_that_restarts_in_mid_call_loses_nothing() {
    let world = World::new();
    let server = world.server("project");
    let mut proxy = Proxy::start("127.0.0.1:0", &server.address);
    let gateway = world.gateway_to(&[&proxy.address], "");
    let mut client = gateway.client("alice-token");
    let release = world.path("release").display().to_string();
    let command = format!("echo run >> runs; while ! test -e {release}; do sleep 0.05; done; echo whole");
    let call = std::thread::spawn(move || client.bash(&command));
    until("the call", || (world.read("project/runs") == "run\n").then_some(()));
    let address = proxy.address.clone();
    proxy.end();
    // So long it is away.
    std::thread::sleep(Duration::from_millis(500));
    let _proxy = Proxy::start(&address, &server.address);
    world.write("release", "");
    let answer = call.join().unwrap();
    assert_eq!(answer.message()["result"]["_meta"]["testudo/outcome"], "finished", "{answer:?}");
    assert!(answer.text().contains("whole"), "{answer:?}");
    assert_eq!(world.read("project/runs"), "run\n", "it ran once");
}

struct Proxy {
    address: String,
    listener: Option<TcpListener>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn start(listen: &str, server: &str) -> Self {
        let listener = TcpListener::bind(listen).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        listener.set_nonblocking(true).unwrap();
        let streams = Arc::new(Mutex::new(Vec::new()));
        let proxy = Self { address, listener: Some(listener.try_clone().unwrap()), streams: streams.clone() };
        let server = server.to_owned();
        std::thread::spawn(move || {
            // Both ends of a connection are in the list until the proxy ends.
            while Arc::strong_count(&streams) > 1 {
                let Ok((near, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                };
                near.set_nonblocking(false).unwrap();
                let far = TcpStream::connect(&server).unwrap();
                streams.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                copy(near.try_clone().unwrap(), far.try_clone().unwrap());
                copy(far, near);
            }
        });
        proxy
    }

    /// Returns when its port is free.
    fn end(&mut self) {
        self.streams.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        self.streams = Arc::default();
        drop(self.listener.take());
        until("the port to be free", || TcpStream::connect(&self.address).is_err().then_some(()));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.streams.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
