//! Which programs in awk are harmless. The text is split into tokens, because a `>` means a comparison in one place and a
//! file that is written in another.

/// The files that the program writes with `print > "file"`. `None` if it may run a command or read more code, or if the
/// name of a file is not a plain text.
pub fn written_files(program: &str) -> Option<Vec<String>> {
    let words = ["system", "getline", "close", "fflush", "@"];
    if words.iter().any(|word| program.contains(word)) || program.replace("||", "").contains('|') {
        return None;
    }
    if !program.contains('>') {
        return Some(Vec::new());
    }
    let tokens = tokens(program)?;
    let mut files = Vec::new();
    let mut depth = 0_usize;
    // How many parentheses are open at the `print` of this statement. Inside more of them, `>` compares.
    let mut printing: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth = depth.saturating_sub(1),
            Token::Mark(';' | '{' | '}') => printing = None,
            Token::Newline if at.checked_sub(1).is_some_and(|before| tokens[before].ends_statement()) => {
                printing = None;
            }
            Token::Word(word) if word == "print" || word == "printf" => printing = Some(depth),
            // The second half of `>>`.
            Token::Mark('>') if at > 0 && tokens[at - 1] == Token::Mark('>') => {}
            Token::Mark('>') if printing.is_some_and(|outside| depth <= outside) => {
                let mut behind = tokens[at..].iter().skip_while(|token| **token == Token::Mark('>'));
                let (target, behind) = (behind.next(), behind.next());
                let ends = matches!(behind, None | Some(Token::Newline | Token::Mark(';' | '}')));
                match target {
                    Some(Token::Text(name)) if ends && !name.contains('\\') => files.push(name.clone()),
                    _ => return None,
                }
            }
            _ => {}
        }
    }
    Some(files)
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Token {
    Word(String),
    /// The inside of a string.
    Text(String),
    Regex,
    Newline,
    Mark(char),
}

impl Token {
    /// Whether a newline behind it ends the statement. Behind a comma or an operator, the statement goes on.
    fn ends_statement(&self) -> bool {
        matches!(
            self,
            Self::Word(_) | Self::Text(_) | Self::Regex | Self::Newline | Self::Mark(')' | ']' | ';' | '{' | '}')
        )
    }
}

/// Behind these words, a `/` begins a regular expression.
const KEYWORDS: [&str; 7] = ["print", "printf", "return", "in", "case", "else", "do"];

/// `None` if it cannot be told whether a `/` divides or begins a regular expression, or if something is not closed.
fn tokens(program: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        rest = match c {
            '\n' => {
                tokens.push(Token::Newline);
                behind
            }
            c if c.is_whitespace() => behind,
            '#' => behind.find('\n').map_or("", |end| &behind[end..]),
            '"' => {
                let end = closing(behind, '"')?;
                tokens.push(Token::Text(behind[..end].to_owned()));
                &behind[end + 1..]
            }
            '/' => match tokens.last() {
                Some(Token::Word(word)) if !KEYWORDS.contains(&word.as_str()) => {
                    tokens.push(Token::Mark('/'));
                    behind
                }
                Some(Token::Text(_) | Token::Mark(']')) => {
                    tokens.push(Token::Mark('/'));
                    behind
                }
                // `a++ / b` and `(a) / b` divide, `a + /b/` and `if (a) /b/` do not.
                Some(Token::Mark('+' | '-' | ')' | '$') | Token::Regex) => return None,
                _ => {
                    tokens.push(Token::Regex);
                    &behind[closing(behind, '/')? + 1..]
                }
            },
            c if c.is_alphanumeric() || c == '_' || c == '.' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                &rest[end..]
            }
            c => {
                tokens.push(Token::Mark(c));
                behind
            }
        };
    }
    Some(tokens)
}

/// Where the text is closed by a character that no backslash escapes, on the same line.
fn closing(text: &str, end: char) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\n' => return None,
            // Versions of awk disagree about a slash in a set such as `[/]`.
            '[' if end == '/' => return None,
            c if c == end => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::written_files;

    #[test]
    fn written_files_are_found_and_comparisons_are_not_files() {
        let rows: &[(&str, Option<&[&str]>)] = &[
            ("{print $1}", Some(&[])),
            ("$3 > 100 {print $1}", Some(&[])),
            ("{ if (a > b) print a }", Some(&[])),
            ("{ print (a > b) }", Some(&[])),
            ("/x/ { n++ } END { print n }", Some(&[])),
            ("{ print > \"f\" }", Some(&["f"])),
            ("{ print \"x;\" > \"f\" }", Some(&["f"])),
            ("{ print \"}\" >> \"f\"; print $2 > \"g\" }", Some(&["f", "g"])),
            ("{ print $1,\n $2 > \"f\" }", Some(&["f"])),
            ("{ print(a)(b) > \"f\" }", Some(&["f"])),
            ("{ if (x) print > \"f\" }", Some(&["f"])),
            ("BEGIN { x = 1 > 0; print x }", Some(&[])),
            ("{ print > $1 }", None),
            ("{ print > \"f\" x }", None),
            ("{ print > \"\\057etc/x\" }", None),
            ("{ a++ / 2; print \"x\" > \"f\"; b / 2 }", None),
            ("{ x = a / 2; print \"x\" > \"f\"; y = b / 2 }", Some(&["f"])),
            ("{ print a \\\n > \"f\" }", Some(&["f"])),
            ("{ if (x) /\"/; print \"y\" > \"f\" }", None),
            ("/[/]/ { print > \"f\" }", None),
            ("BEGIN{system(\"pwn\")}", None),
            ("{print | \"pwn\"}", None),
            ("\"date\" | getline x", None),
        ];
        for (program, expected) in rows {
            let expected = expected.map(|files| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>());
            assert_eq!(written_files(program), expected, "{program}");
        }
    }
}
