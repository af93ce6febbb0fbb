//! The few requests of the engine's API that the gateway needs, over its socket. Docker and Podman both serve them.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use thiserror::Error;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::ByteStream;

/// Where the engine listens.
#[derive(Clone, Debug)]
pub enum Engine {
    Unix(PathBuf),
    Tcp(String),
}

#[derive(Debug, Error)]
pub enum EngineError {
    #[error("the engine at {0} does not answer ({1}); is it started?")]
    Away(String, String),
    #[error("{message}")]
    Refused { status: StatusCode, message: String },
}

impl EngineError {
    pub fn is(&self, wanted: StatusCode) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == wanted)
    }
}

/// An engine under load takes its time to create a container, but not this long.
const PATIENCE: Duration = Duration::from_mins(2);

impl Engine {
    /// From a variable such as `DOCKER_HOST`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some(("unix", path)) => Ok(Self::Unix(path.into())),
            Some(("tcp" | "http", address)) => Ok(Self::Tcp(address.trim_end_matches('/').to_owned())),
            _ => Err(format!("{text:?} is no address of an engine; use unix:///PATH or tcp://HOST:PORT")),
        }
    }

    pub fn address(&self) -> String {
        match self {
            Self::Unix(path) => format!("unix://{}", path.display()),
            Self::Tcp(address) => format!("tcp://{address}"),
        }
    }

    pub async fn get(&self, path: &str) -> Result<Value, EngineError> {
        self.send(Method::GET, path, None, PATIENCE).await
    }

    pub async fn post(&self, path: &str, body: Option<&Value>) -> Result<Value, EngineError> {
        self.send(Method::POST, path, body, PATIENCE).await
    }

    pub async fn delete(&self, path: &str) -> Result<Value, EngineError> {
        self.send(Method::DELETE, path, None, PATIENCE).await
    }

    /// Fetches an image. The engine answers with one line per step, and with an `error` in one of them if it fails.
    pub async fn pull(&self, image: &str) -> Result<(), EngineError> {
        let path = format!("/images/create?fromImage={}", encoded(image));
        let progress = self.send(Method::POST, &path, None, Duration::from_mins(30)).await?;
        let failed = progress
            .as_str()
            .into_iter()
            .flat_map(str::lines)
            .find_map(|line| serde_json::from_str::<Value>(line).ok()?.get("error")?.as_str().map(str::to_owned));
        match failed {
            Some(message) => Err(EngineError::Refused { status: StatusCode::NOT_FOUND, message }),
            None => Ok(()),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Value, EngineError> {
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = Request::builder().method(method).uri(path).header("host", "engine");
        let request = request.header("content-type", "application/json").body(Full::new(body));
        let away = |error: String| EngineError::Away(self.address(), error);
        let request = request.map_err(|error| away(error.to_string()))?;
        let exchange = async {
            let stream = self.connect().await?;
            let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
            tokio::spawn(connection);
            let answer = sender.send_request(request).await.map_err(std::io::Error::other)?;
            let status = answer.status();
            let body = answer.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
            Ok::<_, std::io::Error>((status, body))
        };
        let (status, body) = timeout(patience, exchange)
            .await
            .map_err(|_| away("no answer in time".to_owned()))?
            .map_err(|error| away(error.to_string()))?;
        let value = serde_json::from_slice(&body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(value);
        }
        let message = value["message"].as_str().map_or_else(|| value.to_string(), str::to_owned);
        Err(EngineError::Refused { status, message })
    }

    async fn connect(&self) -> std::io::Result<Box<dyn ByteStream>> {
        Ok(match self {
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Self::Tcp(address) => Box::new(TcpStream::connect(address).await?),
        })
    }
}

/// For a part of a path or of a query.
pub fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => all.push(byte as char),
            _ => all.push_str(&format!("%{byte:02X}")),
        }
        all
    })
}
