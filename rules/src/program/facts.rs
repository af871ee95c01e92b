//! The facts about a message that conditions can use on the data thread.

use teetap_wire::def::{Class, Decoded, Def, Registry};
use teetap_wire::{Code, Dir, Proto};

use crate::eval::{Facts, Fields, Flag, Identity, Lazy, PacketFact, SessionFact, SessionState, Subject};
use crate::verdict::Message;

/// A message, with its fields decoded at first use.
pub(super) struct Asked<'a> {
    message: &'a Message<'a>,
    def: Option<&'a Def>,
    lazy: Lazy<'a>,
    /// The time at which the session opened.
    since: u64,
}

impl<'a> Asked<'a> {
    pub(super) fn new(message: &'a Message<'a>, registry: &'a Registry, since: u64, buffer: Decoded) -> Self {
        let found = registry.message(message.proto, message.dir, message.data);
        // An unknown UUID has the definition of its envelope, which is not its own.
        let found = found.filter(|found| !found.unknown);
        let def = found.map(|found| found.def);
        let body = found.map_or(0, |found| found.body);
        Self {
            message,
            def,
            lazy: Lazy::new(def, message.data, body, buffer),
            since,
        }
    }

    pub(super) fn into_buffer(self) -> Decoded {
        self.lazy.into_buffer()
    }
}

impl Facts for Asked<'_> {
    fn proto(&self) -> Proto {
        self.message.proto
    }

    fn dir(&self) -> Dir {
        self.message.dir
    }

    fn subject(&self) -> Subject<'_> {
        let id = self.message.id;
        Subject {
            class: id.map_or(Class::System, |id| id.layer.into()),
            id: match id {
                Some(id) => id.uuid.map_or(Identity::Number(id.id), Identity::Uuid),
                None => Identity::Other,
            },
            def: self.def,
        }
    }

    fn data(&self) -> &[u8] {
        self.message.data
    }

    fn fields(&self) -> Option<Fields<'_>> {
        self.lazy.fields()
    }

    fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::Vital => self.message.vital,
            Flag::Resend => self.message.resend,
            Flag::Compressed => self.message.packet.compressed,
            Flag::Unknown => self.def.is_none(),
            // The compiler rejects this condition.
            Flag::Malformed => false,
        }
    }

    fn lint(&self, code: Option<Code>) -> bool {
        code.is_some_and(|code| self.message.packet.notes.contains(code))
    }

    fn packet(&self, fact: PacketFact) -> Option<i64> {
        let packet = self.message.packet;
        match fact {
            PacketFact::Size => packet.size.try_into().ok(),
            PacketFact::Ack => Some(packet.ack.get().into()),
            PacketFact::Chunks => Some(packet.chunks.into()),
            PacketFact::Seq => self.message.seq.map(|seq| seq.get().into()),
        }
    }

    fn session(&self, fact: SessionFact) -> Option<i64> {
        match fact {
            SessionFact::Id => Some(self.message.session.into()),
            SessionFact::Rtt => None,
        }
    }

    fn state(&self) -> SessionState {
        SessionState::Online
    }

    fn player(&self) -> Option<&[u8]> {
        None
    }

    fn time(&self) -> u64 {
        self.message.at.saturating_sub(self.since)
    }
}
