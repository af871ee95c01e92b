//! Packet options in teetap's captures: events in the JSON schema, without their bytes.
//!
//! Law: an event that is written and read again is shown in the same words. An event with an unknown name is ignored,
//! since it was written by a later version.

mod packet;

pub(super) use packet::{OwnPacket, PacketPlace};

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use teetap_inspect::jsonl::{
    AnswerBody, DatagramBody, GapBody, LogBody, MadeBody, NoticeBody, PlacedBody, SessionBody, TransitBody,
    transits,
};
use teetap_proxy::{
    io::input_log::Hex,
    session::{Connless, Ends, Event, EventKind, Level, Notice, SessionId, Time},
    words::Word,
};
use teetap_wire::Dir;

/// Maximum number of packets kept for an event; more than custody holds.
pub(super) const MAX_PARTS: usize = 1024;

/// An event without the bytes of its packets. The packets follow: the received packet first, then the sent packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Own<'a> {
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<u32>,
    #[serde(flatten)]
    body: Body<'a>,
}

/// Contents of an event. The first version of the format defined the names; in that version `remark` is a notice
/// without a kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body<'a> {
    State(SessionBody<Hex>),
    Datagram(DatagramBody),
    Connless {
        dir: Word<Dir>,
        client: SocketAddr,
        forwarded: bool,
        packets: (bool, usize),
        upstream: Option<SocketAddr>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        link: Vec<TransitBody>,
        /// Missing if no rule acted on the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placed: Option<PlacedBody>,
        /// Missing for a message that was received now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made: Option<MadeBody>,
        /// The message as it was received earlier; missing for a message that was received now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier: Option<Hex>,
    },
    #[serde(alias = "remark")]
    Notice {
        #[serde(flatten)]
        body: NoticeBody<'a>,
        /// 1 if the notice is about a datagram, otherwise 0.
        #[serde(default)]
        packets: usize,
    },
    Answer(AnswerBody),
    Log(LogBody<'a>),
    Gap(GapBody),
}

/// Contents of an [`Own`].
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "taken apart where it is made, and nearly always an event"
)]
pub(super) enum OwnItem {
    Event(Event),
    Log(Level, String),
    Gap(u64),
}

impl Own<'static> {
    /// Parses an option; `None` for an event of a later version.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

impl<'a> Own<'a> {
    pub(super) fn from_event(event: &'a Event) -> Self {
        Self {
            at: event.at.0,
            session: event.session.map(|session| session.0),
            body: match &event.what {
                EventKind::Session(change) => {
                    Body::State(SessionBody::new(change, None, |reason| Hex::from(reason)))
                }
                EventKind::Datagram(datagram) => Body::Datagram(DatagramBody::with_packets(datagram)),
                EventKind::Connless(connless) => Body::Connless {
                    dir: Word(connless.dir),
                    client: connless.client,
                    forwarded: connless.forwarded,
                    packets: (
                        connless.received().is_some(),
                        usize::from(connless.sent.is_some()),
                    ),
                    upstream: connless.ends.local,
                    link: transits(&connless.link),
                    placed: connless.placed.as_deref().map(PlacedBody::new),
                    made: connless.made.as_deref().map(MadeBody::new),
                    earlier: connless.made.is_some().then(|| Hex::from(&*connless.bytes)),
                },
                EventKind::Answer(answer) => Body::Answer(AnswerBody::new(answer)),
                EventKind::Notice(notice) => Body::Notice {
                    body: NoticeBody::new(notice),
                    packets: usize::from(
                        matches!(notice, Notice::UnknownSender { bytes, .. } if !bytes.is_empty()),
                    ),
                },
            },
        }
    }

    pub(super) fn gap(at: Time, lost: u64) -> Self {
        Self {
            at: at.0,
            session: None,
            body: Body::Gap(GapBody { lost }),
        }
    }

    pub(super) fn log(at: Time, level: Level, text: &'a str) -> Self {
        Self {
            at: at.0,
            session: None,
            body: Body::Log(LogBody::new(level, text)),
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        // Serialization cannot fail here. Without the option the packet would be read like one of another program.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn at(&self) -> Time {
        Time(self.at)
    }

    /// Returns the number of packets that belong to the event.
    pub(super) fn packets(&self) -> usize {
        match &self.body {
            Body::Datagram(datagram) => datagram.packets(),
            Body::Connless { packets, .. } => usize::from(packets.0).saturating_add(packets.1),
            Body::Notice { packets, .. } => *packets,
            Body::State(_) | Body::Answer(_) | Body::Log(_) | Body::Gap(_) => 0,
        }
    }

    /// Returns the event with the bytes and the addresses of its packets; `None` if there are too few packets.
    pub(super) fn join(self, packets: Vec<OwnPacket>) -> Option<OwnItem> {
        let (places, packets): (Vec<_>, Vec<_>) = packets.into_iter().map(OwnPacket::split).unzip();
        let mut item = self.with_bytes(&packets)?;
        if let OwnItem::Event(event) = &mut item {
            packet::set_ends(event, &places);
        }
        Some(item)
    }

    /// Returns the event with the bytes of its packets; `None` if there are too few packets.
    fn with_bytes(self, packets: &[Box<[u8]>]) -> Option<OwnItem> {
        let what = match self.body {
            Body::Gap(gap) => return Some(OwnItem::Gap(gap.lost)),
            Body::Log(log) => {
                let (level, text) = log.parts();
                return Some(OwnItem::Log(level, text));
            }
            Body::Notice { body, .. } => {
                let mut notice = body.notice();
                if let (Notice::UnknownSender { bytes, .. }, [packet, ..]) = (&mut notice, packets) {
                    bytes.clone_from(packet);
                }
                EventKind::Notice(notice)
            }
            Body::Answer(answer) => EventKind::Answer(answer.answer()),
            Body::State(state) => state.change(|reason| reason.0),
            Body::Connless {
                dir,
                client,
                forwarded,
                upstream,
                link,
                packets: (was_received, _),
                placed,
                made,
                earlier,
            } => EventKind::Connless(Connless {
                dir: dir.0,
                client,
                bytes: match earlier {
                    Some(earlier) => earlier.0,
                    None => packets.first()?.clone(),
                },
                cut: 0,
                forwarded,
                sent: packets.get(usize::from(was_received)).cloned(),
                placed: placed.map(|placed| placed.placed().into()),
                made: made.map(|made| made.made().into()),
                link: link.iter().map(TransitBody::transit).collect(),
                ends: Ends {
                    client: Some(client),
                    upstream: None,
                    local: upstream,
                    ..Ends::default()
                },
            }),
            Body::Datagram(datagram) => datagram.with_bytes_of(packets)?,
        };
        Some(OwnItem::Event(Event {
            at: Time(self.at),
            session: self.session.map(SessionId),
            what,
        }))
    }
}

#[cfg(test)]
mod tests;
