//! Requests whose answers are not out yet, so that the end can wait for them and for nothing else.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::sync::watch;

#[derive(Clone)]
pub struct Busy {
    count: watch::Sender<usize>,
}

impl Busy {
    pub fn new() -> Self {
        Self { count: watch::Sender::new(0) }
    }

    /// Until every answer is out.
    pub async fn over(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Lives as long as the answer's body.
struct Answering {
    count: watch::Sender<usize>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
    }
}

pub async fn count(State(busy): State<Busy>, request: Request, next: Next) -> Response {
    busy.count.send_modify(|count| *count += 1);
    let answering = Answering { count: busy.count };
    next.run(request).await.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &answering;
            frame
        }))
    })
}
