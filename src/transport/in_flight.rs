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

/// A gateway says with this header that it renews the lease itself while it waits. A relay on the way, such as sshd or a
/// kubelet, can hold its connection open for hours after the gateway is cut off, so an open response says nothing then.
const RENEWS_LEASE: &str = "testudo-renews-lease";

#[derive(Clone)]
pub struct InFlight {
    count: watch::Sender<usize>,
    /// Those of them whose client is there as long as they are open.
    contacts: watch::Sender<usize>,
    /// When the last request came, or the last response to such a client ended.
    last: Arc<Mutex<Instant>>,
}

impl InFlight {
    pub fn new() -> Self {
        let (count, contacts) = (watch::Sender::new(0), watch::Sender::new(0));
        Self { count, contacts, last: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Waits until no response is in flight.
    pub async fn finished(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Waits until no client has been heard of for so long.
    pub async fn silent_for(&self, limit: Duration) {
        loop {
            let _ = self.contacts.subscribe().wait_for(|count| *count == 0).await;
            let left = limit.saturating_sub(self.last.locked().elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn begin(self, is_contact: bool) -> InFlightGuard {
        *self.last.locked() = Instant::now();
        self.count.send_modify(|count| *count += 1);
        if is_contact {
            self.contacts.send_modify(|count| *count += 1);
        }
        InFlightGuard { in_flight: self, is_contact }
    }
}

struct InFlightGuard {
    in_flight: InFlight,
    is_contact: bool,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.is_contact {
            *self.in_flight.last.locked() = Instant::now();
            self.in_flight.contacts.send_modify(|count| *count -= 1);
        }
        self.in_flight.count.send_modify(|count| *count -= 1);
    }
}

/// Middleware: counts a response until its body has been sent or dropped.
pub async fn track(State(in_flight): State<InFlight>, request: Request, next: Next) -> Response {
    let guard = in_flight.begin(!request.headers().contains_key(RENEWS_LEASE));
    next.run(request).await.map(|body| {
        Body::new(body.map_frame(move |frame| {
            // The closure owns the guard, so the guard lives as long as the body.
            let _ = &guard;
            frame
        }))
    })
}
