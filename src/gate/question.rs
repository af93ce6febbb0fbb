//! What a person is asked, and what they may answer.

use crate::base::invisible::made_visible;
use crate::policy::Judgement;
use crate::policy::action::Shown;

/// One thing somebody has to decide.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Question {
    pub shown: Shown,
    pub reason: String,
    /// What a rule would have to name, for an approval by program; empty where that is not possible.
    pub programs: Vec<String>,
}

/// What the person chose; everything that is not an explicit yes is [`Decision::Deny`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    Once,
    /// This exact command, for the rest of the session.
    Session,
    /// These programs, for the rest of the session.
    Program,
    Deny,
}

/// Nobody reads more than this before saying yes, so nobody is asked to.
const LONGEST: usize = 4000;

impl Question {
    pub fn new(shown: Shown, judgement: &Judgement) -> Self {
        let asked = judgement.commands.iter().filter(|finding| finding.verdict == judgement.verdict);
        let programs: Option<Vec<String>> = asked.map(|finding| finding.program.clone()).collect();
        Self { shown, reason: judgement.reason.clone(), programs: programs.unwrap_or_default() }
    }

    /// The text of the question, or nothing when it would be too long to be read.
    pub fn message(&self) -> Option<String> {
        let mut text = format!("May this run?\n\n{}\n", made_visible(&self.shown.text));
        if let Some(cwd) = &self.shown.cwd {
            text.push_str(&format!("\nin: {}", made_visible(&cwd.display().to_string())));
        }
        if let Some(description) = &self.shown.description {
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
    pub const CHOICES: [&str; 4] = ["once", "session", "program", "deny"];

    pub fn read(choice: &str) -> Self {
        match choice {
            "once" => Self::Once,
            "session" => Self::Session,
            "program" => Self::Program,
            _ => Self::Deny,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        let shown = Shown { text: text.to_owned(), cwd: Some("/p".into()), description: Some("tidy up".to_owned()) };
        Question { shown, reason: "no rule names it".to_owned(), programs: vec!["rm".to_owned()] }
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
