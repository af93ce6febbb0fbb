use super::Failed;
use crate::base::packed::{Malformed, Reader, put_count};
use crate::sandbox::home::State;

/// From the guard to the server, before the keeper is ready: what became of the home directory. If its namespaces are new,
/// their descriptors come with the report.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HomeReport {
    pub state: State,
    pub is_new: bool,
    /// Why it is not what was asked for.
    pub failed: Option<Failed>,
}

impl HomeReport {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_count(&mut out, self.state as usize);
        put_count(&mut out, usize::from(self.is_new));
        out.extend(self.failed.as_ref().map(Failed::encode).unwrap_or_default());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes);
        Ok(Self {
            state: State::decode(rest.count()?)?,
            is_new: rest.count()? == 1,
            failed: if rest.0.is_empty() { None } else { Some(Failed::decode(rest.0).ok_or(Malformed)?) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        for failed in [None, Some(Failed { errno: libc::EMFILE, reason: "no overlay".to_owned() })] {
            let report = HomeReport { state: State::ReadOnly, is_new: true, failed };
            assert_eq!(HomeReport::decode(&report.encode()), Ok(report));
        }
        assert!(HomeReport::decode(b"").is_err());
    }
}
