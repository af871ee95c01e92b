//! The messages that a condition may refer to.
//!
//! Law: parts joined by `and` must all hold, so that `.field` next to the name of a message is a field of that message.
//! Unknown names have no effect here. The check of names reports them.

use super::checker::Checker;
use super::name::is_snap;
use super::words::{Atom, atom};
use crate::syntax::{Expr, Kind, Path};

impl Checker<'_> {
    /// Narrows the scope to messages for which all parts may hold. Returns the previous scope.
    pub(super) fn narrow(&mut self, parts: &[Expr]) -> Vec<bool> {
        let mut narrowed = self.scope.clone();
        for part in parts {
            let before = narrowed.clone();
            intersect(&mut narrowed, self.implied(part));
            // Contradictory parts match nothing; the remaining names are checked independently.
            if !narrowed.contains(&true) {
                narrowed = before;
            }
        }
        std::mem::replace(&mut self.scope, narrowed)
    }

    /// Returns the messages for which `expr` may hold; `None` for all.
    fn implied(&self, expr: &Expr) -> Option<Vec<bool>> {
        match &expr.kind {
            Kind::All(parts) => {
                let mut all = vec![true; self.defs.len()];
                for part in parts {
                    intersect(&mut all, self.implied(part));
                }
                Some(all)
            }
            Kind::Any(parts) => {
                let mut any = vec![false; self.defs.len()];
                for part in parts {
                    let part = self.implied(part)?;
                    any.iter_mut().zip(part).for_each(|(may, part)| *may |= part);
                }
                Some(any)
            }
            Kind::Compare(_, left, right) => {
                let mut both = vec![true; self.defs.len()];
                intersect(&mut both, self.implied_value(left));
                intersect(&mut both, self.implied_value(right));
                Some(both)
            }
            Kind::In(value, _) => self.implied_value(value),
            Kind::Path(path) => self.implied_path(path),
            _ => None,
        }
    }

    /// Returns the messages implied by a field of a message in a comparison.
    fn implied_value(&self, expr: &Expr) -> Option<Vec<bool>> {
        match &expr.kind {
            Kind::Path(path) if path.segments.len() > 1 => self.implied_path(path),
            _ => None,
        }
    }

    fn implied_path(&self, path: &Path) -> Option<Vec<bool>> {
        let first = path.segments.first().filter(|_| !path.dot)?;
        let single = path.segments.len() == 1;
        match (&*first.name.text, atom(&first.name.text)) {
            // A user may also look for a message in the wrong direction.
            (_, Some(Atom::Dir(_))) => None,
            (_, Some(Atom::Class(class))) if single => Some(self.which(|def| def.class == *class)),
            (_, Some(Atom::Snap)) => Some(self.which(is_snap)),
            ("pkt" | "sess" | "snap" | "lint" | "link" | "mark", _) if !single => None,
            (_, Some(Atom::Flag(_) | Atom::Lint | Atom::Mark | Atom::Touched)) => None,
            _ => {
                let (named, _) = self.look_up(&path.segments).ok()?;
                let holds = |(dialect, def)| {
                    named
                        .iter()
                        .any(|(of, known)| *of == dialect && std::ptr::eq(*known, def))
                };
                let holds: Vec<bool> = self
                    .defs
                    .iter()
                    .map(|(dialect, def)| holds((*dialect, *def)))
                    .collect();
                holds.contains(&true).then_some(holds)
            }
        }
    }

    fn which(&self, wanted: impl Fn(&teetap_wire::def::Def) -> bool) -> Vec<bool> {
        self.defs.iter().map(|(_, def)| wanted(def)).collect()
    }
}

fn intersect(scope: &mut [bool], with: Option<Vec<bool>>) {
    let Some(with) = with else { return };
    scope.iter_mut().zip(with).for_each(|(may, with)| *may &= with);
}
