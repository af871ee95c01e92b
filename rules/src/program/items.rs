//! Actions that change snapshot items.
//!
//! Law: a rule changes existing ints in the snapshot as sent by the server. Values are read from the unchanged
//! snapshot. In a value, an item without an id means the item that is being changed.

use std::ops::ControlFlow;

use teetap_wire::def::{Decoded, Dialect, Id, Source};
use teetap_wire::snap::{Change, Fate, Item, ItemEdit};
use teetap_wire::{Code, Proto, Side};

use super::act::ActionRun;
use super::action_error::ActionError;
use crate::check::{Assign, Target};
use crate::eval::{DefKey, Facts, Fields, Flag, PacketFact, SessionFact, SessionState, SnapFact, Subject};

impl<F: Facts> ActionRun<'_, F> {
    /// Changes items of the snapshot that the message completes: all of them or none. Returns true if an item has
    /// different values now.
    pub(super) fn set_items(&mut self, assigns: &[Assign]) -> Result<bool, ActionError> {
        let Some(snapshot) = self.snapshot else {
            return Ok(false);
        };
        match snapshot.fate {
            Fate::NoBase => {
                return Err(ActionError::UnknownBase);
            }
            // Clients discard such a snapshot.
            Fate::Broken | Fate::BadCrc => return Ok(false),
            Fate::Kept | Fate::Late | Fate::Again => {}
        }
        let mut edits = self.verdict.items.clone();
        let mut decoded = Decoded::new();
        for item in snapshot.items().filter(|item| item.change != Change::Deleted) {
            for assign in assigns {
                self.set_item(assign, &item, &mut decoded, &mut edits)?;
            }
        }
        edits.retain(|edit| snapshot.snapshot().get(edit.key) != Some(&*edit.ints));
        let is_new = edits != self.verdict.items;
        self.verdict.items = edits;
        Ok(is_new)
    }

    /// Changes a field of an item, if the target includes the item.
    fn set_item(
        &self,
        assign: &Assign,
        item: &Item<'_>,
        decoded: &mut Decoded,
        edits: &mut Vec<ItemEdit>,
    ) -> Result<(), ActionError> {
        let is_meant = match assign.target {
            Target::Message => false,
            Target::Item(id) => id.is_none_or(|id| id == item.key.id),
        };
        let (Some(def), Some(message)) = (item.def.filter(|_| is_meant), self.key()) else {
            return Ok(());
        };
        let key = DefKey::new(Dialect::from(self.message.proto), def);
        let Some((_, place, value)) = assign.places.iter().find(|(of, ..)| *of == key) else {
            return Ok(());
        };
        decoded.object(def, item.ints);
        let facts = ItemFacts {
            facts: self.facts,
            id: item.key.id,
            fields: Fields {
                def,
                decoded,
                source: Source::Ints(item.ints),
            },
        };
        let value = self.rule.when.value(value, &facts, &message, self.memory);
        let value = value.ok_or_else(|| ActionError::missing(&*assign.what))?;
        let at = edits.iter().position(|edit| edit.key == item.key);
        let at = at.unwrap_or_else(|| {
            let (key, ints) = (item.key, item.ints.into());
            edits.push(ItemEdit { key, ints });
            edits.len() - 1
        });
        let Some(edit) = edits.get_mut(at) else {
            return Ok(());
        };
        decoded.object(def, &edit.ints);
        decoded.splice_object(def, &mut edit.ints, place, &value)?;
        Ok(())
    }
}

/// Facts about a message while an item is being changed. An item of the same type without an id means this item.
struct ItemFacts<'a, F> {
    facts: &'a F,
    id: u16,
    fields: Fields<'a>,
}

impl<F: Facts> Facts for ItemFacts<'_, F> {
    fn proto(&self) -> Proto {
        self.facts.proto()
    }

    fn dir(&self) -> teetap_wire::Dir {
        self.facts.dir()
    }

    fn subject(&self) -> Subject<'_> {
        self.facts.subject()
    }

    fn data(&self) -> &[u8] {
        self.facts.data()
    }

    fn fields(&self) -> Option<Fields<'_>> {
        self.facts.fields()
    }

    fn flag(&self, flag: Flag) -> bool {
        self.facts.flag(flag)
    }

    fn lint(&self, code: Option<Code>) -> bool {
        self.facts.lint(code)
    }

    fn packet(&self, fact: PacketFact) -> Option<i64> {
        self.facts.packet(fact)
    }

    fn session(&self, fact: SessionFact) -> Option<i64> {
        self.facts.session(fact)
    }

    fn state(&self) -> SessionState {
        self.facts.state()
    }

    fn client(&self) -> Option<std::net::SocketAddr> {
        self.facts.client()
    }

    fn leg(&self) -> Option<Side> {
        self.facts.leg()
    }

    fn player(&self) -> Option<&[u8]> {
        self.facts.player()
    }

    fn time(&self) -> u64 {
        self.facts.time()
    }

    fn variable(&self, at: u16) -> Option<i64> {
        self.facts.variable(at)
    }

    fn variable_text(&self, at: u16, read: &mut dyn FnMut(&[u8])) {
        self.facts.variable_text(at, read);
    }

    fn repeated(&self) -> bool {
        self.facts.repeated()
    }

    fn snap(&self, fact: SnapFact) -> Option<i64> {
        self.facts.snap(fact)
    }

    fn items(&self, object: &Id, id: Option<u16>, each: &mut dyn FnMut(u16, &Fields<'_>) -> ControlFlow<()>) {
        if id.is_none() && self.fields.def.id == *object {
            let _ = each(self.id, &self.fields);
        } else {
            self.facts.items(object, id, each);
        }
    }
}
