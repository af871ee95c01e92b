//! Sets of protocols and their directions.

use teetap_wire::{Dir, Proto};

/// Protocols, each with one or both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtoDirs(u8);

const _: () = assert!(Proto::ALL.len() * 2 <= u8::BITS as usize, "each pair has a bit");

impl ProtoDirs {
    /// No protocol.
    pub const NONE: Self = Self(0);

    /// Returns the protocols and directions for which `wanted` returns true.
    pub fn from_fn(wanted: impl Fn(Proto, Dir) -> bool) -> Self {
        let wanted = proto_dirs().filter(|(proto, dir)| wanted(*proto, *dir));
        Self(wanted.fold(0, |bits, (proto, dir)| bits | bit(proto, dir)))
    }

    /// Returns true if the set contains a protocol in this direction.
    #[must_use]
    pub const fn contains(self, proto: Proto, dir: Dir) -> bool {
        self.0 & bit(proto, dir) != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the set contains any protocol in this direction.
    pub(crate) fn has(self, dir: Dir) -> bool {
        self.iter().any(|(_, of)| of == dir)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (Proto, Dir)> {
        proto_dirs().filter(move |(proto, dir)| self.contains(*proto, *dir))
    }
}

const fn bit(proto: Proto, dir: Dir) -> u8 {
    1 << (proto as u8 * 2 + dir as u8)
}

/// Returns each protocol in both directions.
pub(crate) fn proto_dirs() -> impl Iterator<Item = (Proto, Dir)> {
    let of = |proto| [(proto, Dir::C2s), (proto, Dir::S2c)];
    Proto::ALL.into_iter().flat_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_its_pairs_only() {
        for (proto, dir) in proto_dirs() {
            let one = ProtoDirs::from_fn(|of, towards| (of, towards) == (proto, dir));
            assert!(one.iter().eq([(proto, dir)]));
            let others = ProtoDirs::from_fn(|of, towards| !one.contains(of, towards));
            assert!(
                others
                    .iter()
                    .eq(proto_dirs().filter(|pair| *pair != (proto, dir)))
            );
            assert!(one.has(dir) && !one.has(dir.reverse()) && !one.is_empty());
        }
        assert!(ProtoDirs::from_fn(|_, _| false).is_empty() && ProtoDirs::NONE.iter().next().is_none());
    }
}
