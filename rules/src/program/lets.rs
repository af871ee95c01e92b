//! Named expressions, which replace their names.
//!
//! Law: each use is a separate expression with a memory of its own. The size and depth of the expressions for names are
//! limited.

use std::collections::BTreeMap;

use teetap_wire::Proto;
use teetap_wire::def::{Class, Registry, suggest};

use crate::check::is_word;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::filter::Filter;
use crate::span::Span;
use crate::syntax::{Expr, Kind, Let, Path, Rule, Statement, TemplatePart, parse_template, place_in_text};

/// Maximum number of parts in an expression, including those for its names.
const MAX_SIZE: usize = 16 * 1024;
/// Maximum number of parts in all expressions of a text that contain names.
const MAX_TOTAL: usize = 256 * 1024;
/// Maximum depth of an expression, and of names within named expressions.
const MAX_DEPTH: usize = 128;

/// Words that are boolean values.
const TRUTHS: [&str; 4] = ["true", "false", "yes", "no"];

/// Named expressions of a text.
#[derive(Default)]
pub(super) struct NamedExprs {
    known: BTreeMap<String, NamedExpr>,
    /// Spans of uses of a name whose expression has an error.
    failed: Vec<Span>,
    /// Spans of unknown names, each with a similar name that is defined.
    near: Vec<(Span, String)>,
    /// Number of parts that have replaced names so far.
    total: usize,
}

struct NamedExpr {
    let_: Let,
    state: State,
    is_used: bool,
}

enum State {
    Unresolved,
    /// The names in the expression are being resolved.
    Busy,
    Done(Expr),
    Failed,
}

impl NamedExprs {
    /// Collects the named expressions of a text, and resolves the names within them.
    pub(super) fn from_statements(
        statements: &[Statement],
        registry: &'static Registry,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut lets = Self {
            known: BTreeMap::new(),
            failed: Vec::new(),
            near: Vec::new(),
            total: 0,
        };
        let mut names = Vec::new();
        for statement in statements {
            let Statement::Let(let_) = statement else { continue };
            let name = &let_.name;
            let wrong = if is_taken(&name.text, registry) {
                Some(format!("`{}` has a meaning already", name.text))
            } else if lets.known.contains_key(&name.text) {
                Some(format!("two expressions are called `{}`", name.text))
            } else {
                None
            };
            if let Some(what) = wrong {
                diagnostics.push(Diagnostic::new(Code::NotHere, name.span, what));
                continue;
            }
            names.push(name.text.clone());
            let entry = NamedExpr {
                let_: let_.clone(),
                state: State::Unresolved,
                is_used: false,
            };
            lets.known.insert(name.text.clone(), entry);
        }
        for name in &names {
            lets.resolve(name, 0, diagnostics);
        }
        lets
    }

    /// Resolves the names within a named expression.
    fn resolve(&mut self, name: &str, depth: usize, diagnostics: &mut Vec<Diagnostic>) {
        let Some(entry) = self.known.get_mut(name) else {
            return;
        };
        if !matches!(entry.state, State::Unresolved) {
            return;
        }
        entry.state = State::Busy;
        let (own, expr) = (entry.let_.name.span, entry.let_.expr.clone());
        let mut used = Vec::new();
        expr.each_path(&mut |path| used.extend(name_of(path).map(|name| (name.to_owned(), path.span()))));
        let mut is_right = depth < MAX_DEPTH;
        if !is_right {
            diagnostics.push(Diagnostic::new(Code::TooComplex, own, too_deep()));
        }
        if !is_right {
            used.clear();
        }
        for (other, span) in used {
            self.resolve(&other, depth + 1, diagnostics);
            match self.known.get(&other).map(|entry| &entry.state) {
                Some(State::Busy) => {
                    let what = format!("`{other}` is defined by itself");
                    diagnostics.push(Diagnostic::new(Code::NotHere, span, what));
                    is_right = false;
                }
                Some(State::Failed) => is_right = false,
                _ => {}
            }
        }
        let expr = is_right.then(|| self.put(expr, diagnostics)).flatten();
        if let Some(entry) = self.known.get_mut(name) {
            entry.state = expr.map_or(State::Failed, State::Done);
        }
    }

    /// Returns an expression with its names replaced; `None` if it becomes too large.
    fn put(&mut self, expr: Expr, diagnostics: &mut Vec<Diagnostic>) -> Option<Expr> {
        let (mut is_changed, span) = (false, expr.span);
        let mut total = 0;
        let expr = expr.replaced(&mut |path: &Path| {
            let name = name_of(path)?;
            let Some(entry) = self.known.get_mut(name) else {
                let names = self.known.keys().map(String::as_str);
                if let Some(meant) = suggest(name, names) {
                    self.near.push((path.span(), meant.to_owned()));
                }
                return None;
            };
            entry.is_used = true;
            match &entry.state {
                State::Done(_) if self.total > MAX_TOTAL => {
                    self.failed.push(path.span());
                    None
                }
                State::Done(expr) if total <= MAX_SIZE => {
                    is_changed = true;
                    total += size(expr);
                    Some(expr.clone())
                }
                State::Failed => {
                    self.failed.push(path.span());
                    None
                }
                _ => None,
            }
        });
        let had_room = self.total <= MAX_TOTAL;
        self.total += total;
        if had_room && self.total > MAX_TOTAL {
            let what = "with the expressions that names stand for this text is too long";
            diagnostics.push(Diagnostic::new(Code::TooComplex, span, what));
        }
        if is_changed && (total > MAX_SIZE || size(&expr) > MAX_SIZE || depth(&expr) > MAX_DEPTH) {
            diagnostics.push(Diagnostic::new(Code::TooComplex, span, too_deep()));
            return None;
        }
        Some(expr)
    }

    /// Replaces the names in a rule by their expressions.
    pub(super) fn expand(&mut self, mut rule: Rule, diagnostics: &mut Vec<Diagnostic>) -> Rule {
        let mut put = |expr: &mut Expr| *expr = self.expanded(expr.clone(), diagnostics);
        rule.when.iter_mut().for_each(&mut put);
        rule.modifiers.after.iter_mut().for_each(&mut put);
        rule.modifiers.until.iter_mut().for_each(&mut put);
        for action in &mut rule.actions {
            action.each_expr_mut(&mut put);
        }
        let mut fill = |expr: &mut Expr| self.fill(expr, diagnostics);
        for action in &mut rule.actions {
            action.each_field_mut(&mut fill);
        }
        rule
    }

    /// Replaces the names in an expression by their expressions.
    pub(super) fn expanded(&mut self, expr: Expr, diagnostics: &mut Vec<Diagnostic>) -> Expr {
        if self.known.is_empty() {
            return expr;
        }
        self.put(expr.clone(), diagnostics).unwrap_or(expr)
    }

    /// Replaces the names in the braces of a text by their expressions.
    fn fill(&mut self, expr: &mut Expr, diagnostics: &mut Vec<Diagnostic>) {
        let Kind::Text(text) = &expr.kind else { return };
        if self.known.is_empty() || !text.contains('{') {
            return;
        }
        // The check reports an error in the text.
        let Ok(mut template) = parse_template(text) else {
            return;
        };
        let known = (diagnostics.len(), self.failed.len(), self.near.len());
        for part in &mut template.0 {
            if let TemplatePart::Value(value) = part {
                *value = self.expanded(value.clone(), diagnostics);
            }
        }
        let place = |found: &mut Span| *found = place_in_text(expr.span, text, *found);
        let new = diagnostics.iter_mut().skip(known.0);
        new.for_each(|diagnostic| place(&mut diagnostic.span));
        self.failed.iter_mut().skip(known.1).for_each(place);
        self.near
            .iter_mut()
            .skip(known.2)
            .for_each(|(span, _)| place(span));
        expr.kind = Kind::Text(template.text());
    }

    /// Checks the expressions that no rule or link line uses, and improves the diagnostics about names.
    pub(super) fn finish(self, registry: &'static Registry, diagnostics: &mut Vec<Diagnostic>) {
        let unused = self.known.into_values().filter(|entry| !entry.is_used);
        for entry in unused {
            let State::Done(expr) = entry.state else { continue };
            // The user may have intended the expression as a value.
            let is_value = |kind: &Kind| matches!(kind, Kind::Number(_) | Kind::Text(_) | Kind::Arith(..));
            if is_value(&expr.kind) || matches!(expr.kind, Kind::Negate(_)) {
                continue;
            }
            let found = match Filter::check(expr, registry) {
                Ok((_, warnings)) => warnings,
                Err(errors) => errors,
            };
            diagnostics.extend(found.into_iter().filter(|found| found.code != Code::NotCondition));
        }
        diagnostics.retain(|diagnostic| {
            let is_wrong = diagnostic.severity() == Severity::Error;
            !(is_wrong && diagnostic.code == Code::UnknownName && self.failed.contains(&diagnostic.span))
        });
        for diagnostic in diagnostics {
            let near = self.near.iter().find(|(span, _)| *span == diagnostic.span);
            if let (Code::UnknownName, Some((_, meant))) = (diagnostic.code, near) {
                *diagnostic = diagnostic.clone().meant(Some(meant));
            }
        }
    }
}

fn too_deep() -> String {
    "with the expressions that its names stand for this is too long, or nested too deeply".to_owned()
}

/// Returns the word if a path is a single word, which may be a name.
fn name_of(path: &Path) -> Option<&str> {
    match &*path.segments {
        [only] if !path.dot && only.index.is_none() => Some(&only.name.text),
        _ => None,
    }
}

/// Returns true for a word of the language, and for the name of a message.
fn is_taken(name: &str, registry: &'static Registry) -> bool {
    let is_message = |proto: &Proto| registry.named(*proto, None, name).next().is_some();
    is_word(Class::Game, name) || TRUTHS.contains(&name) || Proto::ALL.iter().any(is_message)
}

fn size(expr: &Expr) -> usize {
    let mut size = 1;
    expr.each_part(&mut |part| size += self::size(part));
    size
}

fn depth(expr: &Expr) -> usize {
    let mut depth = 0;
    expr.each_part(&mut |part| depth = depth.max(self::depth(part)));
    depth + 1
}
