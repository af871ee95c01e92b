//! The state of a check.

use teetap_wire::def::{Class, Def, Dialect, Field, Registry};

use crate::diagnostic::Diagnostic;
use crate::eval::{Cond, Program};

/// A definition and the dialect it is of.
pub(super) type Of<'r> = (Dialect, &'r Def);

pub(super) struct Checker<'r> {
    pub(super) registry: &'r Registry,
    /// All messages.
    pub(super) defs: Vec<Of<'r>>,
    pub(super) program: Program,
    /// How the fields of the program are defined, entry by entry; `None` for a whole item or message.
    pub(super) kinds: Vec<Vec<Option<&'r Field>>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Which of `defs` the message may be, where the checker is now.
    pub(super) scope: Vec<bool>,
    pub(super) each: Option<Each>,
    pub(super) knows: Knows,
}

/// Whoever writes this one, or any message of that class, knows that a name is not all there is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Knows {
    pub(super) snap_single: bool,
    pub(super) connless: bool,
}

/// The `any(..)` or `all(..)` that the checker is in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Each {
    /// The list that it is about, once that is known.
    pub(super) list: Option<u16>,
}

impl<'r> Checker<'r> {
    pub(super) fn new(registry: &'r Registry) -> Self {
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

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports an error, and gives a condition in its place.
    pub(super) fn wrong(&mut self, diagnostic: Diagnostic) -> Cond {
        self.report(diagnostic);
        Cond::Unknown
    }
}

/// The place of a value in a list, to which it is added if it is not there.
pub(super) fn place<T: PartialEq>(list: &mut Vec<T>, value: T) -> u16 {
    let at = list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    });
    // The length of the text is limited to less.
    u16::try_from(at).unwrap_or(u16::MAX)
}
