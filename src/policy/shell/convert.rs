//! The parser's tree → ours, kind by kind: what is not named here is opaque.

use brush_parser::ast as brush;
use brush_parser::{Parser, ParserOptions, SourceSpan};

use super::ast::{
    Access, Arm, Assignment, Command, Kind, Link, Piece, Pipeline, Redirection, Script, Simple, Statement, Word,
};
use super::{Opaque, braces, word};

/// Substitutions within substitutions.
const DEEPEST: usize = 8;

/// Parses and takes over a text. Runs on the worker's thread, which bears the parser's recursion.
pub fn script(text: &str, depth: usize) -> Result<Script, Opaque> {
    if depth > DEEPEST {
        return Err(Opaque::hostile("substitutions are nested too deeply"));
    }
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let program = Parser::new(text.as_bytes(), &options)
        .parse_program()
        .map_err(|error| Opaque::new(format!("it does not parse as bash: {error}")))?;
    let converter = Converter { text, depth };
    let mut statements = Vec::new();
    for list in &program.complete_commands {
        statements.extend(converter.script(list)?.statements);
    }
    Ok(Script { statements })
}

struct Converter<'a> {
    text: &'a str,
    depth: usize,
}

impl Converter<'_> {
    fn script(&self, list: &brush::CompoundList) -> Result<Script, Opaque> {
        let statements = list.0.iter().map(|item| self.statement(item)).collect::<Result<_, _>>()?;
        Ok(Script { statements })
    }

    fn statement(&self, item: &brush::CompoundListItem) -> Result<Statement, Opaque> {
        let brush::CompoundListItem(list, separator) = item;
        let rest = list.additional.iter().map(|next| match next {
            brush::AndOr::And(pipeline) => Ok((Link::And, self.pipeline(pipeline)?)),
            brush::AndOr::Or(pipeline) => Ok((Link::Or, self.pipeline(pipeline)?)),
        });
        Ok(Statement {
            first: self.pipeline(&list.first)?,
            rest: rest.collect::<Result<_, Opaque>>()?,
            background: matches!(separator, brush::SeparatorOperator::Async),
        })
    }

    fn pipeline(&self, pipeline: &brush::Pipeline) -> Result<Pipeline, Opaque> {
        Ok(Pipeline {
            negated: pipeline.bang,
            timed: pipeline.timed.is_some(),
            commands: pipeline.seq.iter().map(|command| self.command(command)).collect::<Result<_, _>>()?,
        })
    }

    fn command(&self, command: &brush::Command) -> Result<Command, Opaque> {
        let (kind, redirections) = match command {
            brush::Command::Simple(simple) => return self.simple(simple),
            brush::Command::Compound(compound, redirections) => (self.compound(compound)?, redirections.as_ref()),
            brush::Command::Function(function) => {
                let brush::FunctionBody(body, redirections) = &function.body;
                let redirections = self.redirections(redirections.as_ref())?;
                let body = Box::new(Command { kind: self.compound(body)?, redirections });
                (Kind::Function { name: self.word(&function.fname)?, body }, None)
            }
            brush::Command::ExtendedTest(test, redirections) => (self.test(&test.expr)?, redirections.as_ref()),
        };
        Ok(Command { kind, redirections: self.redirections(redirections)? })
    }

    fn compound(&self, compound: &brush::CompoundCommand) -> Result<Kind, Opaque> {
        use brush::CompoundCommand as Compound;
        Ok(match compound {
            Compound::Subshell(subshell) => {
                // Bash tries arithmetic first where two parentheses touch, and reads a here-document in it differently.
                if self.source(&subshell.loc).starts_with("((") {
                    return Err(Opaque::new("`((` is neither clearly arithmetic nor clearly a command; write `( (`"));
                }
                Kind::Subshell(self.script(&subshell.list)?)
            }
            Compound::BraceGroup(group) => Kind::Group(self.script(&group.list)?),
            Compound::IfClause(clause) => {
                let mut arms = vec![(self.script(&clause.condition)?, self.script(&clause.then)?)];
                let mut otherwise = None;
                for branch in clause.elses.iter().flatten() {
                    let body = self.script(&branch.body)?;
                    match &branch.condition {
                        Some(condition) => arms.push((self.script(condition)?, body)),
                        None => otherwise = Some(body),
                    }
                }
                Kind::If(arms, otherwise)
            }
            Compound::WhileClause(clause) => self.repeat(false, clause)?,
            Compound::UntilClause(clause) => self.repeat(true, clause)?,
            Compound::ForClause(clause) => Kind::For {
                name: clause.variable_name.clone(),
                words: clause.values.as_ref().map(|words| self.words(words)).transpose()?,
                body: self.script(&clause.body.list)?,
            },
            Compound::CaseClause(clause) => Kind::Case {
                subject: self.word(&clause.value)?,
                arms: clause.cases.iter().map(|case| self.arm(case)).collect::<Result<_, _>>()?,
            },
            Compound::Coprocess(coprocess) => Kind::Coprocess(Box::new(self.command(&coprocess.body)?)),
            Compound::Arithmetic(arithmetic) => {
                let written = self.source(&arithmetic.loc);
                // `( ( x ) )` is two subshells to bash, and a here-document may hide behind `((<<`.
                let sure = written.starts_with("((")
                    && written.ends_with("))")
                    && !written.contains(['\n', ';', '<', '\'', '"', '#']);
                if !sure {
                    return Err(Opaque::new("`((` is neither clearly arithmetic nor clearly a command"));
                }
                self.evaluation([&arithmetic.expr], None)?
            }
            Compound::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                self.evaluation(parts.into_iter().flatten(), Some(self.script(&clause.body.list)?))?
            }
        })
    }

    /// The text of a node, lines joined; the parser counts characters.
    fn source(&self, span: &SourceSpan) -> String {
        let (from, to) = (span.start.index, span.end.index);
        let text: String = self.text.chars().skip(from).take(to.saturating_sub(from)).collect();
        text.replace("\\\n", "").trim().to_owned()
    }

    fn repeat(&self, until: bool, clause: &brush::WhileOrUntilClauseCommand) -> Result<Kind, Opaque> {
        Ok(Kind::Loop { until, condition: self.script(&clause.0)?, body: self.script(&clause.1.list)? })
    }

    fn arm(&self, case: &brush::CaseItem) -> Result<Arm, Opaque> {
        Ok(Arm {
            patterns: case.patterns.iter().map(|pattern| self.word(pattern)).collect::<Result<_, _>>()?,
            body: case.cmd.as_ref().map(|body| self.script(body)).transpose()?.unwrap_or_default(),
            ending: match case.post_action {
                brush::CaseItemPostAction::ExitCase => ";;",
                brush::CaseItemPostAction::UnconditionallyExecuteNextCaseItem => ";&",
                brush::CaseItemPostAction::ContinueEvaluatingCases => ";;&",
            },
        })
    }

    fn evaluation<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e brush::UnexpandedArithmeticExpr>,
        body: Option<Script>,
    ) -> Result<Kind, Opaque> {
        let words = expressions.into_iter().map(|expression| word::parse_quoted(&expression.value, self.depth));
        Ok(Kind::Evaluation { words: words.collect::<Result<_, _>>()?, evaluates: true, body })
    }

    fn test(&self, test: &brush::ExtendedTestExpr) -> Result<Kind, Opaque> {
        let mut words = Vec::new();
        let evaluates = self.operands(test, &mut words)?;
        Ok(Kind::Evaluation { words, evaluates, body: None })
    }

    /// Collects what `[[ … ]]` expands; true if a part of it is arithmetic or asks about a variable.
    fn operands(&self, test: &brush::ExtendedTestExpr, words: &mut Vec<Word>) -> Result<bool, Opaque> {
        use brush::{BinaryPredicate as Binary, ExtendedTestExpr as Test, UnaryPredicate as Unary};
        Ok(match test {
            Test::And(left, right) | Test::Or(left, right) => {
                let left = self.operands(left, words)?;
                self.operands(right, words)? || left
            }
            Test::Not(inner) | Test::Parenthesized(inner) => self.operands(inner, words)?,
            Test::UnaryTest(predicate, operand) => {
                words.push(self.any_word(operand)?);
                matches!(predicate, Unary::ShellVariableIsSetAndAssigned | Unary::ShellVariableIsSetAndNameRef)
            }
            Test::BinaryTest(predicate, left, right) => {
                words.push(self.any_word(left)?);
                words.push(self.any_word(right)?);
                matches!(
                    predicate,
                    Binary::ArithmeticEqualTo
                        | Binary::ArithmeticNotEqualTo
                        | Binary::ArithmeticLessThan
                        | Binary::ArithmeticLessThanOrEqualTo
                        | Binary::ArithmeticGreaterThan
                        | Binary::ArithmeticGreaterThanOrEqualTo
                )
            }
        })
    }

    /// A regular expression may hold what no word may; of it only the expansions matter.
    fn any_word(&self, word: &brush::Word) -> Result<Word, Opaque> {
        let process = word.value.contains("<(") || word.value.contains(">(");
        self.word(word)
            .or_else(|opaque| if process { Err(opaque) } else { word::parse_quoted(&word.value, self.depth) })
    }

    fn simple(&self, simple: &brush::SimpleCommand) -> Result<Command, Opaque> {
        let (mut result, mut redirections) = (Simple::default(), Vec::new());
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                brush::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    result.assignments.push(self.assignment(assignment)?);
                }
                item => self.item(item, &mut result, &mut redirections)?,
            }
        }
        if let Some(name) = &simple.word_or_name {
            result.words.extend(self.expanded(&name.value)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut result, &mut redirections)?;
        }
        Ok(Command { kind: Kind::Simple(result), redirections })
    }

    fn item(
        &self,
        item: &brush::CommandPrefixOrSuffixItem,
        simple: &mut Simple,
        redirections: &mut Vec<Redirection>,
    ) -> Result<(), Opaque> {
        match item {
            brush::CommandPrefixOrSuffixItem::IoRedirect(redirection) => {
                redirections.push(self.redirection(redirection)?);
            }
            brush::CommandPrefixOrSuffixItem::Word(word) => simple.words.extend(self.expanded(&word.value)?),
            brush::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => match &assignment.value {
                brush::AssignmentValue::Scalar(_) => simple.words.extend(self.expanded(&word.value)?),
                brush::AssignmentValue::Array(_) => simple.words.push(self.assignment(assignment)?.value),
            },
            brush::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                simple.words.push(self.process(kind, subshell)?);
            }
        }
        Ok(())
    }

    fn process(
        &self,
        kind: &brush::ProcessSubstitutionKind,
        subshell: &brush::SubshellCommand,
    ) -> Result<Word, Opaque> {
        let output = matches!(kind, brush::ProcessSubstitutionKind::Write);
        Ok(Word { pieces: vec![Piece::Process { script: self.script(&subshell.list)?, output }] })
    }

    fn assignment(&self, assignment: &brush::Assignment) -> Result<Assignment, Opaque> {
        let mut evaluated = Vec::new();
        let name = match &assignment.name {
            brush::AssignmentName::VariableName(name) => name.clone(),
            brush::AssignmentName::ArrayElementName(name, index) => {
                evaluated.push(word::parse_quoted(index, self.depth)?);
                name.clone()
            }
        };
        let value = match &assignment.value {
            brush::AssignmentValue::Scalar(value) if evaluated.is_empty() => self.word(value)?,
            value => {
                let (evaluates, text) = (!evaluated.is_empty(), assignment.to_string());
                match value {
                    brush::AssignmentValue::Scalar(value) => evaluated.push(self.word(value)?),
                    brush::AssignmentValue::Array(elements) => {
                        for (key, value) in elements {
                            evaluated.extend(key.as_ref().map(|key| self.word(key)).transpose()?);
                            evaluated.push(self.word(value)?);
                        }
                    }
                }
                Word { pieces: vec![Piece::Other { text, inner: evaluated, evaluates }] }
            }
        };
        Ok(Assignment { name, append: assignment.append, value })
    }

    fn redirections(&self, list: Option<&brush::RedirectList>) -> Result<Vec<Redirection>, Opaque> {
        list.iter().flat_map(|list| &list.0).map(|redirection| self.redirection(redirection)).collect()
    }

    fn redirection(&self, redirection: &brush::IoRedirect) -> Result<Redirection, Opaque> {
        Ok(match redirection {
            brush::IoRedirect::File(fd, kind, target) => self.file(*fd, kind, target)?,
            brush::IoRedirect::OutputAndError(target, append) => {
                Redirection::Both { append: *append, target: self.word(target)? }
            }
            brush::IoRedirect::HereString(fd, text) => Redirection::Text { fd: *fd, word: self.word(text)? },
            brush::IoRedirect::HereDocument(fd, document) => {
                let body = &document.doc.value;
                let Some(body) = body.strip_suffix('\n') else {
                    // An empty here-document has no newline to give back.
                    let empty = body.is_empty();
                    let target = Word::literal("/dev/null");
                    return if empty {
                        Ok(Redirection::File { fd: *fd, access: Access::Read, target })
                    } else {
                        Err(Opaque::new("a here-document is not closed"))
                    };
                };
                let word = if document.requires_expansion {
                    word::parse_document(body, self.depth)?
                } else {
                    Word::literal(body)
                };
                Redirection::Text { fd: *fd, word }
            }
        })
    }

    fn file(
        &self,
        fd: Option<i32>,
        kind: &brush::IoFileRedirectKind,
        target: &brush::IoFileRedirectTarget,
    ) -> Result<Redirection, Opaque> {
        use brush::IoFileRedirectKind as Redirect;
        let target = match target {
            brush::IoFileRedirectTarget::Filename(word) | brush::IoFileRedirectTarget::Duplicate(word) => {
                self.word(word)?
            }
            brush::IoFileRedirectTarget::Fd(number) => Word::literal(number.to_string()),
            brush::IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => self.process(kind, subshell)?,
        };
        let access = match kind {
            Redirect::Read => Access::Read,
            Redirect::Write => Access::Write,
            Redirect::Append => Access::Append,
            Redirect::ReadAndWrite => Access::ReadWrite,
            Redirect::Clobber => Access::Clobber,
            Redirect::DuplicateInput | Redirect::DuplicateOutput => {
                let input = matches!(kind, Redirect::DuplicateInput);
                let text = target.text();
                let number =
                    |text: &&String| !text.is_empty() && text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                return match text.as_ref().filter(number) {
                    Some(source) => Ok(Redirection::Duplicate { fd, input, source: source.clone() }),
                    // `>&file` is `&>file`.
                    None if !input && fd.is_none() && text.is_some() => Ok(Redirection::Both { append: false, target }),
                    None => Err(Opaque::new("a descriptor is copied from what only bash can expand")),
                };
            }
        };
        Ok(Redirection::File { fd, access, target })
    }

    fn words(&self, words: &[brush::Word]) -> Result<Vec<Word>, Opaque> {
        let words = words.iter().map(|word| self.expanded(&word.value)).collect::<Result<Vec<_>, _>>()?;
        Ok(words.into_iter().flatten().collect())
    }

    /// An argument, which brace expressions may make into several.
    fn expanded(&self, raw: &str) -> Result<Vec<Word>, Opaque> {
        let raws = braces::expand(raw).ok_or_else(|| Opaque::new("a brace expression is too large or unusual"))?;
        // An unquoted nothing, as in `{a,}`, is no word at all.
        let kept = raws.iter().filter(|part| !part.is_empty() || raws.len() == 1);
        kept.map(|part| word::parse(part, self.depth)).collect()
    }

    fn word(&self, word: &brush::Word) -> Result<Word, Opaque> {
        word::parse(&word.value, self.depth)
    }
}
