use crate::base::packed::{Malformed, Reader, put_size};

/// From the keeper to the server: how much its session uses now. Sent when it has changed notably.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SessionUsage {
    pub processes: u64,
    pub memory: u64,
}

const USED: &[u8] = b"used ";

impl SessionUsage {
    pub fn encode(self) -> Vec<u8> {
        let mut out = USED.to_vec();
        put_size(&mut out, self.processes);
        put_size(&mut out, self.memory);
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes.strip_prefix(USED).ok_or(Malformed)?);
        Ok(Self { processes: rest.size()?, memory: rest.size()? })
    }

    /// Whether the server should know that this has become `now`.
    pub fn differs_notably(self, now: Self) -> bool {
        let notable = |before: u64, now: u64, least: u64| before.abs_diff(now) > least.max(before / 16);
        notable(self.processes, now.processes, 8)
            || notable(self.memory, now.memory, 16 << 20)
            || (now == Self::default() && self != now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_survives_the_wire_and_small_changes_are_not_told() {
        let usage = SessionUsage { processes: 7, memory: 100 << 20 };
        assert_eq!(SessionUsage::decode(&usage.encode()), Ok(usage));
        assert!(SessionUsage::decode(b"note ....").is_err());
        assert!(!usage.differs_notably(SessionUsage { memory: 110 << 20, ..usage }));
        assert!(usage.differs_notably(SessionUsage { memory: 120 << 20, ..usage }));
        assert!(usage.differs_notably(SessionUsage { processes: 20, ..usage }));
        assert!(SessionUsage { processes: 2, memory: 0 }.differs_notably(SessionUsage::default()));
    }
}
