//! The fields of one message or object, laid out in order.

mod attribute;
mod unknown;

use std::sync::Arc;

use super::gist;
use super::names::Names;
use crate::def::error::Errors;
use crate::def::lex::Word;
use crate::def::model::{Bounds, Class, Def, Field, Gist, Id, Len, Place, Repeat, Set, Size, Type};
use crate::def::suggest::{meant_in_source, suggest};
use crate::def::syntax::{Builtin, Head, Item, Layout, Member, RawField, RawLen, RawRepeat};

/// The maximum number of fields of a message, including the fields of its structs.
const MAX_FIELDS: usize = 1024;
/// The maximum depth of structs inside structs.
const MAX_DEPTH: usize = 8;

pub(super) fn def(
    item: &Item<'_>,
    layout: &Layout<'_>,
    names: &Names<'_>,
    errors: &mut Errors<'_>,
) -> Option<Def> {
    let head = layout.head.as_ref()?;
    let mut out = Out {
        names,
        class: head.class,
        fields: Vec::with_capacity(layout.members.len()),
        errors,
    };
    out.members(layout, None, 0);
    let fields = out.fields;
    let mut def = Def {
        name: item.name.text.clone(),
        class: head.class,
        id: head.id.clone(),
        way: head.way,
        vitality: head.vitality,
        frequency: head.frequency,
        dead: head.dead,
        since: head.since.clone(),
        aliases: head.aliases.clone(),
        doc: layout.doc.clone(),
        size: (head.class == Class::Object).then(|| size(head, &fields)),
        fields,
        gist: None,
        twin: None,
    };
    if !layout.gist.is_empty() {
        let lines = layout.gist.iter().map(|line| line.word);
        match gist::compile(lines, &def) {
            Ok(sections) => {
                let lines = layout.gist.iter().map(|line| line.text.clone()).collect();
                def.gist = Some(Gist { lines, sections });
            }
            // If a user's enum or struct does not fit a built-in gist, the gist is dropped without an error.
            Err(_) if item.scope.level < names.level => {}
            Err(failure) => {
                errors.accept::<()>(Err(failure));
            }
        }
    }
    Some(def)
}

struct Out<'a, 'i, 'e> {
    names: &'a Names<'i>,
    class: Class,
    fields: Vec<Field>,
    errors: &'a mut Errors<'e>,
}

impl<'i> Out<'_, 'i, '_> {
    fn members(&mut self, layout: &Layout<'_>, parent: Option<u16>, depth: usize) {
        for member in &layout.members {
            match member {
                Member::Include(name) => match self.layout(name.text) {
                    Some(part) if depth < MAX_DEPTH => self.members(part, parent, depth + 1),
                    Some(_) => self.errors.push(*name, "structs nested too deep", None),
                    None => self.unknown_struct(*name),
                },
                Member::Field(raw) => self.field(raw, parent, depth),
            }
            if self.fields.len() > MAX_FIELDS {
                self.fields.truncate(MAX_FIELDS);
                return;
            }
        }
    }

    fn field(&mut self, raw: &RawField<'_>, parent: Option<u16>, depth: usize) {
        let place = raw.name.word;
        if self.fields.len() >= MAX_FIELDS {
            self.errors
                .push(place, format!("more than {MAX_FIELDS} fields in a message"), None);
            return;
        }
        if self.named(&raw.name.text, parent).is_some() {
            self.errors
                .push(place, format!("duplicate field `{}`", raw.name.text), None);
            return;
        }
        let Some(field) = self.resolved(raw, parent) else {
            return;
        };
        let at = self.fields.len();
        let group = matches!(field.ty, Type::Group { .. });
        self.fields.push(field);
        if group {
            match self.layout(raw.ty.name.text) {
                Some(part) if depth < MAX_DEPTH => {
                    self.members(part, u16::try_from(at).ok(), depth + 1);
                }
                _ => self.errors.push(raw.ty.name, "structs nested too deep", None),
            }
        }
        let end = u16::try_from(self.fields.len()).unwrap_or(u16::MAX);
        if let Some(field) = self.fields.get_mut(at) {
            field.place.end = end;
        }
    }

    fn resolved(&mut self, raw: &RawField<'_>, parent: Option<u16>) -> Option<Field> {
        let ty = self.ty(raw, parent)?;
        let repeat = match &raw.repeat {
            RawRepeat::One => Repeat::One,
            RawRepeat::Fixed(count) => Repeat::Fixed(*count),
            RawRepeat::Field(name) => Repeat::Field(self.counter(*name, parent)?),
            RawRepeat::Params(name) => Repeat::Params(self.counter(*name, parent)?),
            RawRepeat::Rest => Repeat::Rest,
        };
        if self.class == Class::Object && !matches!(repeat, Repeat::One | Repeat::Fixed(_)) {
            self.errors
                .push(raw.name.word, "a snapshot object always has the same size", None);
        }
        let (min, max) = self.range(raw, &ty)?;
        let secrecy = self.secrecy(&raw.secrecy, parent)?;
        Some(Field {
            name: raw.name.text.clone(),
            default: self.default(raw, &ty)?,
            repeat,
            optional: raw.optional,
            bounds: Bounds {
                min,
                max,
                limit: raw.bounds.limit,
                ddnet_limit: raw.bounds.limit,
                count_max: raw.bounds.count_max,
            },
            scale: raw.scale,
            unit: raw.unit.clone(),
            secrecy,
            transient: raw.transient,
            after: raw.after.clone(),
            doc: raw.doc.clone(),
            place: Place { parent, end: 0 },
            ty,
        })
    }

    fn ty(&mut self, raw: &RawField<'_>, parent: Option<u16>) -> Option<Type> {
        let name = raw.ty.name;
        let ty = match raw.ty.builtin {
            Some(builtin) => self.builtin(builtin, raw, parent)?,
            None => match self.set(raw) {
                Some(set) if set.flags => Type::Flags(Arc::clone(set)),
                Some(set) => Type::Enum(Arc::clone(set)),
                None if self.layout(name.text).is_some() => Type::Group {
                    name: name.text.into(),
                    bytes: match &raw.ty.bytes {
                        Some(name) => Some(self.counter(*name, parent)?),
                        None => None,
                    },
                },
                None => {
                    self.unknown_type(raw);
                    return None;
                }
            },
        };
        let fits = match &ty {
            Type::Int | Type::Bool | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_) => true,
            Type::Packed(_) | Type::Uuid | Type::Group { .. } => true,
            _ => self.class != Class::Object,
        };
        if !fits {
            let message = format!("a snapshot object has no `{}`", name.text);
            self.errors.push_about(name, name, message, None);
        }
        let (is_raw, is_text) = (matches!(ty, Type::Raw(..)), matches!(ty, Type::Text(_)));
        let (is_packed, is_group) = (matches!(ty, Type::Packed(_)), matches!(ty, Type::Group { .. }));
        let misplaced = [
            (raw.ty.bytes.is_some() && !is_group, "bytes", "objects have"),
            (raw.ty.len.is_some() && !is_raw, "len", "`raw` has"),
            (raw.ty.expect.is_some() && !is_raw, "expect", "`raw` has"),
            (raw.ty.ints.is_some() && !is_packed, "ints", "`twstr` has"),
            (raw.scale.is_some() && ty != Type::Int, "scale", "`int` has"),
            (
                raw.bounds.limit.is_some() && !is_text,
                "limit",
                "`cstr`, `str`, `str_cc` and `str_strict` have",
            ),
        ];
        for (_, attribute, owner) in misplaced.into_iter().filter(|(wrong, ..)| *wrong) {
            let help = Some(format!("only {owner}"));
            let message = format!("`{}` has no `{attribute}`", name.text);
            self.errors.push_about(name, name, message, help);
        }
        Some(ty)
    }

    fn builtin(&mut self, builtin: Builtin, raw: &RawField<'_>, parent: Option<u16>) -> Option<Type> {
        Some(match builtin {
            Builtin::Int => Type::Int,
            Builtin::Bool => Type::Bool,
            Builtin::Tick => Type::Tick,
            Builtin::Tune => Type::Tune,
            Builtin::Text(clean) => Type::Text(clean),
            Builtin::Decimal => Type::Decimal,
            Builtin::Uuid => Type::Uuid,
            Builtin::Sha256 => Type::Sha256,
            Builtin::U8 => Type::U8,
            Builtin::Be16 => Type::Be16,
            Builtin::Be32 => Type::Be32,
            Builtin::Addr => Type::Addr,
            Builtin::AddrLegacy => Type::AddrLegacy,
            Builtin::Packed => match raw.ty.ints {
                Some(ints) => Type::Packed(ints),
                None => {
                    self.errors.push(raw.ty.name, "`twstr` needs `ints=N`", None);
                    return None;
                }
            },
            Builtin::Raw => {
                let len = match &raw.ty.len {
                    Some(RawLen::Fixed(len)) => Len::Fixed(*len),
                    Some(RawLen::Field(name)) => Len::Field(self.counter(*name, parent)?),
                    Some(RawLen::Rest) => Len::Rest,
                    None => {
                        let help = Some("len=N, len=FIELD or rest".to_owned());
                        self.errors.push(raw.ty.name, "`raw` needs a length", help);
                        return None;
                    }
                };
                Type::Raw(len, raw.ty.expect.clone())
            }
        })
    }

    /// Returns the number field `name` that precedes this field, in the same group or in a surrounding group.
    fn counter(&mut self, name: Word<'_>, parent: Option<u16>) -> Option<u16> {
        let mut level = parent;
        loop {
            if let Some((at, field)) = self.named(name.text, level) {
                let good = field.is_number() && !field.is_list();
                if !good {
                    self.errors
                        .push(name, format!("`{}` is not a single number", name.text), None);
                }
                return good.then_some(at);
            }
            match level {
                Some(at) => {
                    level = self
                        .fields
                        .get(usize::from(at))
                        .and_then(|field| field.place.parent)
                }
                None => break,
            }
        }
        let before = self
            .fields
            .iter()
            .filter(|field| field.is_number())
            .map(|field| &*field.name);
        let meant = suggest(name.text, before).map(meant_in_source);
        self.errors.push(
            name,
            format!("no number `{}` before this field", name.text),
            meant,
        );
        None
    }

    fn named(&self, name: &str, parent: Option<u16>) -> Option<(u16, &Field)> {
        let mut fields = (0u16..).zip(&self.fields);
        fields.find(|(_, field)| field.place.parent == parent && *field.name == *name)
    }

    fn layout(&self, name: &str) -> Option<&'i Layout<'i>> {
        self.names
            .structs
            .get(name)
            .or_else(|| self.names.objects.get(name))
            .copied()
    }

    /// Returns the enum or flags of a field; `None` if the field states a size and an object has that name.
    fn set(&self, raw: &RawField<'_>) -> Option<&'i Arc<Set>> {
        let object = raw.ty.bytes.is_some() && self.layout(raw.ty.name.text).is_some();
        let set = self.names.sets.get(raw.ty.name.text).copied();
        set.filter(|_| !object)
    }
}

fn size(head: &Head<'_>, fields: &[Field]) -> Size {
    let (mut full, mut least) = (0u32, None);
    let mut repeats: Vec<(u16, u32)> = Vec::new();
    for (at, field) in (0u16..).zip(fields) {
        repeats.retain(|(end, _)| *end > at);
        let outer = repeats.last().map_or(1, |(_, times)| *times);
        let times = match field.repeat {
            Repeat::Fixed(count) => outer.saturating_mul(u32::from(count)),
            _ => outer,
        };
        let ints = match field.ty {
            Type::Group { .. } => {
                repeats.push((field.place.end, times));
                0
            }
            Type::Packed(ints) => u32::from(ints),
            Type::Uuid => 4,
            _ => 1,
        };
        if field.optional && least.is_none() {
            least = Some(full);
        }
        full = full.saturating_add(ints.saturating_mul(times));
    }
    let short = |ints: u32| u16::try_from(ints).unwrap_or(u16::MAX);
    let agreed = matches!(head.id, Id::Number(_)) && !head.explicit;
    Size {
        full: short(full),
        least: short(least.unwrap_or(full)),
        agreed: agreed.then(|| short(full)),
    }
}
