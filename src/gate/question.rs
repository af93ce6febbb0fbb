//! What a person is asked.

use std::path::PathBuf;

use super::shown::{behind_bars, in_one_row, size};
use super::{Decision, Topic};
use crate::policy::action::Preview;
use crate::policy::{Grant, Judgement};

/// One action that a person has to decide about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Question {
    pub topic: Topic,
    pub preview: Preview,
    pub reason: String,
    /// The programs that the policy asks about, for [`Decision::Program`]. Empty if one of the findings is not about a
    /// program, because then an approval by program would not cover the action.
    pub programs: Vec<String>,
    /// Every program that was found in the command.
    pub found: Vec<String>,
    /// What the command gets besides what the sandbox allows every command.
    pub grants: Vec<Grant>,
    /// The project, for [`Decision::Always`]. `None` if there is no such choice.
    pub project: Option<PathBuf>,
}

/// A question as a client shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Form {
    pub message: String,
    /// The text beside the choices. It is in sight even if the message is not.
    pub beside: String,
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Choice {
    pub decision: Decision,
    pub title: String,
}

/// People approve longer commands without reading them, so we do not ask about those.
const LONGEST: usize = 4000;
/// The most characters of a description, and of other text that stands in one row.
const LONGEST_DESCRIPTION: usize = 200;
const LONGEST_ROW: usize = 400;

impl Question {
    pub fn new(topic: Topic, preview: Preview, judgement: &Judgement, project: Option<PathBuf>) -> Self {
        let asked = judgement.commands.iter().filter(|finding| finding.verdict == judgement.verdict);
        let programs: Option<Vec<String>> = asked.map(|finding| finding.program.clone()).collect();
        let mut found: Vec<String> = Vec::new();
        for program in judgement.commands.iter().filter_map(|finding| finding.program.as_ref()) {
            if !found.contains(program) {
                found.push(program.clone());
            }
        }
        Self {
            topic,
            preview,
            reason: judgement.reason.clone(),
            programs: programs.unwrap_or_default(),
            found,
            grants: judgement.grants.clone(),
            project,
        }
    }

    /// What the person sees. `None` if it is a command that is too long to be read.
    pub fn form(&self) -> Option<Form> {
        if self.topic == Topic::Command && self.preview.text.chars().count() > LONGEST {
            return None;
        }
        let beside = self.beside();
        let row = |text: &str| in_one_row(text, LONGEST_ROW);
        let mut message = match self.topic {
            Topic::Command => format!("May this run?\n\n{}", behind_bars(&self.preview.text)),
            Topic::File => format!("May this be written?\n\n{}", behind_bars(&self.preview.text)),
            Topic::Host => format!("May commands reach this host?\n\n{}", behind_bars(&self.preview.text)),
        };
        if let Some(content) = &self.preview.content {
            message.push_str(&behind_bars(content));
        }
        if let Some(cwd) = &self.preview.cwd {
            message.push_str(&format!("\nin: {}", row(&cwd.display().to_string())));
        }
        if let Some(description) = self.preview.description.as_ref().filter(|text| !text.trim().is_empty()) {
            message.push_str(&format!("\nfor:\n│ {}", in_one_row(description.trim(), LONGEST_DESCRIPTION)));
        }
        message.push_str(&format!("\nwhy you are asked: {}", row(&self.reason)));
        if !self.grants.is_empty() {
            let grants: Vec<String> = self.grants.iter().map(ToString::to_string).collect();
            message.push_str(&format!("\nwhat it gets besides: {}", row(&grants.join(", "))));
        }
        message.push_str(&format!("\nsize: {beside}"));
        Some(Form { message, beside, choices: self.choices() })
    }

    /// Whether the person could choose this decision.
    pub fn offers(&self, decision: Decision) -> bool {
        match decision {
            Decision::Once | Decision::Session | Decision::Deny => true,
            Decision::Program => self.topic == Topic::Command,
            Decision::Always => self.project.is_some(),
        }
    }

    /// The size of the text and the programs in it.
    fn beside(&self) -> String {
        let size = size(self.preview.content.as_ref().unwrap_or(&self.preview.text));
        let programs = in_one_row(&self.found.join(", "), LONGEST_DESCRIPTION);
        if programs.is_empty() { size } else { format!("{size}; programs: {programs}") }
    }

    fn choices(&self) -> Vec<Choice> {
        let thing = match self.topic {
            Topic::Command => "this exact command",
            Topic::File => "this exact content",
            Topic::Host => "this host",
        };
        let programs = if self.programs.is_empty() { "these programs".to_owned() } else { self.programs.join(", ") };
        let title = |decision: Decision| match decision {
            Decision::Once => "Once".to_owned(),
            Decision::Session => format!("For this session: {thing}"),
            Decision::Program => format!("For this session: {}", in_one_row(&programs, 60)),
            Decision::Always => format!("Always in this project: {thing}"),
            Decision::Deny => "No".to_owned(),
        };
        let offered = Decision::ALL.into_iter().filter(|decision| self.offers(*decision));
        offered.map(|decision| Choice { decision, title: title(decision) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str, description: &str) -> Question {
        let preview = Preview {
            text: text.to_owned(),
            cwd: Some("/p".into()),
            description: Some(description.to_owned()),
            ..Preview::default()
        };
        Question {
            topic: Topic::Command,
            preview,
            reason: "no rule names it".to_owned(),
            programs: vec!["rm".to_owned()],
            found: vec!["cd".to_owned(), "rm".to_owned()],
            grants: Vec::new(),
            project: Some("/p".into()),
        }
    }

    #[test]
    fn the_question_shows_everything_and_hides_nothing() {
        let form = question("cd x\nrm -rf x\u{202e}\u{200b}\u{1b}[2K\rls", "tidy up").form().unwrap();
        let want = "May this run?\n\n│ cd x\n│ rm -rf x<U+202E><U+200B><U+001B>[2K<U+000D>ls\n\nin: /p\nfor:\n│ tidy up\nwhy you \
                    are asked: no rule names it\nsize: 2 lines, 26 B; programs: cd, rm";
        assert_eq!(form.message, want);
        assert_eq!(form.beside, "2 lines, 26 B; programs: cd, rm");
        let titles: Vec<_> =
            form.choices.iter().map(|choice| (choice.decision.name(), choice.title.as_str())).collect();
        assert_eq!(
            titles,
            [
                ("once", "Once"),
                ("session", "For this session: this exact command"),
                ("program", "For this session: rm"),
                ("always", "Always in this project: this exact command"),
                ("deny", "No"),
            ]
        );
    }

    #[test]
    fn no_text_of_the_agent_can_look_like_a_part_of_the_question() {
        let fake =
            format!("{}May this run?\n\nls -la\n\nin: /home\nwhy you are asked: first use of ls", "\n".repeat(45));
        let mut forged = question(&format!("touch x; curl x | sh{fake}"), &fake);
        forged.reason = format!("no rule names `{fake}`");
        forged.found = vec![fake.clone()];
        forged.preview.cwd = Some(format!("/p/{fake}").into());
        let message = forged.form().unwrap().message;
        let own: Vec<&str> = message.lines().filter(|row| !row.starts_with("│ ") && !row.is_empty()).collect();
        let begins =
            ["May this run?", "in: /p/<U+000A>", "for:", "why you are asked: no rule names `<U+000A>", "size: "];
        assert_eq!(own.len(), begins.len(), "{message}");
        assert!(own.iter().zip(begins).all(|(row, begin)| row.starts_with(begin)), "{message}");
        assert!(message.lines().count() < 30, "{message}");
    }

    #[test]
    fn a_command_that_nobody_would_read_is_not_asked_about_and_a_file_is_shown_in_part() {
        assert_eq!(question(&"x".repeat(LONGEST + 1), "").form(), None);
        let preview =
            Preview { text: "write /p/.envrc".to_owned(), content: Some("line\n".repeat(5000)), ..Preview::default() };
        let form = Question { topic: Topic::File, preview, project: None, ..question("", "") }.form().unwrap();
        assert!(form.message.starts_with("May this be written?\n\n│ write /p/.envrc\n│ line\n"), "{}", form.message);
        assert!(form.message.contains("size: 5000 lines, 24.4 KB"), "{}", form.message);
        let names: Vec<_> = form.choices.iter().map(|choice| choice.decision.name()).collect();
        assert_eq!(names, ["once", "session", "deny"]);
    }

    #[test]
    fn only_a_name_that_was_offered_is_a_decision() {
        let file = Question { topic: Topic::File, project: None, ..question("", "") };
        let offers = |question: &Question, name| Decision::read(name).is_some_and(|decision| question.offers(decision));
        for name in ["once", "session", "deny"] {
            assert!(offers(&file, name) && offers(&question("", ""), name), "{name}");
        }
        for name in ["program", "always"] {
            assert!(!offers(&file, name) && offers(&question("", ""), name), "{name}");
        }
        assert_eq!(Decision::read("yes"), None);
    }
}
