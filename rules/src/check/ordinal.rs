//! `n`: the number of a match.
//!
//! Law: `n` counts the messages that match all other conditions joined to it by `and`. The condition about `n` itself
//! does not affect the count. So `sv_chat and n == 3` matches the third `sv_chat`.

use super::checker::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::Cond;
use crate::syntax::{Expr, Kind, Path};

impl Checker<'_> {
    /// Sets the condition for the messages that `n` counts, if the expression mentions `n`. `root` is the whole condition.
    pub(super) fn count_matches(&mut self, expr: &Expr) {
        if !has_ordinal(expr) {
            return;
        }
        let parts = match &expr.kind {
            Kind::All(parts) => &**parts,
            _ => std::slice::from_ref(expr),
        };
        for part in parts.iter().filter(|part| has_ordinal(part)) {
            if let Some(mixed) = mixed(part) {
                let what = "`n` counts the matches of the conditions that `and` joins to it, and here it has an alternative";
                self.report(
                    Diagnostic::new(Code::NotHere, mixed.span, what)
                        .help("write two rules, or count messages: `count(sv_chat) == 3`"),
                );
                return;
            }
        }
        let conds = match std::mem::take(&mut self.program.root) {
            Cond::All(conds) if conds.len() == parts.len() => conds.into_vec(),
            other => vec![other],
        };
        let is_counted = |(part, _): &(&Expr, &Cond)| !has_ordinal(part);
        let counted = parts.iter().zip(&conds).filter(is_counted);
        let counted: Vec<Cond> = counted.map(|(_, cond)| cond.clone()).collect();
        self.program.matches = Some(Cond::All(counted.into()));
        self.program.root = Cond::All(conds.into());
    }
}

fn is_ordinal(path: &Path) -> bool {
    !path.dot && path.segments.len() == 1 && path.starts("n")
}

fn has_ordinal(expr: &Expr) -> bool {
    expr.mentions(&is_ordinal)
}

/// Returns a part in which `n` is joined to something else by `or`, or by `and` under `not`.
fn mixed(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        Kind::Any(parts) | Kind::All(parts) => {
            let other = parts.iter().find(|part| !has_ordinal(part));
            match other {
                Some(_) => Some(expr),
                None => parts.iter().find_map(mixed),
            }
        }
        Kind::Not(inner) => mixed(inner),
        Kind::Call(_) => Some(expr),
        _ => None,
    }
}
