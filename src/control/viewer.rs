use std::sync::Arc;

use crate::gate::ledger::Approval;
use crate::server::Answers;

/// Who looks at a server, and so what they may see and decide. Every request carries one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Viewer {
    /// The user to whom the server belongs.
    Owner,
    /// A person with the token of this name. They see nothing of other principals.
    Principal(Arc<str>),
}

impl Viewer {
    pub fn sees(&self, principal: &str) -> bool {
        match self {
            Self::Owner => true,
            Self::Principal(name) => **name == *principal,
        }
    }

    /// Whose questions this viewer answers.
    pub fn answers(&self) -> Answers {
        match self {
            Self::Owner => None,
            Self::Principal(name) => Some(name.clone()),
        }
    }

    pub fn sees_approval(&self, approval: &Approval) -> bool {
        // The name of a session has no blanks.
        approval.session.split_once(" of ").map_or(*self == Self::Owner, |(_, principal)| self.sees(principal))
    }

    /// Who answers, as the others will read it. An owner's programs say it themselves.
    pub fn signature(&self, said: &str) -> String {
        match self {
            Self::Owner => said.to_owned(),
            Self::Principal(name) => format!("the console of {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_sees_its_own_and_the_owner_everything() {
        let alice = Viewer::Principal("alice".into());
        assert!(Viewer::Owner.sees("bob") && alice.sees("alice") && !alice.sees("bob") && !alice.sees(""));
        let approval = |session: &str| Approval {
            id: "1".to_owned(),
            session: session.to_owned(),
            pid: 1,
            covers: crate::gate::ledger::Covers::Program("rm".to_owned()),
        };
        assert!(alice.sees_approval(&approval("session default of alice")));
        assert!(!alice.sees_approval(&approval("session alice of bob")));
        assert!(!alice.sees_approval(&approval("alice")) && Viewer::Owner.sees_approval(&approval("alice")));
    }
}
