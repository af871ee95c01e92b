//! The packed ints at the start of a message.

use teetap_wire::varint;

/// Parses `COUNT` varints at the start of `data`. Returns them and the remaining bytes.
pub(crate) fn ints<const COUNT: usize>(data: &[u8]) -> Option<([i64; COUNT], &[u8])> {
    let mut rest = data;
    let mut ints = [0; COUNT];
    for int in &mut ints {
        let value = varint::decode(rest)?;
        *int = value.value.into();
        rest = rest.get(value.len..)?;
    }
    Some((ints, rest))
}
