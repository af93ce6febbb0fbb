//! What a person is asked, and what they may decide.

use crate::base::invisible::made_visible;
use crate::policy::Judgement;
use crate::policy::action::Preview;

/// One action that a person has to decide about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Question {
    pub preview: Preview,
    pub reason: String,
    /// The programs that the policy asks about, for [`Decision::Program`]. Empty if one of the findings is not about a
    /// program, because then an approval by program would not cover the action.
    pub programs: Vec<String>,
}

/// What the person decided. Everything that is not an explicit yes is [`Decision::Deny`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    Once,
    /// This exact command, for the rest of the session.
    Session,
    /// These programs, for the rest of the session.
    Program,
    Deny,
}

/// People approve longer texts without reading them, so we do not ask about those.
const LONGEST: usize = 4000;

impl Question {
    pub fn new(preview: Preview, judgement: &Judgement) -> Self {
        let asked = judgement.commands.iter().filter(|finding| finding.verdict == judgement.verdict);
        let programs: Option<Vec<String>> = asked.map(|finding| finding.program.clone()).collect();
        Self { preview, reason: judgement.reason.clone(), programs: programs.unwrap_or_default() }
    }

    /// The text that the person reads. `None` if it is too long to be read.
    pub fn message(&self) -> Option<String> {
        let mut text = format!("May this run?\n\n{}\n", made_visible(&self.preview.text));
        if let Some(cwd) = &self.preview.cwd {
            text.push_str(&format!("\nin: {}", made_visible(&cwd.display().to_string())));
        }
        if let Some(description) = &self.preview.description {
            text.push_str(&format!("\nfor: {}", made_visible(description)));
        }
        text.push_str(&format!("\nwhy you are asked: {}", made_visible(&self.reason)));
        if !self.programs.is_empty() {
            text.push_str(&format!("\nprograms: {}", made_visible(&self.programs.join(", "))));
        }
        (text.chars().count() <= LONGEST).then_some(text)
    }
}

impl Decision {
    /// All decisions, in the order in which people see them.
    pub const ALL: [Self; 4] = [Self::Once, Self::Session, Self::Program, Self::Deny];

    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Program => "program",
            Self::Deny => "deny",
        }
    }

    /// The decision with this name. An unknown name is a no.
    pub fn read(name: &str) -> Self {
        Self::ALL.into_iter().find(|decision| decision.name() == name).unwrap_or(Self::Deny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        let preview =
            Preview { text: text.to_owned(), cwd: Some("/p".into()), description: Some("tidy up".to_owned()) };
        Question { preview, reason: "no rule names it".to_owned(), programs: vec!["rm".to_owned()] }
    }

    #[test]
    fn the_question_shows_everything_and_hides_nothing() {
        let message = question("rm -rf x\u{202e}\u{200b}\u{1b}[2K\rls").message().unwrap();
        let want = "May this run?\n\nrm -rf x<U+202E><U+200B><U+001B>[2K<U+000D>ls\n\nin: /p\nfor: tidy up\nwhy you are asked: no \
                    rule names it\nprograms: rm";
        assert_eq!(message, want);
    }

    #[test]
    fn what_nobody_would_read_is_not_asked() {
        assert_eq!(question(&"x".repeat(LONGEST)).message(), None);
    }

    #[test]
    fn only_an_explicit_yes_is_a_yes() {
        for (choice, decision) in [
            ("once", Decision::Once),
            ("session", Decision::Session),
            ("program", Decision::Program),
            ("deny", Decision::Deny),
            ("yes", Decision::Deny),
            ("", Decision::Deny),
        ] {
            assert_eq!(Decision::read(choice), decision, "{choice}");
        }
    }
}
