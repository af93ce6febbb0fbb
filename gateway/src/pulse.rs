//! Whether a place that is waited for still lives. A slow place must not be taken for a dead one, and a dead one has to be
//! noticed within five seconds (docs/decisions/silent-places.md). Three things decide:
//!
//! 1. Every byte from the place is a sign of life, whichever connection it came on.
//! 2. A place that sends nothing is asked for a sign every second. The questions overlap, so an answer may take three
//!    seconds and still counts.
//! 3. What silence means is for the engine to say. If the place is there, it is only waited for; a call is never sent again
//!    because of that. Only if nobody can say whether it is there, the connection is given up and made anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::places::Presence;
use crate::wire::{Wire, WireError};

const TICK: Duration = Duration::from_millis(500);
/// So many ticks without a byte, and the engine is asked; so many, and the place is silent.
const LOOK: u32 = 3;
const SILENT: u32 = 7;
/// At most so often a place is asked for a sign of life, and the engine whether it is there, by all calls together.
const ASK_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// What is known of the life of one place. All calls to the place share it.
#[derive(Default)]
pub struct Pulse {
    signs: AtomicU64,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    place: Option<Instant>,
    engine: Option<Instant>,
    /// What the engine said last, and how many signs of life there had been.
    presence: Option<(u64, Presence)>,
}

impl Pulse {
    /// Something came from the place.
    pub fn beat(&self) {
        self.signs.fetch_add(1, Ordering::Relaxed);
    }

    fn signs(&self) -> u64 {
        self.signs.load(Ordering::Relaxed)
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the engine said during this silence.
    fn presence(&self) -> Option<Presence> {
        self.asked().presence.clone().filter(|(signs, _)| *signs == self.signs()).map(|(_, presence)| presence)
    }
}

/// Waits for work of a place as long as the place may still do it. A place that is silent and there is waited for as long as
/// this patience lasts.
pub async fn watched<T>(
    wire: &Arc<Wire>,
    patience: Duration,
    work: impl Future<Output = Result<T, WireError>>,
) -> Result<T, WireError> {
    tokio::pin!(work);
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    // A gateway that got no processor for a while heard nothing meanwhile. That says nothing about the place, so a late tick
    // counts as one.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut seen, mut missed) = (wire.pulse.signs(), 0);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = ticks.tick() => {}
        }
        let signs = wire.pulse.signs();
        missed = if signs == seen { missed + 1 } else { 0 };
        seen = signs;
        if missed == 0 {
            continue;
        }
        ask_place(wire);
        if missed < LOOK {
            continue;
        }
        ask_engine(wire);
        let waited = TICK * missed.saturating_sub(SILENT);
        let presence = wire.pulse.presence();
        let is_over = match &presence {
            Some(Presence::Gone(_)) => true,
            Some(Presence::There | Presence::Frozen(_)) => missed >= SILENT && waited >= patience,
            Some(Presence::Unknown(_)) | None => missed >= SILENT,
        };
        if is_over {
            let unknown = || Presence::Unknown("nobody says whether it is there".to_owned());
            let presence = presence.unwrap_or_else(unknown);
            return Err(WireError::Silent { seconds: (TICK * missed).as_secs(), waited, presence });
        }
    }
}

fn ask_place(wire: &Arc<Wire>) {
    if !is_due(&mut wire.pulse.asked().place, ASK_EVERY) {
        return;
    }
    let wire = wire.clone();
    tokio::spawn(async move {
        if wire.answers(ANSWER_WITHIN).await {
            wire.pulse.beat();
        }
    });
}

fn ask_engine(wire: &Arc<Wire>) {
    if !is_due(&mut wire.pulse.asked().engine, LOOK_EVERY) {
        return;
    }
    let wire = wire.clone();
    tokio::spawn(async move {
        let signs = wire.pulse.signs();
        let presence = wire.presence().await;
        wire.pulse.asked().presence = Some((signs, presence));
    });
}

fn is_due(last: &mut Option<Instant>, every: Duration) -> bool {
    // A tick is never quite on time. Without this every second one would come too early.
    let is_due = last.is_none_or(|last| last.elapsed() + TICK / 2 >= every);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}
