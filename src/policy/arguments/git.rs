//! Git: the options before the subcommand, the subcommands, and the options of each that run programs.

use super::super::shell::Word;
use super::usage::{Effect, Operands, Usage};
use super::vet::by;
use super::vetted::{Carried, Vetted};

/// The options before the subcommand. `-c` and `--config-env` can set everything, hooks and pagers included. `--git-dir`
/// and `--work-tree` choose another repository, which has its own configuration.
const GLOBAL: Usage = Usage {
    programs: "git",
    reason: "run what a configuration names",
    flags: "--no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs \
            --no-optional-locks --no-advice --version -v --help -h --html-path --man-path --info-path",
    effects: &[
        ("-C", Effect::Inside),
        ("-c", Effect::RefuseValue),
        ("-p", Effect::Refuse),
        ("--paginate", Effect::Refuse),
        ("--exec-path", Effect::Refuse),
        ("--git-dir", Effect::RefuseValue),
        ("--work-tree", Effect::RefuseValue),
        ("--namespace", Effect::RefuseValue),
        ("--config-env", Effect::RefuseValue),
    ],
    operands: Operands::Command(0),
    ..Usage::BASE
};

/// Options that many subcommands share. None of them runs a program or writes a file of its own.
const FLAGS: &str = "-# -a -b -d -D -e -f -F -h -i -k -l -L -m -M -n -p -P -q -r -s -S -t -T -u -v -w -W -x -X -z -A -B -C -E -G -H \
    -I -N -R -V -c -g -j -o -y -O -U --all --oneline --stat --shortstat --numstat --dirstat --summary --name-only \
    --name-status --patch --no-patch --raw --graph --decorate --no-decorate --follow --merges --no-merges \
    --first-parent --reverse --topo-order --date-order --abbrev-commit --no-abbrev-commit --abbrev --full-index \
    --cached --staged --color --no-color --color-words --word-diff --ignore-all-space --ignore-space-change \
    --ignore-space-at-eol --ignore-blank-lines --minimal --patience --histogram --check --binary --text \
    --no-renames --find-renames --find-copies --no-prefix --relative --exit-code --quiet --verbose --short --long \
    --branch --branches --tags --remotes --heads --porcelain --show-stash --ahead-behind --untracked-files \
    --ignored --ignore-submodules --renames --null --amend --no-edit --signoff --no-signoff --allow-empty \
    --allow-empty-message --no-verify --dry-run --force --force-with-lease --force-if-includes --set-upstream \
    --delete --prune --no-tags --follow-tags --atomic --ff --no-ff --ff-only --squash --no-squash --commit \
    --no-commit --abort --continue --skip --quit --rebase --no-rebase --autostash --no-autostash --interactive \
    --autosquash --root --hard --soft --mixed --keep --merge --list --merged --no-merged --contains --no-contains \
    --show-current --track --no-track --copy --move --create --force-create --detach --orphan --ours --theirs \
    --recurse-submodules --no-recurse-submodules --worktree --include-untracked --keep-index --index --get \
    --get-all --get-regexp --show-origin --show-scope --local --global --system --show-toplevel \
    --is-inside-work-tree --is-bare-repository --git-dir --absolute-git-dir --git-common-dir --show-prefix \
    --show-cdup --verify --symbolic --symbolic-full-name --abbrev-ref --others --modified --deleted --stage \
    --unmerged --exclude-standard --full-name --full-tree --always --dirty --exact-match --count --left-right \
    --cherry-pick --cherry --boundary --pickaxe-all --pickaxe-regex --line-number --ignore-case --word-regexp \
    --invert-match --files-with-matches --files-without-match --fixed-strings --extended-regexp --perl-regexp \
    --basic-regexp --untracked --no-index --heading --break --show-function --function-context --numbered \
    --shallow-submodules --single-branch --no-single-branch --no-checkout --bare --mirror --no-hardlinks \
    --progress --no-progress --init --remote --recursive --annotate --sign --no-sign --lightweight --update \
    --intent-to-add --renormalize --refresh --ignore-errors --ignore-removal --no-all --patch-with-stat --cc \
    --combined-all-paths --pretty --format --date --relative-date --expire --ignore-cr-at-eol --no-ext-diff \
    --no-textconv --show-signature --no-show-signature --source --use-mailmap --no-mailmap --email --committer \
    --incremental --line-porcelain --show-name --show-number --show-email --no-guess --guess --overlay \
    --no-overlay --pathspec-file-nul --stdin --batch --batch-check --merge-base --is-ancestor --octopus \
    --independent --fork-point --aggressive --auto --prune-empty --unshallow --ipv4 --ipv6 --end-of-options \
    --no-walk --do-walk --in-commit-order --log-size --no-notes --notes --help --version --get-url --refs --symref \
    --sort --max-count --since --after --until --before --author --grep --diff-filter --unified \
    --inter-hunk-context --diff-algorithm --word-diff-regex --stat-width --message --file --author-date \
    --reuse-message --cleanup --fixup --trailer --strategy --strategy-option --onto --depth --deepen \
    --shallow-since --shallow-exclude --origin --reference --jobs --refmap --push-option --points-at \
    --initial-branch --exclude --exclude-from --exclude-per-directory --src-prefix --dst-prefix --line-prefix \
    --pathspec-from-file --conflict --max-depth --threads --prefix --type";

/// Options whose value may be the next word. An option must not be in this list if it takes no value in some subcommand:
/// the word behind it would be skipped without being looked at.
const VALUES: &str = "--message --author --since --until --grep";

/// The same for subcommands where `-m` takes a message or a number, and `-F` a file.
const MESSAGES: &str = "-m -F --message --file --author --date --trailer --fixup --cleanup";

/// A subcommand that works in the local repository.
const LOCAL: Usage = Usage { reason: "run something", flags: FLAGS, values: VALUES, ..Usage::BASE };
/// A subcommand that talks to another repository. The address of that repository can name a helper program.
const REMOTE: Usage = Usage { operands: Operands::Addresses, ..LOCAL };

const SUBCOMMANDS: &[Usage] = &[
    Usage { programs: "commit tag merge notes stash cherry-pick revert", values: MESSAGES, ..LOCAL },
    Usage {
        programs: "status log show diff add branch checkout switch restore reset rev-parse rev-list ls-files \
                   ls-tree cat-file blame annotate describe shortlog reflog mv rm cherry merge-base \
                   name-rev for-each-ref show-ref symbolic-ref count-objects version whatchanged diff-tree diff-index \
                   diff-files range-diff show-branch var check-ignore check-attr hash-object write-tree update-index gc prune \
                   fsck verify-commit verify-tag apply clean sparse-checkout help worktree",
        effects: &[("--output", Effect::Write), ("--ext-diff", Effect::Refuse), ("--textconv", Effect::Refuse)],
        ..LOCAL
    },
    Usage {
        programs: "grep",
        effects: &[("-O", Effect::RefuseValue), ("--open-files-in-pager", Effect::Refuse)],
        ..LOCAL
    },
    Usage {
        programs: "rebase",
        reason: "run commands, from its arguments or from the list of steps in .git",
        effects: &[
            ("-x", Effect::RefuseValue),
            ("--exec", Effect::RefuseValue),
            ("--continue", Effect::Refuse),
            ("--skip", Effect::Refuse),
            ("--edit-todo", Effect::Refuse),
        ],
        ..LOCAL
    },
    Usage {
        programs: "format-patch archive bundle",
        effects: &[
            ("-o", Effect::Write),
            ("--output", Effect::Write),
            ("--output-directory", Effect::Write),
            ("--remote", Effect::RefuseValue),
            ("--exec", Effect::RefuseValue),
        ],
        ..LOCAL
    },
    Usage {
        programs: "push",
        effects: &[("--receive-pack", Effect::RefuseValue), ("--exec", Effect::RefuseValue)],
        ..REMOTE
    },
    Usage { programs: "fetch pull remote", effects: &[("--upload-pack", Effect::RefuseValue)], ..REMOTE },
    Usage {
        programs: "ls-remote",
        effects: &[("--upload-pack", Effect::RefuseValue), ("--exec", Effect::RefuseValue)],
        ..REMOTE
    },
    Usage {
        programs: "clone init",
        effects: &[
            ("-u", Effect::RefuseValue),
            ("--upload-pack", Effect::RefuseValue),
            ("-c", Effect::RefuseValue),
            ("--config", Effect::RefuseValue),
            ("--template", Effect::RefuseValue),
            ("--separate-git-dir", Effect::Write),
        ],
        ..REMOTE
    },
];

pub fn vet(arguments: &[Word]) -> Vetted {
    let mut vetted = by(&GLOBAL, arguments);
    // `GLOBAL` treats the subcommand as the command that follows the options.
    let Some(Carried::Words(words)) = vetted.carried.pop() else { return vetted };
    let name = words[0].text();
    let mut inner = match name.as_deref() {
        Some("config") => configuration(&words[1..]),
        Some(name) => match SUBCOMMANDS.iter().find(|usage| usage.names(name)) {
            Some(usage) => by(usage, &words[1..]),
            None => refused(&words[1..], format!("`git {name}` may run an alias or other programs")),
        },
        None => refused(&words[1..], "the subcommand is known only after bash has expanded it".to_owned()),
    };
    // The indices count from the first argument of git, not of the subcommand.
    let behind = arguments.len() - words.len() + 1;
    inner.patterns.iter_mut().for_each(|pattern| *pattern += behind);
    inner.unvetted.iter_mut().for_each(|unvetted| unvetted.at += behind);
    vetted.and(inner)
}

/// Only a rule that names every word of the subcommand covers it.
fn refused(arguments: &[Word], why: String) -> Vetted {
    let mut vetted = Vetted::default();
    vetted.unvetted(arguments.len().saturating_sub(1), why);
    vetted
}

/// `git config`. Reading a setting is harmless. Writing one can make git run a program later.
fn configuration(arguments: &[Word]) -> Vetted {
    let first = arguments.iter().filter_map(Word::text).find(|word| {
        !["--global", "--local", "--system", "--show-origin", "--show-scope", "-z", "--null"].contains(&word.as_str())
    });
    match first.as_deref() {
        Some("--get" | "--get-all" | "--get-regexp" | "--list" | "-l" | "get" | "list") => Vetted::default(),
        _ => refused(arguments, "git may later run what is written to its configuration".to_owned()),
    }
}
