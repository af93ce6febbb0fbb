use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, oneshot};

use super::queue::{self, Batch, Queue};
use super::redact::Redactor;
use super::store::Store;
use super::{Entry, Event, FILE, Settings, Who};
use crate::base::locks::LockExt;
use crate::base::random;

/// The audit log of one server. Nothing here waits for the disk, except where it says so.
#[derive(Debug)]
pub struct Log {
    settings: Settings,
    directory: PathBuf,
    shared: Arc<Shared>,
    /// Whether the writer could be started. It is started with the first event.
    writer: OnceLock<Result<(), String>>,
    live: broadcast::Sender<Arc<Entry>>,
}

#[derive(Debug)]
struct Shared {
    queue: Queue,
    redactor: Redactor,
    /// Tells the servers apart that write to one file.
    server: String,
    /// When an attempt to write has failed last, until the log is said to be written again.
    failed: Mutex<Option<Instant>>,
}

/// What is written is on the disk at most this much later.
const SYNC_WITHIN: Duration = Duration::from_millis(500);
/// The log is said to be written again when nothing has failed for so long.
const WELL_AFTER: Duration = Duration::from_secs(5);
/// How long a server that ends waits for its last lines.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Events that wait for somebody who watches.
const LIVE: usize = 1024;

impl Log {
    /// The log in this directory. `secrets` are values that never appear in it.
    pub fn new(settings: Settings, directory: &Path, secrets: Vec<String>) -> Self {
        let server = format!("{}-{}", std::process::id(), random::hex::<6>());
        let (queue, redactor) = (Queue::default(), Redactor::new(secrets));
        Self {
            settings,
            directory: directory.to_owned(),
            shared: Arc::new(Shared { queue, redactor, server, failed: Mutex::default() }),
            writer: OnceLock::new(),
            live: broadcast::Sender::new(LIVE),
        }
    }

    /// Events as they happen, for somebody who watches.
    pub fn watch(&self) -> broadcast::Receiver<Arc<Entry>> {
        self.live.subscribe()
    }

    pub fn is_watched(&self) -> bool {
        self.live.receiver_count() > 0
    }

    /// The JSON of an event for somebody who watches, without secrets.
    pub fn shown(&self, entry: &Entry) -> String {
        format!("{{{}}}", entry.members(&self.shared.server, &self.shared.redactor))
    }

    /// The name of this server in the log.
    pub fn server(&self) -> &str {
        &self.shared.server
    }

    pub fn record(&self, who: Option<Arc<Who>>, event: Event) {
        let entry = Entry::now(who, event);
        if self.is_watched() {
            let _ = self.live.send(Arc::new(entry.clone()));
        }
        if self.settings.enabled && self.writer().is_ok() && self.shared.queue.put(entry) {
            self.wake_soon();
        }
    }

    /// Wakes the writer when more events have gathered.
    fn wake_soon(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return self.shared.queue.wake() };
        let shared = self.shared.clone();
        runtime.spawn(async move {
            tokio::time::sleep(queue::GATHER).await;
            shared.queue.wake();
        });
    }

    /// As [`Log::record`], for a call that must not happen unless it is in the log: with `audit.required` this waits until it
    /// is written. The error says why it is not.
    pub async fn record_first(&self, who: Option<Arc<Who>>, event: Event) -> Result<(), String> {
        self.record(who, event);
        if self.settings.required { self.written(false).await } else { Ok(()) }
    }

    /// Waits until everything that was recorded is written, or even on the disk.
    async fn written(&self, sync: bool) -> Result<(), String> {
        if !self.settings.enabled {
            return Err("audit.enabled is false".to_owned());
        }
        self.writer().clone()?;
        let (receipt, written) = oneshot::channel();
        self.shared.queue.hurry(receipt, sync);
        written.await.unwrap_or_else(|_| Err("its thread has ended".to_owned()))
    }

    /// Writes the last lines before the server ends.
    pub async fn end(&self) {
        if self.writer.get().is_some() {
            self.record(None, Event::ServerEnd);
            let _ = tokio::time::timeout(LAST_WORDS, self.written(true)).await;
        }
    }

    fn writer(&self) -> &Result<(), String> {
        self.writer.get_or_init(|| {
            let (shared, settings) = (self.shared.clone(), &self.settings);
            let store = Store::new(self.directory.clone(), settings.max_size, settings.keep);
            let thread = std::thread::Builder::new().name("audit".to_owned()).stack_size(512 * 1024);
            let path = self.directory.join(FILE);
            let started = thread.spawn(move || shared.write(store, &path)).map(drop).map_err(|error| error.to_string());
            if let Err(error) = &started {
                tracing::warn!(%error, "the audit log cannot be written: no thread can be started");
            }
            started
        })
    }
}

impl Shared {
    /// The writer. It ends with the process.
    fn write(&self, mut store: Store, path: &Path) {
        let mut unsynced: Option<Instant> = None;
        let mut lost = 0;
        loop {
            let Some(batch) = self.queue.take(unsynced.map(|since| since + SYNC_WITHIN)) else {
                self.settle(store.sync(), path);
                unsynced = None;
                continue;
            };
            let Batch { entries, receipts, sync, lost: no_room } = batch;
            lost += no_room;
            let mut lines: Vec<String> = entries.iter().map(|entry| self.line(entry)).collect();
            if lost > 0 {
                lines.insert(0, self.line(&Entry::now(None, Event::Lost { events: lost })));
            }
            let mut written = if lines.is_empty() { Ok(()) } else { store.append(&lines) };
            match &written {
                Ok(()) => (lost, unsynced) = (0, unsynced.or_else(|| Some(Instant::now()))),
                Err(_) => lost += entries.len() as u64,
            }
            let overdue = unsynced.is_some_and(|since| since.elapsed() >= SYNC_WITHIN);
            if written.is_ok() && (overdue || sync) {
                written = store.sync();
                unsynced = None;
            }
            let told = written.as_ref().map_err(ToString::to_string).copied();
            self.settle(written, path);
            receipts.into_iter().for_each(|receipt| drop(receipt.send(told.clone())));
        }
    }

    fn line(&self, entry: &Entry) -> String {
        entry.members(&self.server, &self.redactor)
    }

    /// Says once that the log cannot be written, and once that it can be again. A short line may still fit on a full disk,
    /// so one success proves nothing.
    fn settle(&self, written: std::io::Result<()>, path: &Path) {
        let mut failed = self.failed.locked();
        match written {
            Ok(()) => {
                if failed.take_if(|last| last.elapsed() >= WELL_AFTER).is_some() {
                    tracing::info!(path = %path.display(), "the audit log is written again");
                }
            }
            Err(error) => {
                if failed.replace(Instant::now()).is_none() {
                    tracing::warn!(path = %path.display(), %error, "the audit log cannot be written");
                }
            }
        }
    }
}
