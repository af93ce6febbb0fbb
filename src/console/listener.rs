//! The loopback port of `testudo console`. It takes connections of the same user's programs only, and none of a command.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::{Console, PATH};
use crate::control::connections;
use crate::exec::{Caller, caller};

pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

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
        connections::serve(self.listener, || router.clone(), admit).await;
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

fn admit((own, peer): (SocketAddr, SocketAddr)) -> Result<(), &'static str> {
    match caller::of_person_over_tcp(own, peer) {
        Caller::Outside => Ok(()),
        _ => Err("the console is for programs of its own user, and not for commands of an agent"),
    }
}
