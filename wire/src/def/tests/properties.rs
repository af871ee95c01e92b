//! Properties of all definitions, all values and all bytes.

use proptest::prelude::*;

use super::*;

pub(super) const DIALECTS: [(Dialect, Proto); 3] = [
    (Dialect::V6, Proto::V6),
    (Dialect::Ddnet, Proto::Ddnet),
    (Dialect::V7, Proto::V7),
];

pub(super) fn defs(class: impl Fn(Class) -> bool) -> Vec<&'static Def> {
    let all = DIALECTS
        .into_iter()
        .flat_map(|(dialect, _)| Registry::builtin().defs(dialect));
    all.filter(|def| class(def.class)).collect()
}

/// A stream of pseudo-random choices.
pub(super) struct Choices(pub(super) u64);

impl Choices {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn int(&mut self, min: i64, max: i64) -> i64 {
        match self.below(4) {
            0 => min,
            1 => max,
            2 => 0.clamp(min, max),
            _ => {
                let span = (i128::from(max) - i128::from(min) + 1).unsigned_abs();
                i64::try_from(i128::from(min) + (u128::from(self.next()) % span).cast_signed()).unwrap()
            }
        }
    }

    fn text(&mut self, most: usize) -> Vec<u8> {
        let len = self.below(most + 1);
        let letters = "abc XYZ09\u{e4}\u{1f600}/;".chars().collect::<Vec<_>>();
        let mut text = String::from("t").repeat(usize::from(len > 0));
        while text.len() < len {
            let c = letters[self.below(letters.len())];
            if text.len() + c.len_utf8() > len {
                break;
            }
            text.push(c);
        }
        text.into_bytes()
    }

    fn bytes(&mut self, len: usize) -> Datum {
        Datum::Bytes((0..len).map(|_| self.next().to_le_bytes()[0]).collect())
    }

    /// Returns a legal value. Counters are corrected later.
    pub(super) fn one(&mut self, def: &Def, at: u16, field: &Field) -> Datum {
        match &field.ty {
            Type::Flags(set) => {
                let bits = self.next()
                    & u64::from(set.mask)
                    & if field.bounds.max < 1 << 30 {
                        0xff
                    } else {
                        u64::MAX
                    };
                Datum::Int(i64::from(
                    u32::try_from(bits & 0xffff_ffff).unwrap().cast_signed(),
                ))
            }
            Type::Enum(set) if field.bounds.min >= set.labels[0].value && self.below(4) > 0 => {
                let labels: Vec<_> = set
                    .labels
                    .iter()
                    .filter(|label| label.value <= field.bounds.max && label.value >= field.bounds.min)
                    .collect();
                Datum::Int(labels[self.below(labels.len())].value)
            }
            Type::Enum(_)
            | Type::Int
            | Type::Bool
            | Type::Tick
            | Type::Tune
            | Type::Decimal
            | Type::U8
            | Type::Be16
            | Type::Be32 => Datum::Int(self.int(field.bounds.min, field.bounds.max)),
            Type::Text(_) => {
                Datum::Bytes(self.text(field.bounds.limit.map_or(20, |limit| usize::from(limit).min(20))))
            }
            Type::Packed(ints) => Datum::Bytes(self.text(4 * usize::from(*ints) - 1)),
            Type::Raw(_, Some(expect)) => Datum::from(&**expect),
            Type::Raw(Len::Fixed(len), _) => self.bytes((*len).into()),
            Type::Raw(..) => {
                let len = 1 + self.below(30);
                self.bytes(len)
            }
            Type::Uuid => self.bytes(16),
            Type::Sha256 => self.bytes(32),
            Type::Addr => self.bytes(18),
            Type::AddrLegacy => self.bytes(6),
            Type::Group { .. } => self.group(def, Some(at)),
        }
    }

    pub(super) fn group(&mut self, def: &Def, parent: Option<u16>) -> Datum {
        let parts: Vec<_> = def.parts(parent).collect();
        let first_optional = parts
            .iter()
            .position(|(_, field)| field.optional)
            .unwrap_or(parts.len());
        let kept = first_optional + self.below(parts.len() - first_optional + 1);
        let mut fields = Vec::new();
        for (place, (at, field)) in parts.iter().enumerate() {
            if place >= kept {
                fields.push((field.name.clone(), Datum::Absent));
                continue;
            }
            let count = match field.repeat {
                Repeat::One => None,
                Repeat::Fixed(count) => Some(count.into()),
                Repeat::Params(counter) => {
                    let set = def.field(counter).unwrap().set().unwrap();
                    let value = number(&fields, def, counter);
                    Some(
                        set.label(value)
                            .map_or(0, |label| label.params.unwrap_or(0))
                            .into(),
                    )
                }
                Repeat::Field(_) | Repeat::Rest => Some(self.below(12)),
            };
            let value = match count {
                None => self.one(def, *at, field),
                Some(count) => Datum::List((0..count).map(|_| self.one(def, *at, field)).collect()),
            };
            let len = match (&value, &field.ty, field.repeat) {
                (Datum::List(list), _, Repeat::Field(counter)) => Some((counter, list.len())),
                (Datum::Bytes(bytes), Type::Raw(Len::Field(counter), _), _) => Some((*counter, bytes.len())),
                (
                    _,
                    Type::Group {
                        bytes: Some(counter), ..
                    },
                    _,
                ) => Some((*counter, 40)),
                _ => None,
            };
            if let Some((counter, len)) = len {
                let name = &def.field(counter).unwrap().name;
                let slot = fields.iter_mut().find(|(known, _)| known == name).unwrap();
                slot.1 = Datum::Int(i64::try_from(len).unwrap());
            }
            fields.push((field.name.clone(), value));
        }
        Datum::Group(fields)
    }
}

fn number(fields: &[(std::sync::Arc<str>, Datum)], def: &Def, counter: u16) -> i64 {
    let name = &def.field(counter).unwrap().name;
    match fields.iter().find(|(known, _)| known == name) {
        Some((_, Datum::Int(value))) => *value,
        _ => 0,
    }
}

pub(super) fn body(def: &Def, data: &[u8]) -> usize {
    match def.class {
        Class::Control => 1,
        Class::Connless => 8,
        _ => crate::identify(data).unwrap().1 - if &*def.name == "ex" { 16 } else { 0 },
    }
}

/// Reads the message by the id in its data.
fn found<'r>(def: &Def, data: &[u8], decoded: &mut Decoded) -> Option<&'r Def> {
    let (registry, dir) = (
        Registry::builtin(),
        if def.way == Endpoints::C2s {
            Dir::C2s
        } else {
            Dir::S2c
        },
    );
    let mut protos = DIALECTS
        .into_iter()
        .filter(|(dialect, _)| registry.defs(*dialect).any(|other| std::ptr::eq(other, def)));
    let (_, proto) = protos.next_back()?;
    match def.class {
        Class::Control => decoded.control(registry, proto, dir, data),
        Class::Connless => decoded.connless(registry, proto, data),
        _ => decoded.message(registry, proto, dir, data),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Checks every message of every dialect.
    #[test]
    fn what_was_written_is_read(seed in any::<u64>()) {
        let (mut choices, mut decoded) = (Choices(seed), Decoded::new());
        for def in defs(|class| class != Class::Object) {
            let values = choices.group(def, None);
            let mut data = Vec::new();
            def.encode(&values, &mut data).unwrap_or_else(|error| panic!("{}: {error} {values:?}", def.name));
            if &*def.name == "ex" {
                decoded.read(def, &data, 1);
            } else {
                let found = found(def, &data, &mut decoded);
                prop_assert!(found.is_some_and(|found| std::ptr::eq(found, def)), "{}", def.name);
            }
            prop_assert_eq!(decoded.datum(def, Source::Bytes(&data)), values.clone(), "{}", def.name);
            let odd: Vec<_> = codes(&decoded).into_iter()
                .filter(|code| !matches!(code, Code::OutOfRange | Code::UnknownValue | Code::TextCleaned | Code::WrongDirection))
                .collect();
            prop_assert!(odd.is_empty(), "{} {:?} {:?}", def.name, odd, values);
            prop_assert_eq!(decoded.known_end(), data.len());
        }
    }

    #[test]
    fn objects_that_were_written_are_read(seed in any::<u64>()) {
        let (mut choices, mut decoded, mut ints) = (Choices(seed), Decoded::new(), Vec::new());
        for def in defs(|class| class == Class::Object) {
            let values = choices.group(def, None);
            ints.clear();
            def.encode_object(&values, &mut ints).unwrap();
            let size = def.size.unwrap();
            prop_assert!((usize::from(size.least)..=size.full.into()).contains(&ints.len()));
            decoded.object(def, &ints);
            prop_assert_eq!(decoded.datum(def, Source::Ints(&ints)), values);
            for record in decoded.records().iter().filter(|record| record.index.is_none() && record.depth == 0) {
                let path = Path::of_field(def, record.field).unwrap();
                let mut edited = ints.clone();
                let value = decoded.datum_of(def, record, Source::Ints(&ints));
                decoded.splice_object(def, &mut edited, &path, &value).unwrap();
                prop_assert_eq!(&edited, &ints);
            }
        }
    }

    /// A splice changes one field at any position, and no other byte.
    #[test]
    fn a_splice_keeps_all_other_bytes(seed in any::<u64>()) {
        let (mut choices, mut decoded, mut again) = (Choices(seed), Decoded::new(), Decoded::new());
        let mut out = Vec::new();
        for def in defs(|class| class != Class::Object) {
            let mut data = Vec::new();
            def.encode(&choices.group(def, None), &mut data).unwrap();
            let body = body(def, &data);
            pad_ints(def, &mut data, body, &mut choices);
            let rest = matches!(def.parts(None).last(), Some((_, field)) if field.repeat == Repeat::Rest || matches!(field.ty, Type::Raw(Len::Rest, _)));
            let complete = { decoded.read(def, &data, body); def.parts(None).count() == decoded.parts(None).count() };
            if !rest && complete {
                data.extend([0xee; 3]);
            }
            decoded.read(def, &data, body);
            for record in decoded.records() {
                let field = def.field(record.field).unwrap();
                let Some(path) = path_to(def, &decoded, record) else { continue };
                let path = def.path(&path).unwrap();
                prop_assert_eq!(decoded.find(&path), Some(record));
                let list = matches!(record.value, Value::List(_));
                let value = if list { decoded.datum_of(def, record, Source::Bytes(&data)) } else { choices.one(def, record.field, field) };
                if matches!(field.ty, Type::Raw(..)) && !list {
                    // Another field states its length and is tested next.
                    continue;
                }
                decoded.splice(def, &data, &path, &value, &mut out).unwrap();
                let (at, end) = (record.at as usize, (record.at + record.len) as usize);
                prop_assert_eq!(&out[..at], &data[..at], "{} {}", def.name, field.name);
                prop_assert!(out.ends_with(&data[end..]), "{} {}", def.name, field.name);
                again.read(def, &out, body);
                if !counts(def, record.field) && again.find(&path).is_some() {
                    let got = again.datum_of(def, again.find(&path).unwrap(), Source::Bytes(&out));
                    prop_assert_eq!(got, value, "{} {}", def.name, field.name);
                }
            }
        }
    }

    /// Any bytes after any id are read without a panic, and every byte is accounted for.
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0x80), 1u8..8], 0..200), seed in any::<u64>()) {
        let (mut choices, mut decoded) = (Choices(seed), Decoded::new());
        let (mut json, all) = (String::new(), defs(|class| class != Class::Object));
        for _ in 0..40 {
            let def = all[choices.below(all.len())];
            decoded.read(def, &bytes, 0);
            let mut seen = vec![false; bytes.len()];
            for record in decoded.records() {
                seen[record.at as usize..(record.at + record.len) as usize].fill(true);
            }
            decoded.notes().iter().for_each(|note| seen[note.at..note.at + note.len].fill(true));
            prop_assert!(decoded.notes().overflowed() || seen.iter().all(|seen| *seen), "{}", def.name);
            let source = Source::Bytes(&bytes);
            json.clear();
            decoded.view().json(def, source, Secrets::Hide, &mut json);
            let whole = json.starts_with('{') && json.ends_with('}');
            prop_assert!(whole);
            prop_assert_eq!(decoded.view().rows(def, source, Secrets::Hide).count(), decoded.records().len());
            let _either = def.encode(&decoded.datum(def, source), &mut Vec::new());
        }
        let registry = Registry::builtin();
        for proto in Proto::ALL {
            for dir in [Dir::C2s, Dir::S2c] {
                decoded.message(registry, proto, dir, &bytes);
                decoded.control(registry, proto, dir, &bytes);
                decoded.connless(registry, proto, &bytes);
            }
        }
    }

    #[test]
    fn any_ints_are_read(ints in prop::collection::vec(prop_oneof![any::<i32>(), -2i32..70], 0..70)) {
        let mut decoded = Decoded::new();
        for def in defs(|class| class == Class::Object) {
            decoded.object(def, &ints);
            let read = decoded.parts(None).map(|record| record.len as usize).sum::<usize>();
            prop_assert_eq!(read, decoded.known_end());
            let source = Source::Ints(&ints);
            prop_assert_eq!(decoded.view().rows(def, source, Secrets::Show).count(), decoded.records().len());
        }
    }
}

/// Returns true if the field contains the length of another field.
fn counts(def: &Def, counter: u16) -> bool {
    def.fields.iter().any(|field| {
        field.repeat == Repeat::Field(counter)
            || field.repeat == Repeat::Params(counter)
            || matches!(&field.ty, Type::Raw(Len::Field(at), _) | Type::Group { bytes: Some(at), .. } if *at == counter)
    })
}

/// Makes some packed ints longer than necessary.
pub(super) fn pad_ints(def: &Def, data: &mut Vec<u8>, body: usize, choices: &mut Choices) {
    let mut decoded = Decoded::new();
    decoded.read(def, data, body);
    let packed = |record: &&Record| {
        let ty = &def.field(record.field).unwrap().ty;
        let int = matches!(
            ty,
            Type::Int | Type::Bool | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_)
        );
        int && record.len > 0 && record.len < 4 && matches!(record.value, Value::Int(_))
    };
    for record in decoded.records().iter().filter(packed).rev() {
        if choices.below(2) == 0 {
            let last = (record.at + record.len) as usize;
            data[last - 1] |= 0x80;
            data.insert(last, 0);
        }
    }
}

/// Returns the path of a record at the top level, or in a group or list at the top level.
pub(super) fn path_to(def: &Def, decoded: &Decoded, record: &Record) -> Option<String> {
    let name = |record: &Record| def.field(record.field).map(|field| &*field.name);
    let index = |record: &Record| record.index.map_or(String::new(), |index| format!("[{index}]"));
    if record.depth == 0 {
        return name(record).map(str::to_owned);
    }
    for top in decoded.parts(None) {
        for part in decoded.parts(Some(top)) {
            if std::ptr::eq(part, record) {
                let inner = if part.index.is_some() {
                    index(part)
                } else {
                    format!(".{}", name(part)?)
                };
                return Some(format!("{}{inner}", name(top)?));
            }
            for leaf in decoded.parts(Some(part)) {
                if std::ptr::eq(leaf, record) {
                    return Some(format!("{}{}.{}", name(top)?, index(part), name(leaf)?));
                }
            }
        }
    }
    None
}
