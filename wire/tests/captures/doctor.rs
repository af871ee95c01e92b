//! Snapshots of the recorded real sessions with a wrong sum: the doctor names the item that is counted wrongly.

use std::collections::BTreeMap;

use teetap_wire::Dir;
use teetap_wire::def::{Decoded, Def, Registry};
use teetap_wire::snap::{Cause, ChecksumCauses, ItemFault, ItemKey, Store};

use crate::each_message;

/// Interval between changed snapshots, in snapshots.
const EVERY: usize = 5;

/// The number of wrong snapshots, and the number of wrong snapshots whose first cause is the fault.
#[derive(Default)]
struct Seen {
    wrong: usize,
    named: usize,
}

/// Returns the message with another value in the field `crc`.
fn with_crc(def: &Def, decoded: &Decoded, data: &[u8], crc: i32) -> Vec<u8> {
    let record = decoded.find(&def.path("crc").unwrap()).unwrap();
    let (start, end) = (record.at as usize, (record.at + record.len) as usize);
    let mut out = data[..start].to_vec();
    let sign = if crc < 0 { 0x40 } else { 0 };
    let mut rest = (if crc < 0 { !crc } else { crc }).cast_unsigned();
    let more = |rest: u32| if rest > 0 { 0x80 } else { 0 };
    let first = rest.to_le_bytes()[0] & 0x3f;
    rest >>= 6;
    out.push(sign | first | more(rest));
    while rest > 0 {
        let next = rest.to_le_bytes()[0] & 0x7f;
        rest >>= 7;
        out.push(next | more(rest));
    }
    out.extend(&data[end..]);
    out
}

/// Completes a snapshot with a wrong sum, and records whether the doctor names the fault.
fn examine(store: &Store<'static>, message: &[u8], key: ItemKey, faults: &[ItemFault], seen: &mut Seen) {
    let (mut store, mut decoded) = (store.clone(), Decoded::new());
    let def = decoded
        .message(Registry::builtin(), store.proto(), Dir::S2c, message)
        .unwrap();
    store.on_message(Dir::S2c, def, &decoded, message);
    let diagnosis = store.diagnose(&mut ChecksumCauses::default(), message);
    let cause = diagnosis.and_then(|diagnosis| Some(diagnosis.causes.first()?.cause));
    seen.wrong += 1;
    let is_named = |fault: &ItemFault| cause == Some(Cause::Item { key, fault: *fault });
    let right = faults.iter().any(is_named);
    seen.named += usize::from(right);
}

#[test]
fn an_item_that_is_counted_wrongly_is_named() {
    let mut stores: BTreeMap<(String, u16), Store<'static>> = BTreeMap::new();
    let mut snapshots = 0usize;
    let (mut twice, mut missing) = (Seen::default(), Seen::default());
    each_message(|label, proto, def, decoded, data| {
        let store = stores
            .entry(label.client.clone())
            .or_insert_with(|| Store::new(Registry::builtin(), proto));
        if label.dir == Dir::C2s || !store.follows(label.dir, def) {
            store.on_message(label.dir, def, decoded, data);
            return;
        }
        let before = store.clone();
        let done = store.on_message(label.dir, def, decoded, data);
        let Some(done) = done.filter(|done| done.parts == 1 && done.crc_ok() == Some(true)) else {
            return;
        };
        snapshots += 1;
        if !snapshots.is_multiple_of(EVERY) || done.snapshot().is_empty() {
            return;
        }
        let mut items = done.snapshot().items();
        let (key, ints) = items.nth((snapshots / EVERY) % done.snapshot().len()).unwrap();
        let sum = ints.iter().fold(0i32, |sum, int| sum.wrapping_add(*int));
        // A small sum may match by chance, and equal sums of two items cannot be told apart.
        let same = |ints: &[i32]| ints.iter().fold(0i32, |sum, int| sum.wrapping_add(*int)) == sum;
        let others = done.snapshot().items().filter(|(_, ints)| same(ints));
        if sum.abs() < 64 || others.count() > 1 {
            return;
        }
        let right = done.crc.unwrap().stated;
        let message = with_crc(def, decoded, data, right.wrapping_add(sum));
        examine(&before, &message, key, &[ItemFault::Twice], &mut twice);
        let message = with_crc(def, decoded, data, right.wrapping_sub(sum));
        let faults = [ItemFault::NotCounted, ItemFault::NotDeleted];
        examine(&before, &message, key, &faults, &mut missing);
    });
    for Seen { wrong, named } in [twice, missing] {
        assert!(wrong > 300 && named * 100 >= wrong * 95, "{named} of {wrong}");
    }
}
