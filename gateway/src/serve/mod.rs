//! Many clients over HTTP. Each session has a place of its own; its id says where that is, so any replica can serve it.

mod admission;
mod answers;
mod check;
mod descriptors;
mod forward;
mod gateway;
mod owners;
mod route;
mod seats;
mod settings;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::arguments::ServeOptions;
use crate::places::now;
use crate::signals;
use gateway::Gateway;
use settings::Settings;

/// How often places are counted, removed and made in advance.
const TEND: Duration = Duration::from_secs(2);
/// The head of a request has to arrive in this time.
const HEAD: Duration = Duration::from_secs(30);

pub async fn run(options: &ServeOptions) -> anyhow::Result<()> {
    let settings = Settings::read(&options.places)?;
    descriptors::allow_all();
    let (closing, closed) = watch::channel(false);
    let gateway = Arc::new(Gateway::new(&settings, closed.clone())?);
    gateway.tend(now()).await;
    let address = options.listen.as_ref().unwrap_or(&settings.listen);
    let listener = TcpListener::bind(address).await.with_context(|| format!("failed to listen on {address}"))?;
    #[expect(clippy::print_stderr, reason = "a person, or a test, has to know the port")]
    {
        eprintln!("testudo-gateway listens on http://{}/mcp", listener.local_addr()?);
    }
    let tending = tokio::spawn(tend(gateway.clone()));
    let mut connections = JoinSet::new();
    let room = Arc::new(Semaphore::new(settings.limits.connections));
    let ended = signals::asked_to_end();
    tokio::pin!(ended);
    loop {
        let accept = async {
            let permit = room.clone().acquire_owned().await;
            listener.accept().await.map(|(stream, _)| (stream, permit))
        };
        tokio::select! {
            accepted = accept => match accepted {
                Ok((stream, permit)) => {
                    let connection = connection(stream, gateway.clone(), closed.clone());
                    connections.spawn(async move { connection.await; drop(permit); });
                }
                // Too many open files, most likely. To wait lets some of them close.
                Err(error) => {
                    tracing::warn!("no connection was accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            () = &mut ended => break,
        }
        while connections.try_join_next().is_some() {}
    }
    // New clients go to another replica; calls that run may finish here. Places stay: they belong to their sessions.
    drop(listener);
    tending.abort();
    let _ = closing.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs(settings.limits.drain), drained).await;
    Ok(())
}

async fn tend(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(TEND).await;
        gateway.tend(now()).await;
    }
}

async fn connection(stream: TcpStream, gateway: Arc<Gateway>, mut closed: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let gateway = gateway.clone();
        async move { Ok::<_, Infallible>(route::handle(gateway, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    tokio::select! {
        _ = &mut serving => return,
        _ = closed.wait_for(|closed| *closed) => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}
