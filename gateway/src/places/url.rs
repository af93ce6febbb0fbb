//! Places that are there already: servers behind URLs that somebody else starts and ends.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hyper::Uri;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::{ByteStream, Launcher, Listed, Order, PlaceError, Presence, prepare_tcp};
use crate::tls::Tls;

pub struct UrlSettings {
    pub urls: Vec<String>,
    pub token: String,
}

pub struct Url {
    servers: Vec<Server>,
    token: String,
    next: AtomicUsize,
    tls: Tls,
}

struct Server {
    host: String,
    port: u16,
    is_https: bool,
}

const LOOK: Duration = Duration::from_secs(2);
/// A proxy before a server refuses connections for a moment when it restarts, and the server lives on. A machine that refuses
/// them all the time has no server.
const REFUSES: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(200);

impl Url {
    pub fn new(settings: UrlSettings) -> Result<Self, PlaceError> {
        let servers = settings.urls.iter().map(|url| Server::parse(url)).collect::<Result<Vec<_>, _>>()?;
        if servers.is_empty() {
            return Err(PlaceError::Failed("a place of this kind needs a URL".to_owned()));
        }
        Ok(Self { servers, token: settings.token, next: AtomicUsize::new(0), tls: Tls::default() })
    }

    /// The id of a place is its number in the list; a handle cannot name any other server.
    fn server(&self, id: &str) -> io::Result<&Server> {
        let number = id.parse::<usize>().ok();
        number.and_then(|number| self.servers.get(number)).ok_or_else(|| io::Error::other("there is no such place"))
    }
}

impl Server {
    fn parse(url: &str) -> Result<Self, PlaceError> {
        let uri: Uri = url.parse().map_err(|error| PlaceError::failed(url, error))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(PlaceError::failed(url, "not an http or https URL")),
        };
        if !["/mcp", "/", ""].contains(&uri.path()) {
            return Err(PlaceError::failed(url, "the path has to be /mcp"));
        }
        let host = uri.host().ok_or_else(|| PlaceError::failed(url, "no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { host, port: uri.port_u16().unwrap_or(if is_https { 443 } else { 80 }), is_https })
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        prepare_tcp(&stream)?;
        Ok(stream)
    }
}

#[async_trait]
impl Launcher for Url {
    fn name(&self) -> String {
        let names = self.servers.iter().map(|server| {
            format!("{}://{}:{}", if server.is_https { "https" } else { "http" }, server.host, server.port)
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// The next server in turn that takes connections. One whose certificate is not good takes none.
    async fn make(&self, _: &Order) -> Result<String, PlaceError> {
        let mut failed = String::new();
        for _ in 0..self.servers.len() {
            let number = self.next.fetch_add(1, Ordering::Relaxed) % self.servers.len();
            match timeout(LOOK, self.reach(&number.to_string())).await {
                Ok(Ok(_)) => return Ok(number.to_string()),
                Ok(Err(error)) => failed = error.to_string(),
                Err(_) => "no answer".clone_into(&mut failed),
            }
        }
        let hint = "is a testudo started there, with --transport http?";
        Err(PlaceError::Failed(format!("no server takes connections: {failed}; {hint}")))
    }

    async fn reach(&self, id: &str) -> io::Result<Box<dyn ByteStream>> {
        let server = self.server(id)?;
        let stream = server.connect().await?;
        if server.is_https { self.tls.connect(&server.host, stream).await } else { Ok(Box::new(stream)) }
    }

    fn token(&self, _: &str) -> String {
        self.token.clone()
    }

    /// Nobody can say of a server elsewhere that it has ended, unless its machine goes on refusing connections.
    async fn presence(&self, id: &str) -> Presence {
        let server = match self.server(id) {
            Ok(server) => server,
            Err(error) => return Presence::Gone(error.to_string()),
        };
        let begin = Instant::now();
        loop {
            match timeout(LOOK, server.connect()).await {
                Ok(Ok(_)) => return Presence::There,
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Ok(Err(error)) => return Presence::Unknown(error.to_string()),
                Err(_) => return Presence::Unknown("its machine does not answer".to_owned()),
            }
            if begin.elapsed() > REFUSES {
                let how = format!(
                    "its machine has refused connections for {} s, so no server runs there now",
                    REFUSES.as_secs()
                );
                return Presence::Gone(how);
            }
            sleep(PAUSE).await;
        }
    }

    async fn destroy(&self, _: &str) -> Result<(), PlaceError> {
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, PlaceError> {
        Ok(Vec::new())
    }

    fn is_private(&self) -> bool {
        false
    }
}
