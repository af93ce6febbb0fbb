use std::time::Duration;

/// Durations of the same thing, in milliseconds.
#[derive(Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, duration: Duration) {
        self.0.push(duration.as_secs_f64() * 1e3);
    }

    pub fn median(&self) -> f64 {
        self.percentile(50)
    }

    pub fn p95(&self) -> f64 {
        self.percentile(95)
    }

    /// The smallest sample that at least this share of all samples does not exceed.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
    }
}
