//! Checks of functions.

use teetap_wire::def::suggest;

use super::checker::{Checker, Each, index_or_insert};
use super::literal;
use super::value::Operand;
use super::words::{Atom, atom};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::eval::{Cond, Number, Source, Target};
use crate::span::Span;
use crate::synonym::{self, Place};
use crate::syntax::{Call, Expr, Kind, Quantity};

/// All functions with their syntax.
pub(super) const FUNCTIONS: [(&str, &str); 8] = [
    ("seen", "seen(message)"),
    ("count", "count(message)"),
    ("since", "since(message)"),
    ("last", "last(message).field"),
    ("len", "len(field)"),
    ("any", "any(condition)"),
    ("all", "all(condition)"),
    ("has", "has(field)"),
];

impl Checker<'_> {
    pub(super) fn call_cond(&mut self, call: &Call, expr: &Expr) -> Cond {
        match &*call.name.text {
            "seen" => self.counted(call).map_or(Cond::Unknown, Cond::Seen),
            "any" => self.each(call, false),
            "all" => self.each(call, true),
            "has" => {
                let Some(argument) = self.argument(call) else {
                    return Cond::Unknown;
                };
                let Kind::Path(path) = &argument.kind else {
                    let what = "`has` takes a field";
                    return self.report_error(Diagnostic::new(Code::Arguments, argument.span, what));
                };
                self.whole(path).map_or(Cond::Unknown, Cond::Has)
            }
            _ => {
                let operand = self.operand(expr);
                self.truth(&operand, expr.span)
            }
        }
    }

    pub(super) fn call_value(&mut self, call: &Call, span: Span) -> Operand {
        match &*call.name.text {
            "count" => match self.counted(call) {
                Some(slot) => Operand::Number(Number::Count(slot), Quantity::Plain),
                None => Operand::Failed,
            },
            "since" => match self.counted(call) {
                Some(slot) => Operand::Number(Number::Since(slot), Quantity::Duration),
                None => Operand::Failed,
            },
            "last" => self.last(call),
            "len" => self.len(call),
            name if FUNCTIONS.iter().any(|(known, _)| *known == name) => {
                let what = format!("`{name}(…)` is a condition, not a value");
                self.failed(Diagnostic::new(Code::NotValue, span, what))
            }
            name => {
                let names = FUNCTIONS.iter().map(|(name, _)| *name);
                let diagnostic = Diagnostic::new(
                    Code::UnknownFunction,
                    call.name.span,
                    format!("unknown function `{name}`"),
                );
                let typed = match name {
                    "lint" => call
                        .arguments
                        .first()
                        .map(|code| format!("write `lint.{}`", code.to_string().replace(" - ", "_"))),
                    _ if self.is_name(name) => Some(format!(
                        "write `{name}` alone, or a field: `{name}.message == \"x\"`"
                    )),
                    _ => synonym::help(Place::Function, name),
                };
                let diagnostic = diagnostic.meant(suggest(name, names.clone())).or_help(typed);
                self.failed(
                    diagnostic.note(format!("functions are {}", names.collect::<Vec<_>>().join(", "))),
                )
            }
        }
    }

    /// Returns the only argument of a function without a path after it.
    fn argument<'e>(&mut self, call: &'e Call) -> Option<&'e Expr> {
        match (&*call.arguments, &*call.rest) {
            ([argument], []) => Some(argument),
            _ => self.wrong_call(call),
        }
    }

    fn wrong_call<T>(&mut self, call: &Call) -> Option<T> {
        let name = &*call.name.text;
        let usage = FUNCTIONS
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, usage)| *usage);
        let what = format!("`{name}` is called as `{usage}`");
        self.report(Diagnostic::new(Code::Arguments, call.name.span, what));
        None
    }

    /// Returns the slot of a counted message.
    fn counted(&mut self, call: &Call) -> Option<u16> {
        let argument = self.argument(call)?;
        let target = self.message_argument(call, argument)?;
        let target = self.target(target);
        Some(index_or_insert(&mut self.program.counted, target))
    }

    /// Returns the target of a message argument: a message, all messages of a class, or all that carry snapshots.
    fn message_argument(&mut self, call: &Call, argument: &Expr) -> Option<Target> {
        let Kind::Path(path) = &argument.kind else {
            let what = format!("`{}` takes the name of a message", call.name.text);
            self.report(Diagnostic::new(Code::Arguments, argument.span, what));
            return None;
        };
        let word = path.segments.first().map_or("", |first| &*first.name.text);
        match (path.dot, atom(word)) {
            (false, Some(Atom::Class(class))) if path.segments.len() == 1 => Some(Target::Class(*class)),
            (false, Some(Atom::Snap)) if path.segments.len() == 1 => Some(self.any_snap()),
            (false, _) => {
                let named = self.message(path)?;
                if named.used < path.segments.len() {
                    let what = format!("`{}` takes a message, not a field", call.name.text);
                    self.report(Diagnostic::new(Code::Arguments, argument.span, what));
                    return None;
                }
                self.note_versions(&named.label, &named.defs, argument.span);
                Some(named.target)
            }
            (true, _) => {
                let what = format!("`{}` takes a message, not a field", call.name.text);
                self.report(Diagnostic::new(Code::Arguments, argument.span, what));
                None
            }
        }
    }

    fn last(&mut self, call: &Call) -> Operand {
        let ([argument], false) = (&*call.arguments, call.rest.is_empty()) else {
            return self.wrong_call(call).unwrap_or(Operand::Failed);
        };
        let Kind::Path(path) = &argument.kind else {
            let what = "`last` takes the name of a message";
            return self.failed(Diagnostic::new(Code::Arguments, argument.span, what));
        };
        let Some(named) = self.message(path) else {
            return Operand::Failed;
        };
        if path.dot || named.used < path.segments.len() {
            let what = "`last` takes a message; the field follows the bracket";
            return self.failed(Diagnostic::new(Code::Arguments, argument.span, what));
        }
        // Checks the field twice: of this message, and of the last message, whose value is remembered.
        let Operand::Field(now, what) = self.field_of(Source::Message, &named.label, &named.defs, &call.rest)
        else {
            return Operand::Failed;
        };
        let slot = index_or_insert(&mut self.program.kept, now);
        match self.field_of(Source::Last(slot), &named.label, &named.defs, &call.rest) {
            Operand::Field(at, _) => Operand::Field(at, format!("last {what}")),
            _ => Operand::Failed,
        }
    }

    fn len(&mut self, call: &Call) -> Operand {
        let Some(argument) = self.argument(call) else {
            return Operand::Failed;
        };
        let operand = self.place_or_value(argument);
        let wrong =
            |what: &str| Diagnostic::new(Code::Arguments, argument.span, format!("{what} has no length"));
        match &operand {
            Operand::Failed => Operand::Failed,
            Operand::Text(text, _) => Operand::Number(Number::TextLength(*text), Quantity::Plain),
            Operand::Field(at, what) => {
                let entries = self
                    .program
                    .fields
                    .get(usize::from(*at))
                    .map_or(&[][..], |field| &field.entries);
                let list = entries
                    .iter()
                    .flat_map(|entry| &entry.path)
                    .any(|path| path.is_list());
                let kinds = self.kinds.get(usize::from(*at)).map_or(&[][..], |kinds| kinds);
                let bytes = kinds.iter().flatten().any(|field| literal::has_bytes(field));
                match list || bytes {
                    // The length of a list does not depend on its elements.
                    true if list => Operand::Number(Number::Length(*at), Quantity::Plain),
                    true => match self.operand(argument) {
                        Operand::Field(at, _) => Operand::Number(Number::Length(at), Quantity::Plain),
                        _ => Operand::Failed,
                    },
                    false => {
                        let what = format!("`{what}`");
                        self.failed(wrong(&what))
                    }
                }
            }
            _ => self.failed(wrong("this")),
        }
    }

    /// Checks `any(..)` and `all(..)`.
    fn each(&mut self, call: &Call, all: bool) -> Cond {
        let Some(argument) = self.argument(call) else {
            return Cond::Unknown;
        };
        let name = &call.name.text;
        if self.each.is_some() {
            let what = format!("`{name}` within another `any` or `all`");
            return self.report_error(Diagnostic::new(Code::Arguments, call.name.span, what));
        }
        self.each = Some(Each::default());
        let errors = |checker: &Self| {
            let wrong = |diagnostic: &&Diagnostic| diagnostic.severity() == Severity::Error;
            checker.diagnostics.iter().filter(wrong).count()
        };
        let before = errors(self);
        let inner = self.cond(argument);
        let list = self.each.take().and_then(|each| each.list);
        match list {
            Some(list) => Cond::Each {
                all,
                list,
                inner: Box::new(inner),
            },
            None if errors(self) > before => Cond::Unknown,
            None => {
                let what = format!("there is no list in `{name}(…)`");
                let help =
                    "a list is a field such as `clients.name`, or an item without id: `snap.character.x`";
                self.report_error(Diagnostic::new(Code::Arguments, argument.span, what).help(help))
            }
        }
    }
}
