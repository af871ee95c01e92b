//! From two snapshots to the messages of a server.

use crate::Proto;
use crate::def::{Class, Datum, Def, Registry};
use crate::snap::snapshot::{Sizes, Snapshot};
use crate::snap::{MAX_PARTS, PART};

/// The error for a snapshot that no server can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the changed snapshot needs more than {MAX_PARTS} parts")]
pub struct TooLarge;

/// The messages of snapshots, and the sizes of items.
#[derive(Debug)]
pub(super) struct Writer<'r> {
    sizes: Sizes,
    part: Option<&'r Def>,
    single: Option<&'r Def>,
    empty: Option<&'r Def>,
}

impl<'r> Writer<'r> {
    pub(super) fn new(registry: &'r Registry, proto: Proto) -> Self {
        let named = |name: &str| registry.named(proto, Some(Class::System), name).next();
        Self {
            sizes: Sizes::new(registry, proto),
            part: named("snap"),
            single: named("snap_single"),
            empty: named("snap_empty"),
        }
    }

    pub(super) const fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Encodes the delta between two snapshots in the same messages as the games (`server.cpp`, `DoSnapshot`):
    /// `snap_empty` if there is no difference, `snap_single` for a single part, and otherwise `snap` for each part.
    pub(super) fn messages(
        &self,
        tick: i32,
        base: i32,
        from: &Snapshot,
        to: &Snapshot,
    ) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut data = Vec::new();
        to.delta(from, &self.sizes, &mut data).map_err(|_| TooLarge)?;
        let head = || {
            vec![
                ("tick", Datum::from(tick)),
                ("delta_tick", tick.wrapping_sub(base).into()),
            ]
        };
        let with = |part: &[u8]| {
            let mut fields = head();
            fields.push(("crc", to.crc().into()));
            fields.push(("data", Datum::Bytes(part.to_vec())));
            fields
        };
        if data.is_empty() {
            return Ok(vec![encode(self.empty, head())?]);
        }
        if data.len() <= PART {
            return Ok(vec![encode(self.single, with(&data))?]);
        }
        let count = data.len().div_ceil(PART);
        if count > MAX_PARTS {
            return Err(TooLarge);
        }
        let count = i64::try_from(count).map_err(|_| TooLarge)?;
        let parts = (0..).zip(data.chunks(PART)).map(|(number, part): (i64, _)| {
            let mut fields = with(part);
            fields.extend([("num_parts", count.into()), ("part", number.into())]);
            encode(self.part, fields)
        });
        parts.collect()
    }
}

/// Encodes a snapshot message. Its definition has all these fields, see [`Forms`](crate::snap::forms::Forms).
fn encode(def: Option<&Def>, fields: Vec<(&str, Datum)>) -> Result<Vec<u8>, TooLarge> {
    let mut message = Vec::new();
    let def = def.ok_or(TooLarge)?;
    def.encode(&Datum::group(fields), &mut message)
        .map_err(|_| TooLarge)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snap::ItemKey;

    /// The number of messages follows from the number of bytes: 0 bytes have one message, too. More than
    /// [`MAX_PARTS`] parts cannot be sent.
    #[test]
    fn a_snapshot_has_as_many_parts_as_its_bytes_need() {
        for proto in Proto::ALL {
            let writer = Writer::new(Registry::builtin(), proto);
            let (mut world, mut counts) = (Snapshot::new(), Vec::new());
            // Each item has about 300 bytes.
            for id in 0..220 {
                let mut data = Vec::new();
                world.delta(&Snapshot::new(), writer.sizes(), &mut data).unwrap();
                let expected = match data.len().div_ceil(PART) {
                    count @ 0..=MAX_PARTS => Ok(count.max(1)),
                    _ => Err(TooLarge),
                };
                let sent = writer.messages(5, -1, &Snapshot::new(), &world);
                assert_eq!(
                    sent.map(|messages| messages.len()),
                    expected,
                    "{proto}: {id} items"
                );
                counts.push(expected);
                let key = ItemKey { kind: 60, id };
                world.insert(key, &[i32::MAX; 60]).unwrap();
            }
            counts.dedup();
            let all: Vec<_> = (1..=MAX_PARTS).map(Ok).chain([Err(TooLarge)]).collect();
            assert_eq!(counts, all, "{proto}");
        }
    }
}
