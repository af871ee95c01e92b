//! The two families of protocols. Peers of different families do not understand each other.

use teetap_wire::Proto;

/// A family of protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
pub enum Family {
    /// 0.6 with or without tokens, and DDNet's protocol.
    #[strum(serialize = "0.6")]
    Six,
    /// 0.7.
    #[strum(serialize = "0.7")]
    Seven,
}

impl Family {
    /// Returns the family of a protocol.
    #[must_use]
    pub(crate) const fn from_proto(proto: Proto) -> Self {
        match proto {
            Proto::V6 | Proto::V65 | Proto::Ddnet => Self::Six,
            Proto::V7 => Self::Seven,
        }
    }
}

/// The families that a server speaks; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speaks {
    /// [`Family::Six`].
    pub six: Option<bool>,
    /// [`Family::Seven`].
    pub seven: Option<bool>,
}

impl Speaks {
    /// Returns the only family that the server speaks; `None` if it speaks both, or if one is unknown.
    #[must_use]
    pub(super) const fn only(self) -> Option<Family> {
        match (self.six, self.seven) {
            (Some(true), Some(false)) => Some(Family::Six),
            (Some(false), Some(true)) => Some(Family::Seven),
            _ => None,
        }
    }

    /// Returns true if the server is known to speak both families.
    pub(crate) const fn are_both(self) -> bool {
        matches!((self.six, self.seven), (Some(true), Some(true)))
    }

    /// Merges the result of a later probe. A family that was once seen stays marked as spoken, since a
    /// missing reply may be a lost packet.
    pub(crate) fn learn(&mut self, found: Self) {
        let both = |known: Option<bool>, found: Option<bool>| match (known, found) {
            (Some(true), _) => known,
            _ => found.or(known),
        };
        self.six = both(self.six, found.six);
        self.seven = both(self.seven, found.seven);
    }

    /// Records that the server has answered in a family.
    pub(crate) fn has_answered(&mut self, family: Family) {
        *(match family {
            Family::Six => &mut self.six,
            Family::Seven => &mut self.seven,
        }) = Some(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spoken_once_is_not_denied_later() {
        let found = |six, seven| Speaks { six, seven };
        let mut speaks = Speaks::default();
        assert_eq!(speaks.only(), None);
        speaks.learn(found(Some(true), Some(false)));
        assert_eq!(speaks.only(), Some(Family::Six));
        speaks.learn(found(None, None));
        assert_eq!(speaks.only(), Some(Family::Six));
        speaks.has_answered(Family::Seven);
        assert_eq!(speaks, found(Some(true), Some(true)));
        speaks.learn(found(Some(false), Some(false)));
        assert_eq!((speaks, speaks.only()), (found(Some(true), Some(true)), None));
        assert_eq!(found(Some(false), Some(true)).only(), Some(Family::Seven));
        assert_eq!(found(Some(false), Some(false)).only(), None);
    }
}
