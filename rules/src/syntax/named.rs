//! Named expressions: `let talk = sv_chat or cl_say`.

use std::fmt;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::advice;
use super::ast::{Expr, Name};
use super::error::{leftover, wanted};
use super::lex::{Input, Parsed, backtrack, blank, cut, here, keyword, rest, word};
use super::parse::expression;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// An expression with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Let {
    /// Name of the expression.
    pub name: Name,
    /// The expression itself.
    pub expr: Expr,
}

/// Parses `let id = expression`. Backtracks for a rule named `let`.
pub(super) fn let_(i: &mut Input<'_>) -> Parsed<Let> {
    blank(i)?;
    keyword("let")(i)?;
    if rest(i).trim_start().starts_with(':') {
        return backtrack();
    }
    blank(i)?;
    let Some((text, span)) = opt(word).parse_next(i)? else {
        let help = if rest(i).starts_with('$') {
            "a name of a condition has no `$`; `var $name = VALUE` sets a variable"
        } else {
            "write `let talk = sv_chat or cl_say`"
        };
        return cut(wanted(i, "a name, as in `let talk = sv_chat or cl_say`").help(help));
    };
    let name = Name {
        text: text.to_owned(),
        span,
    };
    blank(i)?;
    if rest(i).starts_with("==") {
        let span = Span::new(here(i), here(i) + 2);
        let what = "`==` compares; to name an expression use `=`";
        return cut(Diagnostic::new(Code::Assignment, span, what).help("write `=`"));
    }
    if opt('=').parse_next(i)?.is_none() {
        return cut(wanted(i, "`=`").help(format!("write `let {} = sv_chat or cl_say`", name.text)));
    }
    let expr = expression(i)?;
    blank(i)?;
    if !rest(i).is_empty() {
        let first = |texts| advice::first_expression(i, texts);
        let help = advice::joined(i, &expr.to_string(), false, first);
        return cut(leftover(i, "the end of the line").or_help(help));
    }
    Ok(Let { name, expr })
}

impl fmt::Display for Let {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "let {} = {}", self.name.text, self.expr)
    }
}
