//! One message a line, as stdio has it. The SDK's own reader drops what it cannot take without a word; this one answers.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::envelope::Envelope;
use super::message::{self, Refusal};
use super::roots;

use crate::base::locks::LockExt;

pub struct Lines<R> {
    input: BufReader<R>,
    /// What has come of the current line. [`Transport::receive`] may be dropped at any await and starts over here.
    line: Line,
    /// Waits for room in the queue.
    refusal: Option<Refusal>,
    /// To the task that alone writes, so that no line is ever cut in two.
    output: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    /// Requests without an answer yet.
    open: Arc<Mutex<HashSet<RequestId>>>,
    /// Whether the client has begun a lifecycle: before, the SDK takes anything but a request for a reason to leave.
    begun: bool,
    /// Fires when the input has ended.
    over: CancellationToken,
    /// Told of changed roots at the moment they are announced: the SDK may handle the next call first.
    roots_changed: Box<dyn Fn() + Send>,
}

#[derive(Default)]
enum Line {
    #[default]
    Empty,
    Begun(Vec<u8>),
    TooLong {
        envelope: Envelope,
        length: usize,
    },
}

/// Messages that may wait for a client that does not read.
const QUEUE: usize = 64;

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    pub fn new(
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        over: CancellationToken,
        roots_changed: impl Fn() + Send + 'static,
    ) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE);
        Self {
            input: BufReader::new(input),
            line: Line::default(),
            refusal: None,
            output: Some(sender),
            writer: tokio::spawn(write(output, queue)),
            open: Arc::default(),
            begun: false,
            over,
            roots_changed: Box::new(roots_changed),
        }
    }

    /// The next line without its end; none at the end of the input.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ => return None,
            };
            let end = memchr::memchr(b'\n', available);
            self.line.add(&available[..end.unwrap_or(available.len())]);
            let consumed = end.map_or(available.len(), |end| end + 1);
            self.input.consume(consumed);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }

    /// What the SDK should see of a message.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let JsonRpcMessage::Request(request) = &message else {
            return Ok(self.begun.then_some(message));
        };
        if !self.open.locked().insert(request.id.clone()) {
            return Err(Refusal::duplicate(&request.id));
        }
        self.begun |= begins(&request.request);
        Ok(Some(message))
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let Some(id) = answered(&item) {
            self.open.locked().remove(id);
        }
        let output = self.output.clone();
        async move {
            let line = encode(&item)?;
            let output = output.ok_or(io::ErrorKind::NotConnected)?;
            output.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.refusal.is_some() {
                let room = self.output.as_ref()?.reserve().await.ok()?;
                if let Some(line) = self.refusal.take().and_then(|refusal| encode(&refusal.into_message()).ok()) {
                    room.send(line);
                }
            }
            let Some(line) = self.next_line().await else {
                self.over.cancel();
                return None;
            };
            let read = match line {
                Line::Empty => continue,
                Line::Begun(bytes) => message::read(&bytes),
                Line::TooLong { envelope, length } => Err(Refusal::too_long(&envelope, length, message::LONGEST)),
            };
            match read.and_then(|message| self.admit(message)) {
                Ok(Some(message)) => {
                    if roots::are_announced_changed(&message) {
                        (self.roots_changed)();
                    }
                    return Some(message);
                }
                Ok(None) => {}
                Err(refusal) => {
                    tracing::debug!(error = %refusal.error.message, "a message was refused");
                    self.refusal = Some(refusal).filter(|refusal| refusal.wants_answer);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        (&mut self.writer).await.map_err(io::Error::other)
    }
}

impl Line {
    fn add(&mut self, piece: &[u8]) {
        let piece = if matches!(self, Self::Empty) { piece.trim_ascii_start() } else { piece };
        match self {
            Self::Empty if piece.is_empty() => {}
            Self::Empty => *self = Self::Begun(piece.to_vec()),
            Self::Begun(bytes) if bytes.len() + piece.len() <= message::LONGEST => bytes.extend_from_slice(piece),
            Self::Begun(bytes) => {
                let mut envelope = Envelope::of(bytes);
                envelope.feed(piece);
                *self = Self::TooLong { envelope, length: bytes.len() + piece.len() };
            }
            Self::TooLong { envelope, length } => {
                envelope.feed(piece);
                *length += piece.len();
            }
        }
    }
}

/// Whether the SDK will take this request for the start of a lifecycle.
fn begins(request: &ClientRequest) -> bool {
    let meta = request.get_meta();
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) => false,
        _ => {
            meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
                && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

fn encode(message: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Until everybody who could send has gone, or nobody reads any more.
async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the client no longer reads");
            return;
        }
    }
}
