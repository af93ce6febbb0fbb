//! Which settings of a repository's configuration cannot make git run a program or write outside the repository. It is a
//! list of what git itself writes in ordinary work and of what people set for one repository. Whatever is not in the list
//! counts as dangerous: git learns new settings with every release.

use super::config::Setting;

/// What a value must look like.
#[derive(Clone, Copy, Debug)]
enum Value {
    Any,
    /// The name of a remote, a path or a URL. `helper::address` would start the program `git-remote-helper`.
    Remote,
    /// False: true would have git run the program that signs.
    No,
    OneOf(&'static [&'static str]),
}

/// Section, whether it has a subsection, keys, and what their values must look like.
type Rule = (&'static str, bool, &'static [&'static str], Value);

#[rustfmt::skip]
const HARMLESS: &[Rule] = &[
    ("advice", false, &["*"], Value::Any),
    ("author", false, &["name", "email"], Value::Any),
    ("branch", false, &["autosetupmerge", "autosetuprebase", "sort"], Value::Any),
    ("branch", true, &["description", "gh-merge-base", "github-pr-owner-number", "merge", "rebase", "vscode-merge-base"], Value::Any),
    ("branch", true, &["pushremote", "remote"], Value::Remote),
    ("checkout", false, &["defaultremote", "guess"], Value::Any),
    ("clone", false, &["defaultremotename"], Value::Any),
    ("color", false, &["*"], Value::Any),
    ("color", true, &["*"], Value::Any),
    ("column", false, &["*"], Value::Any),
    ("commit", false, &["cleanup", "status", "verbose"], Value::Any),
    ("commit", false, &["gpgsign"], Value::No),
    ("committer", false, &["name", "email"], Value::Any),
    ("core", false, &[
        "abbrev", "autocrlf", "bare", "bigfilethreshold", "checkstat", "commentchar", "commitgraph", "compression",
        "eol", "filemode", "fscache", "ignorecase", "logallrefupdates", "longpaths", "multipackindex",
        "precomposeunicode", "preloadindex", "quotepath", "repositoryformatversion", "safecrlf", "sharedrepository",
        "sparsecheckout", "sparsecheckoutcone", "splitindex", "symlinks", "trustctime", "untrackedcache", "whitespace",
    ], Value::Any),
    ("core", false, &["fsmonitor"], Value::No),
    ("diff", false, &["algorithm", "colormoved", "context", "indentheuristic", "mnemonicprefix", "noprefix", "renamelimit", "renames", "submodule"], Value::Any),
    ("extensions", false, &["compatobjectformat", "noop", "objectformat", "preciousobjects", "refstorage", "relativeworktrees", "worktreeconfig"], Value::Any),
    ("extensions", false, &["partialclone"], Value::Remote),
    ("feature", false, &["experimental", "manyfiles"], Value::Any),
    ("fetch", false, &["fsckobjects", "parallel", "prune", "prunetags", "recursesubmodules", "writecommitgraph"], Value::Any),
    ("gc", false, &["auto", "autodetach", "autopacklimit", "packrefs", "pruneexpire", "reflogexpire", "reflogexpireunreachable", "writecommitgraph"], Value::Any),
    ("grep", false, &["column", "linenumber", "patterntype"], Value::Any),
    ("i18n", false, &["commitencoding", "logoutputencoding"], Value::Any),
    ("index", false, &["recordendofindexentries", "recordoffsettable", "skiphash", "sparse", "threads", "version"], Value::Any),
    ("init", false, &["defaultbranch"], Value::Any),
    ("lfs", false, &["repositoryformatversion"], Value::Any),
    ("lfs", true, &["access", "locksverify"], Value::Any),
    ("log", false, &["date", "decorate", "follow"], Value::Any),
    ("maintenance", false, &["auto", "strategy"], Value::Any),
    ("merge", false, &["conflictstyle", "ff", "log", "renamelimit", "renames", "stat"], Value::Any),
    ("pack", false, &["compression", "depth", "threads", "usesparse", "window", "windowmemory", "writebitmaps"], Value::Any),
    ("pull", false, &["ff", "rebase"], Value::Any),
    ("push", false, &["autosetupremote", "default", "followtags"], Value::Any),
    ("push", false, &["gpgsign"], Value::No),
    ("rebase", false, &["abbreviatecommands", "autosquash", "autostash", "missingcommitscheck", "stat", "updaterefs"], Value::Any),
    ("receive", false, &["advertisepushoptions", "denycurrentbranch", "denydeletes", "denynonfastforwards", "fsckobjects", "shallowupdate"], Value::Any),
    ("remote", false, &["pushdefault"], Value::Remote),
    ("remote", true, &["fetch", "followremotehead", "gh-resolved", "mirror", "partialclonefilter", "promisor", "prune", "prunetags", "push", "skipdefaultupdate", "skipfetchall", "tagopt"], Value::Any),
    ("remote", true, &["pushurl", "url"], Value::Remote),
    ("rerere", false, &["autoupdate", "enabled"], Value::Any),
    ("stash", false, &["showincludeuntracked", "showpatch", "showstat"], Value::Any),
    ("status", false, &["branch", "renames", "short", "showstash", "showuntrackedfiles", "submodulesummary"], Value::Any),
    ("submodule", false, &["active", "alternateerrorstrategy", "alternatelocation", "fetchjobs", "propagatebranches", "recurse"], Value::Any),
    ("submodule", true, &["active", "branch", "fetchrecursesubmodules", "ignore", "shallow"], Value::Any),
    ("submodule", true, &["update"], Value::OneOf(&["checkout", "merge", "none", "rebase"])),
    ("submodule", true, &["url"], Value::Remote),
    ("tag", false, &["sort"], Value::Any),
    ("tag", false, &["forcesignannotated", "gpgsign"], Value::No),
    ("transfer", false, &["fsckobjects"], Value::Any),
    ("uploadpack", false, &["allowanysha1inwant", "allowfilter", "allowreachablesha1inwant", "allowtipsha1inwant"], Value::Any),
    ("user", false, &["email", "name", "signingkey", "useconfigonly"], Value::Any),
    ("worktree", false, &["guessremote", "userelativepaths"], Value::Any),
];

/// `core.worktree` depends on where the repository lies, so the caller judges its value.
pub fn is_harmless(setting: &Setting, may_be_worktree: &dyn Fn(&[u8]) -> bool) -> bool {
    if (setting.section.as_str(), setting.key.as_str()) == ("core", "worktree") && setting.subsection.is_none() {
        return setting.value.as_deref().is_some_and(may_be_worktree);
    }
    let rule = HARMLESS.iter().find(|(section, sub, keys, _)| {
        *section == setting.section
            && *sub == setting.subsection.is_some()
            && keys.iter().any(|key| *key == "*" || *key == setting.key)
    });
    rule.is_some_and(|(.., value)| value.fits(setting))
}

impl Value {
    fn fits(self, setting: &Setting) -> bool {
        let text = setting.text();
        match self {
            Self::Any => true,
            Self::Remote => !text.contains("::") && !text.starts_with('-'),
            Self::No => ["false", "no", "off", "0", ""].contains(&text.to_ascii_lowercase().as_str()),
            Self::OneOf(words) => words.contains(&text.as_str()),
        }
    }
}

/// The settings that are not harmless and that the version before did not have.
pub fn gained(before: &[Setting], after: &[Setting], may_be_worktree: &dyn Fn(&[u8]) -> bool) -> Vec<String> {
    let new = after.iter().filter(|setting| !before.contains(setting) && !is_harmless(setting, may_be_worktree));
    let mut names: Vec<String> = new.map(Setting::name).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::super::config::parse;
    use super::*;

    const ORDINARY: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
        [remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

    #[track_caller]
    fn check(added: &str, gains: bool) {
        let [before, after] = [ORDINARY.to_owned(), format!("{ORDINARY}{added}")].map(|text| parse(text.as_bytes()));
        let found = gained(&before.unwrap(), &after.unwrap(), &|value| value == b"../../../sub");
        assert_eq!(!found.is_empty(), gains, "{added}: {found:?}");
    }

    #[test]
    fn ordinary_work_gains_nothing() {
        for added in [
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[user]\n\tname = A # comment\n\temail = \"a@b\"\n",
            "[submodule \"lib\"]\n\turl = ../lib\n\tactive = true\n",
            "[core]\n\tsparseCheckout = true\n[extensions]\n\tworktreeConfig = true\n",
            "[core]\n\tworktree = ../../../sub\n",
            "[commit]\n\tgpgsign = false\n[core]\n\tfsmonitor = false\n",
            "[remote \"b\"]\n\turl = git@host:x.git\n\tpromisor = true\n",
            "[pull]\n\trebase = true\n",
        ] {
            check(added, false);
        }
    }

    #[test]
    fn whatever_is_not_known_to_be_harmless_is_noticed() {
        for added in [
            "[core]\n\thooksPath = /tmp/x\n",
            "[CORE]\n\tFSMONITOR = ./evil\n",
            "[core]\n\tfsmonitor\n",
            "[core] pager = evil\n",
            "[core]\n\tworktree = /home/me\n",
            "[alias]\n\tst = !evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[filter.x]\n\tsmudge = evil\n",
            "[diff \"a.b\"]\n\ttextconv = evil\n",
            "[credential \"https://x\"]\n\thelper = evil\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:/\"]\n\tpath = ../evil\n",
            "[submodule \"x\"]\n\tupdate = !evil\n",
            "[remote \"e\"]\n\turl = ext::sh -c evil\n",
            "[extensions]\n\tpartialClone = evil::x\n",
            "[pull]\n\ttwohead = evil\n",
            "[branch \"main\"]\n\tremote = ext::sh -c evil\n",
            "[url \"ext::sh -c evil\"]\n\tinsteadOf = https://x\n",
            "[gpg \"ssh\"]\n\tdefaultKeyCommand = evil\n",
            "[commit]\n\tgpgsign = true\n",
            "[gc]\n\trecentObjectsHook = evil\n",
            "[imap]\n\ttunnel = evil\n",
            "[uploadpack]\n\tpackObjectsHook = evil\n",
            "[core \"x\"]\n\tfilemode = true\n",
            "[something]\n\tnew = evil\n",
            "\tx = a # \\\n[core] fsmonitor=evil\n",
        ] {
            check(added, true);
        }
    }

    #[test]
    fn what_was_there_before_is_the_persons_own() {
        let before = parse(b"[alias]\n\tst = status\n").unwrap();
        let after = parse(b"[alias]\n\tst = !evil\n").unwrap();
        assert_eq!(gained(&before, &before, &|_| false), Vec::<String>::new());
        assert_eq!(gained(&before, &after, &|_| false), ["alias.st"]);
    }
}
