//! The builtin commands of bash: which are harmless, which run their arguments, which change what runs later.

use super::arguments::{Carried, Vetted};
use super::shell::{Piece, Word};

/// They print, test, change the directory or control the script. Nothing else runs because of them.
const PLAIN: &str = "echo pwd true false : cd exit return break continue shift kill wait jobs fg bg disown times type umask \
                     pushd popd dirs help";

/// They set variables, given as assignments.
const SETTERS: &str = "export declare typeset local readonly";

/// Their arguments are names of variables, and they evaluate a subscript in such a name.
const SUBSCRIPTS: &str =
    "export declare typeset local readonly unset read mapfile readarray let test [ printf getopts wait";

/// They change how bash reads or runs later text, so a rule that allows them does not cover their arguments.
const OTHERS: &str = "set shopt unset read mapfile readarray let getopts hash enable complete compgen compopt bind caller history fc \
                      logout suspend ulimit";

/// What the arguments make a builtin do. `None` for a name that is not a builtin.
pub fn vet(name: &str, arguments: &[Word]) -> Option<Vetted> {
    let mut vetted = Vetted::default();
    // A rule covers such a builtin if it names every word.
    let last = arguments.len().saturating_sub(1);
    match name {
        "eval" => match text_of(arguments) {
            Some(text) => vetted.carried.push(Carried::Text(Word::literal(text))),
            None => vetted.opaque("eval runs a text that is known only after bash has expanded it"),
        },
        "source" | "." => vetted.opaque("it runs a file that cannot be judged"),
        "trap" => trap(arguments, &mut vetted),
        "alias" => {
            for word in arguments.iter().filter(|word| word.literal_start().contains('=')) {
                let name = word.literal_start().find('=').unwrap_or_default();
                vetted.carried.push(Carried::Text(super::arguments::tail(word, name + 1)));
            }
            vetted.unvetted(last, "an alias changes what a name runs");
        }
        "command" | "builtin" | "exec" => prefix(name, arguments, &mut vetted),
        "hash" | "enable" if arguments.iter().any(|word| word.literal_start().starts_with('-')) => {
            vetted.opaque("it changes what a name runs");
        }
        "mapfile" | "readarray" | "complete" | "compgen" => {
            callbacks(arguments, &mut vetted);
            vetted.unvetted(last, "a builtin that changes what runs later");
        }
        name if listed(SETTERS, name) => setters(arguments, &mut vetted),
        name if listed(OTHERS, name) => vetted.unvetted(last, "a builtin that changes what runs later"),
        name if listed(PLAIN, name) => {}
        // The table of arguments has entries for these.
        "test" | "[" | "printf" => {}
        _ => return None,
    }
    let subscript = |word: &Word| {
        let text: String = word.pieces.iter().map(visible).collect();
        text.find('[').is_some_and(|open| text[open..].contains(['$', '`']))
    };
    if listed(SUBSCRIPTS, name) && arguments.iter().any(subscript) {
        vetted.opaque("bash evaluates a subscript in a variable's name, which may run a command");
    }
    Some(vetted)
}

/// They touch nothing, so they need no rule. Options of `printf` and `test` that evaluate a name are opaque anyway.
pub fn is_harmless(name: &str) -> bool {
    listed("cd pwd true false : test [ echo printf", name)
}

fn listed(list: &str, name: &str) -> bool {
    list.split(' ').any(|item| item == name)
}

/// The text of a piece that is there before bash expands anything.
fn visible(piece: &Piece) -> &str {
    match piece {
        Piece::Literal(text) | Piece::Glob(text) => text,
        _ => "",
    }
}

/// The words joined by blanks, as `eval` joins them.
fn text_of(words: &[Word]) -> Option<String> {
    words.iter().map(Word::text).collect::<Option<Vec<_>>>().map(|words| words.join(" "))
}

fn trap(arguments: &[Word], vetted: &mut Vetted) {
    let handler = arguments.iter().find(|word| word.text().as_deref() != Some("--"));
    let text = handler.map(Word::text);
    match text {
        None => {}
        Some(Some(text)) if text.is_empty() || text.starts_with('-') || arguments.len() == 1 => {}
        Some(Some(text)) => vetted.carried.push(Carried::Text(Word::literal(text))),
        Some(None) => vetted.opaque("a trap runs a text that is known only after bash has expanded it"),
    }
}

/// `command ls`, `exec ls`, `builtin eval x`. `command -v` runs nothing.
fn prefix(name: &str, arguments: &[Word], vetted: &mut Vetted) {
    let mut at = 0;
    while let Some(text) = arguments.get(at).and_then(Word::text).filter(|text| text.starts_with('-')) {
        match (name, text.as_str()) {
            ("command", "-v" | "-V") => return,
            ("command", "-p") | ("exec", "-c" | "-l") | (_, "--") => at += 1,
            ("exec", "-a") => at += 2,
            _ => {
                vetted.unvetted(at, format!("its option {text} is not among the vetted ones"));
                at += 1;
            }
        }
    }
    if at < arguments.len() {
        vetted.carried.push(Carried::Words(arguments[at..].to_vec()));
    }
}

/// `mapfile -C CALLBACK`, `complete -C COMMAND`, `complete -F FUNCTION`.
fn callbacks(arguments: &[Word], vetted: &mut Vetted) {
    for (at, word) in arguments.iter().enumerate() {
        let start = word.literal_start();
        if start.starts_with("-C") || start.starts_with("-F") {
            let glued = start.len() > 2;
            let value = if glued { Some(super::arguments::tail(word, 2)) } else { arguments.get(at + 1).cloned() };
            vetted.carried.extend(value.map(Carried::Text));
        }
    }
}

fn setters(arguments: &[Word], vetted: &mut Vetted) {
    for (at, word) in arguments.iter().enumerate() {
        let start = word.literal_start();
        match start.split_once('=') {
            Some((name, _)) => {
                let value = super::arguments::tail(word, name.len() + 1);
                vetted.assignments.push((name.trim_end_matches('+').to_owned(), value));
            }
            // -n makes one name refer to another variable, -f exports a function.
            None if start.starts_with('-') && start != "-p" => vetted.unvetted(at, "it changes what a name means"),
            None if start.is_empty() => {
                vetted.unvetted(at, "it sets a variable whose name is known only after bash has expanded it");
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_one_place() {
        for name in
            ["echo", "cd", "export", "eval", "source", ".", "trap", "exec", "command", "set", "read", "let", "["]
        {
            assert!(vet(name, &[]).is_some(), "{name}");
        }
        for name in ["ls", "git", "sleep"] {
            assert!(vet(name, &[]).is_none(), "{name}");
        }
    }
}
