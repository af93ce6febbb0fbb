use crate::base::packed::{Malformed, Reader, put_count, put_text};
use crate::sandbox::home::State;

/// From the guard to the server, before the keeper is ready: what became of the home directory. If its namespaces are new,
/// their descriptors come with the report.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HomeReport {
    pub state: State,
    pub is_new: bool,
    /// Why it is not what was asked for; empty if it is.
    pub reason: String,
}

impl HomeReport {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_count(&mut out, self.state as usize);
        put_count(&mut out, usize::from(self.is_new));
        put_text(&mut out, &self.reason);
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes);
        Ok(Self {
            state: State::decode(rest.count()?)?,
            is_new: rest.count()? == 1,
            reason: rest.text()?.to_string_lossy().into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let report = HomeReport { state: State::ReadOnly, is_new: true, reason: "no overlay".to_owned() };
        assert_eq!(HomeReport::decode(&report.encode()), Ok(report));
        assert!(HomeReport::decode(b"").is_err());
    }
}
