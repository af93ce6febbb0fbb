//! One message per line, as on stdio. Unlike the SDK's own reader, this one responds to a line that it cannot take.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

use super::client_message;
use super::envelope::Envelope;
use super::message_error::MessageError;
use super::response_id::response_id;
use super::roots;
use crate::base::locks::LockExt;

pub struct LineTransport<R> {
    input: BufReader<R>,
    /// The part of the current line that has arrived. [`Transport::receive`] may be dropped at any await; the next call
    /// goes on from here.
    line: Line,
    /// The longest message, in bytes.
    longest: usize,
    /// An error response that waits for room in the queue.
    refusal: Option<MessageError>,
    /// To the task that writes. Only that task writes, so lines never mix.
    output: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    /// Requests without a response, and whether they are tool calls.
    open: Arc<Mutex<HashMap<RequestId, bool>>>,
    /// Whether the client has begun a lifecycle. Before that, the SDK stops serving at anything but a request.
    begun: bool,
    /// Fires at the end of the input.
    over: CancellationToken,
    /// Called as soon as the client announces a change of its roots: the SDK may handle the next call first.
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

/// How many messages wait for a client that does not read.
const QUEUE: usize = 64;

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    pub fn new(
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        longest: usize,
        over: CancellationToken,
        roots_changed: impl Fn() + Send + 'static,
    ) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE);
        Self {
            input: BufReader::new(input),
            line: Line::default(),
            longest,
            refusal: None,
            output: Some(sender),
            writer: tokio::spawn(write(output, queue)),
            open: Arc::default(),
            begun: false,
            over,
            roots_changed: Box::new(roots_changed),
        }
    }

    /// The next line without its newline. None at the end of the input; an unfinished last line does not count.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let available = match self.input.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                _ => return None,
            };
            let end = memchr::memchr(b'\n', available);
            self.line.add(&available[..end.unwrap_or(available.len())], self.longest);
            let consumed = end.map_or(available.len(), |end| end + 1);
            self.input.consume(consumed);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }

    /// The message, if the SDK is to see it.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Result<Option<ClientJsonRpcMessage>, MessageError> {
        let JsonRpcMessage::Request(request) = &message else {
            return Ok(self.begun.then_some(message));
        };
        let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
        match self.open.locked().entry(request.id.clone()) {
            Entry::Occupied(_) => return Err(MessageError::duplicate(&request.id)),
            Entry::Vacant(entry) => _ = entry.insert(is_call),
        }
        self.begun |= begins_lifecycle(&request.request);
        Ok(Some(message))
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let is_call = response_id(&item).and_then(|id| self.open.locked().remove(id)) == Some(true);
        // At the end of the input the calls end, and their client is about to leave. Some clients fail at an answer then.
        let unwanted = is_call && self.over.is_cancelled();
        let output = self.output.clone();
        async move {
            if unwanted {
                return Ok(());
            }
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
            let parsed = match line {
                Line::Empty => continue,
                Line::Begun(bytes) => client_message::parse(&bytes),
                Line::TooLong { envelope, length } => Err(MessageError::too_long(&envelope, length, self.longest)),
            };
            match parsed.and_then(|message| self.admit(message)) {
                Ok(Some(message)) => {
                    if roots::announces_change(&message) {
                        (self.roots_changed)();
                    }
                    return Some(message);
                }
                Ok(None) => {}
                Err(refusal) => {
                    tracing::debug!(error = %refusal.error.message, "a message was refused");
                    self.refusal = Some(refusal).filter(|refusal| refusal.expects_response);
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
    fn add(&mut self, piece: &[u8], longest: usize) {
        let piece = if matches!(self, Self::Empty) { piece.trim_ascii_start() } else { piece };
        match self {
            Self::Empty if piece.is_empty() => {}
            Self::Empty => *self = Self::Begun(piece.to_vec()),
            Self::Begun(bytes) if bytes.len() + piece.len() <= longest => bytes.extend_from_slice(piece),
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

/// Whether the SDK takes this request for the start of a lifecycle.
fn begins_lifecycle(request: &ClientRequest) -> bool {
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

fn encode(message: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes until every sender is gone, or until the client no longer reads.
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
