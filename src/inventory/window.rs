use std::time::SystemTime;

/// When commands may have been at work since the inventory was last complete, and whether one still is.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// In order of time. Empty: no command has run, so every change is the person's.
    pub busy: Vec<Span>,
    /// A command is still running and may be half-way through its work. What it has done is judged when it stays.
    pub patient: bool,
}

/// From the start of a command to the moment when no process of any session was left.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub start: SystemTime,
    pub end: Option<SystemTime>,
}

/// Of a long time, the earlier spans are joined.
const MOST_SPANS: usize = 64;

impl Window {
    /// A command may have been at work ever since then.
    pub fn since(start: SystemTime) -> Self {
        Self { busy: vec![Span { start, end: None }], patient: false }
    }

    /// No command has run.
    pub fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }

    /// A command starts.
    pub fn open(&mut self) {
        if self.busy.last().is_some_and(|span| span.end.is_none()) {
            return;
        }
        self.busy.push(Span { start: SystemTime::now(), end: None });
        if self.busy.len() > MOST_SPANS {
            let first = self.busy.remove(0);
            self.busy[0].start = first.start;
        }
    }

    /// Nothing runs any more.
    pub fn close(&mut self) {
        if let Some(span) = self.busy.last_mut() {
            span.end.get_or_insert_with(SystemTime::now);
        }
    }

    /// Whether a command can have made a change that happened between these times.
    pub fn covers(&self, earliest: SystemTime, latest: SystemTime) -> bool {
        self.busy.iter().any(|span| span.start <= latest && span.end.is_none_or(|end| earliest <= end))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_change_between_commands_is_the_persons() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let span = |start: u64, end: u64| Span { start: at(start), end: Some(at(end)) };
        let mut window = Window { busy: vec![span(10, 20), span(30, 40)], patient: false };
        for (earliest, latest, covered) in [
            (5, 6, false),
            (5, 10, true),
            (15, 16, true),
            (21, 22, false),
            (21, 31, true),
            (0, 25, true),
            (41, 50, false),
        ] {
            assert_eq!(window.covers(at(earliest), at(latest)), covered, "{earliest} {latest}");
        }
        window.open();
        assert!(window.covers(SystemTime::now(), SystemTime::now()));
        assert!(!Window::default().covers(at(0), at(99)));
    }

    #[test]
    fn a_long_time_is_kept_short() {
        let mut window = Window::default();
        for _ in 0..200 {
            window.open();
            window.close();
        }
        assert_eq!(window.busy.len(), MOST_SPANS);
    }
}
