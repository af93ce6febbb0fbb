//! Whether bash would run a command inside a word: `$(…)`, backticks, `<(…)` or `>(…)`.

use super::ast::{Command, Kind, Piece, Pipeline, Redirection, Script, Word};
use super::{Opaque, parse};

/// True if bash would perform a substitution anywhere in the text. Text in single quotes, escaped text, quoted
/// here-documents and `$((1+2))` are not substitutions. The caller must also refuse a text that is [`Opaque`].
pub fn performed(text: &str) -> Result<bool, Opaque> {
    Ok(in_script(&parse(text)?))
}

fn in_script(script: &Script) -> bool {
    script.statements.iter().any(|statement| {
        in_pipeline(&statement.first) || statement.rest.iter().any(|(_, pipeline)| in_pipeline(pipeline))
    })
}

fn in_pipeline(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().any(in_command)
}

fn in_command(command: &Command) -> bool {
    let here = match &command.kind {
        Kind::Simple(simple) => {
            simple.words.iter().any(in_word) || simple.assignments.iter().any(|assignment| in_word(&assignment.value))
        }
        Kind::Subshell(body) | Kind::Group(body) => in_script(body),
        Kind::If(arms, otherwise) => {
            arms.iter().any(|(condition, body)| in_script(condition) || in_script(body))
                || otherwise.as_ref().is_some_and(in_script)
        }
        Kind::Loop { condition, body, .. } => in_script(condition) || in_script(body),
        Kind::For { words, body, .. } => words.iter().flatten().any(in_word) || in_script(body),
        Kind::Case { subject, arms } => {
            in_word(subject) || arms.iter().any(|arm| arm.patterns.iter().any(in_word) || in_script(&arm.body))
        }
        Kind::Function { body, .. } | Kind::Coprocess(body) => in_command(body),
        Kind::Evaluation { words, body, .. } => words.iter().any(in_word) || body.as_ref().is_some_and(in_script),
    };
    here || command.redirections.iter().any(|redirection| match redirection {
        Redirection::File { target, .. } | Redirection::Both { target, .. } => in_word(target),
        Redirection::Text { word, .. } => in_word(word),
        Redirection::Duplicate { .. } => false,
    })
}

fn in_word(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Substitution { .. } | Piece::Process { .. } => true,
        Piece::Other { inner, .. } => inner.iter().any(in_word),
        Piece::Literal(_)
        | Piece::Glob(_)
        | Piece::Tilde(_)
        | Piece::Parameter { .. }
        | Piece::Derived { .. }
        | Piece::Number { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::performed;

    #[test]
    fn it_is_refused_exactly_where_bash_would_substitute() {
        let live = [
            "echo $(ls)",
            "echo `ls`",
            "cat <(ls)",
            "ls > >(cat)",
            "echo \"$(ls)\"",
            "echo \"a `ls` b\"",
            "cat <<E\n$(ls)\nE",
            "cat <<E\n `ls`\nE",
            "echo $((1+$(ls)))",
            "echo $((a[$(ls)]))",
            "echo ${x:-$(ls)}",
            "echo \"${x:-`ls`}\"",
            "echo \"${x:-'$(ls)'}\"",
            "x=$(ls)",
            "for i in $(ls); do :; done",
            "[[ -f $(ls) ]]",
            "((x = $(ls)))",
            "f() { echo $(ls); }",
            "case $(ls) in x) ;; esac",
            "ls > $(pwd)/x",
            "cat <<< \"$(ls)\"",
            "if true; then echo `ls`; fi",
        ];
        for text in live {
            assert_eq!(performed(text), Ok(true), "{text}");
        }
        let literal = [
            "echo '$(ls)'",
            "echo \\$\\(ls\\)",
            "echo \"\\$(ls)\"",
            "echo \"\\`ls\\`\"",
            "cat <<'E'\n$(ls) `x`\nE",
            "cat <<\\E\n$(ls)\nE",
            "echo $((1+2))",
            "echo $((x + 1))",
            "echo ${x:-y}",
            "(ls)",
            "ls | cat < f > g",
            "echo $'$(ls)'",
            "echo a # $(ls)",
            "echo \"it's\" 'a \"b\" `c`'",
        ];
        for text in literal {
            assert_eq!(performed(text), Ok(false), "{text}");
        }
        for text in [
            "a=(<(ls))",
            "x=<(ls)",
            "[[ -f <(ls) ]]",
            "echo ${x:-<(ls)}",
            "echo $(ls",
            "echo `ls",
            "echo \"",
            "cat <(ls",
        ] {
            assert!(performed(text).is_err(), "{text}");
        }
    }
}
