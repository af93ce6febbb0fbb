//! Where rules come from, and how they add up.

use super::*;
use crate::policy::RuleSettings;
use crate::policy::settings::Arguments;

#[test]
fn without_any_rule_nothing_is_parsed() {
    check(&Settings::default(), &[("anything ((( goes", Allow)]);
}

#[test]
fn the_strictest_rule_wins() {
    check(
        &settings(&["git", "ls"], &["git push"], &["git push --force"]),
        &[
            ("git status", Allow),
            ("git push origin", Ask),
            ("git push --force", Deny),
            ("ls; git push", Ask),
            ("make; git push --force", Deny),
        ],
    );
    let unlisted = |verdict| Settings { unlisted: Some(verdict), ..settings(&["ls"], &[], &[]) };
    check(&unlisted(Deny), &[("ls", Allow), ("make", Deny), ("$x", Deny)]);
    check(&unlisted(Allow), &[("ls", Allow), ("make", Allow), ("$x", Ask)]);
}

#[test]
fn allowed_commands_binds_every_simple_command() {
    let only = |value: &str| Settings { allowed_commands: AllowedCommands::read(Some(value)), ..Settings::default() };
    check(&only("ls,cat"), &[("ls | cat", Allow), ("ls; pwd", Deny), ("ls $(pwd)", Deny), ("$x", Deny)]);
    check(&only(""), &[("ls", Deny)]);
    check(&only("*"), &[("anything", Allow)]);
    check(&only("git"), &[("git status", Allow), ("git -c a=b status", Deny)]);
    let both = Settings { allow: vec!["ls".into()], ..only("ls,cat") };
    check(&both, &[("ls", Allow), ("cat x", Ask), ("pwd", Deny)]);
}

#[test]
fn the_lists_of_gemini_are_rules() {
    let lists = |core: &[&str], exclude: &[&str]| Settings {
        core_tools: core.iter().map(|entry| (*entry).to_owned()).collect(),
        exclude_tools: exclude.iter().map(|entry| (*entry).to_owned()).collect(),
        ..Settings::default()
    };
    check(
        &lists(&["run_shell_command(git)"], &["run_shell_command(git push)"]),
        &[("git --version", Allow), ("git   push origin x", Deny), ("touch m1; ls", Ask)],
    );
    check(
        &lists(&[], &["run_shell_command(rm)"]),
        &[("echo rm f", Allow), ("ls | rm f", Deny), ("(rm f)", Deny), ("true & rm f", Deny)],
    );
    check(&lists(&[], &["run_shell_command"]), &[("ls", Deny)]);
    check(&lists(&["run_shell_command"], &[]), &[("ls", Allow)]);
}

#[test]
fn a_rule_that_contradicts_its_examples_is_refused() {
    let rule = |matches: &[&str], not_match: &[&str]| RuleSettings {
        command: "git push".into(),
        verdict: Ask,
        reason: "publishing is the user's decision".into(),
        matches: matches.iter().map(|text| (*text).to_owned()).collect(),
        not_match: not_match.iter().map(|text| (*text).to_owned()).collect(),
        arguments: Arguments::default(),
        grants: Vec::new(),
    };
    let new = |rule| Policy::new(&Settings { rule: vec![rule], ..Settings::default() });
    let policy = new(rule(&["git push origin main", "git -C x push", "ls && git push"], &["git status"])).unwrap();
    assert_eq!(policy.unlisted(), Allow, "a rule that asks allows nothing by name");
    let error = new(rule(&["git status"], &[])).unwrap_err().to_string();
    assert_eq!(
        error,
        "the rule [[policy.rule]] command = \"git push\" contradicts its example: \"git status\" is in `match`, but the rule does not name it"
    );
    assert!(new(rule(&[], &["git push"])).is_err());
}
