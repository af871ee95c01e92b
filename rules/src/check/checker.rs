//! The state of a check.

use teetap_wire::def::{Class, Def, Dialect, Field, Registry};

use super::kinds::Variables;
use crate::diagnostic::Diagnostic;
use crate::eval::{Cond, DefKey, Program};

/// A definition and its dialect.
pub(super) type DialectDef<'r> = (Dialect, &'r Def);

pub(super) struct Checker<'r> {
    pub(super) registry: &'r Registry,
    /// All messages.
    pub(super) defs: Vec<DialectDef<'r>>,
    pub(super) program: Program,
    /// For each field of the program, its definition in each entry; `None` for a whole item or message.
    pub(super) kinds: Vec<Vec<Option<&'r Field>>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// For each of `defs`, true if the message may have this definition at the current position.
    pub(super) scope: Vec<bool>,
    pub(super) each: Option<Each>,
    /// The items that an action changes, while its value is checked. There a field of an item without an id means the
    /// field of the changed item.
    pub(super) changing: Vec<DefKey>,
    pub(super) knows: Knows,
    /// The variables that rules set.
    pub(super) variables: Variables,
    /// True while an expression of a rule is checked.
    pub(super) is_rule: bool,
}

/// The special names that the expression uses, so that notes about them are unnecessary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Knows {
    pub(super) snap_single: bool,
    pub(super) connless: bool,
}

/// The state of the surrounding `any(..)` or `all(..)`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Each {
    /// The list over which it iterates, once it is known.
    pub(super) list: Option<u16>,
}

impl<'r> Checker<'r> {
    pub(super) fn new(registry: &'r Registry) -> Self {
        let of = |dialect| registry.defs(dialect).map(move |def| (dialect, def));
        let defs: Vec<DialectDef<'r>> = Dialect::ALL
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
            changing: Vec::new(),
            knows: Knows::default(),
            variables: Variables::default(),
            is_rule: false,
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports an error and returns an unknown condition.
    pub(super) fn report_error(&mut self, diagnostic: Diagnostic) -> Cond {
        self.report(diagnostic);
        Cond::Unknown
    }
}

/// Returns the index of a value in a list. Appends the value if the list does not contain it.
pub(super) fn index_or_insert<T: PartialEq>(list: &mut Vec<T>, value: T) -> u16 {
    let at = list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    });
    // The limit on the length of the text keeps lists shorter.
    u16::try_from(at).unwrap_or(u16::MAX)
}
