//! Explains the data of a snapshot item by item and int by int.
//!
//! Law: a datagram has no base. The ints of a delta are shown as they were sent: differences for an item that the base
//! has, values for any other item. Only the ints of a complete snapshot are read as values of their fields.

use teetap_wire::{
    Code, Note, counted,
    def::{Decoded, Def, Secrets, Source},
    snap::{ItemKey, Sizes, Snapshot},
    varint,
};

use super::{Span, packet::Walk, tree::label};

/// The data of a snapshot while it is explained.
struct Data<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// The place of the data.
    span: Span,
    depth: u8,
    is_complete: bool,
    sizes: Sizes,
    /// The descriptor items, which name extended types. They may follow the items that they describe.
    descriptors: Snapshot,
}

/// Why the data cannot be read further.
enum Ended {
    /// It ends early.
    Early,
    /// An item has an impossible type or id.
    Item,
}

/// Returns true if a field is the data of a snapshot.
pub(super) fn is_data(def: &Def, name: &str) -> bool {
    matches!(&*def.name, "snap" | "snap_single") && name == "data"
}

impl Walk {
    /// Adds the row of a snapshot's data at `span`, and the rows of its items. `decoded` is the message.
    pub(super) fn snapshot_data(
        &mut self,
        depth: u8,
        span: Span,
        bytes: &[u8],
        (def, decoded): (&Def, &Decoded),
    ) {
        let find = |name: &str| decoded.find(&def.path(name).ok()?)?.int();
        let int = |name: &str| find(name).and_then(|int| i32::try_from(int).ok());
        let base = int("tick")
            .zip(int("delta_tick"))
            .map_or(-1, |(tick, delta)| tick.wrapping_sub(delta));
        let (part, parts) = (int("part").unwrap_or(0), int("num_parts").unwrap_or(1));
        let len = counted(bytes.len(), "byte");
        let group = self.tree.group(depth, span, "data", "");
        let depth = depth.saturating_add(1);
        let value = match (part, base) {
            (0, -1) => format!("{len}, a complete snapshot"),
            (0, base) => format!("{len}, relative to the snapshot of tick {base}"),
            (part, _) => {
                format!("{len}, part {part} from 0 of {parts}, which continues the item of the part before")
            }
        };
        self.tree.set_value(group, value);
        if part != 0 {
            self.tree.bytes(depth, span, "bytes", "");
            return;
        }
        let sizes = Sizes::new(self.registry, self.proto);
        let mut data = Data {
            bytes,
            pos: 0,
            span,
            depth,
            is_complete: base == -1,
            descriptors: descriptors(bytes, &sizes),
            sizes,
        };
        let result = self.delta(&mut data);
        let rest = Span::new(
            span.space,
            span.at + data.pos,
            bytes.len().saturating_sub(data.pos),
        );
        let (label, code) = match result {
            Ok(()) if rest.len == 0 => return,
            Ok(()) => ("surplus", Some(Code::SurplusBytes)),
            Err(Ended::Early) if parts > 1 => ("continued in the next part", None),
            Err(Ended::Early) => ("not complete", Some(Code::SnapTruncated)),
            Err(Ended::Item) => ("not read", None),
        };
        let row = self
            .tree
            .bytes(depth, rest, label, counted(rest.len, "byte").to_string());
        if let Some(code) = code {
            let (at, len) = (rest.at, rest.len);
            self.tree.note(row, Note { code, at, len });
        }
    }

    /// Adds the rows of all items.
    fn delta(&mut self, data: &mut Data<'_>) -> Result<(), Ended> {
        let deleted = self.int(data, data.depth, |int| {
            ("removed items".to_owned(), int.to_string())
        })?;
        let updated = self.int(data, data.depth, |int| ("items".to_owned(), int.to_string()))?;
        self.int(data, data.depth, |int| {
            let text = if int == 0 {
                "0: not used"
            } else {
                "not 0: not used"
            };
            ("third int".to_owned(), text.to_owned())
        })?;
        for _ in 0..deleted.max(0) {
            let (registry, proto) = (self.registry, self.proto);
            self.int(data, data.depth, |int| {
                let key = ItemKey::from_int(int);
                let name = registry
                    .object(proto, key.kind.into())
                    .map_or(String::new(), |def| format!(" {}", def.name));
                (
                    "removed".to_owned(),
                    format!("type {}{name}, id {}", key.kind, key.id),
                )
            })?;
        }
        for _ in 0..updated.max(0) {
            self.item(data)?;
        }
        Ok(())
    }

    /// Adds the rows of one item.
    fn item(&mut self, data: &mut Data<'_>) -> Result<(), Ended> {
        let start = data.pos;
        let group = self.tree.group(data.depth, data.place(start), "item", "");
        let depth = data.depth.saturating_add(1);
        let result = self.item_rows(data, group, depth);
        let place = data.place(start);
        if let Some(row) = self.tree.rows.get_mut(group) {
            row.span = place;
        }
        result
    }

    fn item_rows(&mut self, data: &mut Data<'_>, group: usize, depth: u8) -> Result<(), Ended> {
        let start = data.pos;
        let mut def = None;
        let (registry, proto) = (self.registry, self.proto);
        let descriptors = std::mem::take(&mut data.descriptors);
        let kind = self.int(data, depth, |int| {
            def = u16::try_from(int)
                .ok()
                .and_then(|kind| descriptors.def(registry, proto, kind));
            let name = def.map_or(String::new(), |def| format!(" {}", def.name));
            ("type".to_owned(), format!("{int}{name}"))
        });
        data.descriptors = descriptors;
        let kind = kind?;
        let id = self.int(data, depth, |int| ("id".to_owned(), int.to_string()))?;
        let name = def.map_or_else(|| format!("type {kind}"), |def| def.name.to_string());
        self.tree.set_value(group, format!("{name}, id {id}"));
        let (Ok(kind), Ok(_)) = (u16::try_from(kind), u16::try_from(id)) else {
            let place = data.place(start);
            let (code, at, len) = (Code::SnapBadItem, place.at, place.len);
            self.tree.note(group, Note { code, at, len });
            return Err(Ended::Item);
        };
        let size = match data.sizes.of_kind(kind) {
            Some(size) => i32::from(size),
            None => self.int(data, depth, |int| {
                ("size".to_owned(), counted(int.unsigned_abs(), "int").to_string())
            })?,
        };
        let ints = data.peek(size);
        let labels = labels(def, &ints, data.is_complete, self.secrets);
        for at in 0..size.max(0) {
            let text = usize::try_from(at).ok().and_then(|at| labels.get(at)).cloned();
            self.int(data, depth, |int| {
                text.unwrap_or_else(|| (format!("int[{at}]"), int.to_string()))
            })?;
        }
        Ok(())
    }

    /// Adds the row of one int, which `text` names and describes. Returns the int.
    fn int(
        &mut self,
        data: &mut Data<'_>,
        depth: u8,
        text: impl FnOnce(i32) -> (String, String),
    ) -> Result<i32, Ended> {
        let start = data.pos;
        let int = data
            .bytes
            .get(start..)
            .and_then(varint::decode)
            .ok_or(Ended::Early)?;
        data.pos += int.len;
        let (label, value) = text(int.value);
        let place = data.place(start);
        let row = self.tree.bytes(depth, place, label, value);
        let codes = [(int.overlong, Code::OverlongInt), (int.padding, Code::IntPadding)];
        for (_, code) in codes.into_iter().filter(|(is_odd, _)| *is_odd) {
            self.tree.note(
                row,
                Note {
                    code,
                    at: place.at,
                    len: place.len,
                },
            );
        }
        Ok(int.value)
    }
}

impl Data<'_> {
    /// Returns the place of the bytes from `start` to the current position.
    const fn place(&self, start: usize) -> Span {
        Span::new(self.span.space, self.span.at + start, self.pos - start)
    }

    /// Returns the next ints, at most `count`, without reading on.
    fn peek(&self, count: i32) -> Vec<i32> {
        let mut ints = Ints(self.bytes.get(self.pos..).unwrap_or_default());
        (0..count.max(0)).map_while(|_| ints.next()).collect()
    }
}

/// The ints in bytes.
struct Ints<'a>(&'a [u8]);

impl Iterator for Ints<'_> {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        let int = varint::decode(self.0)?;
        self.0 = self.0.get(int.len..)?;
        Some(int.value)
    }
}

/// Returns the descriptor items, which have type 0.
fn descriptors(bytes: &[u8], sizes: &Sizes) -> Snapshot {
    let mut found = Snapshot::new();
    let mut ints = Ints(bytes);
    let removed = ints.next().unwrap_or(0);
    let _updated_and_unused = (ints.next(), ints.next());
    for _ in 0..removed.max(0) {
        if ints.next().is_none() {
            break;
        }
    }
    while let (Some(kind), Some(id)) = (ints.next(), ints.next()) {
        let (Ok(kind), Ok(id)) = (u16::try_from(kind), u16::try_from(id)) else {
            break;
        };
        let Some(size) = sizes.of_kind(kind).map(i32::from).or_else(|| ints.next()) else {
            break;
        };
        let item: Vec<i32> = (0..size.max(0)).map_while(|_| ints.next()).collect();
        if kind == 0 && found.insert(ItemKey { kind, id }, &item).is_err() {
            break;
        }
    }
    found
}

/// Returns the name and the text of each int of an item; ints without a field have none. The text is the value of the
/// field if the snapshot is complete, and the int otherwise.
fn labels(def: Option<&Def>, ints: &[i32], is_complete: bool, secrets: Secrets) -> Vec<(String, String)> {
    let mut all: Vec<_> = (0..)
        .zip(ints)
        .map(|(at, int)| (format!("int[{at}]"), int.to_string()))
        .collect();
    let Some(def) = def else { return all };
    let mut decoded = Decoded::new();
    decoded.object(def, ints);
    let view = decoded.view();
    for record in decoded.records() {
        let (at, len) = (record.at as usize, record.len as usize);
        let name = label(def, record);
        for (index, row) in all.iter_mut().skip(at).take(len).enumerate() {
            row.0 = if len == 1 {
                name.clone()
            } else {
                format!("{name}, int {}", index + 1)
            };
            if is_complete && index == 0 {
                row.1 = view.value_text(def, record, Source::Ints(ints), secrets);
            }
        }
    }
    all
}
