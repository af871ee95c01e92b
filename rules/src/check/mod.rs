//! Names and kinds of values.
//!
//! Law: everything that is wrong is found at once, and an expression without an error is complete: deciding with it
//! looks up no name and meets no value of a kind it does not know. A field that only some protocol versions have is
//! unknown in the others, which is a note and no error.

mod call;
mod compare;
mod fact;
mod field;
mod literal;
mod name;
mod scope;
mod set;
mod value;
mod versions;
mod vocabulary;
mod words;

use teetap_wire::def::{Class, Def, Dialect, Registry, suggest};
use teetap_wire::{Code as Lint, Dir};

use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{Cond, Flag, IntTest, Program, Test, TextTest};
use crate::span::Span;
use crate::syntax::{Compare, Expr, Kind, Path};
use value::Operand;

pub use vocabulary::vocabulary;
pub use words::{class_of, is_word};

/// Checks an expression. The program is of use only if no diagnostic is an error.
pub(crate) fn check(expr: &Expr, registry: &Registry) -> (Program, Vec<Diagnostic>) {
    let mut checker = Checker::new(registry);
    let is = |name: &crate::syntax::Name| name.text.eq_ignore_ascii_case("snap_single");
    checker.knows = Knows {
        snap_single: expr.mentions(&|path| path.segments.iter().any(|segment| is(&segment.name))),
        connless: expr.mentions(&|path| path.begins("connless", |_| true)),
    };
    checker.program.root = checker.cond(expr);
    (checker.program, checker.diagnostics)
}

/// A definition and the dialect it is of.
type Of<'r> = (Dialect, &'r Def);

struct Checker<'r> {
    registry: &'r Registry,
    /// All messages.
    defs: Vec<Of<'r>>,
    program: Program,
    /// How the fields of the program are defined, entry by entry; `None` for a whole item or message.
    kinds: Vec<Vec<Option<&'r teetap_wire::def::Field>>>,
    diagnostics: Vec<Diagnostic>,
    /// Which of `defs` the message may be, where the checker is now.
    scope: Vec<bool>,
    each: Option<Each>,
    knows: Knows,
}

/// Whoever writes this one, or any message of that class, knows that a name is not all there is.
#[derive(Debug, Clone, Copy, Default)]
struct Knows {
    snap_single: bool,
    connless: bool,
}

/// The `any(..)` or `all(..)` that the checker is in.
#[derive(Debug, Clone, Copy, Default)]
struct Each {
    /// The list that it is about, once that is known.
    list: Option<u16>,
}

/// Conditions that are one word.
enum Atom {
    Dir(Dir),
    Class(Class),
    Snap,
    Flag(Flag),
    Lint,
}

const ATOMS: [(&str, Atom); 13] = [
    ("c2s", Atom::Dir(Dir::C2s)),
    ("s2c", Atom::Dir(Dir::S2c)),
    ("ctrl", Atom::Class(Class::Control)),
    ("sys", Atom::Class(Class::System)),
    ("game", Atom::Class(Class::Game)),
    ("connless", Atom::Class(Class::Connless)),
    ("any_snap", Atom::Snap),
    ("vital", Atom::Flag(Flag::Vital)),
    ("resend", Atom::Flag(Flag::Resend)),
    ("compressed", Atom::Flag(Flag::Compressed)),
    ("unknown", Atom::Flag(Flag::Unknown)),
    ("malformed", Atom::Flag(Flag::Malformed)),
    ("lint", Atom::Lint),
];

fn atom(name: &str) -> Option<&'static Atom> {
    ATOMS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, atom)| atom)
}

impl<'r> Checker<'r> {
    fn new(registry: &'r Registry) -> Self {
        let of = |dialect| registry.defs(dialect).map(move |def| (dialect, def));
        let defs: Vec<Of<'r>> = Dialect::ALL
            .into_iter()
            .flat_map(of)
            .filter(|(_, def)| def.class != Class::Object)
            .collect();
        let scope = vec![true; defs.len()];
        Self {
            registry,
            defs,
            program: Program::default(),
            kinds: Vec::new(),
            diagnostics: Vec::new(),
            scope,
            each: None,
            knows: Knows::default(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports an error, and gives a condition in its place.
    fn wrong(&mut self, diagnostic: Diagnostic) -> Cond {
        self.report(diagnostic);
        Cond::Unknown
    }

    fn cond(&mut self, expr: &Expr) -> Cond {
        match &expr.kind {
            Kind::Any(parts) => Cond::Any(parts.iter().map(|part| self.cond(part)).collect()),
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
                let what = "an empty text is in every text";
                self.wrong(Diagnostic::new(Code::Impossible, expr.span, what))
            }
            Kind::Text(text) => Cond::Search(TextTest::contains(text.as_bytes())),
            Kind::Regex(pattern) => match self.regex(pattern, expr.span) {
                Some(test) => Cond::Search(test),
                None => Cond::Unknown,
            },
            Kind::Path(path) => self.path_cond(path, expr),
            Kind::Call(call) => self.call_cond(call, expr),
            Kind::Number(_) | Kind::Arith(..) | Kind::Negate(_) => self.not_condition(expr.span, "a number"),
            Kind::Variable(_) => {
                let operand = self.operand(expr);
                self.truth(&operand, expr.span)
            }
        }
    }

    fn not_condition(&mut self, span: Span, what: &str) -> Cond {
        let diagnostic = Diagnostic::new(Code::NotCondition, span, format!("{what} is not a condition"));
        self.wrong(diagnostic.help("compare it, as in `… == 1`"))
    }

    /// A path as a condition: a word, a message, or a fact that is true or false.
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
            (Some(atom), []) => return self.atom_cond(atom),
            (Some(Atom::Lint), [code, ..]) => return self.lint(&code.name),
            _ => {}
        }
        let fact = matches!(word, "pkt" | "sess") || word == "snap" && !rest.is_empty();
        if fact || words::VALUES.contains(&word) && rest.is_empty() {
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
            Atom::Class(class) => Cond::Is(self.target(crate::eval::Target::Class(*class))),
            Atom::Snap => {
                let target = self.any_snap();
                Cond::Is(self.target(target))
            }
            Atom::Flag(flag) => Cond::Flag(*flag),
            Atom::Lint => Cond::Lint(None),
        }
    }

    fn lint(&mut self, code: &crate::syntax::Name) -> Cond {
        let wanted = code.text.replace('_', "-").to_ascii_lowercase();
        let names = || Lint::ALL.iter().map(|code| code.name());
        match Lint::ALL.iter().find(|code| code.name() == wanted) {
            Some(lint) => Cond::Lint(Some(*lint)),
            None => {
                let what = format!("unknown lint `{}`", code.text);
                let diagnostic = Diagnostic::new(Code::UnknownLint, code.span, what);
                self.wrong(match suggest(&wanted, names()) {
                    None => diagnostic.note(format!("lints are {}", vocabulary::lints().join(", "))),
                    meant => diagnostic.meant(meant),
                })
            }
        }
    }

    /// A value where a condition is wanted: true or false, or not that.
    fn truth(&mut self, operand: &Operand, span: Span) -> Cond {
        match operand {
            Operand::Failed => Cond::Unknown,
            Operand::Truth(number) => Cond::Number(number.clone(), IntTest::Op(Compare::Unequal, 0)),
            Operand::Field(at, what) => {
                use teetap_wire::def::Type;
                let kinds = self.kinds.get(usize::from(*at)).cloned().unwrap_or_default();
                let test = |kind: &Option<&teetap_wire::def::Field>| match kind {
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
                    let what = format!("`{what}` is {kind}, not a condition");
                    let diagnostic = Diagnostic::new(Code::NotCondition, span, what);
                    return self.wrong(diagnostic.help("compare it, as in `… == 1`, or ask `has(…)`"));
                }
                Cond::Field(*at, tests)
            }
            Operand::Number(_, quantity) => self.not_condition(span, quantity.name()),
            Operand::Named(..) | Operand::Player => self.not_condition(span, "a name"),
        }
    }
}
