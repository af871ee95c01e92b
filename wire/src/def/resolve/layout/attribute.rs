//! Ranges, defaults and secrets.

use std::sync::Arc;

use super::Out;
use crate::def::lex::{Word, plain_number};
use crate::def::model::{Default, Secrecy, Type, Words};
use crate::def::syntax::{Bound, RawField, RawSecrecy};

impl Out<'_, '_, '_> {
    pub(super) fn range(&mut self, raw: &RawField<'_>, ty: &Type) -> Option<(i64, i64)> {
        let (low, high) = match ty {
            Type::Bool => (0, 1),
            Type::U8 => (0, 0xff),
            Type::Be16 => (0, 0xffff),
            Type::Be32 => (0, 0xffff_ffff),
            Type::Decimal => (i64::MIN, i64::MAX),
            _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
        };
        let Some((from, to, place)) = &raw.bounds.range else {
            let labels = || labels(ty);
            let hull = labels().min().zip(labels().max());
            return Some(hull.unwrap_or((low, high)));
        };
        let min = self.bound(from, low)?;
        let max = self.bound(to, high)?;
        let countable = matches!(
            ty,
            Type::Int | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_)
        ) || matches!(ty, Type::Decimal | Type::U8 | Type::Be16 | Type::Be32);
        if !countable {
            let message = format!("`{}` has no range", raw.ty.name.text);
            self.errors.push_about(raw.ty.name, *place, message, None);
        } else if min > max || min < low || max > high {
            self.errors
                .push(*place, format!("expected a range within {low}..{high}"), None);
        }
        Some((min, max))
    }

    pub(super) fn bound(&mut self, bound: &Bound<'_>, open: i64) -> Option<i64> {
        match bound {
            Bound::Open => Some(open),
            Bound::Int(value) => Some(*value),
            Bound::Const(name) => {
                let value = self.names.consts.get(name.text).copied();
                if value.is_none() {
                    self.unknown(*name, "constant", self.names.consts.keys().copied());
                }
                value
            }
        }
    }

    /// Returns the default. `Some(None)` if there is none, `None` if it is wrong.
    #[expect(clippy::option_option, reason = "none and wrong are two things")]
    pub(super) fn default(&mut self, raw: &RawField<'_>, ty: &Type) -> Option<Option<Default>> {
        let Some(default) = &raw.default else {
            return Some(None);
        };
        let text = default.text;
        let value = match ty {
            Type::Text(_) | Type::Packed(_) => Some(Default::Text(text.into())),
            Type::Enum(set) | Type::Flags(set) => {
                set.value(text).or_else(|| text.parse().ok()).map(Default::Int)
            }
            Type::Group { .. }
            | Type::Raw(..)
            | Type::Uuid
            | Type::Sha256
            | Type::Addr
            | Type::AddrLegacy => None,
            _ => plain_number(text).map(Default::Int),
        };
        if value.is_none() {
            let message = format!("`{}` cannot be `{text}`", raw.ty.name.text);
            self.errors.push_about(raw.ty.name, *default, message, None);
            return None;
        }
        Some(value)
    }

    pub(super) fn secrecy(&mut self, raw: &RawSecrecy<'_>, parent: Option<u16>) -> Option<Secrecy> {
        Some(match raw {
            RawSecrecy::Open => Secrecy::Open,
            RawSecrecy::Secret => Secrecy::Secret,
            RawSecrecy::After(words) => Secrecy::After(self.words(*words)?),
            RawSecrecy::Command(words) => Secrecy::Command(self.words(*words)?),
            RawSecrecy::With(field, words) => {
                let words = self.words(*words)?;
                let Some((at, _)) = self.named(field.text, parent) else {
                    self.errors
                        .push(*field, format!("no field `{}` before this one", field.text), None);
                    return None;
                };
                Secrecy::With(at, words)
            }
        })
    }

    pub(super) fn words(&mut self, name: Word<'_>) -> Option<Arc<Words>> {
        let words = self.names.words.get(name.text).map(|words| Arc::clone(words));
        if words.is_none() {
            self.unknown(name, "words", self.names.words.keys().copied());
        }
        words
    }
}

fn labels(ty: &Type) -> impl Iterator<Item = i64> + '_ {
    let set = match ty {
        Type::Enum(set) => Some(set),
        _ => None,
    };
    set.into_iter()
        .flat_map(|set| &set.labels)
        .map(|label| label.value)
}
