//! TLS to places behind `https://`, with the certificates that this machine trusts.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::places::ByteStream;

/// The certificates are read when the first connection needs them.
#[derive(Default)]
pub struct Tls(OnceLock<Arc<ClientConfig>>);

impl Tls {
    pub async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<Box<dyn ByteStream>> {
        let config = self.0.get_or_init(|| Arc::new(config())).clone();
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(TlsConnector::from(config).connect(name, stream).await?))
    }
}

fn config() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!("a certificate of this machine cannot be read: {error}");
    }
    roots.add_parsable_certificates(found.certs);
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}
