//! Checks of sets: `value in {1 3..5}`.

use super::checker::Checker;
use super::literal;
use super::value::Operand;
use super::words::Names;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{Cond, IntTest, Number, Text, TextTest};
use crate::syntax::{Choice, Expr, Kind, Quantity};

impl Checker<'_> {
    /// Checks `value in {..}`.
    pub(super) fn within(&mut self, value: &Expr, choices: &[Choice]) -> Cond {
        match &self.operand(value) {
            Operand::Failed => Cond::Unknown,
            Operand::Field(at, what) => {
                let span = value.span;
                let (cond, usual) =
                    self.tests(*at, span, |checker, field| checker.set_test(field, what, choices));
                if !usual {
                    self.unusual(what, value, span);
                }
                cond
            }
            Operand::Number(number, quantity) => self.number_in(number.clone(), *quantity, value, choices),
            Operand::Named(number, names) | Operand::Flags(number, names) => {
                self.name_in(number.clone(), names, value, choices)
            }
            Operand::Text(text, what) => self.text_in(*text, what, choices),
            Operand::Truth(_) => {
                let what = format!("`{value}` is true or false");
                self.report_error(Diagnostic::new(Code::Mismatch, value.span, what))
            }
        }
    }

    fn number_in(&mut self, number: Number, quantity: Quantity, value: &Expr, choices: &[Choice]) -> Cond {
        let mut ranges = Vec::new();
        for choice in choices {
            let (low, high) = match choice {
                Choice::One(one) => {
                    let one = self.fixed_number(value, quantity, one);
                    (one, one)
                }
                Choice::Range(from, to) => {
                    let ends = (
                        self.fixed_number(value, quantity, from),
                        self.fixed_number(value, quantity, to),
                    );
                    if ends.0 > ends.1 && ends.1.is_some() {
                        self.report(literal::backwards(from, to));
                    }
                    ends
                }
            };
            ranges.extend(low.zip(high));
        }
        Cond::Number(number, IntTest::In(ranges.into()))
    }

    fn name_in(&mut self, number: Number, names: Names, value: &Expr, choices: &[Choice]) -> Cond {
        let mut ranges = Vec::new();
        for choice in choices {
            match choice {
                Choice::One(one) => {
                    ranges.extend(self.named_value(value, names, one).map(|value| (value, value)))
                }
                Choice::Range(from, to) => {
                    let what = format!("`{value}` is a name, which has no ranges");
                    self.report(Diagnostic::new(Code::Mismatch, from.span.to(to.span), what));
                }
            }
        }
        Cond::Number(number, IntTest::In(ranges.into()))
    }

    fn text_in(&mut self, text: Text, what: &str, choices: &[Choice]) -> Cond {
        let mut texts: Vec<Box<[u8]>> = Vec::new();
        for choice in choices {
            match choice {
                Choice::One(Expr {
                    kind: Kind::Text(text),
                    ..
                }) => texts.push(text.as_bytes().into()),
                Choice::One(one) | Choice::Range(one, _) => {
                    let what = format!("`{what}` is text");
                    self.report(Diagnostic::new(Code::Mismatch, one.span, what));
                }
            }
        }
        Cond::Text(text, TextTest::In(texts.into()))
    }
}
