use std::time::Duration;

use super::Decision;

/// What came back when a client was to ask its person. Only a choice is certain to come from a person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    Chosen(Decision),
    /// The client dismissed the question: it answered `decline` or `cancel`, after this time.
    Dismissed {
        how: &'static str,
        after: Duration,
    },
    /// The form came back with a choice that was not offered, or without one.
    Unreadable,
    /// No answer came.
    Missing,
}

/// No person reads a question and dismisses it faster than this. Clients that run without a person do.
const FASTEST_PERSON: Duration = Duration::from_millis(500);

impl Answer {
    /// Whether a person has said no.
    pub(super) fn is_a_persons_no(&self) -> bool {
        match self {
            Self::Chosen(decision) => *decision == Decision::Deny,
            Self::Dismissed { after, .. } => *after >= FASTEST_PERSON,
            Self::Unreadable | Self::Missing => false,
        }
    }

    /// What it comes to: everything that is no choice is a no.
    pub fn decision(&self) -> Decision {
        match self {
            Self::Chosen(decision) => *decision,
            Self::Dismissed { .. } | Self::Unreadable | Self::Missing => Decision::Deny,
        }
    }

    /// Whether a person must have given it. Clients that run without a person give other answers at once.
    pub fn is_a_persons(&self) -> bool {
        matches!(self, Self::Chosen(_)) || self.is_a_persons_no()
    }

    /// What happened instead of an answer, as a phrase that follows "it needs an approval, and".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Dismissed { how, .. } => {
                format!(
                    "the client answered `{how}` at once: it may be running without a person, and nobody may have been asked"
                )
            }
            Self::Unreadable | Self::Chosen(_) => {
                "the client's answer has none of the choices that were offered".to_owned()
            }
            Self::Missing => "nobody answered the question".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_can_have_said_counts_as_a_persons_no() {
        let dismissed = |millis| Answer::Dismissed { how: "cancel", after: Duration::from_millis(millis) };
        let rows = [
            (Answer::Chosen(Decision::Deny), true),
            (Answer::Chosen(Decision::Once), false),
            (dismissed(9), false),
            (dismissed(4000), true),
            (Answer::Unreadable, false),
            (Answer::Missing, false),
        ];
        for (answer, expected) in rows {
            assert_eq!(answer.is_a_persons_no(), expected, "{answer:?}");
        }
    }
}
