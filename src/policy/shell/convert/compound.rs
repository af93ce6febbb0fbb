//! Compound commands: groups, conditions, loops, `case`, `((…))` and `[[ … ]]`.

use brush_parser::SourceSpan;
use brush_parser::ast as brush;

use super::super::ast::{Arm, CaseEnd, Kind, Script, Word};
use super::super::{Opaque, word};
use super::Converter;

impl Converter<'_> {
    pub(super) fn compound(&self, compound: &brush::CompoundCommand) -> Result<Kind, Opaque> {
        use brush::CompoundCommand as Compound;
        Ok(match compound {
            Compound::Subshell(subshell) => {
                // Where two parentheses touch, bash tries arithmetic first, and reads a here-document there differently.
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
                // For bash `( ( x ) )` is two subshells, and `((<<` may begin a here-document.
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

    /// The source text of a node, with continued lines joined. The parser counts in characters, not bytes.
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
            end: match case.post_action {
                brush::CaseItemPostAction::ExitCase => CaseEnd::Leave,
                brush::CaseItemPostAction::UnconditionallyExecuteNextCaseItem => CaseEnd::RunNext,
                brush::CaseItemPostAction::ContinueEvaluatingCases => CaseEnd::TestNext,
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

    pub(super) fn test(&self, test: &brush::ExtendedTestExpr) -> Result<Kind, Opaque> {
        let mut words = Vec::new();
        let evaluates = self.operands(test, &mut words)?;
        Ok(Kind::Evaluation { words, evaluates, body: None })
    }

    /// Collects the words that `[[ … ]]` expands. True if a part of it is arithmetic or tests a variable by its name.
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

    /// A regular expression may contain characters that a word may not. Only its expansions matter.
    fn any_word(&self, word: &brush::Word) -> Result<Word, Opaque> {
        let process = word.value.contains("<(") || word.value.contains(">(");
        self.word(word)
            .or_else(|opaque| if process { Err(opaque) } else { word::parse_quoted(&word.value, self.depth) })
    }
}
