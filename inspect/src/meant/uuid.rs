//! Recognizes messages whose UUID is written in another form.

use teetap_wire::{
    Dir, Proto,
    def::{Class, Decoded, Def, Registry},
    varint,
};

use super::ENVELOPE;

/// A known message with a UUID that its receiver does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherUuid {
    /// The UUID has the bytes of its first three groups in reverse order.
    Groups,
    /// The UUID is that of a message of the other class, `Class`.
    Class(Class),
}

/// Returns the message that an unknown UUID stands for, if all fields of the message fit.
pub(crate) fn other_uuid(proto: Proto, dir: Dir, data: &[u8]) -> Option<(&'static Def, OtherUuid)> {
    let (registry, mut decoded) = (Registry::builtin(), Decoded::new());
    let mut fits = |data: &[u8]| {
        registry.known_message(proto, dir, data)?;
        let def = decoded.message(registry, proto, dir, data)?;
        (decoded.notes().is_empty() && def.way.allows(dir)).then_some(def)
    };
    let mut class = data.to_vec();
    *class.first_mut()? ^= 1;
    if let Some(def) = fits(&class) {
        return Some((def, OtherUuid::Class(def.class)));
    }
    let mut groups = data.to_vec();
    let uuid = groups.get_mut(1..17)?;
    for range in [0..4, 4..6, 6..8] {
        uuid.get_mut(range)?.reverse();
    }
    fits(&groups).map(|def| (def, OtherUuid::Groups))
}

/// Returns true if a message with an unknown id has text in place of the 16 bytes of a UUID.
pub(crate) fn has_text_as_uuid(data: &[u8]) -> bool {
    let (Some(id), true) = (varint::decode(data), data.len() > 16) else {
        return false;
    };
    let uuid = data.get(id.len..id.len + 16).unwrap_or_default();
    id.value >> 1 == ENVELOPE && uuid.len() == 16 && uuid.iter().all(|byte| (0x20..0x7f).contains(byte))
}
