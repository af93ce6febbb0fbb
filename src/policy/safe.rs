//! `@safe`: commands that only look. A rule `--allow @safe` allows each of them with its vetted options.
//!
//! To add a command: it must neither write a file, nor run another program, nor change anything outside, whatever its
//! operands are. If that holds for all its options in every version, it belongs to [`Options::Any`]; if the tables of
//! [`arguments`] know its options, to [`Options::Vetted`]; otherwise it gets an entry with the options that only look.

use std::path::Path;

use super::arguments::{self, Carried, Operands, Usage};
use super::program::Program;
use super::rule::{Match, Rule};
use super::settings::Arguments;
use super::shell::Word;
use super::{ProgramLookup, Verdict};

/// How people write the list.
pub const NAME: &str = "@safe";

/// Commands that only look if they have these options.
#[derive(Debug, Eq, PartialEq)]
pub struct Looking {
    /// Programs, or programs with their subcommands, separated by commas.
    commands: &'static str,
    options: Options,
}

#[derive(Debug, Eq, PartialEq)]
enum Options {
    Any,
    /// Those that run nothing and write nothing, as the tables know them.
    Vetted,
    /// These, and operands as the entry says.
    Listed(Usage),
}

/// A command that takes no operands.
const BARE: Usage = Usage { reason: "change something", operands: Operands::Refuse, ..Usage::BASE };

static LIST: &[Looking] = &[
    Looking {
        options: Options::Any,
        commands: "arch, b2sum, base32, base64, basename, cal, cat, cksum, cmp, column, comm, command -v, cut, df, \
                   dirname, du, echo, egrep, expand, factor, false, fgrep, fmt, fold, free, getconf, grep, groups, \
                   head, hexdump, id, join, jq, locale, logname, ls, lsblk, lscpu, md5sum, nl, nproc, numfmt, od, \
                   paste, pgrep, printenv, ps, readlink, realpath, rev, seq, sha1sum, sha224sum, sha256sum, sha384sum, \
                   sha512sum, sleep, stat, strings, sum, tac, tail, tr, true, tty, type, uname, unexpand, uptime, wc",
    },
    Looking {
        options: Options::Vetted,
        commands: "awk, date, fd, find, rg, sed, sort, uniq, which, whoami, xxd, git annotate, git blame, git \
                   cat-file, git check-attr, git check-ignore, git cherry, git count-objects, git describe, git diff, \
                   git diff-files, git diff-index, git diff-tree, git for-each-ref, git grep, git log, git ls-files, \
                   git ls-tree, git merge-base, git name-rev, git range-diff, git reflog show, git remote get-url, git \
                   rev-list, git rev-parse, git shortlog, git show, git show-branch, git show-ref, git stash list, git \
                   stash show, git status, git var, git version, git whatchanged",
    },
    looking(
        "diff",
        Usage {
            flags: "-# -a -b -B -c -d -E -e -i -n -N -p -q -r -s -t -T -u -w -y -Z --brief --color --context --expand-tabs \
                    --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --ignore-tab-expansion \
                    --ignore-trailing-space --initial-tab --left-column --minimal --new-file --no-dereference --normal --rcs \
                    --recursive --report-identical-files --show-c-function --side-by-side --speed-large-files --strip-trailing-cr \
                    --suppress-blank-empty --suppress-common-lines --text --unidirectional-new-file --unified",
            values: "-C -F -I -L -S -U -W -x -X --exclude --exclude-from --from-file --ignore-matching-lines --label --tabsize \
                     --to-file --width",
            ..Usage::BASE
        },
    ),
    looking(
        "file",
        Usage {
            flags: "-0 -b -E -h -i -k -L -n -N -p -r -s -v --brief --extension --keep-going --mime --mime-encoding --mime-type \
                    --dereference --no-dereference --no-buffer --no-pad --print0 --raw",
            values: "-e -F --exclude --separator",
            ..Usage::BASE
        },
    ),
    looking(
        "hostname",
        Usage { flags: "-a -A -d -f -i -I -s --alias --all-fqdns --domain --fqdn --ip-address --long --short", ..BARE },
    ),
    looking(
        "tree",
        Usage {
            flags: "-a -C -d -D -f -F -g -h -i -l -n -N -p -q -Q -r -s -t -u -U -v -x --dirsfirst --du --filesfirst --gitignore \
                    --inodes --matchdirs --noreport --prune --si",
            values: "-I -L -P --charset --filelimit --sort --timefmt",
            ..Usage::BASE
        },
    ),
    looking(
        "git branch",
        Usage {
            flags: "-a -i -l -r -v -vv --all --color --ignore-case --list --no-abbrev --no-color --no-column --remotes \
                    --show-current --verbose",
            values: "--abbrev --contains --format --merged --no-contains --no-merged --points-at --sort",
            ..BARE
        },
    ),
    looking("git config --get", Usage { flags: CONFIG, ..Usage::BASE }),
    looking("git config --list", Usage { flags: CONFIG, ..BARE }),
    looking("git config get", Usage { flags: CONFIG, ..Usage::BASE }),
    looking("git config list", Usage { flags: CONFIG, ..BARE }),
    looking("git reflog", BARE),
    looking("git remote", Usage { flags: "-v --verbose", ..BARE }),
    looking("git tag --list", Usage { flags: TAG, values: TAG_VALUES, ..Usage::BASE }),
    looking("git tag -l", Usage { flags: TAG, values: TAG_VALUES, ..Usage::BASE }),
    looking("git tag", Usage { flags: TAG, values: TAG_VALUES, ..BARE }),
    looking("git worktree list", Usage { flags: "-v -z --porcelain --verbose", ..BARE }),
];

const CONFIG: &str =
    "-z --all --global --includes --local --name-only --null --show-names --show-origin --show-scope --system";
const TAG: &str = "-n --color --column --ignore-case";
const TAG_VALUES: &str = "--contains --format --merged --no-contains --no-merged --points-at --sort";

const fn looking(commands: &'static str, usage: Usage) -> Looking {
    Looking { commands, options: Options::Listed(usage) }
}

impl Looking {
    /// Whether the command only looks with these arguments. `words` are its own words, `arguments` the ones behind them.
    pub fn only_looks(&self, words: &[String], arguments: &[Word]) -> bool {
        let vetted = match &self.options {
            Options::Any => return true,
            Options::Vetted => {
                let (Some(program), own) = (words.first(), words.iter().skip(1).map(Word::literal)) else {
                    return false;
                };
                arguments::vet(program, &own.chain(arguments.iter().cloned()).collect::<Vec<_>>())
            }
            Options::Listed(usage) => arguments::by(usage, arguments),
        };
        // The words of `find -exec` are judged as a command of their own.
        let runs_text = vetted.carried.iter().any(|carried| matches!(carried, Carried::Text(_)));
        let unclear = !vetted.unvetted.is_empty() || vetted.opaque.is_some() || vetted.runs_input;
        !unclear && !runs_text && vetted.writes.is_empty()
    }
}

/// Whether the list covers this command.
pub fn only_looks(program: &Program, arguments: &[Word], project_dir: &Path, lookup: &dyn ProgramLookup) -> bool {
    // The names are compared before rules are made, because most commands are not in the list.
    let listed = |looking: &Looking| {
        looking.commands.split(", ").any(|command| command.split(' ').next() == Some(program.known_as()))
    };
    LIST.iter().any(listed)
        && rules("").iter().any(|rule| rule.matches(program, arguments, project_dir, lookup).found == Match::Yes)
}

/// One rule for every command of the list.
pub fn rules(origin: &str) -> Vec<Rule> {
    let commands = LIST.iter().flat_map(|looking| looking.commands.split(", ").map(move |command| (looking, command)));
    commands
        .map(|(looking, command)| Rule {
            words: command.split(' ').map(str::to_owned).collect(),
            verdict: Verdict::Allow,
            reason: String::new(),
            arguments: Arguments::Vetted,
            grants: Vec::new(),
            looking: Some(looking),
            origin: origin.to_owned(),
        })
        .collect()
}

/// The list as people read it: a command on each line, with its options.
pub fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for looking in LIST {
        let options = match &looking.options {
            Options::Any => "any option".to_owned(),
            Options::Vetted => "every option that runs nothing and writes nothing".to_owned(),
            Options::Listed(usage) => {
                let none = if usage.operands == Operands::Refuse { ", and no other words" } else { "" };
                let names = [usage.flags, usage.values].join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
                if names.is_empty() { "no options".to_owned() + none } else { names + none }
            }
        };
        lines.extend(looking.commands.split(", ").map(|command| format!("{command:<20} {options}")));
    }
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::super::shell::split;
    use super::*;

    fn covers(command: &str) -> bool {
        let words: Vec<String> = split::words(command).unwrap();
        rules("").iter().any(|rule| {
            let own = rule.words.len();
            let arguments = words.get(own..).unwrap_or_default().iter().map(Word::literal).collect::<Vec<_>>();
            words.starts_with(&rule.words) && rule.looking.unwrap().only_looks(&rule.words, &arguments)
        })
    }

    #[test]
    fn looking_is_covered_and_everything_else_is_not() {
        let looks = [
            "ls -la --color=auto",
            "cat a b",
            "head -n 5 x",
            "rg -n --glob '*.rs' x src",
            "grep -rn x .",
            "find . -name '*.rs' -type f",
            "sed -n 1,5p f",
            "awk '{print $1}' f",
            "sort -u f",
            "uniq -c f",
            "git status --short",
            "git log --oneline -5 -- src",
            "git diff --stat HEAD~1",
            "git show HEAD:x",
            "git branch -a",
            "git branch --contains HEAD",
            "git remote -v",
            "git tag -l 'v*'",
            "git stash list",
            "git config --get user.name",
            "diff -u a b",
            "tree -L 2",
            "jq .a x.json",
            "du -sh .",
        ];
        let wrong: Vec<_> = looks.iter().filter(|command| !covers(command)).collect();
        assert!(wrong.is_empty(), "should be covered: {wrong:?}");
        let does = [
            "rm x",
            "sed -i s/a/b/ f",
            "sed '1e pwn' f",
            "awk '{print > \"f\"}' f",
            "sort -o x f",
            "sort --compress-program=pwn f",
            "uniq a b",
            "xxd a b",
            "find . -delete",
            "rg --pre=pwn x",
            "git branch x",
            "git branch -D x",
            "git tag v1",
            "git tag -d v1",
            "git remote add a b",
            "git reflog expire --all",
            "git stash",
            "git config user.name x",
            "git config --get --file=x y",
            "git diff --output=f",
            "git diff --ext-diff",
            "git worktree add x",
            "git push",
            "hostname evil",
            "tree -o f",
            "file -C -m x",
            "diff --paginate a b",
            "env",
            "python3 --version",
        ];
        let wrong: Vec<_> = does.iter().filter(|command| covers(command)).collect();
        assert!(wrong.is_empty(), "should not be covered: {wrong:?}");
    }

    #[test]
    fn every_command_is_listed_once() {
        let mut names: Vec<_> = rules("").into_iter().map(|rule| rule.words).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(lines().len(), all);
    }
}
