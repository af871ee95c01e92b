//! Recognizes messages with a field left out, with two fields in the wrong order, or with lists whose elements alternate.
//!
//! Law: another order is reported only if it is the only one that fits: every byte belongs to a field, no field has a
//! note, and the message has a note in the order of the games. A message that only ends too early is not examined here.

use std::fmt;

use teetap_wire::{
    def::{Decoded, Def, Field, Repeat, Type},
    varint,
};

use crate::Values;

/// Minimum number of bytes of the fields of a message.
const ENOUGH: usize = 6;

/// Maximum number of values in a message.
const MOST: usize = 64;

/// How the fields of a message differ from the order of the games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrder {
    /// The field is left out. The second name is that of the field after it.
    Missing(&'static str, &'static str),
    /// The first field follows the second one.
    Swapped(&'static str, &'static str),
    /// The elements of lists alternate, from the first to the last named one. The number is that of elements in each.
    Alternating(&'static str, &'static str, u16),
}

/// The fields of a message that has only numbers and texts.
struct Shape {
    fields: Vec<&'static Field>,
    /// The values in the order of the games, each with the index of its field.
    values: Vec<usize>,
}

impl FieldOrder {
    /// Returns the order of the fields of a message; `None` if none fits, or more than one.
    pub(crate) fn find(def: &'static Def, body: &[u8], for_ddnet: bool) -> Option<Self> {
        let shape = Shape::new(def).filter(|_| body.len() >= ENOUGH)?;
        let fits = |order: &[usize]| shape.fits(def, order, body, for_ddnet);
        let mut found = shape.orders().into_iter().filter(|(_, order)| fits(order));
        let (what, _) = found.next()?;
        let is_only = found.next().is_none();
        what.filter(|_| is_only)
    }

    /// Writes the received and the expected order.
    pub(crate) fn write(self, f: &mut Values) -> fmt::Result {
        match self {
            Self::Missing(name, next) => {
                f.add_got(format_args!("no {name}"))?;
                f.add_expected(format_args!("{name} before {next}"))
            }
            Self::Swapped(name, other) => {
                f.add_got(format_args!("{other} before {name}"))?;
                f.add_expected(format_args!("{name} before {other}"))
            }
            Self::Alternating(first, last, count) => {
                f.add_got(format_args!(
                    "one element of each list from {first} to {last} in turn"
                ))?;
                f.add_expected(format_args!("all {count} of {first} first, then the next list"))
            }
        }
    }
}

impl Shape {
    /// Returns the shape of a message; `None` if it has other fields than numbers and texts.
    fn new(def: &'static Def) -> Option<Self> {
        let mut shape = Self {
            fields: Vec::new(),
            values: Vec::new(),
        };
        for (_, field) in def.parts(None) {
            let count = match field.repeat {
                Repeat::One => 1,
                Repeat::Fixed(count) => usize::from(count),
                Repeat::Field(_) | Repeat::Params(_) | Repeat::Rest => return None,
            };
            let is_read = field.is_number() && is_packed(&field.ty) || matches!(field.ty, Type::Text(_));
            if !is_read || shape.values.len() + count > MOST {
                return None;
            }
            shape
                .values
                .extend(std::iter::repeat_n(shape.fields.len(), count));
            shape.fields.push(field);
        }
        Some(shape)
    }

    /// Returns all orders to try, as indices of values. A message without its last field has no name here.
    fn orders(&self) -> Vec<(Option<FieldOrder>, Vec<usize>)> {
        let all: Vec<usize> = (0..self.values.len()).collect();
        let of = |field: usize| {
            all.iter()
                .copied()
                .filter(move |at| self.values.get(*at) == Some(&field))
        };
        let singles = self
            .fields
            .iter()
            .enumerate()
            .filter(|(_, field)| field.repeat == Repeat::One);
        let missing = singles.map(|(at, field)| {
            let next = self.fields.get(at + 1);
            let what = next.map(|next| FieldOrder::Missing(&field.name, &next.name));
            (
                what,
                all.iter()
                    .copied()
                    .filter(|value| self.values.get(*value) != Some(&at))
                    .collect(),
            )
        });
        let pairs = self.fields.windows(2).enumerate();
        let swapped = pairs.filter_map(|(at, pair)| {
            let [first, second] = pair else { return None };
            let order = (0..self.fields.len()).flat_map(|field| match field {
                _ if field == at => of(at + 1).collect::<Vec<_>>(),
                _ if field == at + 1 => of(at).collect(),
                _ => of(field).collect(),
            });
            let is_other = self.is_text(at) != self.is_text(at + 1);
            is_other.then(|| {
                (
                    Some(FieldOrder::Swapped(&first.name, &second.name)),
                    order.collect(),
                )
            })
        });
        missing.chain(swapped).chain(self.alternating(&of)).collect()
    }

    fn is_text(&self, field: usize) -> bool {
        self.fields
            .get(field)
            .is_some_and(|field| matches!(field.ty, Type::Text(_)))
    }

    /// Returns the order in which the elements of the first lists of the same length alternate; `None` if the message has
    /// no two such lists in a row.
    fn alternating<I: Iterator<Item = usize>>(
        &self,
        of: &impl Fn(usize) -> I,
    ) -> Option<(Option<FieldOrder>, Vec<usize>)> {
        let is_list = |field: &&Field| matches!(field.repeat, Repeat::Fixed(_));
        let first = self.fields.iter().position(is_list)?;
        let Repeat::Fixed(count) = self.fields.get(first)?.repeat else {
            return None;
        };
        let rest = self.fields.get(first..)?.iter();
        let lists = rest
            .take_while(|field| field.repeat == Repeat::Fixed(count))
            .count();
        let last = first + lists - 1;
        let mut order: Vec<usize> = (0..first).flat_map(of).collect();
        for element in 0..usize::from(count) {
            order.extend((first..=last).filter_map(|field| of(field).nth(element)));
        }
        order.extend((last + 1..self.fields.len()).flat_map(of));
        let [name, end] = [first, last].map(|at| self.fields.get(at).map(|field| &*field.name));
        (lists > 1).then_some((Some(FieldOrder::Alternating(name?, end?, count)), order))
    }

    /// Returns true if the message fits when its values are read in `order`. Values that are left out are 0 or empty.
    fn fits(&self, def: &Def, order: &[usize], body: &[u8], for_ddnet: bool) -> bool {
        let mut rest = body;
        let mut values: Vec<&[u8]> = vec![&[0]; self.values.len()];
        for at in order {
            let is_text = self.values.get(*at).is_some_and(|field| self.is_text(*field));
            let len = match is_text {
                true => rest.iter().position(|byte| *byte == 0).map(|end| end + 1),
                false => varint::decode(rest).map(|int| int.len),
            };
            let Some((value, after)) = len.and_then(|len| rest.split_at_checked(len)) else {
                return false;
            };
            if let Some(place) = values.get_mut(*at) {
                *place = value;
            }
            rest = after;
        }
        let mut decoded = Decoded::new();
        decoded.set_for_ddnet(for_ddnet);
        decoded.read(def, &values.concat(), 0);
        rest.is_empty() && decoded.notes().is_empty()
    }
}

/// Returns true for the types that are packed ints in a message.
const fn is_packed(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Int | Type::Bool | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_)
    )
}

#[cfg(test)]
mod tests {
    use teetap_wire::{Proto, def::Registry};

    use super::*;

    fn found(proto: Proto, name: &str, body: &[u8]) -> Option<String> {
        let def = Registry::builtin().named(proto, None, name).next().unwrap();
        let mut values = Values::default();
        FieldOrder::find(def, body, false)?.write(&mut values).unwrap();
        Some(values.to_string())
    }

    #[test]
    fn fields_in_another_order_or_left_out_are_named() {
        let parts: Vec<u8> = (0..6).flat_map(|_| *b"standard\0\x01\x05").collect();
        let info = [&b"me\0clan\0\x40"[..], &parts].concat();
        for (proto, name, body, expected) in [
            (
                Proto::V6,
                "cl_say",
                &b"hello all\0"[..],
                Some("got no team, expected team before message"),
            ),
            (
                Proto::V7,
                "cl_say",
                b"\x40hello\0",
                Some("got no mode, expected mode before target"),
            ),
            (
                Proto::V7,
                "info",
                b"0.7 abc\0\x85\x1cpassword\0",
                Some("got client_version before password, expected password before client_version"),
            ),
            (
                Proto::V7,
                "cl_start_info",
                &info,
                Some(
                    "got one element of each list from skin_part_names to skin_part_colors in turn, \
                     expected all 6 of skin_part_names first, then the next list",
                ),
            ),
            // The last field is missing, a value is out of range, or two texts may be missing.
            (Proto::V7, "cl_call_vote", b"kick\0someone\0why\0", None),
            (Proto::V6, "cl_say", b"\x8d\x01hello\0", None),
            (Proto::V6, "cl_start_info", b"me\0\x40default\0\0\0\0", None),
        ] {
            assert_eq!(found(proto, name, body).as_deref(), expected, "{proto} {name}");
        }
    }
}
