//! Actions that end the run: `fail`, `expect` and `exit`.

use std::time::Duration;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::Action;
use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::advice;
use crate::syntax::argument::{duration, measured, opt_number};
use crate::syntax::error::wanted;
use crate::syntax::lex::{Input, Parsed, blank, cut, keyword};
use crate::syntax::number::Quantity;
use crate::syntax::parse::expression;
use crate::syntax::template::opt_template;

/// Maximum time of an expectation.
const MAX_WITHIN: Duration = Duration::from_secs(3600);

pub(super) fn fail(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    match opt_template(i)? {
        Some(why) => Ok(Action::Fail(why)),
        None => {
            let error = wanted(i, "a text, as in `fail \"no answer\"`");
            let help = advice::first_statement(i, when_to_fail(&advice::line(i)));
            let usual = "write the reason in quotes: `fail \"no answer\"`";
            cut(error.help(help.unwrap_or_else(|| usual.to_owned())))
        }
    }
}

/// Returns rules for a condition in place of the reason, such as `if no con_ready in 5s` or `when close`.
fn when_to_fail(tail: &str) -> Vec<String> {
    let (word, cond) = advice::split_word(tail);
    if !matches!(word, "if" | "when" | "unless" | "on") || cond.contains('"') {
        return Vec::new();
    }
    let mut texts = Vec::new();
    let (first, after) = advice::split_word(cond);
    let awaited = match (word, first) {
        ("unless", _) => Some(cond),
        (_, "no" | "not" | "missing" | "without") => Some(after),
        _ => None,
    };
    if let Some(awaited) = awaited {
        let awaited = awaited.replace(" in ", " within ").replace(" after ", " within ");
        texts.push(format!("expect {awaited}"));
        texts.push(format!("expect {awaited} within 5s"));
    }
    texts.push(format!("fail \"{cond}\" when {cond}"));
    texts
}

pub(super) fn expect(i: &mut Input<'_>) -> Parsed<Action> {
    let expected = expression(i)?;
    blank(i)?;
    if opt(keyword("within")).parse_next(i)?.is_none() {
        return cut(wanted(i, "`within`, as in `expect sv_motd within 5s`")
            .help(format!("write `expect {expected} within 5s`")));
    }
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, "a duration, as in `within 5s`").help("write `within 5s`"));
    };
    let within = duration(value, span)?;
    if within.is_zero() || within > MAX_WITHIN {
        let what = format!(
            "expected more than no time, and at most {} s",
            MAX_WITHIN.as_secs()
        );
        return cut(Diagnostic::new(Code::Impossible, span, what).help("write `within 5s`"));
    }
    Ok(Action::Expect { expected, within })
}

pub(super) fn exit(i: &mut Input<'_>) -> Parsed<Action> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(
            wanted(i, "an exit code, as in `exit 10`").help("write `exit 0` for success, or `exit 10`")
        );
    };
    match u8::try_from(measured(value, span, Quantity::Plain)?) {
        Ok(code @ (0 | 10..=99)) => Ok(Action::Exit(code)),
        _ => cut(Diagnostic::new(
            Code::Impossible,
            span,
            "expected 0, or an exit code from 10 to 99",
        )
        .help("write `exit 10`; for a failure it is `fail \"text\"`")
        .note("the others are those of teetap itself")),
    }
}
