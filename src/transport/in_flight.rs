//! Counts the responses that have not been sent completely, so that a shutdown waits for exactly those, and so that a
//! server with a lease knows when it last heard from a client.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::sync::watch;

use crate::base::locks::LockExt;

#[derive(Clone)]
pub struct InFlight {
    count: watch::Sender<usize>,
    /// When the last response ended.
    last: Arc<Mutex<Instant>>,
}

impl InFlight {
    pub fn new() -> Self {
        Self { count: watch::Sender::new(0), last: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Waits until no response is in flight.
    pub async fn finished(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Waits until no response has been in flight for so long.
    pub async fn silent_for(&self, limit: Duration) {
        loop {
            self.finished().await;
            let left = limit.saturating_sub(self.last.locked().elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn begin(self) -> InFlightGuard {
        self.count.send_modify(|count| *count += 1);
        InFlightGuard(self)
    }
}

struct InFlightGuard(InFlight);

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        *self.0.last.locked() = Instant::now();
        self.0.count.send_modify(|count| *count -= 1);
    }
}

/// Middleware: counts a response until its body has been sent or dropped.
pub async fn track(State(in_flight): State<InFlight>, request: Request, next: Next) -> Response {
    let guard = in_flight.begin();
    next.run(request).await.map(|body| {
        Body::new(body.map_frame(move |frame| {
            // The closure owns the guard, so the guard lives as long as the body.
            let _ = &guard;
            frame
        }))
    })
}
