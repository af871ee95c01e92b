//! Evaluates the filters on messages, and decodes the fields of shown messages.

use std::sync::Arc;

use teetap_rules::{context::MessageView, eval::Lazy};
use teetap_wire::{
    Code, Note, Notes, Property,
    def::{Class, Decoded, Def, Record, Registry},
};

use super::Decoder;
use crate::reading::Message;

impl Decoder {
    /// Evaluates the filters on bytes without fields. Returns true if they are shown, and the bitmask of the
    /// subscribers that select them. `label` names the bytes if they end the run.
    pub(super) fn select(&mut self, view: &MessageView<'_>, label: &'static str) -> (bool, u64) {
        if self.select.is_out_of_reach(view) {
            return (false, self.select.insatiable());
        }
        let fields = Lazy::new(None, view.data, 0, std::mem::take(&mut self.buffers.message));
        self.contexts.observe(view, &fields);
        let context = self.contexts.of_session(view.session);
        let shown = self.select.decide(view, &fields, context);
        self.end
            .on_match(self.select.ended.as_ref(), view, || label.into());
        let subscribers = self.select.subscribed(view, &fields, context);
        self.buffers.message = fields.into_buffer();
        (shown, subscribers)
    }

    /// Evaluates the filters on a message, and decodes the message if a watcher shows it. Requires that the definition
    /// of `message` is set.
    pub(super) fn read(&mut self, message: &mut Message, view: &MessageView<'_>, records: &mut Vec<Record>) {
        if self.passes_over(view) {
            return;
        }
        let buffer = std::mem::take(&mut self.buffers.message);
        let fields = self.contexts.of_session(view.session).fields(view, buffer);
        self.contexts.observe(view, &fields);
        let context = self.contexts.of_session(view.session);
        message.visibility.shown = self.select.decide(view, &fields, context);
        let by = self.select.ended.as_ref();
        self.end.on_match(by, view, || message.label(view.data));
        let visibility = &mut message.visibility;
        visibility.subscribers = self.select.subscribed(view, &fields, context);
        visibility.reads_notes = self.select.reads_notes(visibility.subscribers);
        visibility.decoded = visibility.is_wanted() || self.demand.everything;
        if visibility.decoded {
            let start = records.len();
            let notes = match fields.fields() {
                Some(fields) => {
                    message.for_ddnet = fields.decoded.is_for_ddnet();
                    records.extend_from_slice(fields.decoded.records());
                    with_direction(*fields.decoded.notes(), fields.def, view)
                }
                None => {
                    message.def = read_unknown(&mut self.buffers.unknown, self.registry, view);
                    records.extend_from_slice(self.buffers.unknown.records());
                    *self.buffers.unknown.notes()
                }
            };
            message.ranges.records = start..records.len();
            add_notes(message, notes, view);
            message.notes.extend(context.notes().iter());
            if self.demand.gists && message.def.is_some_and(Def::names_players) {
                message.players = Some(Arc::clone(&context.known().players));
            }
            if let Some(snapshot) = self.snapshots.retained(context) {
                self.snapshots.add_to(message, snapshot, view, self.registry);
            }
            // An invalid snapshot always has a note, so messages without notes need no diagnosis.
            if !message.notes.is_empty() && message.visibility.is_wanted() {
                message.completed.diagnosis = self.contexts.diagnose(view).map(Box::new);
            }
        }
        self.contexts.learn(view, &fields);
        self.buffers.message = fields.into_buffer();
    }
}

/// Adds notes about a wrong direction or an almost correct magic to the notes of a decoded message. The note about the
/// direction is first, because a wrong direction explains notes about fields.
fn with_direction(of_fields: Notes, def: &Def, view: &MessageView<'_>) -> Notes {
    let mut notes = of_fields;
    if view.class != Some(Class::Connless) && !def.way.allows(view.dir) {
        let (code, len) = (Code::WrongDirection, view.body);
        notes = Notes::new();
        notes.push(Note { code, at: 0, len });
        of_fields.iter().for_each(|note| notes.push(note));
    }
    if let Some(note) = view.odd_magic() {
        notes.push(note);
    }
    notes
}

/// Adds the notes of a decoded message, and a note if its chunk is vital but should not be, or vice versa.
fn add_notes(message: &mut Message, mut notes: Notes, view: &MessageView<'_>) {
    let vitality = message.def.and_then(|def| def.odd_vitality(view.seq.is_some()));
    if let Some(code) = vitality.filter(|_| view.is_chunk()) {
        notes.push(Note { code, at: 0, len: 0 });
    }
    let is_cut = view.is_cut();
    let notes = notes.iter();
    message
        .notes
        .extend(notes.filter(|note| !(is_cut && note.code.has(Property::MayComeFromCut))));
}

/// Decodes a message without a definition. A message with an unknown UUID is decoded as an envelope.
fn read_unknown(
    buffer: &mut Decoded,
    registry: &'static Registry,
    view: &MessageView<'_>,
) -> Option<&'static Def> {
    match view.class? {
        Class::Control => buffer.control(registry, view.proto, view.dir, view.data),
        Class::Connless => buffer.connless(registry, view.proto, view.data),
        Class::System | Class::Game | Class::Object => {
            buffer.message(registry, view.proto, view.dir, view.data)
        }
    }
}
