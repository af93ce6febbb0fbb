//! A fake API server: it keeps objects, starts a real testudo for each pod, and forwards ports as the real one does. It can
//! end every stream in good order in mid-answer, as a real one did when its node agent died. It is no test of Kubernetes;
//! `scripts/test-kubernetes` is.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use crate::world::{Program, World, testudo};

const POOL_TOKEN: &str = "pool-token";

pub struct Cluster {
    state: Arc<State>,
    pub kubeconfig: PathBuf,
}

struct State {
    /// By path.
    objects: Mutex<BTreeMap<String, Value>>,
    /// By the name of the pod.
    servers: Mutex<BTreeMap<String, Program>>,
    /// Streams that began before the last cut are ended.
    cuts: AtomicUsize,
    /// How many pods there were, which gives each a UID.
    pods: AtomicUsize,
    root: PathBuf,
}

const NAMESPACE: &str = "/api/v1/namespaces/work";
const CLAIMS: &str = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/work/sandboxclaims";

impl Cluster {
    pub fn start(world: &World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let kubeconfig = world.path("kubeconfig");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": format!("http://{}", listener.local_addr().unwrap())}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake", "namespace": "work"}}],
            "users": [{"name": "fake", "user": {"token": "t"}}],
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let state = Arc::new(State {
            objects: Mutex::default(),
            servers: Mutex::default(),
            cuts: AtomicUsize::new(0),
            pods: AtomicUsize::new(0),
            root: world.path("pods"),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = shared.clone();
                std::thread::spawn(move || state.serve(stream));
            }
        });
        Self { state, kubeconfig }
    }

    pub fn put(&self, path: &str, object: Value) {
        self.state.objects.lock().unwrap().insert(path.to_owned(), object);
    }

    pub fn put_pod_template(&self, name: &str) {
        let template = json!({"spec": {"containers": [{"name": "work", "image": "any"}]}});
        self.put(&format!("{NAMESPACE}/podtemplates/{name}"), json!({ "template": template }));
    }

    pub fn put_warm_pool(&self, name: &str) {
        self.put(&CLAIMS.replace("sandboxclaims", &format!("sandboxwarmpools/{name}")), json!({}));
    }

    pub fn names(&self) -> Vec<String> {
        let objects = self.state.objects.lock().unwrap();
        let made = objects.keys().filter(|path| path.contains("/pods/") || path.contains("/sandboxclaims/"));
        made.map(|path| path.rsplit('/').next().unwrap().to_owned()).collect()
    }

    /// Ends every stream to a pod in good order.
    pub fn cut(&self) {
        self.state.cuts.fetch_add(1, Ordering::SeqCst);
    }

    /// A pod dies with everything in it, and the cluster says so.
    pub fn fail_pods(&self) {
        for object in self.state.objects.lock().unwrap().values_mut().filter(|object| object["kind"] == "Pod") {
            object["status"] = json!({"phase": "Failed", "reason": "NodeLost"});
        }
        self.state.servers.lock().unwrap().clear();
    }

    /// Somebody deletes the pods of claims, and their controller makes new ones with the same names.
    pub fn replace_claimed_pods(&self) {
        let mut objects = self.state.objects.lock().unwrap();
        let claims: Vec<String> =
            objects.keys().filter_map(|path| path.strip_prefix(CLAIMS)).map(str::to_owned).collect();
        for name in claims.iter().filter_map(|path| path.strip_prefix('/')) {
            self.state.servers.lock().unwrap().remove(name);
            let pod = self.state.started(json!({"metadata": {"name": name}}));
            objects.insert(format!("{NAMESPACE}/pods/{name}"), pod);
        }
    }
}

/// The threads that serve keep the state; the servers in the pods end with the test.
impl Drop for Cluster {
    fn drop(&mut self) {
        self.state.servers.lock().unwrap().clear();
    }
}

impl State {
    fn serve(&self, mut stream: TcpStream) {
        let mut seen = Vec::new();
        loop {
            let Some((head, body)) = read_request(&mut stream, &mut seen) else { return };
            let (method, target) = head.split_once(' ').unwrap();
            let target = target.split(' ').next().unwrap();
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            if let Some(pod) = path.strip_suffix("/portforward") {
                return self.forward(stream, pod.rsplit('/').next().unwrap(), &head);
            }
            let (status, answer) = self.answer(method, path, query, &body);
            let answer = answer.to_string();
            let head =
                format!("HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}", answer.len());
            if stream.write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, method: &str, path: &str, query: &str, body: &[u8]) -> (u16, Value) {
        let mut objects = self.objects.lock().unwrap();
        let refusal = |code: u16| {
            (
                code,
                json!({"kind": "Status", "status": "Failure", "code": code, "message": format!("{code} for {path}")}),
            )
        };
        match method {
            "POST" => {
                let mut object: Value = serde_json::from_slice(body).unwrap();
                let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
                if objects.contains_key(&path) {
                    return refusal(409);
                }
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                if path.starts_with(CLAIMS) {
                    objects
                        .insert(format!("{NAMESPACE}/pods/{name}"), self.started(json!({"metadata": {"name": name}})));
                    object["status"] = json!({"conditions": ready(), "sandbox": {"name": name}});
                } else {
                    object = self.started(object);
                }
                objects.insert(path, object.clone());
                (201, object)
            }
            "PATCH" => {
                let Some(object) = objects.get_mut(path) else { return refusal(404) };
                let part: Value = serde_json::from_slice(body).unwrap();
                object["metadata"]["annotations"] = part["metadata"]["annotations"].clone();
                (200, object.clone())
            }
            "DELETE" => match objects.remove(path) {
                Some(object) => {
                    let name = object["metadata"]["name"].as_str().unwrap();
                    self.servers.lock().unwrap().remove(name);
                    objects.remove(&format!("{NAMESPACE}/pods/{name}"));
                    (200, object)
                }
                None => refusal(404),
            },
            _ if query.starts_with("labelSelector=") => {
                let selector = query["labelSelector=".len()..].replace("%3D", "=");
                let wanted: Vec<(&str, &str)> = selector.split(',').filter_map(|one| one.split_once('=')).collect();
                let inside = objects.iter().filter(|(one, _)| one.starts_with(&format!("{path}/")));
                let fits =
                    |object: &Value| wanted.iter().all(|(name, value)| object["metadata"]["labels"][name] == **value);
                let items: Vec<&Value> = inside.map(|(_, object)| object).filter(|object| fits(object)).collect();
                (200, json!({ "items": items }))
            }
            _ => objects.get(path).map_or_else(|| refusal(404), |object| (200, object.clone())),
        }
    }

    /// Does at once what nodes do with a pod, and returns it with the status that they would set.
    fn started(&self, mut pod: Value) -> Value {
        let uid = format!("uid-{}", self.pods.fetch_add(1, Ordering::SeqCst));
        let name = pod["metadata"]["name"].as_str().unwrap();
        let container = &pod["spec"]["containers"][0];
        let environment = container["env"].as_array().cloned().unwrap_or_default();
        let token = environment.iter().find(|variable| variable["name"] == "TESTUDO_TOKEN");
        let token = token.map_or(POOL_TOKEN, |token| token["value"].as_str().unwrap());
        let directory = self.root.join(&uid);
        std::fs::create_dir_all(&directory).unwrap();
        let mut command = std::process::Command::new(testudo());
        command.args(["--transport", "http", "--listen", "127.0.0.1:0", "--sandbox", "off", "--token", token]);
        command.current_dir(&directory).env("HOME", &directory).env("XDG_STATE_HOME", directory.join("state"));
        self.servers.lock().unwrap().insert(name.to_owned(), Program::announced(command));
        pod["metadata"]["uid"] = json!(uid);
        pod["status"] = json!({"phase": "Running", "podIP": "192.0.2.1", "conditions": ready()});
        pod
    }

    fn forward(&self, mut stream: TcpStream, pod: &str, head: &str) {
        let key = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
        });
        let accepted = derive_accept_key(key.unwrap().as_bytes());
        let answer = format!(
            "HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accepted}\r\n\
             sec-websocket-protocol: v4.channel.k8s.io\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).unwrap();
        let address = self.servers.lock().unwrap().get(pod).map(|server| server.address.clone());
        let inside = address.and_then(|address| TcpStream::connect(address).ok());
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        let Some(mut inside) = inside else { return drop(socket.close(None)) };
        let port = 8731u16.to_le_bytes();
        for channel in [0, 1] {
            socket.send(Message::binary(vec![channel, port[0], port[1]])).unwrap();
        }
        let cuts = self.cuts.load(Ordering::SeqCst);
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        inside.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut buffer = vec![0; 1 << 16];
        while self.cuts.load(Ordering::SeqCst) == cuts {
            match inside.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let mut frame = vec![0];
                    frame.extend_from_slice(&buffer[..count]);
                    if socket.send(Message::binary(frame)).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
            match socket.read() {
                Ok(Message::Binary(frame)) if frame.len() > 1 && frame[0] == 0 => {
                    inside.write_all(&frame[1..]).unwrap();
                }
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
                Ok(_) => {}
            }
        }
        let _ = socket.close(None);
        let _ = socket.flush();
    }
}

fn ready() -> Value {
    json!([{"type": "Ready", "status": "True"}])
}

fn read_request(stream: &mut TcpStream, seen: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&seen[..end]).into_owned();
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let whole = end + 4 + length.unwrap_or(0);
            if seen.len() >= whole {
                let body = seen[end + 4..whole].to_vec();
                seen.drain(..whole);
                return Some((head, body));
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => seen.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
