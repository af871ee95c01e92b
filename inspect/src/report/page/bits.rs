//! The bits of messages and items.

use std::fmt::Write as _;

use teetap_wire::counted;

use super::{Page, percent};
use crate::report::{Sum, markup::code};

/// Maximum number of rows of the table of bits, for messages and for items.
const ROWS: usize = 30;

impl Page<'_> {
    pub(super) fn bits(&self) -> String {
        let bits = &self.numbers.bits;
        if bits.datagrams == 0 {
            return String::new();
        }
        let total = 8 * bits.bytes;
        let mut table = format!(
            "\n## Bits\n\nOf the {} ({}) that the peers sent. Bytes are before compression, bits after it.\n\n\
             | direction | message | count | bytes | bits | share |\n|---|---|---:|---:|---:|---:|\n",
            counted(bits.datagrams, "datagram"),
            counted(bits.bytes, "byte"),
        );
        let mut row = |dir: &str, name: &str, sum: Option<Sum>, own: u64| {
            let (count, bytes) = sum.map_or((String::new(), String::new()), |sum| {
                (sum.count.to_string(), sum.bytes.to_string())
            });
            let share = percent(own, total);
            let _never_fails = writeln!(table, "| {dir} | {name} | {count} | {bytes} | {own} | {share} |");
        };
        let messages = bits.messages();
        for (dir, name, sum) in messages.iter().take(ROWS) {
            row(&dir.to_string(), &code(name), Some(*sum), sum.bits);
        }
        let mut others = Sum::default();
        for (_, _, sum) in messages.iter().skip(ROWS) {
            others.count += sum.count;
            others.bytes += sum.bytes;
            others.bits += sum.bits;
        }
        if others.count > 0 {
            row("", "other messages", Some(others), others.bits);
        }
        let framing = bits.framing;
        row("", "headers of packets, tokens", None, framing.headers);
        row("", "headers of chunks", None, framing.chunks);
        row("", "end codes, padding", None, framing.padding);
        row("", "unreadable datagrams", None, framing.unreadable);
        row("", "all", None, total);
        table + &self.items()
    }

    fn items(&self) -> String {
        let bits = &self.numbers.bits;
        let items = bits.items();
        if items.is_empty() {
            return String::new();
        }
        let mut table = String::from(
            "\n| item of snapshots | count | bytes | bits | share of snapshots |\n|---|---:|---:|---:|---:|\n",
        );
        let mut rest = bits.snapshots;
        for (_, sum) in &items {
            rest = rest.saturating_sub(sum.bits);
        }
        for (name, sum) in items.iter().take(ROWS) {
            let share = percent(sum.bits, bits.snapshots);
            let Sum { count, bytes, bits } = sum;
            let _never_fails = writeln!(table, "| {} | {count} | {bytes} | {bits} | {share} |", code(name));
        }
        let more: u64 = items.iter().skip(ROWS).map(|(_, sum)| sum.bits).sum();
        if more > 0 {
            let share = percent(more, bits.snapshots);
            let _never_fails = writeln!(table, "| other items | | | {more} | {share} |");
        }
        let share = percent(rest, bits.snapshots);
        let _never_fails = writeln!(table, "| headers, incomplete snapshots | | | {rest} | {share} |");
        table
    }
}
