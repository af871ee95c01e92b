//! The messages that an expression can match.
//!
//! Law: a message that could match is never excluded. The reach is computed once, by evaluating the expression for
//! every definition in each direction with all other facts unknown. So a message out of reach costs a look-up of one
//! bit.

use teetap_wire::def::{Class, Def, Dialect, Id, Registry};
use teetap_wire::{Dir, Proto};

use super::facts::{Flag, Subject};
use super::key::DefKey;
use super::program::{Cond, Field, Number, Program, Source, Text};
use super::test::Test;

/// The messages that an expression can match, by protocol and direction.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    sets: [[Messages; 2]; Dialect::ALL.len()],
}

#[derive(Debug, Clone, Default)]
struct Messages {
    /// Small numbers, as bits by class.
    small: [u128; Class::ALL.len()],
    /// Other definitions, sorted.
    other: Box<[DefKey]>,
    /// Messages without a definition, by class.
    unknown: [bool; Class::ALL.len()],
    /// Datagrams without a readable message.
    datagrams: bool,
}

impl Reach {
    /// Computes the reach. With `odd`, it includes messages in the wrong direction, which are displayed with their name
    /// from the other direction.
    pub(crate) fn new(program: &Program, registry: &Registry, odd: bool) -> Self {
        let mut reach = Self::default();
        for (dialect, sets) in Dialect::ALL.into_iter().zip(&mut reach.sets) {
            for (dir, set) in [Dir::C2s, Dir::S2c].into_iter().zip(sets) {
                let mut may = May {
                    program,
                    dialect,
                    dir,
                    class: Some(Class::Control),
                    def: None,
                    key: None,
                };
                set.fill(&mut may, registry, odd);
            }
        }
        reach
    }

    /// Returns true if a message, or a datagram without one, may match.
    #[must_use]
    pub fn message(&self, proto: Proto, dir: Dir, subject: &Subject<'_>) -> bool {
        let key = subject.def.map(|def| DefKey::new(proto.into(), def));
        self.holds(proto, dir, subject.class, key.as_ref())
    }

    pub(crate) fn holds(&self, proto: Proto, dir: Dir, class: Option<Class>, key: Option<&DefKey>) -> bool {
        let Some(set) = self.set(proto, dir) else {
            return true;
        };
        let Some(class) = class else {
            return set.datagrams;
        };
        let Some(key) = key else {
            return set.unknown.get(class as usize).is_none_or(|may| *may);
        };
        match key.small() {
            Some((class, number)) => set
                .small
                .get(class as usize)
                .is_none_or(|bits| bits >> number & 1 == 1),
            None => set.other.binary_search(key).is_ok(),
        }
    }

    /// Returns true if any message in this direction may match.
    #[must_use]
    pub fn dir(&self, proto: Proto, dir: Dir) -> bool {
        self.set(proto, dir).is_none_or(|set| !set.is_empty())
    }

    /// Returns true if a datagram in this direction without a readable message may match.
    #[must_use]
    pub fn datagrams(&self, proto: Proto, dir: Dir) -> bool {
        self.set(proto, dir).is_none_or(|set| set.datagrams)
    }

    /// Returns true if a message of a class in this direction may match.
    pub(crate) fn class(&self, proto: Proto, dir: Dir, class: Class) -> bool {
        let of = |set: &Messages| {
            let at = class as usize;
            set.small.get(at).is_none_or(|bits| *bits != 0)
                || set.unknown.get(at).is_none_or(|may| *may)
                || set.other.iter().any(|key| key.class() == class)
        };
        self.set(proto, dir).is_none_or(of)
    }

    /// Returns true if any message may match.
    #[must_use]
    pub fn anything(&self) -> bool {
        self.sets.iter().flatten().any(|set| !set.is_empty())
    }

    fn set(&self, proto: Proto, dir: Dir) -> Option<&Messages> {
        self.sets.get(Dialect::from(proto) as usize)?.get(dir as usize)
    }
}

impl Messages {
    fn fill<'a>(&mut self, may: &mut May<'a>, registry: &'a Registry, odd: bool) {
        let mut other = Vec::new();
        let dir = may.dir;
        let wanted = |def: &&Def| def.class != Class::Object && (odd || def.way.allows(dir));
        for def in registry.defs(may.dialect).filter(wanted) {
            let key = DefKey::new(may.dialect, def);
            (may.class, may.def, may.key) = (Some(def.class), Some(def), Some(key));
            if !may.cond(&may.program.root).yes {
                continue;
            }
            match key.small() {
                Some((class, number)) => {
                    if let Some(bits) = self.small.get_mut(class as usize) {
                        *bits |= 1 << number;
                    }
                }
                None => other.push(key),
            }
        }
        other.sort_unstable();
        self.other = other.into();
        (may.def, may.key) = (None, None);
        for (class, unknown) in Class::ALL.into_iter().zip(&mut self.unknown) {
            may.class = Some(class);
            *unknown = class != Class::Object && may.cond(&may.program.root).yes;
        }
        may.class = None;
        self.datagrams = may.cond(&may.program.root).yes;
    }

    fn is_empty(&self) -> bool {
        self.other.is_empty() && self.small.iter().all(|bits| *bits == 0) && !self.unknown.contains(&true)
    }
}

/// Possible results of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    yes: bool,
    no: bool,
    unknown: bool,
}

impl Outcomes {
    const UNKNOWN: Self = Self {
        yes: false,
        no: false,
        unknown: true,
    };
    const EITHER: Self = Self {
        yes: true,
        no: true,
        unknown: false,
    };
    const ANY: Self = Self {
        yes: true,
        no: true,
        unknown: true,
    };

    const fn known(value: bool) -> Self {
        Self {
            yes: value,
            no: !value,
            unknown: false,
        }
    }

    const fn not(self) -> Self {
        Self {
            yes: self.no,
            no: self.yes,
            unknown: self.unknown,
        }
    }

    /// Combines the results of two parts of `and`.
    const fn and(self, other: Self) -> Self {
        let no = Self::known(false);
        if matches!((self.yes, self.unknown), (false, false))
            || matches!((other.yes, other.unknown), (false, false))
        {
            return no;
        }
        Self {
            yes: self.yes && other.yes,
            no: self.no || other.no,
            unknown: self.unknown || other.unknown,
        }
    }
}

/// A message whose definition and direction are known, or a datagram without a message.
struct May<'a> {
    program: &'a Program,
    dialect: Dialect,
    dir: Dir,
    class: Option<Class>,
    def: Option<&'a Def>,
    key: Option<DefKey>,
}

impl May<'_> {
    fn cond(&self, cond: &Cond) -> Outcomes {
        let valued = |has: bool| if has { Outcomes::ANY } else { Outcomes::UNKNOWN };
        match cond {
            Cond::Unknown => Outcomes::UNKNOWN,
            Cond::All(parts) => {
                let parts = parts.iter().map(|part| self.cond(part));
                parts.fold(Outcomes::known(true), Outcomes::and)
            }
            Cond::Any(parts) => {
                let parts = parts.iter().map(|part| self.cond(part).not());
                parts.fold(Outcomes::known(true), Outcomes::and).not()
            }
            Cond::Not(inner) => self.cond(inner).not(),
            Cond::Dir(dir) => Outcomes::known(self.dir == *dir),
            Cond::Is(target) => match self.program.targets.get(usize::from(*target)) {
                Some(target) => {
                    let holds = target.may_hold(self.key.as_ref(), self.def, self.class);
                    holds.map_or(Outcomes::EITHER, Outcomes::known)
                }
                None => Outcomes::ANY,
            },
            Cond::Flag(Flag::Unknown | Flag::Vital | Flag::Resend) | Cond::Search(_)
                if self.class.is_none() =>
            {
                Outcomes::known(false)
            }
            Cond::Flag(Flag::Unknown) if !self.envelope() => Outcomes::known(self.def.is_none()),
            Cond::Flag(Flag::Vital | Flag::Resend)
                if matches!(self.class, Some(Class::Control | Class::Connless)) =>
            {
                Outcomes::known(false)
            }
            Cond::Flag(_) | Cond::Lint(_) | Cond::Mark(_) | Cond::Seen(_) => Outcomes::EITHER,
            Cond::Search(_) => match self.def {
                Some(def) if !def.fields.iter().any(teetap_wire::def::Field::is_text) => {
                    Outcomes::known(false)
                }
                _ => Outcomes::EITHER,
            },
            Cond::Field(field, tests) => valued(self.field(*field, Some(tests))),
            Cond::Number(number, _) => valued(self.number(number)),
            Cond::Text(text, _) => valued(self.text(*text)),
            Cond::Compare(_, sides) => valued(self.number(&sides.0) && self.number(&sides.1)),
            Cond::CompareText(_, left, right) => valued(self.text(*left) && self.text(*right)),
            Cond::Has(field) => {
                if self.field(*field, None) {
                    Outcomes::EITHER
                } else {
                    Outcomes::known(false)
                }
            }
            Cond::Each { list, .. } => valued(self.field(*list, None)),
        }
    }

    /// Returns true for the definition of unknown UUIDs.
    fn envelope(&self) -> bool {
        self.def.is_some_and(|def| def.id == Id::Number(0))
    }

    /// Returns true if the message may complete a snapshot: engine messages to the client.
    const fn snap(&self) -> bool {
        matches!((self.class, self.dir), (Some(Class::System), Dir::S2c))
    }

    /// Returns true if a field may have a value of a kind that one of the tests accepts.
    fn field(&self, at: u16, tests: Option<&[Test]>) -> bool {
        let Some(Field { source, entries, .. }) = self.program.fields.get(usize::from(at)) else {
            return true;
        };
        match source {
            Source::Last(_) => true,
            Source::Item(_) => self.snap(),
            Source::Message => {
                let at = entries.iter().position(|entry| Some(entry.key) == self.key);
                let test = |at| tests.is_none_or(|tests| !matches!(tests.get(at), Some(Test::Never)));
                at.is_some_and(test)
            }
        }
    }

    fn number(&self, number: &Number) -> bool {
        match number {
            Number::Field(field) | Number::Length(field) => self.field(*field, None),
            Number::TextLength(text) => self.text(*text),
            Number::Snap(_) => self.snap(),
            Number::Negate(inner) => self.number(inner),
            Number::Arith(_, sides) => self.number(&sides.0) && self.number(&sides.1),
            _ => true,
        }
    }

    fn text(&self, text: Text) -> bool {
        match text {
            Text::Field(field) => self.field(field, None),
            Text::Player | Text::Client | Text::Rule | Text::Variable(_) => true,
        }
    }
}
