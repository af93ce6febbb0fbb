use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Exported variables with their values. Every call starts with those of its session, and most change none: so a copy shares
/// them until it is changed, and copies that still share them are equal without a look.
#[derive(Clone, Debug, Default)]
pub struct Exported(Arc<Vec<(OsString, OsString)>>);

impl Deref for Exported {
    type Target = Vec<(OsString, OsString)>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Exported {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<(OsString, OsString)>> for Exported {
    fn from(variables: Vec<(OsString, OsString)>) -> Self {
        Self(Arc::new(variables))
    }
}

impl PartialEq for Exported {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Exported {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_to_a_copy_is_its_own() {
        let one = Exported::from(vec![("A".into(), "1".into())]);
        let mut other = one.clone();
        assert_eq!(one, other);
        other.push(("B".into(), "2".into()));
        assert!(one != other && one.len() == 1);
        other.pop();
        assert_eq!(one, other);
    }
}
