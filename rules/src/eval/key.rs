//! Key of a message definition that can be compared quickly.

use teetap_wire::def::{Class, Def, Dialect, Id};

use super::facts::{Identity, Subject};

/// One definition in one dialect. Definitions with the same id in different directions have different keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DefKey {
    id: u128,
    class: Class,
    way: u8,
    dialect: Dialect,
}

impl DefKey {
    pub(crate) fn new(dialect: Dialect, def: &Def) -> Self {
        let (id, kind) = match &def.id {
            // The casts keep negative and positive numbers distinct.
            Id::Number(number) => (u128::from(number.cast_unsigned()), 0x00),
            Id::Tag(tag) => (u128::from(u32::from_be_bytes(*tag)), 0x40),
            Id::Uuid { uuid, .. } => (u128::from_be_bytes(*uuid), 0x80),
        };
        Self {
            id,
            class: def.class,
            way: def.way as u8 | kind,
            dialect,
        }
    }

    pub(super) const fn class(&self) -> Class {
        self.class
    }

    /// Returns the class and the number as an index into a bit set; `None` if there is no small number.
    pub(crate) fn small(&self) -> Option<(Class, u32)> {
        let number = u32::try_from(self.id)
            .ok()
            .filter(|number| self.way & 0xc0 == 0 && *number < u128::BITS);
        Some((self.class, number?))
    }
}

/// The messages to which a name refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Messages with these definitions, sorted.
    Defs(Box<[DefKey]>),
    /// `sys.4`: all messages with this number.
    Number(Class, i32),
    /// `sys.ex.…`: all messages with this UUID.
    Uuid(Class, [u8; 16]),
    /// `sys`: all messages of the class.
    Class(Class),
}

impl Target {
    /// Creates a target of the messages with these definitions.
    pub(crate) fn defs(mut keys: Vec<DefKey>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self::Defs(keys.into())
    }

    /// Returns true if the message belongs to the target.
    pub(super) fn holds(&self, key: Option<&DefKey>, subject: &Subject<'_>) -> bool {
        match self {
            Self::Defs(keys) => key.is_some_and(|key| keys.contains(key)),
            Self::Number(class, number) => {
                subject.class == Some(*class) && subject.id == Identity::Number(*number)
            }
            Self::Uuid(class, uuid) => subject.class == Some(*class) && subject.id == Identity::Uuid(*uuid),
            Self::Class(class) => subject.class == Some(*class),
        }
    }

    /// Returns true if a message with this definition belongs to the target; `None` if the definition does not decide
    /// it.
    pub(super) fn may_hold(
        &self,
        key: Option<&DefKey>,
        def: Option<&Def>,
        class: Option<Class>,
    ) -> Option<bool> {
        match (self, def) {
            (Self::Defs(keys), _) => Some(key.is_some_and(|key| keys.contains(key))),
            (Self::Class(wanted), _) => Some(Some(*wanted) == class),
            (Self::Number(wanted, number), Some(def)) => match def.id {
                // Messages with unknown UUIDs have this definition, too.
                Id::Number(0) if *number == 0 && Some(*wanted) == class => None,
                Id::Number(id) => Some(Some(*wanted) == class && id == *number),
                _ => Some(false),
            },
            (Self::Uuid(wanted, uuid), Some(def)) => match &def.id {
                Id::Uuid { uuid: id, .. } => Some(Some(*wanted) == class && id == uuid),
                // An unknown UUID has the definition of the envelope, whose number is 0.
                Id::Number(0) if Some(*wanted) == class => None,
                _ => Some(false),
            },
            (Self::Number(wanted, _) | Self::Uuid(wanted, _), None) => {
                if Some(*wanted) == class {
                    None
                } else {
                    Some(false)
                }
            }
        }
    }
}
