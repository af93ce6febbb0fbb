//! Where the page gets its answers: from the API of one server, or of all servers of the user.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::base::locks::LockExt;
use crate::control::servers::{self, News};
use crate::control::types::State;
use crate::control::{self, Remote, Teller, Viewer, problem};
use crate::server::Server;

pub enum Backend {
    One { server: Arc<Server>, api: Router },
    All { directories: Vec<PathBuf>, known: Mutex<HashMap<String, Remote>> },
}

/// The stream of what happens. A page that reads it can answer questions.
const EVENTS: &str = "/v1/events?approver=1";

impl Backend {
    pub fn one(server: Arc<Server>) -> Self {
        Self::One { api: control::router(server.clone()), server }
    }

    pub fn all(directories: Vec<PathBuf>) -> Self {
        Self::All { directories, known: Mutex::default() }
    }

    pub async fn states(&self, viewer: &Viewer) -> Vec<State> {
        match self {
            Self::One { server, .. } => vec![control::state(server, viewer)],
            Self::All { directories, known } => {
                let found = servers::all(directories).await;
                let ids = found.iter().map(|(remote, state)| (state.server.id.clone(), remote.clone()));
                *known.locked() = ids.collect();
                found.into_iter().map(|(_, state)| state).collect()
            }
        }
    }

    /// What happens in all servers, those included that start later.
    pub async fn events(&self, viewer: Viewer) -> Response {
        let Self::All { directories, .. } = self else {
            return self.ask_one(viewer, Method::GET, EVENTS, Bytes::new()).await;
        };
        let mut news = servers::follow(directories.clone(), true).await;
        let (teller, response) = Teller::new();
        tokio::spawn(async move {
            loop {
                let told = tokio::select! {
                    told = news.recv() => match told {
                        Some((_, News::Told(message))) => teller.tell(&message.kind, &message.data).await,
                        Some((_, News::Gone)) => teller.tell("gone", &()).await,
                        None => false,
                    },
                    () = teller.closed() => false,
                    () = tokio::time::sleep(control::KEEP_ALIVE) => teller.keep_alive().await,
                };
                if !told {
                    return;
                }
            }
        });
        response
    }

    /// Hands a request on to the API of one server.
    pub async fn ask(&self, viewer: Viewer, server: &str, method: Method, path: &str, body: Bytes) -> Response {
        match self {
            Self::One { server: own, .. } if own.audit().server() == server => {
                self.ask_one(viewer, method, path, body).await
            }
            Self::One { .. } => gone(server),
            Self::All { known, .. } => {
                let mut remote = known.locked().get(server).cloned();
                if remote.is_none() {
                    self.states(&viewer).await;
                    remote = known.locked().get(server).cloned();
                }
                let Some(remote) = remote else { return gone(server) };
                match remote.forward(method, path, body).await {
                    Ok(response) => response.map(Body::new),
                    Err(error) => problem(StatusCode::BAD_GATEWAY, error.to_string()),
                }
            }
        }
    }

    async fn ask_one(&self, viewer: Viewer, method: Method, path: &str, body: Bytes) -> Response {
        let Self::One { api, .. } = self else { return StatusCode::NOT_FOUND.into_response() };
        let request = Request::builder().method(method).uri(path).extension(viewer).body(Body::from(body));
        match request {
            Ok(request) => {
                let response = TowerToHyperService::new(api.clone()).call(request).await;
                response.unwrap_or_else(|never| match never {})
            }
            Err(error) => problem(StatusCode::BAD_REQUEST, error.to_string()),
        }
    }
}

fn gone(server: &str) -> Response {
    problem(StatusCode::NOT_FOUND, format!("the server {server} has ended"))
}
