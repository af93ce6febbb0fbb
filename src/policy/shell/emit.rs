//! The picture → shell text. Bash reads it in one way only: every literal is quoted unless it is plainly harmless, every
//! expansion stands in its own braces, here-documents become here-strings.

use std::fmt::Write;

use super::ast::{Access, Command, Kind, Link, Piece, Pipeline, Redirection, Script, Simple, Statement, Word};

/// What cannot be written out in a form that is sure to be read as it was judged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Unwritable(pub String);

/// Words with a meaning of their own where a command may start.
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

/// As [`script`], ready for a word like `then` or `done` to follow.
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
                write!(text, "( {patterns} ) {} {} ", script(&arm.body)?, arm.ending).unwrap_or_default();
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
        // In front, even a harmless-looking word may be a keyword or an assignment.
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
            // The blank keeps `<` and a process substitution apart.
            format!("{}{operator} {}", number(fd), word(target)?)
        }
        Redirection::Both { append, target } => format!("{} {}", if *append { "&>>" } else { "&>" }, word(target)?),
        Redirection::Duplicate { fd, input, source } => {
            format!("{}{}{source}", number(fd), if *input { "<&" } else { ">&" })
        }
        Redirection::Text { fd, word } => format!("{}<<< {}", number(fd), value(word)?),
    })
}

/// A word that is not split, where an empty one still has to be written.
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
            Piece::Literal(literal) if literal.is_empty() && !alone => String::new(),
            Piece::Literal(literal) => match literal.strip_prefix('/').filter(|_| after_tilde(word, index)) {
                // A tilde is only one if the slash behind it is not quoted.
                Some("") => "/".to_owned(),
                Some(rest) => format!("/{}", literal_text(rest)),
                None => literal_text(literal),
            },
            Piece::Glob(pattern) => pattern.clone(),
            Piece::Tilde(user) => format!("~{user}"),
            Piece::Parameter { name, quoted } => quoted_if(*quoted, format!("${{{name}}}")),
            Piece::Number { text, quoted } => quoted_if(*quoted, format!("$(( {text} ))")),
            Piece::Substitution { script, quoted } => quoted_if(*quoted, format!("$( {} )", self::script(script)?)),
            Piece::Process { script, output } => {
                format!("{}( {} )", if *output { ">" } else { "<" }, self::script(script)?)
            }
            Piece::Other { text, .. } => return Err(Unwritable(format!("it uses {text}"))),
        };
        text.push_str(&part);
    }
    // A word of nothing but quoted emptiness.
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

/// As it is where nothing in it means anything to bash, else in single quotes.
fn literal_text(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte);
    // A `~` is never plain, so `=~` and `:~` are safe; digits in front of a redirection are kept apart by a blank.
    if !text.is_empty() && text.bytes().all(plain) { text.to_owned() } else { quote(text) }
}

/// Single quotes, in which bash leaves everything alone; controls by their number, so that they can be seen.
pub fn quote(text: &str) -> String {
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(control) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let escaped = text.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if control(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}
