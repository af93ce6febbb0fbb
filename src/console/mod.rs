//! The console: one page for people, on the API of [`crate::control`].
//!
//! 1. [`Console`] is either for all servers of the user (`testudo console`) or for one server, at `/console` beside `/mcp`.
//!    [`routes`] has its routes.
//! 2. [`door`] decides who may come in: a one-time link or a token becomes a cookie. [`guard`] holds every request to it,
//!    and [`headers`] tell the browser to run nothing but our own files.
//! 3. [`backend`] hands requests on to the API of the right server. What was done is read from the audit log ([`history`]).
//! 4. [`assets`] are the files of the page: plain HTML, CSS and JavaScript modules, without a build step.
//! 5. [`Listener`] is the loopback port of `testudo console`.
//!
//! The room must not decide anything about a server: it shows what the API says and sends what the person chose.

mod assets;
mod backend;
mod door;
mod guard;
mod headers;
mod history;
mod listener;
mod routes;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;

use crate::config::Tokens;
use crate::control::drafts::Desk;
use crate::server::Server;
use backend::Backend;
use door::Door;
use history::History;

pub use listener::Listener;

/// Where the page is.
pub const PATH: &str = "/console";

pub struct Console {
    backend: Backend,
    door: Door,
    history: History,
    /// Drafts that no server works on. Only the console of the user shows them.
    idle_drafts: Option<Desk>,
}

impl Console {
    /// For all servers of this user, behind a one-time link. `port` is its own.
    pub fn of_user(control_dirs: Vec<PathBuf>, state_dir: PathBuf, protect: Vec<String>, port: u16) -> Arc<Self> {
        let history = History::new(state_dir.clone(), None);
        let idle_drafts = Some(Desk::Idle { state_dir, protect });
        Arc::new(Self { backend: Backend::all(control_dirs), door: Door::with_links(port), history, idle_drafts })
    }

    /// For one server, behind its tokens.
    pub fn of_server(server: Arc<Server>, tokens: Tokens, port: u16) -> Arc<Self> {
        let history = History::new(server.config().state_dir.clone(), Some(server.audit().server().to_owned()));
        Arc::new(Self {
            backend: Backend::one(server),
            door: Door::with_tokens(tokens, port),
            history,
            idle_drafts: None,
        })
    }

    pub fn router(self: Arc<Self>) -> Router {
        routes::router(self)
    }

    /// The path of a link that logs in once.
    pub fn login_path(&self) -> String {
        format!("{PATH}/login?key={}", self.door.new_key())
    }
}
