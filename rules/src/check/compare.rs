//! Checks of comparisons.

use teetap_wire::def::suggest;

use super::checker::Checker;
use super::literal::{missing_unit, not_whole, word};
use super::value::Operand;
use super::versions;
use super::words::FRAME;
use super::words::{Names, atom};
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{Cond, IntTest, Test, TextTest};
use crate::span::Span;
use crate::synonym::{self, Place};
use crate::syntax::{Compare, Expr, Kind, Quantity};

/// Returns true if an expression is constant: a literal, or a named value.
pub(super) fn fixed(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Number(_) | Kind::Text(_) | Kind::Regex(_) => true,
        _ => word(expr).is_some_and(|word| !matches!(word, "n" | "t" | FRAME)),
    }
}

impl Checker<'_> {
    pub(super) fn compare(&mut self, op: Compare, left: &Expr, right: &Expr, span: Span) -> Cond {
        if let Some(diagnostic) = misused(op, left, right) {
            return self.report_error(diagnostic);
        }
        let ordered = !matches!(op, Compare::Contains | Compare::Matches);
        // The name of a message is a word, too. Compared with a literal, it is not a named value.
        let literal = |expr: &Expr| fixed(expr) && word(expr).is_none();
        let (left, op, right) =
            match ordered && fixed(left) && !fixed(right) || literal(left) && !literal(right) {
                true => (right, op.mirrored(), left),
                false => (left, op, right),
            };
        if let Some(diagnostic) = self.named_by_text(left, right) {
            return self.report_error(diagnostic);
        }
        let operand = self.operand(left);
        if matches!(operand, Operand::Failed) {
            // Other errors are reported at the same time.
            if !fixed(right) {
                self.operand(right);
            }
            return Cond::Unknown;
        }
        if fixed(right) {
            self.with_fixed(&operand, op, left, right)
        } else {
            self.with_other(&operand, op, left, right, span)
        }
    }

    /// Returns the error for `name == "sv_chat"` or `dir == c2s`: the name is a condition itself.
    fn named_by_text(&self, left: &Expr, right: &Expr) -> Option<Diagnostic> {
        let unknown = word(left)?;
        let named = right.to_string();
        let truth = word(right).filter(|word| matches!(*word, "true" | "false" | "yes" | "no"));
        let is_truth = truth.is_some() || matches!(&*named, "0" | "1");
        if is_truth && atom(unknown).is_some() {
            let what = format!("`{unknown}` is a condition, not a value");
            let help = format!("write `{unknown}` or `not {unknown}`");
            return Some(Diagnostic::new(Code::NotValue, left.span, what).help(help));
        }
        if unknown == "lint" {
            let code = named
                .trim_matches('"')
                .replace(['-', ' '], "_")
                .replace("___", "_");
            let what = "`lint` is a condition, not a value";
            return Some(
                Diagnostic::new(Code::NotValue, left.span, what).help(format!("write `lint.{code}`")),
            );
        }
        if unknown == "sess" && matches!(right.kind, Kind::Number(_)) {
            let what = "`sess` is not a value";
            return Some(
                Diagnostic::new(Code::NotHere, left.span, what).help(format!("write `sess.id == {right}`")),
            );
        }
        synonym::typed(Place::Condition, unknown)?;
        let name = match &right.kind {
            Kind::Text(text) => text,
            _ => word(right)?,
        };
        let path = crate::syntax::parse(name).ok()?;
        let is_name = match &path.kind {
            Kind::Path(path) if !path.dot => {
                path.segments.len() == 1 && atom(name).is_some()
                    || self
                        .look_up(&path.segments)
                        .is_ok_and(|(_, used)| used == path.segments.len())
            }
            _ => false,
        };
        let what = format!("unknown message `{unknown}`");
        is_name.then(|| {
            Diagnostic::new(Code::UnknownName, left.span, what).help(format!("write `{path}` alone"))
        })
    }

    fn with_fixed(&mut self, operand: &Operand, op: Compare, left: &Expr, right: &Expr) -> Cond {
        match operand {
            Operand::Field(at, what) => {
                let (cond, usual) = self.tests(*at, right.span, |checker, field| {
                    checker.test(field, what, op, right)
                });
                if !usual {
                    self.unusual(what, left, right.span);
                }
                cond
            }
            Operand::Number(number, quantity) => match self.fixed_number(left, *quantity, right) {
                Some(_) if matches!(op, Compare::Contains | Compare::Matches) => {
                    self.operator(op, left, quantity.name(), right.span)
                }
                Some(value) => Cond::Number(number.clone(), IntTest::Op(op, value)),
                None => Cond::Unknown,
            },
            Operand::Truth(number) => match (word(right), op) {
                (Some("true" | "yes"), Compare::Equal) | (Some("false" | "no"), Compare::Unequal) => {
                    Cond::Number(number.clone(), IntTest::Op(Compare::Unequal, 0))
                }
                (Some("false" | "no"), Compare::Equal) | (Some("true" | "yes"), Compare::Unequal) => {
                    Cond::Number(number.clone(), IntTest::Op(Compare::Equal, 0))
                }
                _ => {
                    let what = format!("`{left}` is true or false");
                    self.report_error(
                        Diagnostic::new(Code::Mismatch, right.span, what)
                            .help(format!("write `{left}` or `not {left}`")),
                    )
                }
            },
            Operand::Named(number, names) => match (self.named_value(left, names, right), op) {
                (Some(value), Compare::Equal | Compare::Unequal) => {
                    Cond::Number(number.clone(), IntTest::Op(op, value))
                }
                (Some(_), _) => self.operator(op, left, "a name", right.span),
                (None, _) => Cond::Unknown,
            },
            Operand::Flags(number, names) => match (self.named_value(left, names, right), op) {
                (Some(bits), Compare::Contains) => Cond::Number(number.clone(), IntTest::Bits(bits)),
                (Some(bits), Compare::Equal | Compare::Unequal) => {
                    Cond::Number(number.clone(), IntTest::Op(op, bits))
                }
                (Some(_), _) => self.operator(op, left, "a set of flags", right.span),
                (None, _) => Cond::Unknown,
            },
            Operand::Text(text, what) => match self.text_test(what, op, right) {
                Some(test) => Cond::Text(*text, test),
                None => Cond::Unknown,
            },
            Operand::Failed => Cond::Unknown,
        }
    }

    /// Builds one test for each definition of a field. Also returns true if the value is usual for one of the
    /// definitions. Reports the first error if no definition accepts the value.
    pub(super) fn tests(
        &mut self,
        at: u16,
        span: Span,
        mut test: impl FnMut(&mut Self, &teetap_wire::def::Field) -> Result<(Test, bool), Diagnostic>,
    ) -> (Cond, bool) {
        let kinds = self.kinds.get(usize::from(at)).cloned().unwrap_or_default();
        let (mut tests, mut usual, mut fits, mut error) = (Vec::new(), false, Vec::new(), None);
        for kind in kinds {
            let result = match kind {
                Some(field) => test(self, field),
                None => Err(Diagnostic::new(
                    Code::Mismatch,
                    span,
                    "an item cannot be compared",
                )),
            };
            fits.push(result.is_ok());
            match result {
                Ok((test, is_usual)) => {
                    tests.push(test);
                    usual |= is_usual;
                }
                Err(found) => {
                    tests.push(Test::Never);
                    error = error.or(Some(found));
                }
            }
        }
        match error {
            Some(error) if !fits.contains(&true) => return (self.report_error(error), true),
            Some(_) => self.note_values(at, &fits, span),
            None => {}
        }
        (Cond::Field(at, tests.into()), usual)
    }

    /// Adds a note if the field can have the value only in some dialects.
    fn note_values(&mut self, at: u16, fits: &[bool], span: Span) {
        let Some(field) = self.program.fields.get(usize::from(at)) else {
            return;
        };
        let dialects = |wanted: bool| {
            let entries = field
                .entries
                .iter()
                .zip(fits)
                .filter(|(_, fits)| **fits == wanted);
            entries.map(|(entry, _)| entry.dialect).collect::<Vec<_>>()
        };
        let (can, mut cannot) = (dialects(true), dialects(false));
        cannot.retain(|dialect| !can.contains(dialect));
        // Several fields in one dialect belong to several messages, and the user may mean only some of them.
        let several = can
            .iter()
            .zip(can.iter().skip(1))
            .any(|(one, other)| one == other);
        if several || cannot.is_empty() {
            return;
        }
        let what = format!("only a value of {}", versions::names(&can));
        let note = format!("in sessions of {} it never matches", versions::names(&cannot));
        self.report(Diagnostic::new(Code::SomeVersions, span, what).note(note));
    }

    pub(super) fn unusual(&mut self, what: &str, left: &Expr, span: Span) {
        let Kind::Path(_) = &left.kind else { return };
        let diagnostic = Diagnostic::new(
            Code::OutOfRange,
            span,
            format!("the games never send such a `{what}`"),
        );
        let ranges = self.ranges(left);
        self.report(if ranges.is_empty() {
            diagnostic
        } else {
            diagnostic.note(ranges)
        });
    }

    /// Returns the ranges of a field as text, by dialect.
    fn ranges(&mut self, left: &Expr) -> String {
        let before = self.diagnostics.len();
        let operand = self.operand(left);
        self.diagnostics.truncate(before);
        let Operand::Field(at, _) = operand else {
            return String::new();
        };
        let Some(field) = self.program.fields.get(usize::from(at)) else {
            return String::new();
        };
        let kinds = self.kinds.get(usize::from(at)).into_iter().flatten();
        let ranges = field.entries.iter().zip(kinds).filter_map(|(entry, kind)| {
            let kind = (*kind)?;
            Some((
                entry.dialect,
                format!("{} to {}", kind.bounds.min, kind.bounds.max),
            ))
        });
        versions::grouped(ranges)
    }

    fn operator(&mut self, op: Compare, left: &Expr, kind: &str, span: Span) -> Cond {
        let what = format!("`{}` does not apply to `{left}`, which is {kind}", op.sign());
        self.report_error(Diagnostic::new(Code::WrongOperator, span, what))
    }

    /// Converts a literal to a number of this quantity.
    pub(super) fn fixed_number(&mut self, left: &Expr, quantity: Quantity, right: &Expr) -> Option<i64> {
        let Kind::Number(number) = &right.kind else {
            // A word may be a named value.
            let found = if matches!(right.kind, Kind::Path(_)) {
                "a word"
            } else {
                "text"
            };
            let what = format!("`{left}` is {}, not {found}", quantity.name());
            self.report(Diagnostic::new(Code::Mismatch, right.span, what));
            return None;
        };
        let found = number.quantity();
        let sizes = quantity == Quantity::Size && found == Quantity::Plain;
        if found != quantity && !sizes {
            let diagnostic = match found {
                Quantity::Plain => missing_unit(right, quantity),
                _ => {
                    let what = format!("`{left}` is {}, not {}", quantity.name(), found.name());
                    Diagnostic::new(Code::Mismatch, right.span, what)
                }
            };
            self.report(diagnostic);
            return None;
        }
        let value = number.value();
        if value.is_none() {
            self.report(not_whole(number, right.span));
        }
        value
    }

    pub(super) fn named_value(&mut self, left: &Expr, names: Names, right: &Expr) -> Option<i64> {
        let written = match &right.kind {
            Kind::Text(text) => text.clone(),
            Kind::Number(number) => number.to_string(),
            _ => word(right).unwrap_or_default().to_owned(),
        };
        let found = names.iter().find(|(name, _)| *name == written);
        if found.is_none() {
            let list = names.iter().map(|(name, _)| *name);
            let diagnostic = Diagnostic::new(
                Code::UnknownLabel,
                right.span,
                format!("`{left}` is never `{written}`"),
            );
            let meant = suggest(&written, list.clone()).filter(|_| !matches!(right.kind, Kind::Number(_)));
            let first = list
                .clone()
                .next()
                .map(|first| format!("write `{first}`, or another value"));
            let diagnostic = diagnostic.or_help(first).meant(meant);
            self.report(diagnostic.note(format!("values are {}", list.collect::<Vec<_>>().join(", "))));
        }
        found.map(|(_, value)| *value)
    }

    fn text_test(&mut self, what: &str, op: Compare, right: &Expr) -> Option<TextTest> {
        match (op, &right.kind) {
            (Compare::Equal | Compare::Unequal, Kind::Text(text)) => {
                Some(TextTest::Equal(text.as_bytes().into(), op == Compare::Equal))
            }
            (Compare::Contains, Kind::Text(text)) => Some(TextTest::contains(text.as_bytes())),
            (Compare::Matches, Kind::Regex(pattern)) => self.regex(pattern, right.span),
            (_, Kind::Text(_)) => {
                let what = format!("`{}` does not apply to `{what}`, which is text", op.sign());
                self.report(Diagnostic::new(Code::WrongOperator, right.span, what));
                None
            }
            _ => {
                let what = format!("`{what}` is text");
                let diagnostic = Diagnostic::new(Code::Mismatch, right.span, what);
                let help = word(right).map(|word| format!("write text in quotes: `\"{word}\"`"));
                self.report(Diagnostic { help, ..diagnostic });
                None
            }
        }
    }

    /// Compares two values that are not constant.
    fn with_other(&mut self, operand: &Operand, op: Compare, left: &Expr, right: &Expr, span: Span) -> Cond {
        let other = self.operand(right);
        if matches!(other, Operand::Failed) {
            return Cond::Unknown;
        }
        if let (Some((one, a)), Some((two, b))) = (self.as_number(operand), self.as_number(&other)) {
            let plain = |quantity| {
                if quantity == Quantity::Size {
                    Quantity::Plain
                } else {
                    quantity
                }
            };
            return match op {
                Compare::Contains | Compare::Matches => self.operator(op, left, "a number", span),
                _ if plain(a) != plain(b) => {
                    let diagnostic = self.unequal_quantities((left, a), (right, b), op.sign(), span);
                    self.report_error(diagnostic)
                }
                _ => Cond::Compare(op, Box::new((one, two))),
            };
        }
        match (self.as_text(operand), self.as_text(&other), op) {
            (Some(one), Some(two), Compare::Equal | Compare::Unequal | Compare::Contains) => {
                Cond::CompareText(op, one, two)
            }
            (Some(_), Some(_), _) => self.operator(op, left, "text", span),
            _ => {
                let what = format!("`{left}` and `{right}` are not of the same kind");
                self.report_error(Diagnostic::new(Code::Mismatch, span, what))
            }
        }
    }
}

/// Returns the error for an operator that never fits its operands.
fn misused(op: Compare, left: &Expr, right: &Expr) -> Option<Diagnostic> {
    let wrong = |expr: &Expr, what: &str, help: String| {
        Some(Diagnostic::new(Code::WrongOperator, expr.span, what).help(help))
    };
    match (op, &left.kind, &right.kind) {
        (Compare::Matches, _, Kind::Text(text)) => wrong(
            right,
            "`matches` takes a regular expression",
            format!("write `/{text}/`, or `contains \"{text}\"`"),
        ),
        (Compare::Matches, _, Kind::Regex(_)) => None,
        (Compare::Matches, ..) => wrong(
            right,
            "`matches` takes a regular expression",
            word(right).map_or("write `/text/`".to_owned(), |word| format!("write `/{word}/`")),
        ),
        (_, _, Kind::Regex(pattern)) | (_, Kind::Regex(pattern), _) => {
            let expr = if matches!(right.kind, Kind::Regex(_)) {
                right
            } else {
                left
            };
            let what = format!("`{}` does not take a regular expression", op.sign());
            wrong(expr, &what, format!("write `matches /{pattern}/`"))
        }
        (Compare::Contains, _, Kind::Text(text)) if text.is_empty() => Some(Diagnostic::new(
            Code::Impossible,
            right.span,
            "every text contains the empty text",
        )),
        _ if fixed(left) && fixed(right) && word(left).is_none() && word(right).is_none() => {
            let what = "both sides are constant";
            Some(Diagnostic::new(Code::Mismatch, left.span.to(right.span), what))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_words_are_fixed() {
        let fixed = |text: &str| fixed(&crate::syntax::parse(text).unwrap());
        for text in ["5", "\"x\"", "/x/", "red", "-3"] {
            assert!(fixed(text), "{text}");
        }
        for text in ["n", "t", "frame", ".red", "sv_chat.team", "5 + 5", "len(.x)"] {
            assert!(!fixed(text), "{text}");
        }
    }
}
