//! Places behind `https://`: only a certificate that the machine trusts, for this name and this day, is good.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::stdio_client::StdioClient;
use crate::world::{World, until};

fn openssl(world: &World, arguments: &str) {
    let mut command = Command::new("openssl");
    let run = command.args(arguments.split(' ')).current_dir(world.path("")).output().unwrap();
    assert!(run.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&run.stderr));
}

/// An authority of the test's own, in `ca.pem`.
fn make_authority(world: &World) {
    openssl(
        world,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca",
    );
}

/// A certificate of that authority for a name, in `NAME.pem` and `NAME.key`.
fn make_certificate(world: &World, file: &str, name: &str, days: &str) {
    let subject = format!("-subj /CN={file} -addext subjectAltName={name} -keyout {file}.key -out {file}.csr");
    openssl(world, &format!("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes {subject}"));
    let signed = format!("-in {file}.csr -CA ca.pem -CAkey ca.key -copy_extensions copy -out {file}.pem {days}");
    openssl(world, &format!("x509 -req {signed}"));
}

/// Takes TLS off and passes the rest to a server; returns its port.
fn in_front_of(world: &World, certificate: &str, server: &str) -> u16 {
    let chain = CertificateDer::pem_file_iter(world.path(&format!("{certificate}.pem"))).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(world.path(&format!("{certificate}.key"))).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let (acceptor, server) = (TlsAcceptor::from(Arc::new(config)), server.to_owned());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            let tasks = tokio::task::LocalSet::new();
            tasks
                .run_until(async move {
                    while let Ok((stream, _)) = listener.accept().await {
                        let (acceptor, server) = (acceptor.clone(), server.clone());
                        tokio::task::spawn_local(async move {
                            let mut near = acceptor.accept(stream).await?;
                            let mut far = TcpStream::connect(server).await?;
                            tokio::io::copy_bidirectional(&mut near, &mut far).await
                        });
                    }
                })
                .await;
        });
    });
    port
}

fn client(world: &World, port: u16, trusted: &Path) -> StdioClient {
    let place = format!("https://localhost:{port}/mcp");
    StdioClient::start(world, &["--place", &place, "--token", "place-token"], |command| {
        command.env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
    })
}

#[test]
fn a_server_behind_https_is_a_place() {
    let world = World::new();
    let server = world.server("project");
    make_authority(&world);
    make_certificate(&world, "good", "DNS:localhost", "-days 1");
    let port = in_front_of(&world, "good", &server.address);
    let mut client = client(&world, port, &world.path("ca.pem"));
    client.initialize(json!({}));
    let answer = client.ask(1, "tools/call", json!({"name": "bash", "arguments": {"command": "echo $((40+2))"}}));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("42"), "{answer}");
    client.end();
}

#[test]
fn a_wrong_name_an_old_certificate_and_an_unknown_authority_are_refused_at_once() {
    let world = World::new();
    let server = world.server("project");
    make_authority(&world);
    make_certificate(&world, "good", "DNS:localhost", "-days 1");
    make_certificate(&world, "other", "DNS:other.example", "-days 1");
    make_certificate(&world, "old", "DNS:localhost", "-days 0");
    std::fs::rename(world.path("ca.pem"), world.path("first.pem")).unwrap();
    make_authority(&world);
    until("the certificate to be old", || {
        let mut command = Command::new("openssl");
        let looked =
            command.args(["x509", "-checkend", "-1", "-noout", "-in"]).arg(world.path("old.pem")).output().unwrap();
        (!looked.status.success()).then_some(())
    });
    for (certificate, authority, words) in [
        ("other", "first.pem", "not valid for name"),
        ("old", "first.pem", "expired"),
        ("good", "ca.pem", "invalid peer certificate"),
    ] {
        let port = in_front_of(&world, certificate, &server.address);
        let said = client(&world, port, &world.path(authority)).fails();
        assert!(said.contains(words) && said.contains("https://localhost:"), "{certificate}: {said}");
    }
}
