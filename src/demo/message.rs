//! The messages the demo speaks: their ids in 0.6 and 0.7, how they are sent, and packing of ints and strings.
//!
//! Numbers are those of the games' protocol.h and network.py (Teeworlds 0.6.5, 0.7.5, DDNet).

use std::hash::{DefaultHasher, Hash, Hasher};

use teetap_wire::{Layer, Proto, Token, message, varint};

/// Version string that a 0.6 server demands.
pub(super) const VERSION_6: &str = "0.6 626fce9a778df4d4";
/// Version string that a 0.7 server demands.
pub(super) const VERSION_7: &str = "0.7 802f1be60a05665f";

/// A message of both versions, or of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Info,
    MapChange,
    ServerInfo,
    ConReady,
    SnapEmpty,
    SnapSingle,
    InputTiming,
    Ready,
    EnterGame,
    Input,
    Ping,
    PingReply,
    SvMotd,
    SvChat,
    SvTuneParams,
    SvReadyToEnter,
    SvVoteClearOptions,
    SvClientInfo,
    SvGameInfo,
    SvClientDrop,
    ClSay,
    ClStartInfo,
    Capabilities,
    ClientVersion,
}

/// How a message goes over the wire.
struct Row {
    kind: Kind,
    layer: Layer,
    /// Id in 0.6. 0 is the id that every receiver ignores: 0.6 has no such message.
    v6: i32,
    v7: i32,
    send: Send,
}

/// How a message is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Send {
    /// Not vital, and waits for other chunks.
    Lazy,
    /// Not vital, at once.
    Quick,
    /// Vital, and waits for other chunks.
    Vital,
    /// Vital, at once.
    Urgent,
}

const fn row(kind: Kind, layer: Layer, v6: i32, v7: i32, send: Send) -> Row {
    Row {
        kind,
        layer,
        v6,
        v7,
        send,
    }
}

const TABLE: [Row; 22] = [
    row(Kind::Info, Layer::System, 1, 1, Send::Urgent),
    row(Kind::MapChange, Layer::System, 2, 2, Send::Urgent),
    row(Kind::ServerInfo, Layer::System, 0, 4, Send::Urgent),
    row(Kind::ConReady, Layer::System, 4, 5, Send::Urgent),
    row(Kind::SnapEmpty, Layer::System, 6, 7, Send::Quick),
    row(Kind::SnapSingle, Layer::System, 7, 8, Send::Quick),
    row(Kind::InputTiming, Layer::System, 9, 10, Send::Lazy),
    row(Kind::Ready, Layer::System, 14, 18, Send::Urgent),
    row(Kind::EnterGame, Layer::System, 15, 19, Send::Urgent),
    row(Kind::Input, Layer::System, 16, 20, Send::Quick),
    row(Kind::Ping, Layer::System, 22, 26, Send::Quick),
    row(Kind::PingReply, Layer::System, 23, 27, Send::Quick),
    row(Kind::SvMotd, Layer::Game, 1, 1, Send::Vital),
    row(Kind::SvChat, Layer::Game, 3, 3, Send::Vital),
    row(Kind::SvTuneParams, Layer::Game, 6, 6, Send::Vital),
    row(Kind::SvReadyToEnter, Layer::Game, 8, 8, Send::Urgent),
    row(Kind::SvVoteClearOptions, Layer::Game, 11, 11, Send::Vital),
    row(Kind::SvClientInfo, Layer::Game, 0, 18, Send::Vital),
    row(Kind::SvGameInfo, Layer::Game, 0, 19, Send::Vital),
    row(Kind::SvClientDrop, Layer::Game, 0, 20, Send::Vital),
    row(Kind::ClSay, Layer::Game, 17, 24, Send::Vital),
    row(Kind::ClStartInfo, Layer::Game, 20, 27, Send::Urgent),
];

/// DDNet's extended system messages: id 0 and a UUID. Vital, and wait for other chunks.
const EXTENDED: [(Kind, [u8; 16]); 2] = [
    (
        Kind::Capabilities,
        0xf621_a5a1_f585_3775_8e73_41be_ee79_f2b2_u128.to_be_bytes(),
    ),
    (
        Kind::ClientVersion,
        0x8c00_1304_8461_3e47_8787_f672_b383_5bd4_u128.to_be_bytes(),
    ),
];

/// A message packed and ready for an endpoint.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    pub(super) vital: bool,
    pub(super) flush: bool,
    pub(super) data: Vec<u8>,
}

impl Packed {
    /// The message's id, fields to follow.
    pub(super) fn new(proto: Proto, kind: Kind) -> Self {
        let row = TABLE.iter().find(|row| row.kind == kind);
        let send = row.map_or(Send::Vital, |row| row.send);
        let vital = matches!(send, Send::Vital | Send::Urgent);
        let packed = Self {
            vital,
            flush: matches!(send, Send::Quick | Send::Urgent),
            data: Vec::new(),
        };
        match (row, EXTENDED.iter().find(|(extended, _)| *extended == kind)) {
            (Some(row), _) => packed.int((row.id(proto) << 1) | i32::from(row.layer == Layer::System)),
            (None, Some((_, uuid))) => packed.int(1).raw(uuid),
            (None, None) => packed.int(0),
        }
    }

    pub(super) fn int(mut self, value: i32) -> Self {
        varint::encode(value, &mut self.data);
        self
    }

    pub(super) fn ints(self, values: &[i32]) -> Self {
        values.iter().fold(self, |packed, value| packed.int(*value))
    }

    pub(super) fn str(mut self, text: &str) -> Self {
        self.data.extend(text.bytes().filter(|byte| *byte != 0));
        self.data.push(0);
        self
    }

    pub(super) fn strs(self, texts: &[&str]) -> Self {
        texts.iter().fold(self, |packed, text| packed.str(text))
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.data.extend_from_slice(bytes);
        self
    }
}

impl Row {
    fn id(&self, proto: Proto) -> i32 {
        if proto == Proto::V7 { self.v7 } else { self.v6 }
    }
}

/// Reads fields from the front of a message.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// Returns the kind of a message, and its fields. Game messages must be vital: every receiver drops others.
    pub(super) fn open(proto: Proto, vital: bool, data: &'a [u8]) -> Option<(Kind, Self)> {
        let (id, len) = message::identify(data)?;
        let kind = match id.uuid {
            Some(uuid) => EXTENDED
                .iter()
                .find(|(_, known)| *known == uuid)
                .map(|(kind, _)| *kind)?,
            None => {
                TABLE
                    .iter()
                    .find(|row| row.layer == id.layer && row.id(proto) == id.id)?
                    .kind
            }
        };
        let fields = Self(data.get(len..)?);
        (vital || !Packed::new(proto, kind).vital).then_some((kind, fields))
    }

    pub(super) fn int(&mut self) -> Option<i32> {
        let int = varint::decode(self.0)?;
        self.0 = self.0.get(int.len..)?;
        Some(int.value)
    }

    pub(super) fn ints(&mut self, count: usize) -> Option<Vec<i32>> {
        (0..count).map(|_| self.int()).collect()
    }

    pub(super) fn str(&mut self) -> Option<String> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(self.0.get(..end)?).into_owned();
        self.0 = self.0.get(end + 1..)?;
        Some(text)
    }

    pub(super) fn raw(&mut self, len: usize) -> Option<&'a [u8]> {
        let (raw, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(raw)
    }
}

/// Returns a token made of a secret: never one of the special values.
pub(super) fn token(secret: u64, of: impl Hash) -> Token {
    let mut hasher = DefaultHasher::new();
    (secret, of).hash(&mut hasher);
    let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
    match [a, b, c, d] {
        [0, 0, 0, 0] | [0xff, 0xff, 0xff, 0xff] => Token(*b"demo"),
        bytes => Token(bytes),
    }
}
