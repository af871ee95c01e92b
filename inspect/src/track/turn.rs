//! Messages of a join that are out of turn: the games ignore them at this point, or never send them then.
//!
//! Law: the note tells what the games do, whatever the receiver in this session does. Nothing is noted unless all
//! messages since the start of the session are known, both peers have received those that matter, and no rule has
//! changed one of them.
//!
//! Sources, in Teeworlds 0.6.5 and 0.7.5 and DDNet 20: `CServer::ProcessClientPacket` and `CServer::DoSnapshot` in
//! `engine/server/server.cpp`, `CGameContext::OnMessage` in `game/server/gamecontext.cpp` (DDNet:
//! `OnStartInfoNetMessage`), `CClient::ProcessServerPacket` in `engine/client/client.cpp`.

use teetap_proxy::session::Action;
use teetap_wire::{
    Dir, Property, Proto,
    def::{Decoded, Registry},
    printable,
    receiver::SNAPSHOTS,
    varint,
};

use super::{
    Fact, NoteSink, Seen, Stream,
    chunk::{DecidedChunk, of_chunk},
    out_of_turn::{OutOfTurn, Turn},
};

/// The version of the game in `info` (`GAME_NETVERSION` in `game/version.h`).
const SIX: &str = "0.6 626fce9a778df4d4";
const SEVEN: &str = "0.7 802f1be60a05665f";

/// A command of the console that DDNet clients send without a login, to tell their version (`CServer::OnNetMsgRconCmd`
/// and `CGameClient::OnConnected` of DDNet).
const TELLS_VERSION: &[u8] = b"crashmeplx\0";

/// Maximum number of bytes of a version that are shown.
const SHOWN: usize = 40;

/// How far the client of a session has joined, as a server of the games counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JoinTurns {
    /// True once the client has sent its `info`, after which the server accepts a `ready`.
    has_info: bool,
    /// True once the server has changed the map after the first one. Then messages about the map before may follow.
    has_changed_map: bool,
    /// True once the server has named a map.
    has_map: bool,
    /// True once the server has accepted a `ready` for this map.
    is_ready: bool,
    /// True once the server has accepted a start info for this map.
    has_start_info: bool,
    /// True once the client has sent a readable start info for this map.
    has_sent_start_info: bool,
    /// True once the client has sent any start info, for any map.
    has_tried_start_info: bool,
    /// True once the client has sent a `ready`, for any map.
    has_sent_ready: bool,
    /// True once the client has sent `enter_game`, for any map.
    has_asked: bool,
    /// True if the client has sent a login that the server has not ended. Commands may follow a login at once.
    is_authed: bool,
}

impl Stream {
    /// Records a message that its receiver accepts, and adds a note if it is out of turn.
    pub(super) fn note_turn(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>, found: &mut NoteSink<'_>) {
        let Some(turns) = &mut self.turns else { return };
        let dir = seen.datagram.dir;
        let Some(known) = piece.known else {
            // An unknown message may be a `ready` or a start info of another form.
            turns.has_sent_ready |= dir == Dir::C2s;
            turns.has_tried_start_info |= dir == Dir::C2s;
            return;
        };
        let name = &*known.def.name;
        if turns.has_asked && SNAPSHOTS.contains(&name) {
            return;
        }
        let is_plain = matches!(piece.action, Some(Action::Pass | Action::Repeat));
        if !is_plain || !self.has_all(seen) {
            self.turns = None;
            return;
        }
        let body = piece.chunk.data.get(known.body..).unwrap_or_default();
        let Some(turns) = &mut self.turns else { return };
        let what = match dir {
            Dir::C2s => turns.client_sent(seen, name, piece.chunk.data, body),
            Dir::S2c if is_challenge(seen, name) && !turns.has_asked => {
                self.turns = None;
                return;
            }
            Dir::S2c => turns.server_sent(name, body),
        };
        if let Some(what) = what {
            let is_ddnet = seen.to_ddnet || seen.datagram.proto == Proto::Ddnet;
            let code = what.code();
            found.add(
                of_chunk(piece, code),
                Fact::OutOfTurn(OutOfTurn { what, is_ddnet }),
            );
        }
    }

    /// Returns true if all messages so far were seen, in both directions, as far as the sender has received them.
    fn has_all(&mut self, seen: &Seen<'_>) -> bool {
        let ack = seen.packet.header.ack;
        let (own, other) = self.both(seen.datagram.dir);
        let last = other.numbers.last().filter(|_| other.numbers.is_whole());
        own.numbers.is_whole() && last.is_some_and(|last| ack == last || ack.is_behind(last))
    }
}

impl JoinTurns {
    /// Records a message of the client. Returns how it is out of turn, if it is.
    fn client_sent(&mut self, seen: &Seen<'_>, name: &str, data: &[u8], body: &[u8]) -> Option<Turn> {
        match name {
            "info" => {
                let is_again = std::mem::replace(&mut self.has_info, true);
                return match is_again {
                    true => Some(Turn::InfoAgain),
                    false => other_version(seen, body),
                };
            }
            "client_version" if seen.datagram.proto == Proto::Ddnet => {
                return self.has_info.then_some(Turn::VersionAfterInfo);
            }
            "rcon_cmd" => {
                // The command of DDNet's clients has only placeholders in a scrubbed recording.
                let is_scrubbed = body
                    .strip_suffix(b"\0")
                    .is_some_and(|text| text.iter().all(|byte| *byte == b'*'));
                let is_odd = !self.is_authed && body != TELLS_VERSION && !is_scrubbed;
                return is_odd.then_some(Turn::RconCommand);
            }
            "rcon_auth" => self.is_authed = true,
            "ready" => {
                self.has_sent_ready = true;
                self.is_ready |= self.has_info;
                return (!self.has_info).then_some(Turn::Ready);
            }
            _ => {}
        }
        let is_first_map = !self.has_changed_map;
        self.has_tried_start_info |= name == "cl_start_info";
        match name {
            "cl_start_info" if !self.is_ready => is_first_map.then_some(Turn::StartInfo),
            "cl_start_info" if self.has_sent_start_info => Some(Turn::StartInfoAgain),
            "cl_start_info" => {
                self.has_sent_start_info = is_readable(seen, data);
                self.has_start_info |= self.has_sent_start_info;
                None
            }
            // A client of DDNet asks for the map of 0.7 under this id, with the number of the part after it.
            "enter_game" if !body.is_empty() => None,
            "enter_game" => {
                self.has_asked = true;
                match (self.is_ready, self.has_start_info) {
                    _ if !is_first_map => None,
                    (false, _) => Some(Turn::EnterGame("ready")),
                    (true, false) => Some(Turn::EnterGame("cl_start_info")),
                    (true, true) => None,
                }
            }
            _ => None,
        }
    }

    /// Records a message of the server. Returns how it is out of turn, if it is.
    fn server_sent(&mut self, name: &str, body: &[u8]) -> Option<Turn> {
        match name {
            "map_change" => {
                self.has_changed_map |= std::mem::replace(&mut self.has_map, true);
                (self.is_ready, self.has_start_info) = (false, false);
                self.has_sent_start_info = false;
            }
            "con_ready" => {
                self.is_ready = true;
                let has_sent_ready = std::mem::replace(&mut self.has_sent_ready, true);
                return (!has_sent_ready).then_some(Turn::ConReady);
            }
            "capabilities" => {
                let is_late = self.has_map && !self.has_changed_map && !self.is_ready;
                return is_late.then_some(Turn::Capabilities);
            }
            "sv_ready_to_enter" => {
                // The client answers with enter_game, whatever it has sent before.
                let is_early =
                    !std::mem::replace(&mut self.has_start_info, true) && !self.has_tried_start_info;
                return (is_early && !self.has_changed_map).then_some(Turn::ReadyToEnter);
            }
            "rcon_auth_status" => self.is_authed = varint::decode(body).is_some_and(|int| int.value != 0),
            "rcon_auth_on" => self.is_authed = true,
            "rcon_auth_off" => self.is_authed = false,
            name if SNAPSHOTS.contains(&name) => return Some(Turn::Snapshot),
            _ => {}
        }
        None
    }
}

/// Returns true for the messages with which a server makes a client prove its address: a false join, whose empty
/// snapshots the client acks.
fn is_challenge(seen: &Seen<'_>, name: &str) -> bool {
    let is_empty = |data: &[u8]| {
        let known = Registry::builtin().known_message(seen.datagram.proto, seen.datagram.dir, data);
        known.is_some_and(|known| &*known.def.name == "snap_empty")
    };
    let may_be = seen.datagram.proto != Proto::V7 && ["con_ready", "snap_empty"].contains(&name);
    may_be && seen.packet.chunks().any(|chunk| is_empty(chunk.data))
}

/// Returns the version in an `info` if it is not that of the games of this protocol.
fn other_version(seen: &Seen<'_>, body: &[u8]) -> Option<Turn> {
    let end = body.iter().position(|byte| *byte == 0)?;
    let got = body.get(..end)?;
    let expected = match seen.datagram.proto {
        Proto::V7 => SEVEN,
        Proto::V6 | Proto::V65 | Proto::Ddnet => SIX,
    };
    // Servers of DDNet accept both (`CServer::OnNetMsgInfo`).
    let is_known = got == expected.as_bytes() || seen.to_ddnet && got == SEVEN.as_bytes();
    (!is_known).then(|| Turn::Version {
        got: printable(got.get(..SHOWN).unwrap_or(got)),
        expected,
    })
}

/// Returns true if the server can read all fields of the message.
fn is_readable(seen: &Seen<'_>, data: &[u8]) -> bool {
    let mut decoded = Decoded::new();
    let def = decoded.message(Registry::builtin(), seen.datagram.proto, Dir::C2s, data);
    def.is_some()
        && decoded
            .notes()
            .iter()
            .all(|note| !note.code.has(Property::DropsMessage))
}
