//! What our own captures say beside the packets: events without their bytes, as JSON.
//!
//! Law: an event that is written and read again is shown in the same words. Unknown names are those of a later version: such
//! an event is left out by an earlier one, not guessed at.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use teetap_wire::Seq;

use teetap_inspect::jsonl::names::{
    ACTIONS, DIRS, ORIGINS, SIDES, STATES, level_name, level_of, maybe, named, read_notes,
};
use teetap_proxy::{
    io::record::Hex,
    session::{Connless, Datagram, Ends, Event, Level, Notice, Placed, SessionChange, SessionId, Time, What},
};

/// Packets of one event that are kept, at most: more than custody holds.
pub(super) const MAX_PARTS: usize = 1024;

/// An event without the bytes of its packets, which follow: first what was received, then what was sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Own {
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<u32>,
    #[serde(flatten)]
    told: Told,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    State {
        state: String,
        proto: String,
        client: SocketAddr,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<SocketAddr>,
        upstream: Option<SocketAddr>,
        by: Option<String>,
        reason: Option<Hex>,
    },
    Datagram {
        dir: String,
        proto: String,
        origin: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        leg: Option<String>,
        ordinal: u64,
        /// Whether it was received, and how many left.
        packets: (bool, usize),
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        placed: Vec<(String, Option<u16>)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<(String, usize, usize)>,
    },
    Connless {
        dir: String,
        client: SocketAddr,
        forwarded: bool,
        packets: (bool, usize),
        upstream: Option<SocketAddr>,
    },
    Notice {
        level: String,
        text: String,
        /// 1 where it is about a datagram.
        #[serde(default)]
        packets: usize,
    },
    Log {
        level: String,
        text: String,
    },
    Gap {
        lost: u64,
    },
}

/// What an [`Own`] is of.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "taken apart where it is made, and nearly always an event"
)]
pub(super) enum Of {
    Event(Event),
    Log(Level, String),
    Gap(u64),
}

impl Own {
    pub(super) fn of(event: &Event) -> Self {
        Self {
            at: event.at.0,
            session: event.session.map(|session| session.0),
            told: match &event.what {
                What::Session(change) => state(change),
                What::Datagram(datagram) => Told::of_datagram(datagram),
                What::Connless(connless) => Told::Connless {
                    dir: connless.dir.to_string(),
                    client: connless.client,
                    forwarded: connless.forwarded,
                    packets: (true, usize::from(connless.sent.is_some())),
                    upstream: connless.ends.local,
                },
                What::Notice(notice) => Told::Notice {
                    level: level_name(notice.level()).to_owned(),
                    text: notice.to_string(),
                    packets: usize::from(matches!(notice, Notice::UnknownSender { .. })),
                },
            },
        }
    }

    pub(super) fn gap(at: Time, lost: u64) -> Self {
        Self {
            at: at.0,
            session: None,
            told: Told::Gap { lost },
        }
    }

    pub(super) fn log(at: Time, level: Level, text: &str) -> Self {
        Self {
            at: at.0,
            session: None,
            told: Told::Log {
                level: level_name(level).to_owned(),
                text: text.to_owned(),
            },
        }
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        // Nothing in it can fail to be written; without it the packet is one of anybody's.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn at(&self) -> Time {
        Time(self.at)
    }

    /// How many packets belong to it.
    pub(super) fn packets(&self) -> usize {
        match &self.told {
            Told::Datagram { packets, .. } | Told::Connless { packets, .. } => {
                usize::from(packets.0).saturating_add(packets.1)
            }
            Told::Notice { packets, .. } => *packets,
            Told::State { .. } | Told::Log { .. } | Told::Gap { .. } => 0,
        }
    }

    /// The event, with the bytes of its packets; `None` where it says what is not known here.
    pub(super) fn join(self, packets: &[Box<[u8]>]) -> Option<Of> {
        let what = match self.told {
            Told::Gap { lost } => return Some(Of::Gap(lost)),
            Told::Log { level, text } => return Some(Of::Log(level_of(&level)?, text)),
            Told::Notice { level, text, .. } => What::Notice(Notice::Other {
                kind: None,
                level: level_of(&level)?,
                text: text.into(),
            }),
            Told::State {
                state,
                proto,
                client,
                server,
                upstream,
                by,
                reason,
            } => What::Session(SessionChange {
                state: named(STATES, &state)?,
                proto: proto.parse().ok()?,
                client,
                server,
                upstream,
                by: maybe(SIDES, by.as_deref())?,
                reason: reason.map(|reason| reason.0),
            }),
            Told::Connless {
                dir,
                client,
                forwarded,
                upstream,
                ..
            } => What::Connless(Connless {
                dir: named(DIRS, &dir)?,
                client,
                bytes: packets.first()?.clone(),
                cut: 0,
                forwarded,
                sent: packets.get(1).cloned(),
                ends: Ends {
                    client: Some(client),
                    upstream: None,
                    local: upstream,
                    ..Ends::default()
                },
            }),
            Told::Datagram { .. } => What::Datagram(self.told.datagram(packets)?),
        };
        Some(Of::Event(Event {
            at: Time(self.at),
            session: self.session.map(SessionId),
            what,
        }))
    }
}

fn state(change: &SessionChange) -> Told {
    let SessionChange {
        state,
        proto,
        client,
        server,
        upstream,
        by,
        reason,
    } = change;
    Told::State {
        state: state.to_string(),
        proto: proto.to_string(),
        client: *client,
        server: *server,
        upstream: *upstream,
        by: by.map(|side| side.to_string()),
        reason: reason.as_deref().map(Hex::from),
    }
}

impl Told {
    fn of_datagram(datagram: &Datagram) -> Self {
        let placed = |placed: &Placed| (placed.action.to_string(), placed.seq_out.map(Seq::get));
        Self::Datagram {
            dir: datagram.dir.to_string(),
            proto: datagram.proto.to_string(),
            origin: datagram.origin.to_string(),
            leg: datagram.leg.map(|leg| leg.to_string()),
            ordinal: datagram.ordinal,
            packets: (datagram.received().is_some(), datagram.sent().count()),
            placed: datagram.placed.iter().map(placed).collect(),
            notes: datagram
                .notes
                .iter()
                .map(|note| (note.code.name().to_owned(), note.at, note.len))
                .collect(),
        }
    }

    fn datagram(self, packets: &[Box<[u8]>]) -> Option<Datagram> {
        let Self::Datagram {
            dir,
            proto,
            origin,
            leg,
            ordinal,
            packets: (was_received, _),
            placed,
            notes,
        } = self
        else {
            return None;
        };
        let (received, sent) = packets.split_at_checked(usize::from(was_received))?;
        let received: &[u8] = received.first().map_or(&[], |bytes| bytes);
        let (dir, proto, origin) = (named(DIRS, &dir)?, proto.parse().ok()?, named(ORIGINS, &origin)?);
        let mut datagram = Datagram::new(dir, proto, origin, received, sent.iter().map(|bytes| &**bytes));
        datagram.leg = maybe(SIDES, leg.as_deref())?;
        datagram.ordinal = ordinal;
        datagram.placed = placed
            .iter()
            .map(|(action, seq)| {
                Some(Placed {
                    action: named(ACTIONS, action)?,
                    seq_out: seq.map(Seq::new),
                })
            })
            .collect::<Option<_>>()?;
        datagram.notes = read_notes(notes.iter().map(|(code, at, len)| (code.as_str(), *at, *len)));
        Some(datagram)
    }
}
