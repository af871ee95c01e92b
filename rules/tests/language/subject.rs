//! Messages for tests.

use std::net::SocketAddr;
use std::ops::ControlFlow;

use teetap_rules::eval::{Flag, Identity, Lazy, PacketFact, SessionFact, SessionState, SnapFact};
use teetap_rules::{Facts, Fields, Subject};
use teetap_wire::def::{Class, Datum, Decoded, Def, Id, Registry, Source};
use teetap_wire::{Code, Dir, Proto};

/// A message with its packet and session, as a test describes it.
pub(crate) struct Case {
    pub(crate) proto: Proto,
    pub(crate) dir: Dir,
    pub(crate) def: Option<&'static Def>,
    pub(crate) class: Option<Class>,
    pub(crate) id: Identity,
    pub(crate) data: Vec<u8>,
    pub(crate) body: usize,
    pub(crate) flags: Vec<Flag>,
    pub(crate) lints: Vec<Code>,
    pub(crate) seq: Option<i64>,
    pub(crate) size: i64,
    pub(crate) time: u64,
    pub(crate) repeated: bool,
    pub(crate) snap: Option<Snap>,
}

/// The snapshot that a message completes.
#[derive(Default)]
pub(crate) struct Snap {
    pub(crate) crc_ok: bool,
    pub(crate) items: Vec<(&'static Def, u16, Vec<i32>)>,
}

impl Case {
    /// Creates a message with these fields.
    pub(crate) fn new(proto: Proto, name: &str, fields: &[(&str, Datum)]) -> Self {
        let registry = Registry::builtin();
        let mut defs = registry
            .named(proto, None, name)
            .filter(|def| def.class != Class::Object);
        let def = defs.next().unwrap();
        let fields = Datum::group(fields.iter().map(|(name, value)| (*name, value.clone())));
        let mut data = Vec::new();
        def.encode(&fields, &mut data).unwrap();
        let dir = if def.way.allows(Dir::C2s) {
            Dir::C2s
        } else {
            Dir::S2c
        };
        let found = registry.message(proto, dir, &data);
        Self {
            proto,
            dir,
            def: Some(def),
            class: Some(def.class),
            id: match def.id {
                Id::Number(number) => Identity::Number(number),
                Id::Uuid { uuid, .. } => Identity::Uuid(uuid),
                Id::Tag(_) => Identity::Other,
            },
            body: found.map_or(1, |found| found.body),
            data,
            flags: Vec::new(),
            lints: Vec::new(),
            seq: None,
            size: 100,
            time: 0,
            repeated: false,
            snap: None,
        }
    }

    /// Returns the value of an expression for this message alone. An unknown result matches neither the expression
    /// nor its negation.
    pub(crate) fn value(&self, text: &str) -> Option<bool> {
        match (self.matches(text), self.matches(&format!("not ({text})"))) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
            (true, true) => panic!("{text} is true and false"),
        }
    }

    fn matches(&self, text: &str) -> bool {
        let (filter, _) = teetap_rules::Filter::parse(text, Registry::builtin())
            .unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        filter.matches(&Evaluated::new(self), &mut filter.memory()) == Some(true)
    }
}

/// A case during an evaluation.
pub(crate) struct Evaluated<'c> {
    case: &'c Case,
    lazy: Lazy<'c>,
}

impl<'c> Evaluated<'c> {
    pub(crate) fn new(case: &'c Case) -> Self {
        let lazy = Lazy::new(case.def, &case.data, case.body, Decoded::new());
        Self { case, lazy }
    }
}

impl Facts for Evaluated<'_> {
    fn proto(&self) -> Proto {
        self.case.proto
    }

    fn dir(&self) -> Dir {
        self.case.dir
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            class: self.case.class,
            id: self.case.id,
            def: self.case.def,
        }
    }

    fn data(&self) -> &[u8] {
        &self.case.data
    }

    fn fields(&self) -> Option<Fields<'_>> {
        self.lazy.fields()
    }

    fn flag(&self, flag: Flag) -> bool {
        self.case.flags.contains(&flag)
            || flag == Flag::Unknown && self.case.class.is_some() && self.case.def.is_none()
    }

    fn lint(&self, code: Option<Code>) -> bool {
        code.map_or(!self.case.lints.is_empty(), |code| {
            self.case.lints.contains(&code)
        })
    }

    fn packet(&self, fact: PacketFact) -> Option<i64> {
        match fact {
            PacketFact::Size => Some(self.case.size),
            PacketFact::Seq => self.case.seq,
            PacketFact::Ack => Some(7),
            PacketFact::Chunks => Some(1),
            PacketFact::Flags => Some(6),
            PacketFact::Resend => Some(1),
            PacketFact::Frame => Some(12),
        }
    }

    fn session(&self, fact: SessionFact) -> Option<i64> {
        match fact {
            SessionFact::Id => Some(2),
            SessionFact::Rtt => None,
        }
    }

    fn state(&self) -> SessionState {
        SessionState::Online
    }

    fn client(&self) -> Option<SocketAddr> {
        Some(([127, 0, 0, 1], 52000).into())
    }

    fn player(&self) -> Option<&[u8]> {
        Some(b"nameless tee")
    }

    fn time(&self) -> u64 {
        self.case.time
    }

    fn repeated(&self) -> bool {
        self.case.repeated
    }

    fn snap(&self, fact: SnapFact) -> Option<i64> {
        let snap = self.case.snap.as_ref()?;
        Some(match fact {
            SnapFact::Tick => 50,
            SnapFact::CrcOk => snap.crc_ok.into(),
            SnapFact::Parts => 1,
        })
    }

    fn items(&self, object: &Id, id: Option<u16>, each: &mut dyn FnMut(u16, &Fields<'_>) -> ControlFlow<()>) {
        for (def, item, ints) in self.case.snap.iter().flat_map(|snap| &snap.items) {
            if def.id != *object || id.is_some_and(|id| id != *item) {
                continue;
            }
            let mut decoded = Decoded::new();
            decoded.object(def, ints);
            let fields = Fields {
                def,
                decoded: &decoded,
                source: Source::Ints(ints),
            };
            if each(*item, &fields).is_break() {
                return;
            }
        }
    }
}
