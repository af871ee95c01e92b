//! Removes secrets from one message.
//!
//! Law: the definitions mark which fields are secret, as for any output. A value is replaced in place by a value of the
//! same length, and so is each int. Bytes without a definition are also replaced; no other byte changes.

use std::ops::Range;

use teetap_wire::{
    Code, Dir, Proto,
    def::{Decoded, Def, Field, Record, Registry, Source, Type, Value},
    identify,
};

use super::{
    PLACEHOLDER, Scrubber,
    hole::{Hole, HoleKind},
};

impl Scrubber {
    /// Scrubs the data of a chunk.
    pub(super) fn chunk(&mut self, proto: Proto, dir: Dir, data: &mut [u8]) {
        let id = identify(data).map_or(0, |(_, len)| len);
        self.replace(id, data, |decoded, registry, data| {
            let def = decoded.message(registry, proto, dir, data);
            // A message with an unknown UUID is read as the envelope.
            def.filter(|_| registry.known_message(proto, dir, data).is_some())
        });
    }

    /// Scrubs the uncompressed payload of a control packet.
    pub(super) fn control(&mut self, proto: Proto, dir: Dir, data: &mut [u8]) {
        self.replace(1, data, |decoded, registry, data| {
            decoded.control(registry, proto, dir, data)
        });
    }

    /// Scrubs a connless message.
    pub(super) fn connless_message(&mut self, proto: Proto, data: &mut [u8]) {
        let id = if data.starts_with(&[0xff; 4]) { 8 } else { 0 };
        self.replace(id, data, |decoded, registry, data| {
            decoded.connless(registry, proto, data)
        });
    }

    /// Scrubs a message that `read` decodes; `id` is the length of its id in bytes. Applies the built-in definitions in
    /// addition to the user's, whose file may be written by another person.
    fn replace(
        &mut self,
        id: usize,
        data: &mut [u8],
        read: impl Fn(&mut Decoded, &'static Registry, &[u8]) -> Option<&'static Def>,
    ) {
        let mut holes = std::mem::take(&mut self.holes);
        holes.clear();
        match read(&mut self.decoded, self.registry, data) {
            Some(def) => self.find(def, data, true, &mut holes),
            None => self.blank(
                (id..data.len(), HoleKind::Unknown),
                data,
                self.keep.unknown,
                &mut holes,
            ),
        }
        let builtin = Registry::builtin();
        if !std::ptr::eq(self.registry, builtin)
            && let Some(def) = read(&mut self.decoded, builtin, data)
        {
            let mut more = Vec::new();
            self.find(def, data, false, &mut more);
            let is_new = |hole: &Hole| !holes.iter().any(|known| known.covers(hole));
            more.retain(is_new);
            holes.append(&mut more);
        }
        for hole in holes.drain(..) {
            if let Some(bytes) = data.get_mut(hole.range) {
                if matches!(hole.form, HoleKind::Bytes | HoleKind::Rest | HoleKind::Decimal) {
                    self.secrets.add(bytes);
                }
                self.fill(hole.form, bytes);
            }
        }
        self.holes = holes;
    }

    /// Appends the ranges to replace in the message that was just decoded. If `is_whole` is true, this includes bytes
    /// that belong to no field.
    fn find(&mut self, def: &Def, data: &[u8], is_whole: bool, holes: &mut Vec<Hole>) {
        let source = Source::Bytes(data);
        let decoded = std::mem::take(&mut self.decoded);
        let mut known = decoded.body();
        for record in decoded.records() {
            let is_leaf = !matches!(record.value, Value::Group | Value::List(_));
            let Some(field) = def.field(record.field).filter(|_| is_leaf) else {
                continue;
            };
            let (start, end) = (record.at as usize, (record.at + record.len) as usize);
            if start > known && is_whole {
                // An object has more ints than fields.
                self.blank((known..start, HoleKind::UnknownInts), data, false, holes);
            }
            known = known.max(end);
            let secret = decoded.view().secret(def, record, source);
            let secret = secret.map(|secret| match record.value {
                // The rest of the value is replaced like other text.
                Value::Text(len) if !self.keep.text => secret.start..start + len as usize,
                _ => secret,
            });
            holes.extend(open(def, field, record, secret.as_ref(), self.keep.text));
            holes.extend(secret.map(|range| Hole {
                form: hidden(field, self.keep.text && range.start > start),
                range,
            }));
        }
        if is_whole {
            // Surplus ints of an object at the end.
            let end = decoded.known_end().clamp(known, data.len());
            self.blank((known..end, HoleKind::UnknownInts), data, false, holes);
            // Unreadable bytes may contain a part of a secret; bytes after the fields are from a later version.
            let is_surplus = decoded.notes().contains(Code::SurplusBytes);
            let keep = is_surplus && self.keep.unknown;
            self.blank((end..data.len(), HoleKind::Unknown), data, keep, holes);
        }
        self.decoded = decoded;
    }

    /// Adds a hole, unless its bytes are all zero, which is padding.
    fn blank(
        &mut self,
        (range, form): (Range<usize>, HoleKind),
        data: &[u8],
        keep: bool,
        holes: &mut Vec<Hole>,
    ) {
        let has_data = data
            .get(range.clone())
            .is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0));
        if !keep && has_data {
            self.tally.unknown += 1;
            holes.push(Hole { range, form });
        }
    }

    fn fill(&mut self, form: HoleKind, bytes: &mut [u8]) {
        match form {
            HoleKind::Six => {
                if let Some(place) = bytes.first_chunk_mut::<16>() {
                    self.six(place);
                }
                return;
            }
            HoleKind::Four => {
                if let Some(place) = bytes.first_chunk_mut::<4>() {
                    self.four(place);
                }
                return;
            }
            HoleKind::Ints | HoleKind::UnknownInts | HoleKind::TextInts => {
                bytes
                    .iter_mut()
                    .for_each(|byte| *byte = *byte & 0x80 | PLACEHOLDER);
            }
            HoleKind::Decimal => {
                let digits = bytes.iter_mut().take_while(|byte| **byte != 0);
                digits.for_each(|byte| *byte = b'1');
            }
            HoleKind::Rest => {
                let text = bytes.iter_mut().skip_while(|byte| byte.is_ascii_whitespace());
                text.for_each(|byte| *byte = PLACEHOLDER);
            }
            HoleKind::Bytes | HoleKind::Unknown | HoleKind::Text => bytes.fill(PLACEHOLDER),
        }
        match form {
            HoleKind::Unknown | HoleKind::UnknownInts => {}
            HoleKind::Text | HoleKind::TextInts => self.tally.texts += 1,
            _ => self.tally.secrets += 1,
        }
    }

    /// Replaces the bytes of a text.
    pub(super) fn text_bytes(&mut self, text: &mut [u8]) {
        if !text.is_empty() {
            self.fill(HoleKind::Text, text);
        }
    }

    fn six(&mut self, place: &mut [u8; 16]) {
        match self.addresses.ip((*place).into()) {
            Some(std::net::IpAddr::V6(ip)) => *place = ip.octets(),
            _ => *place = [0; 16],
        }
    }

    fn four(&mut self, place: &mut [u8; 4]) {
        match self.addresses.ip((*place).into()) {
            Some(std::net::IpAddr::V4(ip)) => *place = ip.octets(),
            _ => *place = [0; 4],
        }
    }
}

/// Returns the hole for the part of a value that is not secret; `None` if it stays unchanged.
fn open(
    def: &Def,
    field: &Field,
    record: &Record,
    secret: Option<&Range<usize>>,
    keep_text: bool,
) -> Option<Hole> {
    let start = record.at as usize;
    let (form, len) = match (&field.ty, record.value) {
        (Type::Addr, _) => (HoleKind::Six, record.len),
        (Type::AddrLegacy, _) => (HoleKind::Four, record.len),
        (Type::Text(_), Value::Text(len)) if !keep_text && !stays(def, field) => (HoleKind::Text, len),
        (Type::Packed(_), _) if !keep_text && !stays(def, field) => (HoleKind::TextInts, record.len),
        _ => return None,
    };
    let end = secret.map_or(start + len as usize, |secret| secret.start);
    (start < end).then_some(Hole {
        range: start..end,
        form,
    })
}

/// Texts that a peer's program or its installation determines.
pub(super) const KEPT: &[(&str, &[&str])] = &[
    ("cl_call_vote", &["type"]),
    ("cl_command", &["name"]),
    ("client_version", &["ddnet_version_string"]),
    ("info", &["version", "map", "game_type"]),
    ("info_64", &["version", "map", "game_type"]),
    ("info_extended", &["version", "map", "game_type"]),
    ("it_is", &["name"]),
    ("map_change", &["name"]),
    ("map_details", &["name"]),
    ("maplist_add", &["names"]),
    ("maplist_entry_add", &["name"]),
    ("maplist_entry_rem", &["name"]),
    ("rcon_cmd_add", &["name", "help", "params"]),
    ("rcon_cmd_rem", &["name"]),
    ("server_info", &["version", "map", "game_type"]),
    ("sv_command_info", &["name", "args_format", "help_text"]),
    ("sv_command_info_remove", &["name"]),
];

fn stays(def: &Def, field: &Field) -> bool {
    KEPT.iter()
        .any(|(message, fields)| *message == &*def.name && fields.contains(&&*field.name))
}

/// Returns the form of a secret. `is_rest` is true if it follows a part that stays unchanged.
fn hidden(field: &Field, is_rest: bool) -> HoleKind {
    match field.ty {
        Type::Int
        | Type::Bool
        | Type::Tick
        | Type::Tune
        | Type::Enum(_)
        | Type::Flags(_)
        | Type::Packed(_) => HoleKind::Ints,
        Type::Decimal => HoleKind::Decimal,
        _ if is_rest => HoleKind::Rest,
        _ => HoleKind::Bytes,
    }
}
