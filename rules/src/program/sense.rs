//! Checks for rules whose actions contradict each other, or have no effect.
//!
//! Law: an action that can have no effect on any message of its condition is an error. An action without an effect on
//! some of them, or that another action of its rule hides, has a warning.

use teetap_wire::def::{Def, Dialect, Registry};
use teetap_wire::{Dir, Proto};

use crate::check::{Assign, ResolvedAction, Target, Template, VarValue};
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{DefKey, TextPart, Value};
use crate::filter::Filter;
use crate::proto_dirs::ProtoDirs;
use crate::span::Span;
use crate::syntax::{self, Action, Expr, Kind, TemplatePart, parse};

/// A rule with its checked condition and actions, one resolved action per action.
pub(super) struct CheckedRule<'a> {
    pub(super) rule: &'a syntax::Rule,
    pub(super) when: &'a Filter,
    pub(super) resolved: &'a [ResolvedAction],
    /// Protocols and directions in which it matches chunks.
    pub(super) chunks: ProtoDirs,
    pub(super) registry: &'static Registry,
}

impl CheckedRule<'_> {
    /// Returns errors and warnings about the actions.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = self.contradictions();
        found.extend(self.repeated());
        found.extend(self.braces());
        found.extend(self.only_first_copies());
        // A rule without a condition has no message.
        if self.rule.when.is_some() && self.when.reach().anything() {
            for (action, resolved_action) in self.rule.actions.iter().zip(self.resolved) {
                found.extend(self.of_other_message(action, resolved_action));
                found.extend(self.made(resolved_action));
            }
        }
        found
    }

    fn at_rule(&self, code: Code, what: String) -> Diagnostic {
        Diagnostic::new(code, self.rule.span, what)
    }

    /// Returns diagnostics about actions that exclude or hide each other.
    fn contradictions(&self) -> Vec<Diagnostic> {
        let actions = &self.rule.actions;
        let find = |wanted: fn(&Action) -> bool| actions.iter().find(|action| wanted(action));
        let is_never_sent = |action: &Action| matches!(action, Action::Drop | Action::Lose { .. });
        if let (Some(pass), Some(other)) =
            (find(|action| matches!(action, Action::Pass)), find(is_never_sent))
        {
            let what = format!("`{pass}` and `{other}` exclude each other");
            return vec![self.at_rule(Code::Contradiction, what).help("remove one of them")];
        }
        let mut found = Vec::new();
        let strongest = actions.iter().filter_map(strength).max();
        let winner = actions
            .iter()
            .position(|action| strength(action).is_some() && strength(action) == strongest);
        for (at, action) in actions.iter().enumerate() {
            let Some((winner_at, winner)) = winner.and_then(|at| Some((at, actions.get(at)?))) else {
                break;
            };
            let hidden = match action {
                Action::Delay { .. } | Action::Lose { .. } if strength(action) == strongest => false,
                Action::Dup { .. } | Action::Set(_) | Action::Replace(_) | Action::Corrupt { .. } => {
                    matches!(winner, Action::Drop)
                }
                action => strength(action).is_some() && at != winner_at,
            };
            if hidden {
                let what = format!("`{action}` has no effect beside `{winner}`");
                found.push(
                    self.at_rule(Code::NoEffect, what)
                        .help("remove it, or write a rule of its own"),
                );
            }
        }
        let waits = |action: &Action| {
            matches!(
                action,
                Action::Hold { .. } | Action::Pause { .. } | Action::Reorder { .. }
            )
        };
        if let (Some(dup), Some(waiting)) = (find(|action| matches!(action, Action::Dup { .. })), find(waits))
        {
            let what = format!("the copies of `{dup}` do not wait as the message does with `{waiting}`");
            found.push(
                self.at_rule(Code::NoEffect, what)
                    .help("use `delay`, with which copies wait, too"),
            );
        }
        found
    }

    /// Returns diagnostics about fields and variables that the rule sets twice.
    fn repeated(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut fields: Vec<&Assign> = Vec::new();
        let mut variables = Vec::new();
        for (action, resolved_action) in self.rule.actions.iter().zip(self.resolved) {
            match (action, resolved_action) {
                (Action::Set(written), ResolvedAction::Set(assigns)) => {
                    for (written, assign) in written.iter().zip(assigns) {
                        if fields.iter().any(|before| is_same_field(before, assign)) {
                            let what =
                                format!("`{}` is set twice; the second value would count", written.target);
                            found.push(Diagnostic::new(Code::Repeated, written.target.span, what));
                        }
                        fields.push(assign);
                    }
                }
                (Action::Var { name, .. }, ResolvedAction::Var(at, ..)) => {
                    if variables.contains(at) {
                        let what = format!("`${}` is set twice; the second value would count", name.text);
                        found.push(Diagnostic::new(Code::Repeated, name.span, what));
                    }
                    variables.push(*at);
                }
                _ => {}
            }
        }
        found
    }

    /// Returns warnings about texts in which braces look like values, but are not replaced.
    fn braces(&self) -> Vec<Diagnostic> {
        let of = |text: &str, span: Span, verb: &str, help: String| {
            let value = value_in_braces(text)?;
            let what = format!(
                "`{{{value}}}` in the text of `{verb}` is written as it is: values in braces are for `log`, `set`, `inject`, `reply` and `fail`"
            );
            Some(Diagnostic::new(Code::Braces, span, what).help(help))
        };
        let literal = |expr: &Expr, verb: &str| match &expr.kind {
            Kind::Text(text) => of(
                text,
                expr.span,
                verb,
                "a value stands without quotes, as in `= sess.name`; a text cannot be put together"
                    .to_owned(),
            ),
            _ => None,
        };
        let mut found = Vec::new();
        for action in &self.rule.actions {
            let logs = |text: &str| format!("add an action: `log \"{text}\"`");
            match action {
                Action::Var { value, .. } => found.extend(literal(value, "var")),
                Action::Replace(replace) => {
                    let help = "a group of the pattern is `$1`".to_owned();
                    found.extend(of(&replace.with, replace.span, "replace", help));
                }
                Action::Close { reason, .. } => {
                    found.extend(of(reason, self.rule.span, "close", logs(reason)))
                }
                _ => {}
            }
        }
        found
    }

    /// Returns a warning about a rule for retransmissions whose actions apply to first copies only.
    fn only_first_copies(&self) -> Option<Diagnostic> {
        let is_resend = |expr: &Expr| matches!(&expr.kind, Kind::Path(path) if path.to_string().eq_ignore_ascii_case("resend"));
        let when = self.rule.when.as_ref()?;
        let is_about_repeats = match &when.kind {
            Kind::All(parts) => parts.iter().any(is_resend),
            _ => is_resend(when),
        };
        let looks = self.resolved.iter().any(ResolvedAction::runs_on_copies);
        let acting = self.rule.actions.iter().find(|action| !action.is_passive())?;
        let what = format!(
            "`{acting}` looks at first copies only, which have the mark `resend` if an earlier copy was lost"
        );
        (is_about_repeats && !looks).then(|| {
            self.at_rule(Code::FirstCopies, what)
                .help("leave out `resend`: what becomes of the first copy becomes of its repeats; for losses on the way use `link … loss 5%`")
        })
    }

    /// Returns an error for each field of a message that the rule's condition cannot match.
    fn of_other_message(&self, action: &Action, resolved_action: &ResolvedAction) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        match (action, resolved_action) {
            (Action::Set(written), ResolvedAction::Set(assigns)) => {
                for (written, assign) in written.iter().zip(assigns) {
                    found.extend(self.assigned(written, assign));
                }
            }
            (Action::Replace(written), ResolvedAction::Replace(replace)) => {
                let has = |key: &DefKey| replace.places.iter().any(|(of, _)| of == key);
                if !self.may_match(has) {
                    found.push(not_this(&written.target));
                }
            }
            (Action::Make(made), ResolvedAction::Make(template)) => {
                for (name, expr) in &made.fields {
                    let value = |form: &crate::check::DialectForm| {
                        let mut fields = form.fields.iter();
                        fields
                            .find(|(of, _)| **of == *name.text)
                            .map(|(_, value)| value.clone())
                    };
                    let values: Vec<Value> = template.forms.iter().filter_map(value).collect();
                    if !self.may_match(|key| values.iter().any(|value| self.when.has_value(value, key))) {
                        found.push(not_this(expr));
                    }
                }
            }
            (Action::Var { value: expr, .. }, ResolvedAction::Var(_, _, value)) => {
                let value = match &**value {
                    VarValue::Number(number) => Value::Number(number.clone()),
                    VarValue::Text(text) => Value::Text(*text),
                    VarValue::Fixed(_) | VarValue::Truth(_) => return found,
                };
                if !self.may_match(|key| self.when.has_value(&value, key)) {
                    found.push(not_this(expr));
                }
            }
            (Action::Log(Some(template)), ResolvedAction::Log(Some(parts)))
            | (Action::Fail(template), ResolvedAction::Fail(parts)) => {
                for (written, part) in template.0.iter().zip(parts) {
                    let value = match part {
                        TextPart::Number(number, _)
                        | TextPart::Named(number, _)
                        | TextPart::Flags(number, _) => Value::Number(number.clone()),
                        TextPart::Value(text) => Value::Text(*text),
                        TextPart::Text(_) => continue,
                    };
                    if let TemplatePart::Value(expr) = written
                        && !self.may_match(|key| self.when.has_value(&value, key))
                    {
                        let what = format!(
                            "`{expr}` has no value for the messages of this condition: `?` is logged"
                        );
                        found.push(Diagnostic::new(Code::NoEffect, expr.span, what).help(of_last(expr)));
                    }
                }
            }
            _ => {}
        }
        found
    }

    fn assigned(&self, written: &syntax::Assign, assign: &Assign) -> Option<Diagnostic> {
        if assign.target != Target::Message {
            return None;
        }
        let of = |key: &DefKey| assign.places.iter().find(|(of, ..)| of == key);
        if !self.may_match(|key| of(key).is_some()) {
            return Some(not_this(&written.target));
        }
        let is_known = |key: &DefKey| of(key).is_some_and(|(_, _, value)| self.when.has_value(value, key));
        (!self.may_match(is_known)).then(|| not_this(&written.value))
    }

    /// Returns a diagnostic about a message that the rule creates for none, or only for some, of its messages.
    fn made(&self, resolved_action: &ResolvedAction) -> Option<Diagnostic> {
        let ResolvedAction::Make(template) = resolved_action else {
            return None;
        };
        let verb = if template.dir.is_some() { "inject" } else { "reply" };
        let is_made = |(proto, dir)| makes(template, proto, dir);
        let dirs = [Dir::C2s, Dir::S2c];
        let has = |dir: Dir, wanted: bool| {
            let mut places = self.chunks.iter().filter(|(_, of)| *of == dir);
            places.any(|place| is_made(place) == wanted)
        };
        let what = &template.what;
        if !dirs.iter().any(|dir| has(*dir, true)) {
            let (_, dir) = self.chunks.iter().next()?;
            if template.dir.is_some() {
                let error =
                    format!("no version of the game has both `{what}` and the messages of this condition");
                return Some(self.at_rule(Code::NotHere, error));
            }
            let sender = match dir {
                Dir::C2s => "client",
                Dir::S2c => "server",
            };
            let error =
                format!("`reply {what}` is sent to the {sender}, and no version of the game sends it there");
            let help = format!("to send it on with the message write `inject {dir} {what}`");
            return Some(self.at_rule(Code::NotHere, error).help(help));
        }
        let silent = dirs
            .into_iter()
            .find(|dir| !has(*dir, true) && has(*dir, false))?;
        let (sender, other) = match silent {
            Dir::C2s => ("client", "s2c"),
            Dir::S2c => ("server", "c2s"),
        };
        let text = format!("`{verb} {what}` does nothing for messages of the {sender}");
        let help = format!("add `{other}` to the condition");
        Some(self.at_rule(Code::NoEffect, text).help(help))
    }

    /// Returns true if `wanted` returns true for a message that the rule may match.
    fn may_match(&self, wanted: impl Fn(&DefKey) -> bool) -> bool {
        let of = |proto: Proto, _, def: &Def| wanted(&DefKey::new(Dialect::from(proto), def));
        self.when.may_match(self.registry, of)
    }
}

/// Returns true if a message is created for messages in this direction.
fn makes(template: &Template, proto: Proto, dir: Dir) -> bool {
    let to = template.dir.unwrap_or_else(|| dir.reverse());
    let mut forms = template.forms.iter();
    forms.any(|form| form.dialect == Dialect::from(proto) && form.def.way.allows(to))
}

/// Returns the rank of an action's fate, see [`Fate::add`](crate::Fate); `None` for actions without a fate.
const fn strength(action: &Action) -> Option<u8> {
    match action {
        Action::Delay { .. } => Some(1),
        Action::Reorder { .. } => Some(2),
        Action::Hold { .. } => Some(3),
        Action::Pause { .. } => Some(4),
        Action::Lose { .. } => Some(5),
        Action::Drop => Some(6),
        _ => None,
    }
}

fn is_same_field(one: &Assign, other: &Assign) -> bool {
    let is_there = |(key, place): (&DefKey, &teetap_wire::def::Path)| {
        one.places.iter().any(|(of, at, _)| (of, at) == (key, place))
    };
    one.target == other.target && other.places.iter().any(|(key, place, _)| is_there((key, place)))
}

/// Returns the error for a field of another message.
fn not_this(expr: &Expr) -> Diagnostic {
    let what = format!("`{expr}` is of another message than the condition is about");
    Diagnostic::new(Code::NotHere, expr.span, what).help(of_last(expr))
}

/// Returns the help for a field of another message.
fn of_last(expr: &Expr) -> String {
    match &expr.kind {
        Kind::Path(path) if !path.dot && path.segments.len() > 1 => {
            let segments: Vec<_> = path
                .segments
                .iter()
                .map(|segment| segment.name.text.as_str())
                .collect();
            let (message, field) = segments.split_first().unwrap_or((&"", &[]));
            format!(
                "name the message in the condition, or use its last value: `last({message}).{}`",
                field.join(".")
            )
        }
        _ => "name the message in the condition, or use `last(MESSAGE).FIELD`".to_owned(),
    }
}

/// Returns the first text in braces that parses as a value.
fn value_in_braces(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let (inner, _) = after.split_once('}')?;
        let is_value = parse(inner).is_ok_and(|expr| {
            matches!(
                expr.kind,
                Kind::Path(_) | Kind::Variable(_) | Kind::Call(_) | Kind::Arith(..)
            )
        });
        if is_value {
            return Some(inner);
        }
        rest = after;
    }
    None
}
