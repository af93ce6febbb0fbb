//! Which scripts of sed and awk are harmless: those that run no command. awk can write files whose names are in its
//! program.

use super::awk;
use super::usage::Language;

/// The files that the script writes. `None` if it may run a command, or write a file whose name is not known.
pub fn written_files(language: Language, script: &str) -> Option<Vec<String>> {
    match language {
        Language::Sed => sed(script).map(|()| Vec::new()),
        Language::Awk => awk::written_files(script),
    }
}

/// Goes through the commands of a script. `None` if one of them is not known to be harmless.
fn sed(script: &str) -> Option<()> {
    let mut rest = script.trim_start_matches([' ', '\t', '\n', ';', '}']);
    while !rest.is_empty() {
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, next)| next);
        } else {
            rest = sed_address(rest)?.trim_start_matches([' ', '\t']);
            rest = sed_command(rest)?;
        }
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}']);
    }
    Some(())
}

/// Skips the addresses of a command: lines, `$`, `/regex/`, steps and ranges.
fn sed_address(mut rest: &str) -> Option<&str> {
    loop {
        let first = rest.chars().next()?;
        rest = match first {
            '0'..='9' | '$' | ',' | '~' | '+' | ' ' | '!' => &rest[1..],
            '/' => sed_delimited(&rest[1..], '/')?.trim_start_matches(['I', 'M']),
            '\\' => {
                let delimiter = rest[1..].chars().next()?;
                sed_delimited(&rest[1 + delimiter.len_utf8()..], delimiter)?
            }
            _ => return Some(rest),
        };
    }
}

/// Skips one harmless command and returns the rest.
fn sed_command(rest: &str) -> Option<&str> {
    let command = rest.chars().next()?;
    let after = &rest[command.len_utf8()..];
    match command {
        'p' | 'd' | 'P' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | '{' | 'l' | 'z' => Some(after),
        'q' | 'Q' => Some(after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
        'a' | 'i' | 'c' => {
            // The text ends with the line, unless a backslash continues it. Versions of sed disagree about more than one
            // backslash there. At the end of the script, the text would go on in the next `-e`.
            let mut rest = after;
            loop {
                let (line, next) = rest.split_once('\n').map_or((rest, None), |(line, next)| (line, Some(next)));
                let backslashes = line.len() - line.trim_end_matches('\\').len();
                match (backslashes, next) {
                    (0, next) => return Some(next.unwrap_or_default()),
                    (1, Some(next)) => rest = next,
                    _ => return None,
                }
            }
        }
        ':' | 'b' | 't' | 'T' => {
            let label = |c: char| c.is_ascii_alphanumeric() || c == '_';
            Some(after.trim_start_matches([' ', '\t']).trim_start_matches(label))
        }
        's' | 'y' => {
            let delimiter = after.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\' && *c != '\n')?;
            let pattern = sed_delimited(&after[delimiter.len_utf8()..], delimiter)?;
            let rest = sed_delimited(pattern, delimiter)?;
            // Not `e`, which runs the result, nor `w`, which writes a file.
            let flags = if command == 's' { "gpiIm0123456789" } else { "" };
            let rest = rest.trim_start_matches(|c| flags.contains(c));
            (rest.is_empty() || rest.starts_with([';', '\n', ' ', '\t', '}'])).then_some(rest)
        }
        _ => None,
    }
}

/// Skips the next delimiter that is not escaped by a backslash.
fn sed_delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    let mut set = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == delimiter && !set => return Some(&text[at + c.len_utf8()..]),
            // Versions of sed disagree about a delimiter in a set such as `[/]`, so such a script is not harmless.
            c if c == delimiter => return None,
            '[' => set = true,
            ']' => set = false,
            _ => {}
        }
    }
    None
}
