//! Checks of snapshot items that rules change.
//!
//! Law: only existing ints change. A rule neither adds nor removes items, and it does not change the UUID of a type.

use teetap_wire::def::Id;

use super::checker::Checker;
use super::resolved_action::{Target, Written};
use super::value::Operand;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{Field, Source};
use crate::syntax::{Expr, Kind, Path};

impl Checker<'static> {
    /// Returns true for `snap.item` and its fields; facts of a snapshot are not items.
    pub(super) fn is_item(&self, path: &Path) -> bool {
        let name = |at: usize| path.segments.get(at).map(|segment| &*segment.name.text);
        let is_fact = matches!(name(1), None | Some("tick" | "crc_ok" | "parts"));
        !path.dot && name(0) == Some("snap") && !is_fact
    }

    /// Returns the owner of the field that an action changes.
    pub(super) fn target_of(&self, target: &Expr) -> Target {
        match &target.kind {
            Kind::Path(path) if self.is_item(path) => {
                let item = path.segments.get(1);
                Target::Item(item.and_then(|item| item.index).map(|index| index.value))
            }
            _ => Target::Message,
        }
    }

    /// Checks the field of an item that an action changes, like [`Self::written`].
    pub(super) fn written_item(&mut self, path: &Path) -> Option<(String, Vec<Written>)> {
        let is_known = path
            .segments
            .get(1)
            .is_some_and(|item| self.item_name(&item.name.text));
        if path.segments.len() == 2 && is_known {
            let what = format!("`{path}` is an item, which rules can neither add nor remove");
            self.report(Diagnostic::new(Code::NotHere, path.span(), what).help("set one of its fields"));
            return None;
        }
        let Operand::Field(at, what) = self.item(path) else {
            return None;
        };
        let field = self.program.fields.get(usize::from(at))?;
        if field.entries.iter().any(|entry| entry.id == Id::Number(0)) {
            let text = format!("`{what}` is the UUID of a type, which cannot be changed");
            self.report(Diagnostic::new(Code::NotHere, path.span(), text));
            return None;
        }
        if is_list(field) {
            let text = format!("`{what}` is a list, not one value");
            self.report(Diagnostic::new(Code::WholeList, path.span(), text).help("give an index"));
            return None;
        }
        Some((what, self.places(at)))
    }
}

impl Checker<'_> {
    /// Returns true for a field of the item that an action changes.
    pub(super) fn is_changing(&self, field: &Field) -> bool {
        let is_same = |key| self.changing.contains(key);
        field.source == Source::Item(None)
            && field.entries.iter().any(|entry| is_same(&entry.key))
            && !is_list(field)
    }
}

fn is_list(field: &Field) -> bool {
    let mut paths = field.entries.iter().filter_map(|entry| entry.path.as_ref());
    paths.any(teetap_wire::def::Path::is_list)
}
