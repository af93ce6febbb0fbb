//! How long a command may take, and how long a call may wait.

use std::time::Duration;

/// A call asks for at most this: clients give up sooner or later.
pub const LONGEST: Duration = Duration::from_mins(10);

/// What the call asks for in milliseconds, else the configured seconds. A value that is not positive counts as not given;
/// no limit when the configuration says 0.
pub fn time_limit(asked_ms: Option<i64>, default_seconds: u64) -> Option<Duration> {
    let asked = asked_ms.and_then(|asked| u64::try_from(asked).ok()).filter(|asked| *asked > 0);
    match asked {
        Some(asked) => Some(Duration::from_millis(asked).min(LONGEST)),
        None => (default_seconds > 0).then(|| Duration::from_secs(default_seconds)),
    }
}

/// A wait of that many milliseconds, or the default.
pub fn wait_limit(asked_ms: Option<u64>, default: Duration) -> Duration {
    asked_ms.map_or(default, Duration::from_millis).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_wins_over_the_configuration_up_to_ten_minutes() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (asked, default, expected) in [
            (Some(1500), 120, Some(Duration::from_millis(1500))),
            (None, 120, seconds(120)),
            (Some(0), 120, seconds(120)),
            (Some(-5), 120, seconds(120)),
            (Some(9_000_000), 120, seconds(600)),
            (None, 0, None),
            (None, 3600, seconds(3600)),
        ] {
            assert_eq!(time_limit(asked, default), expected, "{asked:?} {default}");
        }
    }
}
