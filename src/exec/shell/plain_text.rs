//! Texts that cannot change what their shell would report: they only call programs. Writing the report, reading it and
//! comparing it take a good part of a short command's time, so the shell leaves it out for them.
//!
//! This does not parse shell text. It goes through the characters and says yes only where nothing can be meant but words,
//! quotes, pipes and lists of commands. Everything else gets a report, as does a text that calls a builtin.

use super::ShellState;

/// What bash runs itself. None of these starts a plain command, except for [`HARMLESS`].
const OF_THE_SHELL: &str = ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo \
     enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf \
     pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit \
     umask unalias unset wait \
     ! [[ ]] case coproc do done elif else esac fi for function if in select then time until while { }";
/// They set no variable and stay in their directory, whatever their arguments are.
const HARMLESS: &str = ": echo exit false kill pwd test true type";

/// Whether a shell that starts with this state and runs this text ends with the same directory and variables.
pub fn is_plain(text: &str, state: &ShellState) -> bool {
    // A function in the environment can have the name of a program.
    let has_functions = state.environment.iter().any(|(name, _)| name.as_encoded_bytes().starts_with(b"BASH_FUNC_"));
    !has_functions && calls_only_programs(text.as_bytes())
}

fn calls_only_programs(text: &[u8]) -> bool {
    let mut rest = text;
    // The name of the command, until a blank ends it. `None` behind it.
    let mut name: Option<Vec<u8>> = Some(Vec::new());
    let mut before = b' ';
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match (first, &mut name) {
            // As in `2>&1`.
            (b'&', None) if matches!(before, b'>' | b'<') => {}
            (b'\n' | b';' | b'|' | b'&', _) => {
                if !name.take().is_none_or(|name| may_be_called(&name)) {
                    return false;
                }
                name = Some(Vec::new());
            }
            (b' ' | b'\t', Some(called)) if called.is_empty() => {}
            (b' ' | b'\t', Some(called)) => {
                if !may_be_called(called) {
                    return false;
                }
                name = None;
            }
            (byte, Some(called)) if is_plain_byte(*byte) => called.push(*byte),
            (b'\'' | b'"', None) => match quoted(*first, behind) {
                Some(behind) => rest = behind,
                None => return false,
            },
            // A second `<` would begin a text of its own.
            (b'<', None) if before != b'<' => {}
            (b' ' | b'\t' | b'>' | b'*' | b'?' | b'[' | b']' | b'=' | b'~' | b'^', None) => {}
            (byte, None) if is_plain_byte(*byte) => {}
            // Quotes, patterns and redirections in a name could make any other name of it.
            _ => return false,
        }
        before = *first;
    }
    name.is_none_or(|name| may_be_called(&name))
}

/// What is behind the closing quote, if nothing is expanded before it.
fn quoted(quote: u8, text: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(quote, text)?;
    let expands = |byte: &u8| matches!(byte, b'$' | b'`' | b'\\' | b'!');
    (quote == b'\'' || !text[..end].iter().any(expands)).then(|| &text[end + 1..])
}

/// These mean nothing to a shell, wherever they are.
fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,@%+".contains(&byte)
}

fn may_be_called(name: &[u8]) -> bool {
    let listed = |list: &str| list.split_ascii_whitespace().any(|item| item.as_bytes() == name);
    listed(HARMLESS) || !listed(OF_THE_SHELL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> bool {
        is_plain(text, &ShellState { cwd: "/".into(), environment: Vec::new() })
    }

    #[test]
    fn programs_are_plain() {
        for text in [
            "",
            "true",
            "ls -la /tmp",
            "git log --format='%H $x' -n 3 | head -2",
            "cargo test --all 2>&1 | tail -20; echo done",
            "grep -rn \"a b\" src/*.rs && ./run <in >>out || exit 3",
            "sleep 1 & sleep 2 &\nenv A=1 make",
            "test -f x && test -d y",
        ] {
            assert!(plain(text), "{text}");
        }
    }

    #[test]
    fn what_may_change_the_shell_is_not() {
        for text in [
            "cd /tmp",
            "ls; cd /tmp",
            "ls\ncd /tmp",
            "ls&&cd /tmp",
            "ls & cd /tmp",
            "ls |cd /tmp",
            "c'd' /tmp",
            "c\\d /tmp",
            "A=1",
            "A=1 B=2",
            "export A=1",
            ">x cd /tmp",
            ">x A=1",
            "{ cd /tmp; }",
            "(cd /tmp)",
            "! cd /tmp",
            "time cd /tmp",
            "if true; then cd /tmp; fi",
            "$x",
            "echo ${A:=1}",
            "echo $((A=1))",
            "echo \"${A:=1}\"",
            "echo `cd /`",
            "cat <<E\nit's\nE\ncd /tmp",
            "ls # it's\ncd /tmp",
            "ls \\\ncd /tmp",
            "f() { cd /tmp; }; f",
            "printf -v PATH x",
            "wait -p PATH",
            "exec 3<x",
            "echo 'a",
            "ls\u{a0}cd",
            "ls &>x",
            "cat <(cd /)",
            "[ -f x ]",
        ] {
            assert!(!plain(text), "{text}");
        }
        let functions =
            ShellState { cwd: "/".into(), environment: vec![("BASH_FUNC_ls%%".into(), "() { cd /; }".into())] };
        assert!(!is_plain("ls", &functions));
    }

    #[test]
    fn the_shell_runs_nothing_else_itself() {
        let bash = std::process::Command::new("bash").args(["-c", "compgen -b; compgen -k"]).output().unwrap();
        let names = String::from_utf8(bash.stdout).unwrap();
        assert!(names.lines().count() > 60, "{names}");
        for name in names.lines() {
            assert!(OF_THE_SHELL.split_ascii_whitespace().any(|known| known == name), "{name}");
        }
    }

    proptest::proptest! {
        /// A real bash ends a plain text as it began it.
        #[test]
        fn bash_agrees(parts in proptest::collection::vec(
            proptest::sample::select(vec!["true ", "true ", "ls ", "x ", "true", "cd", "/", "A=1", "export", "A", "\n", ";", "|", "&&", "&", "'", "\"", " ", "<", ">", "x",
                "$", "{", "}", "(", ")", "=", "\\", "#", "!", "if", "then", "fi", "read", "<<E", "E", "unset", "-v", "printf", "eval", "."]), 1..12)
        ) {
            let text: String = parts.concat();
            if plain(&text) {
                let end = "trap 'printf \"\\0%s\\0%s\\0\" \"$PWD\" \"$(export -p)\" >&7' EXIT; eval \"$0\"";
                let directory = tempfile::tempdir().unwrap();
                let run = |text: &str| {
                    let report = directory.path().join("report");
                    let script = format!("exec 7>{}; {end}", report.display());
                    let _ = std::process::Command::new("bash")
                        .args(["-c", &script, text])
                        .current_dir(directory.path())
                        .stdin(std::process::Stdio::null())
                        .output()
                        .unwrap();
                    std::fs::read(report).unwrap()
                };
                proptest::prop_assert_eq!(run(":"), run(&text), "{}", text);
            }
        }
    }
}
