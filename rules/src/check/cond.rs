//! Checks of conditions.

use teetap_wire::def::{Field, Registry, Type, suggest};
use teetap_wire::{Code as Lint, Property};

use super::checker::{Checker, Knows};
use super::kinds::Variables;
use super::value::Operand;
use super::words::{Atom, VALUES, atom};
use super::{literal, vocabulary};
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{Cond, DoneFact, IntTest, Number, Program, Target, Test, TextTest};
use crate::span::Span;
use crate::syntax::{Arith, Compare, Expr, Kind, Name, Path};

/// Checks an expression. The program is valid only if no diagnostic is an error.
pub(crate) fn check(
    expr: &Expr,
    registry: &Registry,
    variables: Option<&Variables>,
) -> (Program, Vec<Diagnostic>) {
    let mut checker = Checker::new(registry);
    checker.is_rule = variables.is_some();
    checker.variables = variables.cloned().unwrap_or_default();
    checker.check_root(expr);
    (checker.program, checker.diagnostics)
}

impl Checker<'_> {
    /// Checks the root expression of the program.
    pub(super) fn check_root(&mut self, expr: &Expr) {
        let is = |name: &Name| name.text.eq_ignore_ascii_case("snap_single");
        self.knows = Knows {
            snap_single: expr.mentions(&|path| path.segments.iter().any(|segment| is(&segment.name))),
            connless: expr.mentions(&|path| path.begins("connless", |_| true)),
        };
        self.program.root = self.cond(expr);
        self.count_matches(expr);
    }

    pub(super) fn cond(&mut self, expr: &Expr) -> Cond {
        match &expr.kind {
            Kind::Any(parts) => Cond::Any(self.alternatives(parts)),
            Kind::All(parts) => {
                let outer = self.narrow(parts);
                let cond = Cond::All(parts.iter().map(|part| self.cond(part)).collect());
                self.scope = outer;
                cond
            }
            Kind::Not(inner) => Cond::Not(Box::new(self.cond(inner))),
            Kind::Compare(op, left, right) => self.compare(*op, left, right, expr.span),
            Kind::In(value, choices) => self.within(value, choices),
            Kind::Text(text) if text.is_empty() => {
                let what = "every text contains the empty text";
                self.report_error(Diagnostic::new(Code::Impossible, expr.span, what))
            }
            Kind::Text(text) => {
                if text.contains('_') && self.is_name(text) {
                    let what = format!("`\"{text}\"` searches the texts of all messages");
                    let help = format!("the message is `{text}`, without quotes");
                    self.report(Diagnostic::new(Code::OneOfSeveral, expr.span, what).help(help));
                }
                Cond::Search(TextTest::contains(text.as_bytes()))
            }
            Kind::Regex(pattern) => match self.regex(pattern, expr.span) {
                Some(test) => Cond::Search(test),
                None => Cond::Unknown,
            },
            Kind::Path(path) => self.path_cond(path, expr),
            Kind::Call(call) => self.call_cond(call, expr),
            Kind::Number(_) | Kind::Arith(..) | Kind::Negate(_) => self.bare_number(expr),
            Kind::Variable(_) => {
                let operand = self.operand(expr);
                self.truth(&operand, expr.span)
            }
        }
    }

    fn not_condition(&mut self, span: Span, what: &str, help: &str) -> Cond {
        let diagnostic = Diagnostic::new(Code::NotCondition, span, format!("{what} is not a condition"));
        self.report_error(diagnostic.help(help))
    }

    /// Checks conditions that `or` joins. A number alone is meant as another value of the comparison before it.
    fn alternatives(&mut self, parts: &[Expr]) -> Box<[Cond]> {
        let mut value: Option<(&Expr, Vec<String>)> = None;
        let mut conds = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let next = parts.get(at + 1);
            let is_last = !next.is_some_and(|next| matches!(next.kind, Kind::Number(_)));
            match (&part.kind, &mut value) {
                (Kind::Compare(Compare::Equal, left, right), _) if matches!(right.kind, Kind::Number(_)) => {
                    value = Some((left, vec![right.to_string()]));
                }
                (Kind::Number(number), Some((left, values))) => {
                    values.push(number.to_string());
                    if !is_last {
                        conds.push(Cond::Unknown);
                        continue;
                    }
                    let help = format!("write `{left} in {{{}}}`", values.join(" "));
                    let what = "a number is not a condition";
                    let diagnostic = Diagnostic::new(Code::NotCondition, part.span, what);
                    conds.push(self.report_error(diagnostic.help(help)));
                    continue;
                }
                _ => value = None,
            }
            conds.push(self.cond(part));
        }
        conds.into()
    }

    /// Reports a number in place of a condition.
    fn bare_number(&mut self, expr: &Expr) -> Cond {
        let help = match &expr.kind {
            Kind::Negate(inner) if matches!(inner.kind, Kind::Path(_) | Kind::Call(_)) => {
                format!("write `not {inner}`")
            }
            Kind::Number(number) if number.quantity() == crate::syntax::Quantity::Duration => {
                format!("write `t > {number}`")
            }
            Kind::Number(number) => format!("compare it, as in `sess.id == {number}`"),
            Kind::Arith(Arith::Add, left, right)
                if [left, right]
                    .iter()
                    .all(|part| matches!(part.kind, Kind::Path(_))) =>
            {
                format!("write `{left} and {right}`")
            }
            _ => {
                // Without blanks `wrong-token` is a subtraction.
                let code = expr.to_string().replace(" - ", "-");
                match Lint::ALL.iter().any(|known| known.name() == code) {
                    true => format!("write `lint.{}`", code.replace('-', "_")),
                    false => format!("compare it, as in `{expr} == 1`"),
                }
            }
        };
        let what = "a number is not a condition";
        self.report_error(Diagnostic::new(Code::NotCondition, expr.span, what).help(help))
    }

    /// Checks a path as a condition: a word, a message, or a boolean fact.
    fn path_cond(&mut self, path: &Path, expr: &Expr) -> Cond {
        let [first, rest @ ..] = &*path.segments else {
            return Cond::Unknown;
        };
        let word = &*first.name.text;
        if path.dot {
            let operand = self.operand(expr);
            return self.truth(&operand, expr.span);
        }
        match (atom(word), rest) {
            (Some(Atom::Mark | Atom::Touched), _) if self.is_rule => {
                return self.unknown_to_rules(word, first.name.span);
            }
            (Some(atom), []) => return self.atom_cond(atom),
            (Some(Atom::Mark), [name]) => return Cond::Mark(Some(name.name.text.as_str().into())),
            (Some(Atom::Lint), [code, ..]) => return self.lint(&code.name),
            _ => {}
        }
        let fact = matches!(word, "pkt" | "sess")
            || word == "link" && !rest.is_empty()
            || word == "snap" && !rest.is_empty();
        if fact || VALUES.contains(&word) && rest.is_empty() {
            let operand = self.operand(expr);
            return self.truth(&operand, expr.span);
        }
        let Some(named) = self.message(path) else {
            return Cond::Unknown;
        };
        if named.used < path.segments.len() {
            let operand = self.operand_of(&named, path);
            let operand = self.single(operand, expr);
            return self.truth(&operand, expr.span);
        }
        self.note_versions(&named.label, &named.defs, expr.span);
        self.note_others(&named, expr.span);
        Cond::Is(self.target(named.target))
    }

    fn atom_cond(&mut self, atom: &Atom) -> Cond {
        match atom {
            Atom::Dir(dir) => Cond::Dir(*dir),
            Atom::Class(class) => Cond::Is(self.target(Target::Class(*class))),
            Atom::Snap => {
                let target = self.any_snap();
                Cond::Is(self.target(target))
            }
            Atom::Flag(flag) => Cond::Flag(*flag),
            Atom::Lint => Cond::Lint(None),
            Atom::Mark => Cond::Mark(None),
            Atom::Touched => Cond::Number(Number::Done(DoneFact::Touched), IntTest::Op(Compare::Unequal, 0)),
        }
    }

    /// Reports a fact about what was done to the message in a rule.
    pub(super) fn unknown_to_rules(&mut self, word: &str, span: Span) -> Cond {
        let diagnostic = Diagnostic::new(Code::NotHere, span, format!("`{word}` is not known to rules"))
            .note("a rule decides before anything was done to the message")
            .help("use it in a filter: -f, --until, --fail-on, or `teetap grep` on a recording");
        self.report_error(diagnostic)
    }

    fn lint(&mut self, code: &Name) -> Cond {
        let wanted = code.text.replace('_', "-").to_ascii_lowercase();
        let names = || Lint::ALL.iter().map(|code| code.name());
        match Lint::ALL.iter().find(|code| code.name() == wanted) {
            Some(lint) if self.is_rule && lint.has(Property::NeedsStream) => {
                let what = format!("a rule does not see `lint.{}`", code.text);
                let diagnostic = Diagnostic::new(Code::NotHere, code.span, what)
                    .note("it needs all datagrams of the session, and a rule decides about each as it comes")
                    .help("use it in a filter: -f, --until, --fail-on, or `teetap grep` on a recording");
                self.report_error(diagnostic)
            }
            Some(lint) => Cond::Lint(Some(*lint)),
            None => {
                let what = format!("unknown lint `{}`", code.text);
                let diagnostic = Diagnostic::new(Code::UnknownLint, code.span, what);
                self.report_error(match suggest(&wanted, names()) {
                    None => diagnostic.note(format!("lints are {}", vocabulary::lints().join(", "))),
                    meant => diagnostic.meant(meant),
                })
            }
        }
    }

    /// Uses a value as a condition, which is possible only for booleans.
    pub(super) fn truth(&mut self, operand: &Operand, span: Span) -> Cond {
        match operand {
            Operand::Failed => Cond::Unknown,
            Operand::Truth(number) => Cond::Number(number.clone(), IntTest::Op(Compare::Unequal, 0)),
            Operand::Field(at, what) => {
                let kinds = self.kinds.get(usize::from(*at)).cloned().unwrap_or_default();
                let test = |kind: &Option<&Field>| match kind {
                    Some(field) if field.ty == Type::Bool => Test::Int(IntTest::Op(Compare::Unequal, 0)),
                    _ => Test::Never,
                };
                let tests: Box<[Test]> = kinds.iter().map(test).collect();
                if tests.iter().all(|test| matches!(test, Test::Never)) {
                    let kind = kinds
                        .first()
                        .copied()
                        .flatten()
                        .map_or("a group of fields".to_owned(), literal::kind);
                    let help = match &*kind {
                        _ if what.starts_with("snap.") => {
                            "compare it, as in `snap.character[3].x == 1`, or use `has(…)`".to_owned()
                        }
                        "text" => format!("write `{what} contains \"text\"`, or `has({what})`"),
                        "a number" => format!("write `{what} == 1`, or `has({what})`"),
                        _ => format!("compare it, or write `has({what})`"),
                    };
                    let what = format!("`{what}` is {kind}, not a condition");
                    let diagnostic = Diagnostic::new(Code::NotCondition, span, what);
                    return self.report_error(diagnostic.help(help));
                }
                Cond::Field(*at, tests)
            }
            Operand::Number(_, quantity) => {
                self.not_condition(span, quantity.name(), "compare it, as in `… == 1`")
            }
            Operand::Named(_, names) => {
                let name = names.first().map_or("1", |(name, _)| name);
                self.not_condition(span, "a name", &format!("compare it, as in `… == {name}`"))
            }
            Operand::Flags(..) => self.not_condition(
                span,
                "a set of flags",
                "write `… contains` and the name of a flag",
            ),
            Operand::Text(_, what) => {
                let kind = if what == "sess.name" { "a name" } else { "text" };
                self.not_condition(span, kind, &format!("write `{what} == \"text\"`"))
            }
        }
    }
}
