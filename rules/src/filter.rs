//! A filter: one expression that can be matched against messages.

use std::fmt;

use teetap_wire::def::{Class, Datum, Def, Registry};
use teetap_wire::{Dir, Proto};

use crate::check::{ResolvedAction, Variables};
use crate::corrected::corrected;
use crate::diagnostic::{Code, Diagnostic, Severity, finish};
use crate::eval::{Cond, DefKey, Facts, Identity, Memory, Number, Program, Reach, Subject, Text, Value};
use crate::proto_dirs::proto_dirs;
use crate::span::Span;
use crate::syntax::{Action, Expr, Kind, Path, idiom, parse};

/// A checked expression.
///
/// It can be shared, since the state that changes with messages is in the [`Memory`], one per session.
#[derive(Debug, Clone)]
pub struct Filter {
    expr: Expr,
    /// Values that a rule writes when it matches.
    values: Vec<Expr>,
    program: Program,
    reach: Reach,
}

impl Filter {
    /// Parses and checks an expression. Also returns warnings and notes in the order of the text.
    ///
    /// # Errors
    /// Returns all errors in the order of the text.
    pub fn parse(text: &str, registry: &Registry) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let read = |text: &str| Self::check(parse(text).map_err(|error| vec![error])?, registry);
        read(text).map_err(|errors| {
            let check = |text: &str| read(text).err().unwrap_or_default();
            let place = Span::new(0, text.len());
            let mut errors = errors.into_iter();
            // A correction of the first error is one of the whole text.
            let first = errors
                .next()
                .map(|first| corrected(text, place, first, idiom::filters(text), &check));
            first.into_iter().chain(errors).collect()
        })
    }

    /// Checks a parsed expression, like [`Self::parse`].
    ///
    /// # Errors
    /// Returns all errors in the order of the text.
    pub fn check(expr: Expr, registry: &Registry) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (program, diagnostics) = crate::check::check(&expr, registry, None);
        Self::new(expr, Vec::new(), program, diagnostics, registry)
    }

    /// Checks a condition of a rule about messages on which the rule does not act, such as the condition of `expect`. The
    /// condition may read the variables of all rules.
    pub(crate) fn check_with(
        expr: Expr,
        registry: &Registry,
        variables: &Variables,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (program, diagnostics) = crate::check::check(&expr, registry, Some(variables));
        Self::new(expr, Vec::new(), program, diagnostics, registry)
    }

    /// Checks the condition of a rule with its actions, which share their memory. Without a condition no message
    /// matches.
    pub(crate) fn check_rule(
        expr: Option<Expr>,
        actions: &[Action],
        registry: &'static Registry,
        variables: &Variables,
    ) -> Result<(Self, Vec<ResolvedAction>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (program, resolved, diagnostics) =
            crate::check::check_rule(expr.as_ref(), actions, registry, variables);
        let mut values = Vec::new();
        for action in actions {
            action.each_expr(&mut |expr| values.push(expr.clone()));
        }
        let Some(expr) = expr else {
            let wrong = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
            if diagnostics.iter().any(wrong) {
                return Err(diagnostics);
            }
            // Without a condition no message matches.
            let filter = Self {
                expr: Expr::new(Kind::Any(Vec::new()), Span::default()),
                values,
                program,
                reach: Reach::default(),
            };
            return Ok((filter, resolved, diagnostics));
        };
        let (filter, diagnostics) = Self::new(expr, values, program, diagnostics, registry)?;
        Ok((filter, resolved, diagnostics))
    }

    fn new(
        expr: Expr,
        values: Vec<Expr>,
        program: Program,
        mut diagnostics: Vec<Diagnostic>,
        registry: &Registry,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let wrong = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
        if diagnostics.iter().any(wrong) {
            diagnostics.retain(wrong);
            finish(&mut diagnostics);
            return Err(diagnostics);
        }
        let reach = Reach::new(&program, registry, true);
        if !reach.anything() {
            diagnostics.push(Diagnostic::new(
                Code::NeverMatches,
                expr.span,
                "no message can match this",
            ));
        } else if !Reach::new(&program, registry, false).anything() {
            let what = "only messages sent in the wrong direction can match this";
            let help = "messages of the client, such as `cl_say`, are `c2s`; those of the server, such as `sv_chat`, are `s2c`";
            diagnostics.push(Diagnostic::new(Code::NeverMatches, expr.span, what).help(help));
        }
        finish(&mut diagnostics);
        let filter = Self {
            expr,
            values,
            program,
            reach,
        };
        Ok((filter, diagnostics))
    }

    /// Returns true if `wanted` returns true for a path in the expression, or in a value that a rule writes.
    fn mentions(&self, wanted: &dyn Fn(&Path) -> bool) -> bool {
        let mut exprs = std::iter::once(&self.expr).chain(&self.values);
        exprs.any(|expr| expr.mentions(wanted))
    }

    /// Returns true if the other filter has the same memory of a session.
    pub(crate) fn remembers_like(&self, other: &Self) -> bool {
        (&self.expr, &self.values) == (&other.expr, &other.values)
    }

    /// Returns the syntax tree.
    #[must_use]
    pub const fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Returns true if the expression reads the contents of snapshots (`snap.tick`, `snap.character[3].x`). The caller
    /// must then follow snapshots: [`Facts::snap`] and [`Facts::items`].
    #[must_use]
    pub fn needs_snapshots(&self) -> bool {
        self.mentions(&|path| path.begins("snap", |_| true))
    }

    /// Returns true if the expression reads player names (`sess.name`), which the caller must collect from other
    /// messages: [`Facts::player`].
    #[must_use]
    pub fn needs_players(&self) -> bool {
        let is_name = |name: &str| name.eq_ignore_ascii_case("name");
        self.mentions(&|path| path.begins("sess", is_name))
    }

    /// Returns true if the expression reads the round trip (`sess.rtt`).
    pub(crate) fn needs_trips(&self) -> bool {
        let is_rtt = |name: &str| name.eq_ignore_ascii_case("rtt");
        self.mentions(&|path| path.begins("sess", is_rtt))
    }

    /// Returns true if the expression reads the leg of control messages (`leg`).
    pub(crate) fn needs_leg(&self) -> bool {
        self.mentions(&|path| !path.dot && path.starts("leg"))
    }

    /// Returns true if the expression reads notes (`lint`, `malformed`).
    #[must_use]
    pub fn needs_notes(&self) -> bool {
        let is_note = |path: &Path| path.starts("lint") || path.starts("malformed");
        self.mentions(&is_note)
    }

    /// Returns true if a message for which `wanted` returns true can match.
    pub fn may_match(&self, registry: &Registry, wanted: impl Fn(Proto, Dir, &Def) -> bool) -> bool {
        proto_dirs().any(|(proto, dir)| {
            registry.defs(proto.into()).any(|def| {
                let subject = Subject {
                    class: Some(def.class),
                    id: Identity::Other,
                    def: Some(def),
                };
                wanted(proto, dir, def) && self.reach.message(proto, dir, &subject)
            })
        })
    }

    /// Returns the messages that can match in their usual direction. If there are none, returns the messages that can
    /// match in the wrong direction.
    pub(crate) fn usual_reach(&self, registry: &Registry) -> Reach {
        if !self.reach.anything() {
            return Reach::default();
        }
        let usual = Reach::new(&self.program, registry, false);
        if usual.anything() {
            usual
        } else {
            self.reach.clone()
        }
    }

    /// Returns the messages that can match.
    #[must_use]
    pub const fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Returns the maximum bytes of memory of its compiled regexes.
    pub(crate) const fn regex_bytes(&self) -> usize {
        self.program.regex_bytes
    }

    /// Returns true if the filter remembers messages that do not match, so that it must see every message.
    #[must_use]
    pub const fn remembers(&self) -> bool {
        !self.program.forgets()
    }

    /// Returns true if the filter remembers messages in this direction.
    pub(crate) fn remembers_in(&self, registry: &Registry, proto: Proto, dir: Dir) -> bool {
        self.program.remembers_in(registry, proto, dir)
    }

    /// Returns true if a message may match, or may change the memory.
    pub(crate) fn concerns(&self, proto: Proto, dir: Dir, class: Class, def: Option<&Def>) -> bool {
        let key = def.map(|def| DefKey::new(proto.into(), def));
        self.reach.holds(proto, dir, Some(class), key.as_ref())
            || self.program.remembers(key.as_ref(), def, class)
    }

    /// Returns true if messages of a class may match, or may change the memory.
    pub(crate) fn sees(&self, registry: &Registry, class: Class) -> bool {
        let reach = self.usual_reach(registry);
        proto_dirs().any(|(proto, dir)| reach.class(proto, dir, class)) || self.keeps(registry, class)
    }

    /// Returns true if messages of a class may change the memory.
    pub(crate) fn keeps(&self, registry: &Registry, class: Class) -> bool {
        proto_dirs().any(|(proto, dir)| {
            let mut defs = registry.defs(proto.into());
            defs.any(|def| {
                let is_sent = def.class == class && def.way.allows(dir);
                is_sent
                    && self
                        .program
                        .remembers(Some(&DefKey::new(proto.into(), def)), Some(def), class)
            })
        })
    }

    /// Returns true if the filter depends on facts that need all messages of a session: its age, its player, its round
    /// trips.
    #[must_use]
    pub fn needs_history(&self) -> bool {
        self.program.needs_history()
    }

    /// Returns the memory for a new session.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.program.memory()
    }

    /// Remembers a message without deciding about it.
    pub(crate) fn remember(&self, facts: &impl Facts, memory: &mut Memory) {
        if self.remembers() {
            let key = facts
                .subject()
                .def
                .map(|def| DefKey::new(facts.proto().into(), def));
            self.program.count(facts, key.as_ref(), memory);
            self.program.keep(facts, key.as_ref(), memory);
        }
    }

    /// Returns true if a message matches. `None` is unknown and counts as no match. `memory` is the memory of the
    /// message's session.
    ///
    /// `count`, `seen` and `since` include this message; `last` refers to an earlier one.
    pub fn matches(&self, facts: &impl Facts, memory: &mut Memory) -> Option<bool> {
        let matched = self.decide(facts, memory);
        self.settle(facts, memory, matched);
        matched.result
    }

    /// Returns a number of a message that matches.
    pub(crate) fn number(
        &self,
        number: &Number,
        facts: &impl Facts,
        key: Option<&DefKey>,
        memory: &Memory,
    ) -> Option<i64> {
        self.program.number(number, facts, key, memory)
    }

    /// Returns a text of a message that matches, with its secret range.
    pub(crate) fn reported(
        &self,
        text: Text,
        facts: &impl Facts,
        known: (Option<&DefKey>, &Memory),
        variables: &crate::eval::Variables,
    ) -> Option<crate::eval::Reported> {
        self.program.reported(text, facts, known, variables)
    }

    /// Returns true if a number of a message that matches is secret.
    pub(crate) fn is_secret(
        &self,
        number: &Number,
        facts: &impl Facts,
        known: (Option<&DefKey>, &Memory),
        variables: &crate::eval::Variables,
    ) -> bool {
        self.program.is_secret(number, facts, known, variables)
    }

    /// Returns the value of a condition for a message that matches.
    pub(crate) fn truth(
        &self,
        cond: &Cond,
        facts: &impl Facts,
        key: Option<&DefKey>,
        memory: &Memory,
    ) -> Option<bool> {
        self.program.truth(cond, facts, key, memory)
    }

    /// Returns true if a message with this definition may have a value, given its fields.
    pub(crate) fn has_value(&self, value: &Value, key: &DefKey) -> bool {
        self.program.has_value(value, key)
    }

    /// Returns a value for a message that matches.
    pub(crate) fn value(
        &self,
        value: &Value,
        facts: &impl Facts,
        key: &DefKey,
        memory: &Memory,
    ) -> Option<Datum> {
        self.program.value(value, facts, key, memory)
    }

    /// Decides about a message like [`Self::matches`]. The caller must call [`Self::settle`] afterwards.
    pub(crate) fn decide(&self, facts: &impl Facts, memory: &mut Memory) -> Matched {
        const NO: Matched = Matched {
            result: Some(false),
            is_counted: false,
        };
        let (proto, subject) = (facts.proto(), facts.subject());
        let key = subject.def.map(|def| DefKey::new(proto.into(), def));
        let reached = self.reach.holds(proto, facts.dir(), subject.class, key.as_ref());
        if self.program.forgets() && !reached {
            return NO;
        }
        self.program.count(facts, key.as_ref(), memory);
        if !reached {
            return NO;
        }
        let result = self.program.decide(facts, key.as_ref(), memory);
        Matched {
            result,
            is_counted: self.program.is_counted(result, facts, key.as_ref(), memory),
        }
    }

    /// Returns true if another copy of a message matches. The message is already remembered.
    pub(crate) fn holds(&self, facts: &impl Facts, memory: &Memory) -> bool {
        let (proto, subject) = (facts.proto(), facts.subject());
        let key = subject.def.map(|def| DefKey::new(proto.into(), def));
        self.reach.holds(proto, facts.dir(), subject.class, key.as_ref())
            && self.program.decide(facts, key.as_ref(), memory) == Some(true)
    }

    /// Remembers a message after the decision about it.
    pub(crate) fn settle(&self, facts: &impl Facts, memory: &mut Memory, matched: Matched) {
        if matched.is_counted && !facts.repeated() {
            memory.hit(facts.dir());
        }
        if self.remembers() {
            let key = facts
                .subject()
                .def
                .map(|def| DefKey::new(facts.proto().into(), def));
            self.program.keep(facts, key.as_ref(), memory);
        }
    }
}

/// Decision of a filter about a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matched {
    /// `None` is unknown and counts as no match.
    result: Option<bool>,
    /// True if `n` counts the message.
    is_counted: bool,
}

impl Matched {
    /// Returns true if the message matches.
    pub(crate) const fn is_match(self) -> bool {
        matches!(self.result, Some(true))
    }

    /// Returns the decision if `n` counts the message only within the window of a rule.
    pub(crate) const fn in_window(self, is_open: bool) -> Self {
        Self {
            is_counted: self.is_counted && is_open,
            ..self
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
