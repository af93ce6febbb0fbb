//! Which settings of a git configuration make git run a program. Ordinary git commands write `.git/config`, so it cannot
//! be read-only. Instead we look for such settings after a command has changed it.

use std::ops::RangeInclusive;

use crate::base::wildcard;

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Section, subsection and key, joined by dots as in the arguments of `git config`.
    pub name: String,
    pub value: String,
    /// The lines it takes up in the file, counted from 0.
    lines: RangeInclusive<usize>,
}

/// The position in the file does not matter.
impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value
    }
}

/// Settings that make git run a program; `*` stands for any text.
const RUNS: &[&str] = &[
    "core.hookspath",
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "pager.*",
    "alias.*",
    "filter.*",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*",
    "mergetool.*",
    "merge.*.driver",
    "credential.*helper",
    "include.*",
    "includeif.*",
    "gpg.*program",
    "hook.*",
    "interactive.difffilter",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "remote.*.vcs",
    "uploadpack.packobjectshook",
    "sendemail.*",
    "trailer.*.command",
    "trailer.*.cmd",
    "tar.*.command",
    "browser.*",
    "web.browser",
    "man.*",
    "help.browser",
    "instaweb.*",
    "guitool.*",
    "init.templatedir",
    "protocol.*allow",
    "lfs.customtransfer.*",
    "lfs.extension.*",
];

/// Settings that make git run a program only if the value begins with this text or the name contains it.
const RUNS_WITH: &[(&str, &str)] = &[("submodule.*.update", "!"), ("remote.*.url", "ext::"), ("url.*", "ext::")];

/// The settings that make git run a program and that the text before did not have. If git could not read the new text, the
/// error is the number of the line.
pub fn gained(before: &str, after: &str) -> Result<Vec<Setting>, usize> {
    let known = parse(before).unwrap_or_default();
    let new = parse(after)?.into_iter().filter(|setting| runs(setting) && !known.contains(setting));
    Ok(new.collect())
}

/// The text without the settings that make git run a program, for a new repository, which has no older version to put back.
/// The result is empty if git could not read the text.
pub fn harmless(text: &str) -> String {
    let Ok(settings) = parse(text) else { return String::new() };
    let mut lines: Vec<Option<&str>> = text.lines().map(Some).collect();
    for setting in settings.iter().filter(|setting| runs(setting)) {
        for number in setting.lines.clone() {
            if let Some(line) = lines.get_mut(number) {
                // Keep a section header that is on the same line.
                let header = line.filter(|line| line.trim_start().starts_with('['));
                *line = header.and_then(|line| line.rfind(']').map(|end| &line[..=end]));
            }
        }
    }
    lines.into_iter().flatten().flat_map(|line| [line, "\n"]).collect()
}

fn runs(setting: &Setting) -> bool {
    RUNS.iter().any(|pattern| wildcard::matches(pattern, &setting.name))
        || RUNS_WITH.iter().any(|(pattern, value)| {
            wildcard::matches(pattern, &setting.name)
                && (setting.value.starts_with(value) || setting.name.contains(value))
        })
}

/// Parses as git does. The error is the number of the line that git could not read.
pub fn parse(text: &str) -> Result<Vec<Setting>, usize> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut rest = line.trim_start();
        if let Some(header) = rest.strip_prefix('[') {
            let (name, after) = section_name(header).ok_or(number + 1)?;
            section = name;
            rest = after.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        if section.is_empty() {
            return Err(number + 1);
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (key, value) = (&rest[..end], rest[end..].trim_start());
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(number + 1);
        }
        let mut last = number;
        let value = match value.strip_prefix('=') {
            Some(value) => {
                let mut value = value.trim_start().to_owned();
                while value.ends_with('\\') && !value.ends_with("\\\\") {
                    value.pop();
                    last += 1;
                    value.push_str(lines.next().map_or("", |(_, line)| line));
                }
                unquoted(&value).ok_or(number + 1)?
            }
            None if value.is_empty() || value.starts_with(['#', ';']) => "true".to_owned(),
            None => return Err(number + 1),
        };
        settings.push(Setting { name: format!("{section}.{}", key.to_ascii_lowercase()), value, lines: number..=last });
    }
    Ok(settings)
}

/// Parses `section]`, `section "sub"]` or `section.sub]`, and returns the name and the text after the bracket.
fn section_name(header: &str) -> Option<(String, &str)> {
    let end = header.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.')?;
    let name = header[..end].to_ascii_lowercase();
    if name.is_empty() {
        return None;
    }
    let rest = header[end..].trim_start();
    if let Some(rest) = rest.strip_prefix(']') {
        return Some((name, rest));
    }
    let mut sub = String::new();
    let mut characters = rest.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((format!("{name}.{sub}"), rest[at + 2..].strip_prefix(']')?)),
            '\\' => sub.push(characters.next()?.1),
            c => sub.push(c),
        }
    }
    None
}

/// A value without its quotes, escapes and trailing comment.
fn unquoted(value: &str) -> Option<String> {
    let (mut out, mut quoted) = (String::new(), false);
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => out.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'b' => '\u{8}',
                c @ ('"' | '\\') => c,
                _ => return None,
            }),
            '#' | ';' if !quoted => break,
            c => out.push(c),
        }
    }
    (!quoted).then(|| out.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDINARY: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

    #[test]
    fn ordinary_work_gains_nothing() {
        for added in [
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[user]\n\tname = A # comment\n\temail = \"a@b\"\n",
            "[submodule \"lib\"]\n\turl = ../lib\n\tactive = true\n",
            "[core] sparsecheckout\n",
        ] {
            assert_eq!(gained(ORDINARY, &format!("{ORDINARY}{added}")), Ok(vec![]), "{added}");
        }
    }

    #[test]
    fn whatever_makes_git_run_something_is_noticed() {
        for added in [
            "[core]\n\thooksPath = /tmp/x\n",
            "[CORE]\n\tFSMONITOR = ./evil\n",
            "[core] pager = evil\n",
            "[alias]\n\tst = !evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[filter.x]\n\tsmudge = evil\n",
            "[diff \"a.b\"]\n\ttextconv = evil\n",
            "[credential]\n\thelper = !evil\n",
            "[credential \"https://x\"]\n\thelper = evil\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:/\"]\n\tpath = ../evil\n",
            "[submodule \"x\"]\n\tupdate = !evil\n",
            "[remote \"e\"]\n\turl = ext::sh -c evil\n",
            "[url \"ext::sh -c evil\"]\n\tinsteadOf = https://x\n",
            "[core]\n\tssh\\\nCommand = x\n",
        ] {
            let found = gained(ORDINARY, &format!("{ORDINARY}{added}"));
            assert!(found.as_ref().map_or(true, |found| !found.is_empty()), "{added}: {found:?}");
        }
    }

    #[test]
    fn what_was_there_before_is_the_persons_own() {
        let before = format!("{ORDINARY}[alias]\n\tst = status\n");
        assert_eq!(gained(&before, &format!("{before}[branch \"x\"]\n\tremote = o\n")), Ok(vec![]));
        assert_eq!(gained(&before, &before.replace("status", "!evil")).unwrap().len(), 1);
    }

    #[test]
    fn a_new_repository_keeps_what_is_harmless() {
        let text = "[core] pager = evil\n\tbare = false\n[alias]\n\tx = !evil \\\n more\n[user]\n\tname = a\n";
        assert_eq!(harmless(text), "[core]\n\tbare = false\n[alias]\n[user]\n\tname = a\n");
        assert_eq!(harmless("[broken"), "");
    }

    #[test]
    fn what_git_would_not_read_is_an_error_with_its_line() {
        assert_eq!(gained("", "[core\n"), Err(1));
        assert_eq!(gained("", "[core]\n\tx = \"open\n"), Err(2));
        assert_eq!(gained("", "stray = 1\n"), Err(1));
        assert_eq!(gained("", "[core]\n\t= 1\n"), Err(2));
    }
}
