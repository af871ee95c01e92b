//! The facts about a message of a session.
//!
//! Law: this is the only implementation of [`Facts`], for rules on the data thread and for filters of watchers.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    ops::ControlFlow,
};

use teetap_wire::{
    Code, Dir, Flags, Notes, Property, Proto, Severity, Side,
    def::{Class, Decoded, Def, Id, Source},
    snap::{Change, Completed},
};

use super::{Known, MessageView};
use crate::eval::{
    DoneFact, Facts, Fields, Flag, Given, Lazy, PacketFact, SessionFact, SessionState, SnapFact, Subject,
    Variables,
};

/// No oddities that only snapshots show.
static NOTHING: Notes = Notes::new();

/// The facts about a message of a session.
pub struct MessageFacts<'a> {
    view: &'a MessageView<'a>,
    fields: &'a Lazy<'a>,
    known: &'a Known,
    /// A buffer for snapshot items.
    item: &'a Cell<Decoded>,
    snapshot: Option<Completed<'a>>,
    /// Oddities that only snapshots show.
    notes: &'a Notes,
    /// Variables of rules; `None` for filters.
    variables: Option<&'a RefCell<Variables>>,
}

impl<'a> MessageFacts<'a> {
    /// Creates the facts about a message that completes no snapshot; `item` is a buffer.
    #[must_use]
    pub fn new(
        view: &'a MessageView<'a>,
        fields: &'a Lazy<'a>,
        known: &'a Known,
        item: &'a Cell<Decoded>,
    ) -> Self {
        Self {
            view,
            fields,
            known,
            item,
            snapshot: None,
            notes: &NOTHING,
            variables: None,
        }
    }

    /// Adds the snapshot that the message completes, and the oddities that only snapshots show.
    #[must_use]
    pub(crate) const fn with_snapshot(mut self, snapshot: Option<Completed<'a>>, notes: &'a Notes) -> Self {
        self.snapshot = snapshot;
        self.notes = notes;
        self
    }

    /// Adds the variables of rules.
    pub(crate) const fn with_variables(mut self, variables: &'a RefCell<Variables>) -> Self {
        self.variables = Some(variables);
        self
    }

    /// Returns the oddities in the framing of the message.
    fn of_framing(&self, def: &Def) -> impl Iterator<Item = Code> + use<> {
        let MessageView { class, dir, seq, .. } = *self.view;
        let wrong_way = class != Some(Class::Connless) && !def.way.allows(dir);
        let vitality = def.odd_vitality(seq.is_some()).filter(|_| self.view.is_chunk());
        wrong_way
            .then_some(Code::WrongDirection)
            .into_iter()
            .chain(vitality)
            .chain(self.view.odd_magic().map(|note| note.code))
    }

    /// Returns true for a message without a definition.
    fn is_unknown(&self) -> bool {
        self.view.def.is_none() && self.view.class.is_some()
    }

    /// Returns true if the recording truncates the message before its fields, so that its id is unknown.
    fn is_cut_before_fields(&self) -> bool {
        self.view.is_cut() && self.view.body == 0
    }

    /// Returns true if a note of the datagram or of the message is `wanted`.
    fn any_note(&self, wanted: impl Fn(Code) -> bool) -> bool {
        let of_message = || {
            let fields = self.fields.fields()?;
            let is_cut = self.view.is_cut();
            let mut notes = fields.decoded.notes().iter();
            Some(notes.any(|note| !(is_cut && note.code.has(Property::MayComeFromCut)) && wanted(note.code)))
        };
        let wanted_too = |code| wanted(code);
        let of_snapshot = || {
            let mut notes = self.snapshot?.data_notes.iter();
            Some(notes.any(|note| wanted(note.code)))
        };
        let def = self.view.def;
        self.view.packet.notes.iter().any(|note| wanted(note.code))
            || self.notes.iter().any(|note| wanted(note.code))
            || of_snapshot().unwrap_or(false)
            || self.is_unknown() && !self.is_cut_before_fields() && wanted(Code::UnknownMessage)
            || def.is_some_and(|def| self.of_framing(def).any(wanted_too))
            || of_message().unwrap_or(false)
    }
}

impl Facts for MessageFacts<'_> {
    fn proto(&self) -> Proto {
        self.view.proto
    }

    fn dir(&self) -> Dir {
        self.view.dir
    }

    fn subject(&self) -> Subject<'_> {
        self.view.subject()
    }

    fn data(&self) -> &[u8] {
        self.view.data
    }

    fn fields(&self) -> Option<Fields<'_>> {
        self.fields.fields()
    }

    fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::Vital => self.view.seq.is_some(),
            Flag::Resend => self.view.resend,
            Flag::Compressed => self.view.packet.flags.contains(Flags::COMPRESSION),
            Flag::Unknown => self.is_unknown(),
            Flag::Malformed => self.any_note(|code| code.severity() == Severity::Error),
        }
    }

    fn lint(&self, code: Option<Code>) -> bool {
        self.any_note(|found| match code {
            Some(code) => found == code,
            None => found.severity() >= Severity::Warning,
        })
    }

    fn packet(&self, fact: PacketFact) -> Option<i64> {
        let packet = &self.view.packet;
        match fact {
            PacketFact::Size => packet.size.and_then(|size| size.try_into().ok()),
            PacketFact::Ack => packet.ack.map(|ack| ack.get().into()),
            PacketFact::Chunks => packet.chunks.map(i64::from),
            PacketFact::Seq => self.view.seq.map(|seq| seq.get().into()),
            PacketFact::Flags => Some(packet.flags.bits().into()),
            PacketFact::Resend => Some(packet.flags.contains(Flags::RESEND).into()),
            PacketFact::Frame => packet.frame.and_then(|frame| frame.try_into().ok()),
        }
    }

    fn done(&self, fact: DoneFact) -> Option<i64> {
        let done = self.view.done?;
        Some(match fact {
            DoneFact::Touched => done.is_touched().into(),
            DoneFact::Action => done.deed as i64,
            DoneFact::Origin => done.maker as i64,
            DoneFact::Lost => done.link.is_lost.into(),
            DoneFact::Delay => i64::try_from(done.link.delay).ok()?,
            DoneFact::Corrupted => done.link.is_corrupted.into(),
            DoneFact::Duplicated => done.link.is_duplicated.into(),
            DoneFact::Reordered => done.link.is_reordered.into(),
        })
    }

    fn mark(&self, name: Option<&str>) -> bool {
        let marks = self.view.done.map_or(&[][..], |done| done.marks);
        marks.iter().any(|mark| name.is_none_or(|name| **mark == *name))
    }

    fn any_rule(&self, wanted: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let rules = self.view.done.map_or(&[][..], |done| done.rules);
        (!rules.is_empty()).then(|| rules.iter().any(|rule| wanted(rule.as_bytes())))
    }

    fn session(&self, fact: SessionFact) -> Option<i64> {
        match fact {
            SessionFact::Id => self.view.session.map(i64::from),
            SessionFact::Rtt => self.known.rtt.and_then(|rtt| rtt.try_into().ok()),
        }
    }

    fn variable(&self, at: u16) -> Option<i64> {
        match self.variables?.borrow().get(at)? {
            Given::Number(number) => Some(*number),
            Given::Text(_) => None,
        }
    }

    fn variable_text(&self, at: u16, read: &mut dyn FnMut(&[u8])) {
        if let Some(variables) = self.variables
            && let Some(Given::Text(text)) = variables.borrow().get(at)
        {
            read(text);
        }
    }

    fn state(&self) -> SessionState {
        self.known.state
    }

    fn leg(&self) -> Option<Side> {
        self.view.leg
    }

    fn client(&self) -> Option<SocketAddr> {
        self.view.client.or(self.known.client)
    }

    fn player(&self) -> Option<&[u8]> {
        self.known.players.own_name()
    }

    fn time(&self) -> u64 {
        self.view.at.saturating_sub(self.known.since)
    }

    fn repeated(&self) -> bool {
        self.view.seq.is_some() && (self.view.again || self.view.resend && !self.view.first)
    }

    fn snap(&self, fact: SnapFact) -> Option<i64> {
        let snapshot = self.snapshot?;
        match fact {
            SnapFact::Tick => Some(snapshot.tick.into()),
            SnapFact::CrcOk => snapshot.crc_ok().map(i64::from),
            SnapFact::Parts => Some(snapshot.parts.into()),
        }
    }

    fn items(&self, object: &Id, id: Option<u16>, each: &mut dyn FnMut(u16, &Fields<'_>) -> ControlFlow<()>) {
        let Some(snapshot) = self.snapshot else {
            return;
        };
        let mut decoded = self.item.take();
        for item in snapshot.items() {
            let wanted = item.change != Change::Deleted && id.is_none_or(|id| id == item.key.id);
            let Some(def) = item.def.filter(|def| wanted && def.id == *object) else {
                continue;
            };
            decoded.object(def, item.ints);
            let fields = Fields {
                def,
                decoded: &decoded,
                source: Source::Ints(item.ints),
            };
            if each(item.key.id, &fields).is_break() {
                break;
            }
        }
        self.item.set(decoded);
    }
}
