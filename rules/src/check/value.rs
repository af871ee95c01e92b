//! Checks of values, the operands of comparisons.

use teetap_wire::Side;

use super::checker::Checker;
use super::literal;
use super::words::{DEEDS, FRAME, MAKERS, Names, atom};
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{DoneFact, Number, PacketFact, Text};
use crate::span::Span;
use crate::syntax::{Arith, Expr, Kind, Path, Quantity};

const LEGS: Names = &[("client", Side::Client as i64), ("server", Side::Server as i64)];

/// A value of the message or its surroundings.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    /// Invalid; an error has been reported.
    Failed,
    /// A number in the base unit of its quantity.
    Number(Number, Quantity),
    /// A number that is 1 or 0.
    Truth(Number),
    /// A number with named values.
    Named(Number, Names),
    /// A number with named bits.
    Flags(Number, Names),
    /// A text and its label for messages.
    Text(Text, String),
    /// A field and its label for messages.
    Field(u16, String),
}

impl Checker<'_> {
    pub(super) fn failed(&mut self, diagnostic: Diagnostic) -> Operand {
        self.report(diagnostic);
        Operand::Failed
    }

    /// Checks a value. A list is an error, except in `any` and `all`, where it means one of its elements.
    pub(super) fn operand(&mut self, expr: &Expr) -> Operand {
        let operand = self.place_or_value(expr);
        self.single(operand, expr)
    }

    /// Returns the operand if it is a single value.
    pub(super) fn single(&mut self, operand: Operand, expr: &Expr) -> Operand {
        let Operand::Field(at, what) = &operand else {
            return operand;
        };
        let field = self.program.fields.get(usize::from(*at));
        if !field.is_some_and(|field| field.list && !self.is_changing(field)) {
            return operand;
        }
        match &mut self.each {
            Some(each) if each.list.is_none_or(|list| list == *at) => {
                each.list = Some(*at);
                operand
            }
            Some(_) => self.failed(
                Diagnostic::new(Code::WholeList, expr.span, format!("`{what}` is a second list"))
                    .note("`any(…)` and `all(…)` are about the elements of one list"),
            ),
            None => {
                let what = format!("`{what}` is a list, not one value");
                let help = format!("write `any({expr} == …)`, `all(…)` or `len(…)`, or give an index");
                self.failed(Diagnostic::new(Code::WholeList, expr.span, what).help(help))
            }
        }
    }

    /// Checks a value or a list.
    pub(super) fn place_or_value(&mut self, expr: &Expr) -> Operand {
        match &expr.kind {
            Kind::Path(path) => self.path_value(path, expr.span),
            Kind::Call(call) => self.call_value(call, expr.span),
            Kind::Arith(op, left, right) => self.arith(*op, left, right, expr.span),
            Kind::Negate(inner) => match self.number(inner) {
                Some((number, quantity)) => Operand::Number(Number::Negate(Box::new(number)), quantity),
                None => Operand::Failed,
            },
            Kind::Number(number) => match number.value() {
                Some(value) => Operand::Number(Number::Fixed(value), number.quantity()),
                None => self.failed(literal::not_whole(number, expr.span)),
            },
            Kind::Variable(name) => self.variable(name),
            Kind::Text(_) | Kind::Regex(_) => {
                let what = "this is constant: compare it with a field";
                self.failed(Diagnostic::new(Code::Mismatch, expr.span, what))
            }
            Kind::Any(_) | Kind::All(_) | Kind::Not(_) | Kind::Compare(..) | Kind::In(..) => {
                let what = "a condition in place of a value";
                self.failed(Diagnostic::new(Code::NotValue, expr.span, what))
            }
        }
    }

    fn path_value(&mut self, path: &Path, span: Span) -> Operand {
        let single = path.segments.len() == 1;
        let head = path.segments.first().map_or("", |segment| &*segment.name.text);
        let second = path.segments.get(1).map_or("", |segment| &*segment.name.text);
        match head {
            _ if path.dot => self.dotted(path),
            "n" if single => Operand::Number(Number::Ordinal, Quantity::Plain),
            "t" if single => Operand::Number(Number::Time, Quantity::Duration),
            "leg" if single => Operand::Named(Number::Leg, LEGS),
            FRAME if single => self.frame(span),
            "pkt" | "sess" => self.fact(path),
            "action" | "rule" | "origin" if single => self.done(head, span),
            "link" if !single => self.link_fact(path, span),
            "snap" if matches!(second, "tick" | "crc_ok" | "parts") => self.fact(path),
            "snap" if !single => self.item(path),
            _ if atom(head).is_some() && single => self.not_value(head, span),
            _ => {
                let Some(named) = self.message(path) else {
                    return Operand::Failed;
                };
                if named.used == path.segments.len() {
                    let mut fields = named.defs.iter().flat_map(|(_, def)| def.parts(None));
                    let help = match fields.next() {
                        Some((_, field)) => {
                            format!(
                                "write a field, such as `{}.{}`, or `count({})`",
                                named.label, field.name, named.label
                            )
                        }
                        None => format!("write `{}` alone, or `count({})`", named.label, named.label),
                    };
                    let what = format!("`{}` is a condition, not a value", named.label);
                    return self.failed(Diagnostic::new(Code::NotValue, span, what).help(help));
                }
                self.operand_of(&named, path)
            }
        }
    }

    /// Checks `frame`, which rules cannot use, since they decide about a datagram before it has a number.
    fn frame(&mut self, span: Span) -> Operand {
        if self.is_rule {
            let what = format!("`{FRAME}` is not known to rules");
            let note =
                "datagrams are numbered where they are recorded or shown, after the rules have decided";
            let help = "use it in a filter: `-f`, `--until`, `--fail-on`, or `teetap grep` on a recording";
            return self.failed(Diagnostic::new(Code::NotHere, span, what).note(note).help(help));
        }
        Operand::Number(Number::Packet(PacketFact::Frame), Quantity::Plain)
    }

    /// Checks a value about what teetap did to the message, which rules cannot use.
    fn done(&mut self, word: &str, span: Span) -> Operand {
        if self.is_rule {
            self.unknown_to_rules(word, span);
            return Operand::Failed;
        }
        match word {
            "action" => Operand::Named(Number::Done(DoneFact::Action), DEEDS),
            "origin" => Operand::Named(Number::Done(DoneFact::Origin), MAKERS),
            _ => Operand::Text(Text::Rule, word.to_owned()),
        }
    }

    /// Checks a fact about the link, which rules cannot use.
    fn link_fact(&mut self, path: &Path, span: Span) -> Operand {
        if self.is_rule {
            self.unknown_to_rules(&path.to_string(), span);
            return Operand::Failed;
        }
        self.fact(path)
    }

    fn not_value(&mut self, what: &str, span: Span) -> Operand {
        let what = format!("`{what}` is a condition, not a value");
        self.failed(Diagnostic::new(Code::NotValue, span, what))
    }

    /// Checks a number for arithmetic.
    pub(super) fn number(&mut self, expr: &Expr) -> Option<(Number, Quantity)> {
        let operand = self.operand(expr);
        match self.as_number(&operand) {
            Some(found) => Some(found),
            None => {
                if !matches!(operand, Operand::Failed) {
                    self.report(Diagnostic::new(
                        Code::Mismatch,
                        expr.span,
                        format!("`{expr}` is not a number"),
                    ));
                }
                None
            }
        }
    }

    /// Returns the number of an operand; `None` if it is not a number.
    pub(super) fn as_number(&self, operand: &Operand) -> Option<(Number, Quantity)> {
        match operand {
            Operand::Number(number, quantity) => Some((number.clone(), *quantity)),
            Operand::Truth(number) => Some((number.clone(), Quantity::Plain)),
            Operand::Field(at, _) => {
                let kinds = self.kinds.get(usize::from(*at))?;
                let number = kinds.iter().flatten().any(|field| field.is_number());
                number.then_some((Number::Field(*at), Quantity::Plain))
            }
            Operand::Named(..) | Operand::Flags(..) | Operand::Text(..) | Operand::Failed => None,
        }
    }

    /// Returns the text of an operand; `None` if it is not text.
    pub(super) fn as_text(&self, operand: &Operand) -> Option<Text> {
        match operand {
            Operand::Text(text, _) => Some(*text),
            Operand::Field(at, _) => {
                let kinds = self.kinds.get(usize::from(*at))?;
                kinds
                    .iter()
                    .flatten()
                    .any(|field| literal::has_bytes(field))
                    .then_some(Text::Field(*at))
            }
            _ => None,
        }
    }

    fn arith(&mut self, op: Arith, left: &Expr, right: &Expr, span: Span) -> Operand {
        let texts = [left, right].map(|expr| match &expr.kind {
            Kind::Text(text) => Some(text.as_str()),
            _ => None,
        });
        match texts {
            [None, None] => {}
            [Some(one), Some(two)] => {
                let error = Diagnostic::new(Code::Mismatch, span, "texts cannot be calculated with");
                let whole = Expr::new(Kind::Text(format!("{one}{two}")), span);
                return self.failed(error.help(format!("write one text: `{whole}`")));
            }
            _ => {
                let error = Diagnostic::new(Code::Mismatch, span, "texts cannot be calculated with");
                return self.failed(error.help("write one text in quotes, or one field"));
            }
        }
        let (one, two) = (self.number(left), self.number(right));
        let (Some((one, a)), Some((two, b))) = (one, two) else {
            return Operand::Failed;
        };
        if matches!((op, &two), (Arith::Divide | Arith::Remainder, Number::Fixed(0))) {
            return self.failed(Diagnostic::new(
                Code::DivideByZero,
                right.span,
                "division by zero",
            ));
        }
        // Sizes are also accepted as plain numbers.
        let plain = |quantity| {
            if quantity == Quantity::Size {
                Quantity::Plain
            } else {
                quantity
            }
        };
        let (a, b) = (plain(a), plain(b));
        let quantity = match op {
            _ if a == b && op == Arith::Divide => Some(Quantity::Plain),
            Arith::Multiply if b == Quantity::Plain => Some(a),
            Arith::Multiply if a == Quantity::Plain => Some(b),
            Arith::Divide if b == Quantity::Plain => Some(a),
            Arith::Add | Arith::Subtract | Arith::Remainder if a == b => Some(a),
            _ => None,
        };
        let Some(quantity) = quantity else {
            let diagnostic = self.unequal_quantities((left, a), (right, b), op.sign(), span);
            return self.failed(diagnostic);
        };
        Operand::Number(Number::Arith(op, Box::new((one, two))), quantity)
    }

    /// Returns the error for two numbers of different quantities, one of which may lack a unit.
    pub(super) fn unequal_quantities(
        &self,
        (left, a): (&Expr, Quantity),
        (right, b): (&Expr, Quantity),
        sign: &str,
        span: Span,
    ) -> Diagnostic {
        for ((expr, quantity), wanted) in [((right, b), a), ((left, a), b)] {
            if matches!(expr.kind, Kind::Number(_)) && quantity == Quantity::Plain {
                return literal::missing_unit(expr, wanted);
            }
        }
        let what = format!("`{sign}` between {} and {}", a.name(), b.name());
        Diagnostic::new(Code::Mismatch, span, what)
    }
}
