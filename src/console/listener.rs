//! The loopback port of `testudo console`. It takes connections of the same user's programs only, and none of a command.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::{Console, PATH};
use crate::base::worker_threads;
use crate::exec::{Caller, caller};

pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

/// How long the head of a request may take.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const MOST_CONNECTIONS: usize = 64;

impl Listener {
    /// Port 0 is any that is free.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { address: listener.local_addr()?, listener })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub async fn serve(self, console: Arc<Console>) {
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.address.port()));
        let router = Router::new()
            .route("/", get(async || Redirect::to(PATH)))
            .merge(console.router())
            .layer(from_fn_with_state(Arc::new(hosts), check_host));
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let router = router.clone();
                    tokio::spawn(async move {
                        serve(stream, router).await;
                        drop(place);
                    });
                }
                // For example, no descriptor is free. Other connections may free one.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// A page under another name that was made to point here (DNS rebinding) has that name in its requests.
async fn check_host(State(hosts): State<Arc<[String; 2]>>, request: Request, next: Next) -> Response {
    let mut named = request.headers().get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let known = |name: &str| hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    let in_line = request.uri().authority().is_none_or(|authority| known(authority.as_str()));
    if named.next().is_some() || !known(host) || !in_line {
        return (StatusCode::FORBIDDEN, "this Host is not the console's\n").into_response();
    }
    next.run(request).await
}

async fn serve(stream: TcpStream, router: Router) {
    let (Ok(own), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return };
    // This looks at `/proc`, so it does not belong on a thread of the runtime.
    let found = worker_threads::run(move || caller::of_person_over_tcp(own, peer)).await.unwrap_or(Caller::Unknown);
    // A refused connection is told so, and nothing more.
    let router = if found == Caller::Outside { router } else { Router::new().fallback(refused) };
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let _ = connection.await;
}

async fn refused() -> Response {
    let text = "the console is for programs of its own user, and not for commands of an agent\n";
    (StatusCode::FORBIDDEN, [(header::CONNECTION, "close")], text).into_response()
}
