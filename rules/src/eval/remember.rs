//! Updates the memory with each message.
//!
//! Law: the memory does not grow. Counters count, and a kept text replaces the previous one.

use teetap_wire::def::{Class, Def, Registry};
use teetap_wire::{Dir, Proto};

use super::facts::Facts;
use super::key::{DefKey, Target};
use super::memory::{Kept, KeptValue, MAX_KEPT, Memory};
use super::program::{Field, Program};
use super::run::{Found, with_value};

impl Program {
    pub(crate) fn memory(&self) -> Memory {
        Memory::new(self.counted.len(), self.kept.len())
    }

    /// Returns true if nothing is remembered except the number of matches.
    pub(crate) const fn forgets(&self) -> bool {
        self.counted.is_empty() && self.kept.is_empty()
    }

    /// Returns true if a message in this direction may change the memory.
    pub(crate) fn remembers_in(&self, registry: &Registry, proto: Proto, dir: Dir) -> bool {
        let dialect = proto.into();
        let chunks = [Class::System, Class::Game];
        let mut defs = registry.defs(dialect);
        defs.any(|def| {
            let is_sent = chunks.contains(&def.class) && def.way.allows(dir);
            is_sent && self.remembers(Some(&DefKey::new(dialect, def)), Some(def), def.class)
        }) || chunks.into_iter().any(|class| self.remembers(None, None, class))
    }

    /// Returns true if a message with this definition may change the memory.
    pub(crate) fn remembers(&self, key: Option<&DefKey>, def: Option<&Def>, class: Class) -> bool {
        let counts = |target: &Target| target.may_hold(key, def, Some(class)) != Some(false);
        let keeps = |field: &Field| field.entries.iter().any(|entry| Some(&entry.key) == key);
        let targets = self.counted.iter().map(|at| self.targets.get(usize::from(*at)));
        let fields = self.kept.iter().map(|at| self.fields.get(usize::from(*at)));
        targets.flatten().any(counts) || fields.flatten().any(keeps)
    }

    /// Counts the message, if the expression counts it.
    pub(crate) fn count(&self, facts: &impl Facts, key: Option<&DefKey>, memory: &mut Memory) {
        if facts.repeated() {
            return;
        }
        let subject = facts.subject();
        for (target, seen) in self.counted.iter().zip(&mut memory.seen) {
            let target = self.targets.get(usize::from(*target));
            if target.is_some_and(|target| target.holds(key, &subject)) {
                seen.count += 1;
                seen.at = facts.time();
            }
        }
    }

    /// Keeps the values that later messages refer to.
    pub(crate) fn keep(&self, facts: &impl Facts, key: Option<&DefKey>, memory: &mut Memory) {
        if facts.repeated() {
            return;
        }
        for (field, kept) in self.kept.iter().zip(&mut memory.kept) {
            let Some(field) = self.fields.get(usize::from(*field)) else {
                continue;
            };
            let Some(at) = key.and_then(|key| field.entries.iter().position(|entry| entry.key == *key))
            else {
                continue;
            };
            kept.entry = at;
            kept.value = KeptValue::None;
            let path = field.entries.get(at).and_then(|entry| entry.path.as_ref());
            let (Some(path), Some(fields)) = (path, facts.fields()) else {
                continue;
            };
            if let Some(record) = fields.decoded.find(path) {
                kept.is_secret = fields.secret(record).is_some();
                with_value(&fields, record, |value| kept.set(&value));
            }
        }
    }
}

impl Kept {
    fn set(&mut self, value: &Found<'_>) {
        self.value = match value {
            Found::Int(value) => KeptValue::Int(*value),
            Found::List(len) => KeptValue::List(*len),
            Found::Bytes(text) => {
                self.text.clear();
                self.text.extend(text.iter().take(MAX_KEPT));
                KeptValue::Text
            }
            Found::Group => KeptValue::None,
        };
    }

    pub(super) fn read<R>(&self, read: impl FnOnce(Found<'_>) -> R) -> Option<R> {
        Some(read(match self.value {
            KeptValue::None => return None,
            KeptValue::Int(value) => Found::Int(value),
            KeptValue::Text => Found::Bytes(&self.text),
            KeptValue::List(len) => Found::List(len),
        }))
    }
}
