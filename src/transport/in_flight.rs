//! Counts the responses that have not been sent completely, so that a shutdown waits for exactly those.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::sync::watch;

#[derive(Clone)]
pub struct InFlight {
    count: watch::Sender<usize>,
}

impl InFlight {
    pub fn new() -> Self {
        Self { count: watch::Sender::new(0) }
    }

    /// Waits until no response is in flight.
    pub async fn finished(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    fn begin(self) -> InFlightGuard {
        self.count.send_modify(|count| *count += 1);
        InFlightGuard { count: self.count }
    }
}

struct InFlightGuard {
    count: watch::Sender<usize>,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
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
