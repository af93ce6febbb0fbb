//! Writes a tree out as shell text that bash can read in only one way. Every literal is quoted unless none of its
//! characters is special, every parameter is in braces, and here-documents become here-strings.

use std::fmt::Write;

use super::ast::{Access, CaseEnd, Command, Kind, Link, Piece, Pipeline, Redirection, Script, Simple, Statement, Word};
use crate::base::invisible::is_control;

/// Why a tree cannot be written out so that bash is certain to read it as it was judged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Unwritable(pub String);

/// Words that are special to bash where a command may start.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while",
];

pub fn script(script: &Script) -> Result<String, Unwritable> {
    let mut text = String::new();
    for (index, statement) in script.statements.iter().enumerate() {
        if index > 0 {
            text.push_str(if script.statements[index - 1].background { " & " } else { "; " });
        }
        text.push_str(&self::statement(statement)?);
    }
    if script.statements.last().is_some_and(|last| last.background) {
        text.push_str(" &");
    }
    Ok(text)
}

/// As [`script`], but a word like `then` or `done` can follow.
fn block(script: &Script) -> Result<String, Unwritable> {
    let text = self::script(script)?;
    let ended = script.statements.last().is_some_and(|last| last.background);
    Ok(if ended { format!("{text} ") } else { format!("{text}; ") })
}

fn statement(statement: &Statement) -> Result<String, Unwritable> {
    let mut text = pipeline(&statement.first)?;
    for (link, next) in &statement.rest {
        text.push_str(match link {
            Link::And => " && ",
            Link::Or => " || ",
        });
        text.push_str(&pipeline(next)?);
    }
    Ok(text)
}

fn pipeline(pipeline: &Pipeline) -> Result<String, Unwritable> {
    let commands = pipeline.commands.iter().map(command).collect::<Result<Vec<_>, _>>()?.join(" | ");
    let timed = if pipeline.timed { "time " } else { "" };
    let negated = if pipeline.negated { "! " } else { "" };
    Ok(format!("{timed}{negated}{commands}"))
}

fn command(command: &Command) -> Result<String, Unwritable> {
    let mut text = match &command.kind {
        Kind::Simple(simple) => self::simple(simple)?,
        Kind::Subshell(body) => format!("( {} )", script(body)?),
        Kind::Group(body) => format!("{{ {}}}", block(body)?),
        Kind::If(arms, otherwise) => {
            let mut text = String::new();
            for (index, (condition, body)) in arms.iter().enumerate() {
                let word = if index == 0 { "if" } else { "elif" };
                write!(text, "{word} {}then {}", block(condition)?, block(body)?).unwrap_or_default();
            }
            if let Some(body) = otherwise {
                write!(text, "else {}", block(body)?).unwrap_or_default();
            }
            text + "fi"
        }
        Kind::Loop { until, condition, body } => {
            let word = if *until { "until" } else { "while" };
            format!("{word} {}do {}done", block(condition)?, block(body)?)
        }
        Kind::For { name, words, body } => {
            let words = match words {
                Some(list) => format!(" in {}", list.iter().map(word).collect::<Result<Vec<_>, _>>()?.join(" ")),
                None => String::new(),
            };
            format!("for {name}{words}; do {}done", block(body)?)
        }
        Kind::Case { subject, arms } => {
            let mut text = format!("case {} in ", word(subject)?);
            for arm in arms {
                let patterns = arm.patterns.iter().map(word).collect::<Result<Vec<_>, _>>()?.join(" | ");
                let end = match arm.end {
                    CaseEnd::Leave => ";;",
                    CaseEnd::RunNext => ";&",
                    CaseEnd::TestNext => ";;&",
                };
                write!(text, "( {patterns} ) {} {end} ", script(&arm.body)?).unwrap_or_default();
            }
            text + "esac"
        }
        Kind::Function { .. } => return Err(Unwritable("it defines a function".to_owned())),
        Kind::Coprocess(_) => return Err(Unwritable("it starts a coprocess".to_owned())),
        Kind::Evaluation { .. } => return Err(Unwritable("it uses [[ … ]] or ((…)); use [ … ]".to_owned())),
    };
    for redirection in &command.redirections {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&self::redirection(redirection)?);
    }
    Ok(text)
}

fn simple(simple: &Simple) -> Result<String, Unwritable> {
    let mut parts = Vec::new();
    for assignment in &simple.assignments {
        let operator = if assignment.append { "+=" } else { "=" };
        parts.push(format!("{}{operator}{}", assignment.name, value(&assignment.value)?));
    }
    for (index, argument) in simple.words.iter().enumerate() {
        let plain = word(argument)?;
        // The first word may look harmless and still be a keyword or an assignment.
        let risky = index == 0 && (RESERVED.contains(&plain.as_str()) || plain.contains('='));
        parts.push(match argument.text().filter(|_| risky) {
            Some(text) => quote(&text),
            None => plain,
        });
    }
    Ok(parts.join(" "))
}

fn redirection(redirection: &Redirection) -> Result<String, Unwritable> {
    let number = |fd: &Option<i32>| fd.map(|fd| fd.to_string()).unwrap_or_default();
    Ok(match redirection {
        Redirection::File { fd, access, target } => {
            let operator = match access {
                Access::Read => "<",
                Access::Write => ">",
                Access::Append => ">>",
                Access::ReadWrite => "<>",
                Access::Clobber => ">|",
            };
            // The blank separates `<` from a process substitution.
            format!("{}{operator} {}", number(fd), word(target)?)
        }
        Redirection::Both { append, target } => format!("{} {}", if *append { "&>>" } else { "&>" }, word(target)?),
        Redirection::Duplicate { fd, input, source } => {
            format!("{}{}{source}", number(fd), if *input { "<&" } else { ">&" })
        }
        Redirection::Text { fd, word } => format!("{}<<< {}", number(fd), value(word)?),
    })
}

/// A word that bash does not split. Even an empty one is written out.
fn value(value: &Word) -> Result<String, Unwritable> {
    let text = word(value)?;
    Ok(if text.is_empty() { "''".to_owned() } else { text })
}

/// One word.
pub fn word(word: &Word) -> Result<String, Unwritable> {
    let mut text = String::new();
    for (index, piece) in word.pieces.iter().enumerate() {
        let alone = word.pieces.len() == 1;
        let part = match piece {
            Piece::Literal(text) if text.is_empty() && !alone => String::new(),
            Piece::Literal(text) => match text.strip_prefix('/').filter(|_| after_tilde(word, index)) {
                // Bash expands a tilde only if the slash behind it is not quoted.
                Some("") => "/".to_owned(),
                Some(rest) => format!("/{}", literal(rest)),
                None => literal(text),
            },
            Piece::Glob(pattern) => pattern.clone(),
            Piece::Tilde(user) => format!("~{user}"),
            Piece::Parameter { name, quoted } => quoted_if(*quoted, format!("${{{name}}}")),
            Piece::Derived { inside, quoted } => quoted_if(*quoted, format!("${{{inside}}}")),
            Piece::Number { text, quoted } => quoted_if(*quoted, format!("$(( {text} ))")),
            Piece::Substitution { script, quoted } => quoted_if(*quoted, format!("$( {} )", self::script(script)?)),
            Piece::Process { script, output } => {
                format!("{}( {} )", if *output { ">" } else { "<" }, self::script(script)?)
            }
            Piece::Other { text, .. } => return Err(Unwritable(format!("it uses {text}"))),
        };
        text.push_str(&part);
    }
    // The word consists of empty quotes only.
    let empty = |piece: &Piece| matches!(piece, Piece::Literal(literal) if literal.is_empty());
    if text.is_empty() && word.pieces.iter().any(empty) {
        text.push_str("''");
    }
    Ok(text)
}

fn quoted_if(quoted: bool, text: String) -> String {
    if quoted { format!("\"{text}\"") } else { text }
}

fn after_tilde(word: &Word, index: usize) -> bool {
    index == 1 && matches!(word.pieces[0], Piece::Tilde(_))
}

/// Unchanged if no character is special to bash, otherwise in quotes.
fn literal(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte);
    // `~` is quoted, so `=~` and `:~` are not expanded. A blank separates digits from a redirection that follows.
    if !text.is_empty() && text.bytes().all(plain) { text.to_owned() } else { quote(text) }
}

/// In single quotes, where bash expands nothing. Control characters are written as `\uXXXX`, so that people can see them.
/// Invisible characters beyond ASCII stay as they are: whether bash can decode `\uXXXX` for them depends on the locale.
pub fn quote(text: &str) -> String {
    if !text.contains(is_control) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let escaped = text.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_control(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}
