//! One table: a command, and what its arguments make its program do.

use super::super::shell::split;
use super::*;

/// What the table says about a command: `plain`, `unvetted`, `opaque`, or the commands and files in its arguments.
fn outcome(command: &str) -> String {
    let words: Vec<Word> = split::words(command).unwrap().into_iter().map(Word::literal).collect();
    let program = words[0].text().unwrap();
    let Some(vetted) = vet(&program, &words[1..]) else { return "no entry".to_owned() };
    if vetted.opaque.is_some() {
        return "opaque".to_owned();
    }
    let text = |word: &Word| word.text().unwrap_or_else(|| "?".to_owned());
    let mut parts = Vec::new();
    if vetted.unvetted.is_some() {
        parts.push("unvetted".to_owned());
    }
    for carried in &vetted.carried {
        parts.push(match carried {
            Carried::Words(words) => format!("runs {}", words.iter().map(text).collect::<Vec<_>>().join(" ")),
            Carried::Text(word) => format!("runs {}", text(word)),
        });
    }
    parts.extend(vetted.writes.iter().map(|word| format!("writes {}", text(word))));
    parts.extend(vetted.inside.iter().map(|word| format!("in {}", text(word))));
    if parts.is_empty() { "plain".to_owned() } else { parts.join(", ") }
}

#[test]
fn each_program_is_seen_through() {
    let rows = [
        ("ls -la", "no entry"),
        // Wrappers run what follows them.
        ("env pwn", "runs pwn"),
        ("env -i -u X A=1 pwn x", "runs pwn x"),
        ("env -S 'pwn x'", "runs pwn x"),
        ("timeout -k 5 1 pwn", "runs pwn"),
        ("timeout --signal=KILL 10 ls", "runs ls"),
        ("nice -n 5 pwn", "runs pwn"),
        ("nice -5 pwn", "runs pwn"),
        ("nohup pwn", "runs pwn"),
        ("setsid -f pwn", "runs pwn"),
        ("stdbuf -oL pwn", "runs pwn"),
        ("time -v pwn", "runs pwn"),
        ("xargs -n1 pwn", "runs pwn ?"),
        ("xargs -I{} pwn x{}", "runs pwn ? ?"),
        ("xargs -I X X f", "runs ? f ?"),
        ("xargs -IX rm f X", "runs rm f ? ?"),
        ("xargs --replace=X X f", "runs ? f ?"),
        ("xargs --replace pwn f", "runs pwn f ?"),
        ("xargs -i pwn {}", "runs pwn ? ?"),
        ("xargs --max-lines pwn", "runs pwn ?"),
        ("parallel --halt now,fail=1 pwn", "runs pwn ?"),
        ("xargs", "plain"),
        ("strace -f pwn", "runs pwn"),
        ("strace -o '|pwn' ls", "unvetted, runs ls"),
        ("flock x pwn", "runs pwn"),
        ("flock x -c pwn", "runs pwn"),
        ("unshare -r pwn", "runs pwn"),
        ("script -qc pwn /dev/null", "runs pwn, writes /dev/null"),
        ("watch -n1 pwn", "runs pwn"),
        ("sudo -u x pwn", "runs pwn"),
        ("sudo -z pwn", "unvetted, runs pwn"),
        // Interpreters: a shell's text is judged, other code cannot be.
        ("bash -c pwn", "runs pwn"),
        ("bash -lc 'pwn x' a b", "runs pwn x"),
        ("sh", "opaque"),
        ("sh -s", "opaque"),
        ("bash x.sh", "unvetted"),
        ("bash --version", "plain"),
        ("python3 -c 'x'", "unvetted"),
        ("python3 --version", "plain"),
        ("python3 -m pytest -q", "plain"),
        ("python3 -m timeit x", "unvetted"),
        ("perl -e 'system(q(pwn))'", "unvetted"),
        ("node -v", "plain"),
        ("awk '{print $1}' f", "plain"),
        ("awk -F: '$3 > 100 {print $1}' f", "plain"),
        ("awk 'BEGIN{system(\"pwn\")}'", "unvetted"),
        ("awk '{print > \"f\"}'", "unvetted"),
        ("awk '{print | \"pwn\"}'", "unvetted"),
        ("sed -n '1,5p' f", "plain"),
        ("sed 's/a/b/g; s|x|y|' f", "plain"),
        ("sed 's/.*/pwn/e' f", "unvetted"),
        ("sed '1e pwn' f", "unvetted"),
        ("sed 's/a/b/w f' f", "unvetted"),
        ("sed -i s/a/b/ f g", "writes f, writes g"),
        ("sed s/a/b/ f -i", "writes f"),
        ("sed -e p -e 's/x/y/' f", "plain"),
        ("sed -f x f", "unvetted"),
        ("ed -s f", "unvetted"),
        ("gdb -batch -ex '!pwn'", "unvetted"),
        // Writers.
        ("tee -a f g", "writes f, writes g"),
        ("cp -r a b", "writes b"),
        ("cp -t d a", "writes d"),
        ("mv a b", "writes a, writes b"),
        ("dd if=a of=b", "writes b"),
        ("sort -t, -k2,2n f", "plain"),
        ("sort -o out f", "writes out"),
        ("sort --compress-program=pwn f", "runs pwn"),
        ("sort --compress-prog=pwn f", "runs pwn"),
        ("curl -sSL -o f http://h/", "writes f"),
        ("curl -sof http://h/", "writes f"),
        ("curl -K x", "unvetted"),
        ("wget --use-askpass=./pwn http://h/", "runs ./pwn"),
        ("wget -O f http://h/", "writes f"),
        ("split --filter=pwn f", "runs pwn"),
        // Tools.
        ("find . -name '*.rs' -not -path './target/*' -type f", "plain"),
        ("find . -maxdepth 0 -exec pwn {} +", "runs pwn ?"),
        ("find . -ok pwn ;", "runs pwn"),
        ("find . -fprintf f x", "writes f"),
        ("find . -delete", "unvetted"),
        ("tar -I pwn -cf x.tgz f", "runs pwn, writes x.tgz"),
        ("tar czf x.tgz f", "writes x.tgz"),
        ("tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=pwn f", "runs pwn, writes /dev/null"),
        ("tar cf host:x f", "unvetted"),
        ("tar xf a.tar -C d", "writes a.tar, in d"),
        ("rsync -e pwn a:b .", "runs pwn, writes ."),
        ("ssh -oProxyCommand=pwn h", "unvetted"),
        ("ssh h ls", "plain"),
        ("scp -S ./pwn a:b .", "runs ./pwn, writes ."),
        ("rg --pre=pwn x .", "runs pwn"),
        ("rg -n x src", "plain"),
        ("fd -x pwn", "runs pwn"),
        ("man -P pwn ls", "runs pwn"),
        ("man ls", "plain"),
        ("make test -j4", "plain"),
        ("make --eval=x", "unvetted"),
        ("make SHELL=pwn", "unvetted"),
        ("cargo test --release -- --nocapture", "plain"),
        ("cargo --config x test", "unvetted"),
        ("date -f /etc/shadow", "unvetted"),
        ("date -u +%F", "plain"),
        ("zip z.zip a -T -TT pwn", "runs pwn, writes z.zip"),
        ("gcc -O2 -o x x.c", "writes x"),
        ("gcc -wrapper pwn x.c", "unvetted"),
        ("less +!pwn f", "unvetted"),
        ("printf -v x y", "opaque"),
        ("printf '%s' -v", "plain"),
        ("test -f x", "plain"),
        ("test -v a", "opaque"),
        // Git.
        ("git status --porcelain=v1 -z", "plain"),
        ("git log --oneline -n 20 -- src", "plain"),
        ("git log -5 --format=%h", "plain"),
        ("git commit -m 'a; b'", "plain"),
        ("git commit -am x", "plain"),
        ("git push -u origin main", "plain"),
        ("git -C sub status", "in sub"),
        ("git -c alias.x=!pwn x", "unvetted"),
        ("git --git-dir=/tmp/evil.git status", "unvetted"),
        ("git ls-remote --upl=pwn .", "unvetted"),
        ("git ls-remote ext::pwn", "unvetted"),
        ("git grep -Opwn x", "unvetted"),
        ("git grep -n x", "plain"),
        ("git rebase --root -x pwn", "unvetted"),
        ("git rebase -i HEAD~2", "plain"),
        ("git diff --output=f", "writes f"),
        ("git diff --ext-diff", "unvetted"),
        ("git bisect run pwn", "unvetted"),
        ("git submodule foreach pwn", "unvetted"),
        ("git clone -u pwn x", "unvetted"),
        ("git clone --depth 1 https://h/x", "plain"),
        ("git config core.pager pwn", "unvetted"),
        ("git config --get user.name", "plain"),
        ("git stash pop", "plain"),
        ("git unknown", "unvetted"),
        ("git --version", "plain"),
        ("git", "plain"),
    ];
    let wrong = rows.iter().filter(|(command, expected)| outcome(command) != *expected);
    let wrong: Vec<_> = wrong.map(|(command, expected)| (command, expected, outcome(command))).collect();
    assert!(wrong.is_empty(), "command, expected, found: {wrong:#?}");
}
