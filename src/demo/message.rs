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
    /// Id in 0.6; -1: there is none.
    v6: i32,
    /// Id in 0.7; -1: there is none.
    v7: i32,
    vital: bool,
    flush: bool,
}

const fn row(kind: Kind, layer: Layer, v6: i32, v7: i32, vital: bool, flush: bool) -> Row {
    Row {
        kind,
        layer,
        v6,
        v7,
        vital,
        flush,
    }
}

const TABLE: [Row; 22] = [
    row(Kind::Info, Layer::System, 1, 1, true, true),
    row(Kind::MapChange, Layer::System, 2, 2, true, true),
    row(Kind::ServerInfo, Layer::System, -1, 4, true, true),
    row(Kind::ConReady, Layer::System, 4, 5, true, true),
    row(Kind::SnapEmpty, Layer::System, 6, 7, false, true),
    row(Kind::SnapSingle, Layer::System, 7, 8, false, true),
    row(Kind::InputTiming, Layer::System, 9, 10, false, false),
    row(Kind::Ready, Layer::System, 14, 18, true, true),
    row(Kind::EnterGame, Layer::System, 15, 19, true, true),
    row(Kind::Input, Layer::System, 16, 20, false, true),
    row(Kind::Ping, Layer::System, 22, 26, false, true),
    row(Kind::PingReply, Layer::System, 23, 27, false, true),
    row(Kind::SvMotd, Layer::Game, 1, 1, true, false),
    row(Kind::SvChat, Layer::Game, 3, 3, true, false),
    row(Kind::SvTuneParams, Layer::Game, 6, 6, true, false),
    row(Kind::SvReadyToEnter, Layer::Game, 8, 8, true, true),
    row(Kind::SvVoteClearOptions, Layer::Game, 11, 11, true, false),
    row(Kind::SvClientInfo, Layer::Game, -1, 18, true, false),
    row(Kind::SvGameInfo, Layer::Game, -1, 19, true, false),
    row(Kind::SvClientDrop, Layer::Game, -1, 20, true, false),
    row(Kind::ClSay, Layer::Game, 17, 24, true, false),
    row(Kind::ClStartInfo, Layer::Game, 20, 27, true, true),
];

/// DDNet's extended system messages: id 0 and a UUID.
const EXTENDED: [(Kind, [u8; 16]); 2] = [
    (
        Kind::Capabilities,
        0xf621_a5a1_f585_3775_8e73_41be_e79f_f2b2_u128.to_be_bytes(),
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
    /// The message's id, fields to follow. `None` when the version has no such message.
    pub(super) fn new(proto: Proto, kind: Kind) -> Option<Self> {
        if let Some((_, uuid)) = EXTENDED.iter().find(|(k, _)| *k == kind) {
            return Some(
                Self {
                    vital: true,
                    flush: false,
                    data: Vec::new(),
                }
                .int(1)
                .raw(uuid),
            );
        }
        let row = TABLE.iter().find(|row| row.kind == kind)?;
        let id = row.id(proto);
        let system = i32::from(row.layer == Layer::System);
        (id >= 0).then(|| {
            Self {
                vital: row.vital,
                flush: row.flush,
                data: Vec::new(),
            }
            .int((id << 1) | system)
        })
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
    /// What message it is, and its fields. Game messages must be vital: every receiver drops others.
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
        let wants_vital = TABLE.iter().any(|row| row.kind == kind && row.vital);
        (vital || !wants_vital).then_some((kind, Self(data.get(len..)?)))
    }

    pub(super) fn int(&mut self) -> Option<i32> {
        let int = varint::decode(self.0)?;
        self.0 = self.0.get(int.len..)?;
        Some(int.value)
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

/// A token made of a secret: never one of the special values.
pub(super) fn token(secret: u64, of: impl Hash) -> Token {
    let mut hasher = DefaultHasher::new();
    (secret, of).hash(&mut hasher);
    let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
    match [a, b, c, d] {
        [0, 0, 0, 0] | [0xff, 0xff, 0xff, 0xff] => Token(*b"demo"),
        bytes => Token(bytes),
    }
}
