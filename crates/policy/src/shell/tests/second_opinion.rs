//! What another parser sees: every command with the number of its words, those inside substitutions included.

use brush_parser::word::{
    BraceExpressionMember, BraceExpressionOrText, ParameterExpr, WordPiece, WordPieceWithSource, parse,
    parse_brace_expansions, parse_heredoc,
};
use brush_parser::{ParserOptions, ast, parse_tokens, tokenize_str};

/// A program and how many words it is given, itself included.
pub(super) type Seen = (String, usize);

/// What is run, in any order. `None` if the other parser does not understand it either.
pub(super) fn second_opinion(script: &str) -> Option<Vec<Seen>> {
    let mut opinion = Opinion { seen: Vec::new(), options: ParserOptions::default() };
    opinion.script(script)?;
    opinion.seen.sort();
    Some(opinion.seen)
}

/// How many words become of one.
fn words(item: &ast::CommandPrefixOrSuffixItem) -> usize {
    let ast::CommandPrefixOrSuffixItem::Word(word) = item else { return 1 };
    let pieces = parse_brace_expansions(&word.value, &ParserOptions::default()).ok().flatten();
    pieces.map_or(1, |pieces| multiplied(&pieces))
}

fn multiplied(pieces: &[BraceExpressionOrText]) -> usize {
    let of_member = |member: &BraceExpressionMember| match member {
        BraceExpressionMember::Child(pieces) => multiplied(pieces),
        _ => 1,
    };
    let of_piece = |piece: &BraceExpressionOrText| match piece {
        BraceExpressionOrText::Expr(members) => members.iter().map(of_member).sum(),
        BraceExpressionOrText::Text(_) => 1,
    };
    pieces.iter().map(of_piece).product()
}

/// A word without its quotes, which the two parsers take away at different times.
pub(super) fn bare(word: &str) -> String {
    word.replace(['\'', '"'], "")
}

struct Opinion {
    seen: Vec<Seen>,
    options: ParserOptions,
}

impl Opinion {
    fn script(&mut self, script: &str) -> Option<()> {
        let tokens = tokenize_str(script).ok()?;
        let program = parse_tokens(&tokens, &self.options).ok()?;
        program.complete_commands.iter().try_for_each(|commands| self.list(commands))
    }

    fn list(&mut self, list: &ast::CompoundList) -> Option<()> {
        list.0.iter().try_for_each(|item| {
            self.pipeline(&item.0.first)?;
            item.0.additional.iter().try_for_each(|next| match next {
                ast::AndOr::And(next) | ast::AndOr::Or(next) => self.pipeline(next),
            })
        })
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Option<()> {
        pipeline.seq.iter().try_for_each(|command| match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                self.redirects(redirects.as_ref())
            }
            ast::Command::Function(function) => {
                self.compound(&function.body.0)?;
                self.redirects(function.body.1.as_ref())
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr)?;
                self.redirects(redirects.as_ref())
            }
        })
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) -> Option<()> {
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        prefix.chain(suffix.clone()).try_for_each(|item| self.item(item))?;
        let given = suffix.filter(|item| !matches!(item, ast::CommandPrefixOrSuffixItem::IoRedirect(_)));
        let given: usize = given.map(words).sum();
        let Some(name) = &simple.word_or_name else { return Some(()) };
        self.word(name)?;
        self.seen.push((bare(&name.value), given + 1));
        Some(())
    }

    fn item(&mut self, item: &ast::CommandPrefixOrSuffixItem) -> Option<()> {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => self.word(word),
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => self.list(&subshell.list),
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) -> Option<()> {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            ast::CompoundCommand::ForClause(clause) => {
                clause.values.iter().flatten().try_for_each(|word| self.word(word))?;
                self.list(&clause.body.list)
            }
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value)?;
                clause.cases.iter().try_for_each(|case| {
                    case.patterns.iter().try_for_each(|word| self.word(word))?;
                    case.cmd.iter().try_for_each(|list| self.list(list))
                })
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                clause.elses.iter().flatten().try_for_each(|branch| {
                    branch.condition.iter().try_for_each(|condition| self.list(condition))?;
                    self.list(&branch.body)
                })
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
            _ => None,
        }
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) -> Option<()> {
        match test {
            ast::ExtendedTestExpr::And(one, other) | ast::ExtendedTestExpr::Or(one, other) => {
                self.test(one)?;
                self.test(other)
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner)
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => self.word(word),
            ast::ExtendedTestExpr::BinaryTest(_, one, other) => {
                self.word(one)?;
                self.word(other)
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>) -> Option<()> {
        redirects.into_iter().flat_map(|list| &list.0).try_for_each(|redirect| self.redirect(redirect))
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) -> Option<()> {
        match redirect {
            ast::IoRedirect::File(_, _, target) => match target {
                ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                    self.word(word)
                }
                ast::IoFileRedirectTarget::Fd(_) => Some(()),
                ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.list(&subshell.list),
            },
            ast::IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                self.pieces(&parse_heredoc(&document.doc.value, &self.options).ok()?, true)
            }
            ast::IoRedirect::HereDocument(..) => Some(()),
            ast::IoRedirect::HereString(_, word) | ast::IoRedirect::OutputAndError(word, _) => {
                self.word(word)
            }
        }
    }

    fn word(&mut self, word: &ast::Word) -> Option<()> {
        self.pieces(&parse(&word.value, &self.options).ok()?, false)
    }

    /// `quoted`: between double quotes, where ' is no quote.
    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoted: bool) -> Option<()> {
        pieces.iter().try_for_each(|piece| match &piece.piece {
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.pieces(inner, true)
            }
            WordPiece::CommandSubstitution(script) | WordPiece::BackquotedCommandSubstitution(script) => {
                self.script(script)
            }
            WordPiece::ParameterExpansion(ParameterExpr::UseDefaultValues {
                default_value: text, ..
            })
            | WordPiece::ParameterExpansion(ParameterExpr::UseAlternativeValue {
                alternative_value: text,
                ..
            }) => {
                let text = text.as_deref().unwrap_or_default();
                let read = if quoted { parse_heredoc } else { parse };
                self.pieces(&read(text, &self.options).ok()?, quoted)
            }
            WordPiece::ParameterExpansion(ParameterExpr::Parameter { .. }) => Some(()),
            WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => None,
            _ => Some(()),
        })
    }
}
