//! Judges tokens and acks in captures of other programs.
//!
//! During a run, the session core drops a datagram with a wrong token or ack and reports it. A capture by another
//! program contains no such report: [`RecordedSession`] derives it from the datagrams. The observer of the capture adds
//! the result to its events, so that later stages do not distinguish both.

mod acks;
mod role;

use teetap_proxy::session::Time;
use teetap_wire::{Code, Dir, PerDir, Proto, Token};

pub use role::DatagramRole;
pub(super) use role::given_token;

use acks::Acks;

/// State of a session in a capture by another program.
#[derive(Debug, Default)]
pub struct RecordedSession {
    /// Known token of each direction, and the last token that differs from it.
    tokens: PerDir<(Option<Token>, Option<Token>)>,
    /// True if a recorded handshake gave the known token of the direction.
    is_given: PerDir<bool>,
    acks: Acks,
    /// True once a CONNECT of the session was recorded.
    has_connect: bool,
    /// True from the handshake until the server is known to have a slot, which DDNet servers create only for ACCEPT.
    awaits_accept: bool,
}

/// A datagram between two peers.
#[derive(Clone, Copy, Debug)]
pub struct RecordedDatagram<'a> {
    /// Time since the start of the recording.
    pub at: Time,
    /// Direction of the datagram.
    pub dir: Dir,
    /// Protocol of the session.
    pub variant: Proto,
    /// Protocol in which the datagram is written.
    pub proto: Proto,
    /// The parsed datagram.
    pub role: &'a DatagramRole,
    /// True if the recording has truncated the datagram.
    pub is_cut: bool,
    /// True if the datagram belongs to a session; false for the token exchange before it.
    pub has_session: bool,
    /// True until the session is online.
    pub is_opening: bool,
}

/// The result for one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The oddity of the token; `None` if the token is valid or cannot be checked.
    pub token: Option<Code>,
    /// The oddity of the ack; `None` if the ack is valid or cannot be checked.
    pub ack: Option<Code>,
    /// True if the datagram shows that the recording lacks datagrams.
    pub is_hole: bool,
    /// True if the datagram shows that the server has restarted its sequence numbers.
    pub is_restart: bool,
}

impl RecordedSession {
    /// Records that the session begins: no sequence number was used before.
    pub fn begin(&mut self) {
        self.acks = Acks::from_the_start();
        self.awaits_accept = true;
    }

    /// Records a datagram and judges its token and its ack.
    pub fn record(&mut self, datagram: RecordedDatagram<'_>) -> Judgement {
        let RecordedDatagram {
            at,
            dir,
            proto,
            role,
            is_cut,
            ..
        } = datagram;
        let is_checked = datagram.has_session && role.requests.is_none();
        let token = is_checked.then(|| self.odd_token(datagram.variant, dir, role, is_cut));
        let token = token.flatten();
        if datagram.is_opening {
            self.learn_token(proto, dir, role);
        }
        if !datagram.has_session || token.is_some() {
            return Judgement {
                token,
                ..Judgement::default()
            };
        }
        self.look_for_slot(proto, dir, role);
        let is_cut = is_cut && role.is_short;
        let finding = self.acks.record(at, dir, role.ack, &role.numbers, is_cut);
        Judgement {
            token,
            ack: finding.odd,
            is_hole: finding.is_hole,
            is_restart: finding.is_restart,
        }
    }

    /// Returns the code of a note if the token is missing or wrong. If the same wrong token is received twice in a row,
    /// it becomes the known token of the direction, unless a recorded handshake gave another token: receivers never adopt a
    /// token from later datagrams (`Feed` in network_conn.cpp of Teeworlds 0.6.5 and 0.7.5, and of DDNet). If the other
    /// direction also has a wrong token, the recording lacks another handshake.
    fn odd_token(&mut self, proto: Proto, dir: Dir, role: &DatagramRole, is_cut: bool) -> Option<Code> {
        let is_fixed = self.is_given[dir] && self.tokens[dir.reverse()].1.is_none();
        let (known, other) = &mut self.tokens[dir];
        let Some(shown) = role.token else {
            // Handshake packets and unreadable datagrams are excluded; they have no ack.
            let is_plain = match proto {
                Proto::V65 => !is_cut && role.ack.is_some(),
                Proto::Ddnet => !is_cut && role.closes.is_some(),
                Proto::V6 | Proto::V7 => false,
            };
            return (is_plain && known.is_some()).then_some(Code::MissingToken);
        };
        if known.is_none() && shown == Token::NONE {
            // A DDNet client that gives up before it has received a token writes the token `NONE`.
            return None;
        }
        let is_twice = *other == Some(shown) && (!is_fixed || shown == Token::TKEN);
        if known.is_none_or(|known| known == shown) || is_twice {
            (*known, *other) = (Some(shown), None);
            return None;
        }
        *other = Some(shown);
        Some(Code::WrongToken)
    }

    /// Tracks whether a DDNet server has a slot for the client. The first ACCEPT creates the slot, even if it is
    /// received after messages. Each further ACCEPT restarts the sequence numbers (DDNet 16.4 and 20.1,
    /// network_server.cpp, `OnTokenCtrlMsg` and `OnConnCtrlMsg`).
    fn look_for_slot(&mut self, proto: Proto, dir: Dir, role: &DatagramRole) {
        if dir == Dir::S2c {
            self.awaits_accept &= role.accepts || role.is_token || role.closes.is_some();
        } else if proto == Proto::Ddnet && role.is_lone_accept && !std::mem::take(&mut self.awaits_accept) {
            self.acks.accepted();
        }
    }

    /// Returns the known token of a direction; `None` if unknown.
    #[must_use]
    pub fn known_token(&self, dir: Dir) -> Option<Token> {
        self.tokens[dir].0
    }

    /// Records the token that a handshake packet gives to the other side, which writes that token from then on.
    fn learn_token(&mut self, proto: Proto, dir: Dir, role: &DatagramRole) {
        let Some(given) = role.gives else {
            return;
        };
        let (own, others) = self.tokens.with_reverse_mut(dir);
        if proto == Proto::V7 && given == Token::TKEN && others.0.is_some() {
            // A DDNet client retransmits CONNECT in the format of 0.6 (DDNet 18.5, network_conn.cpp, `Update`). A
            // server that received only this CONNECT writes `TKEN` as its token; a server that received an earlier
            // CONNECT writes the earlier token.
            others.1 = Some(given);
            return;
        }
        let is_connect = role.requests.is_some();
        if proto == Proto::V7 && is_connect && std::mem::replace(&mut self.has_connect, true) {
            // The server keeps the token of the first CONNECT that it has received (`CNetConnection::Feed` in
            // network_conn.cpp of 0.7.5).
            others.1 = Some(given).filter(|_| others.0 != Some(given));
            self.is_given[dir.reverse()] &= others.1.is_none();
            return;
        }
        others.0 = Some(given);
        self.is_given[dir.reverse()] = true;
        if matches!(proto, Proto::V65 | Proto::Ddnet) {
            // In 0.6 both sides write the same token.
            own.0 = Some(given);
            self.is_given[dir] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: Token = Token(*b"good");
    const WRONG: Token = Token(*b"evil");

    fn datagram(dir: Dir, is_opening: bool, role: &DatagramRole) -> RecordedDatagram<'_> {
        RecordedDatagram {
            at: Time(0),
            dir,
            variant: Proto::V65,
            proto: Proto::V65,
            role,
            is_cut: false,
            has_session: true,
            is_opening,
        }
    }

    /// Returns the notes about the tokens of datagrams after a handshake that gave a token for both directions.
    fn odd(datagrams: &[(Dir, Token)]) -> Vec<Option<Code>> {
        let mut session = RecordedSession::default();
        session.begin();
        let accept = DatagramRole {
            accepts: true,
            gives: Some(GIVEN),
            ..DatagramRole::default()
        };
        session.record(datagram(Dir::S2c, true, &accept));
        let judged = datagrams.iter().map(|(dir, token)| {
            let role = DatagramRole {
                token: Some(*token),
                ..DatagramRole::default()
            };
            session.record(datagram(*dir, false, &role)).token
        });
        judged.collect()
    }

    /// A server of 0.7 keeps the token of the first CONNECT that it receives, which may have been lost.
    #[test]
    fn the_server_may_write_the_token_of_any_connect() {
        for shown in [GIVEN, WRONG] {
            let mut session = RecordedSession::default();
            session.begin();
            for gives in [GIVEN, WRONG] {
                let connect = DatagramRole {
                    requests: Some(Proto::V7),
                    gives: Some(gives),
                    ..DatagramRole::default()
                };
                let proto = Proto::V7;
                session.record(RecordedDatagram {
                    proto,
                    variant: proto,
                    ..datagram(Dir::C2s, true, &connect)
                });
            }
            let role = DatagramRole {
                token: Some(shown),
                ..DatagramRole::default()
            };
            let judged =
                [true, false].map(|is_opening| session.record(datagram(Dir::S2c, is_opening, &role)).token);
            assert_eq!(judged, [None, None], "{shown}");
        }
    }

    /// Receivers never adopt a token from later datagrams, so each datagram with a wrong token is dropped.
    #[test]
    fn a_wrong_token_stays_wrong_after_a_recorded_handshake() {
        let wrong = Some(Code::WrongToken);
        for dir in [Dir::C2s, Dir::S2c] {
            let other = dir.reverse();
            let datagrams = [
                (dir, WRONG),
                (other, GIVEN),
                (dir, WRONG),
                (dir, WRONG),
                (dir, GIVEN),
            ];
            assert_eq!(odd(&datagrams), [wrong, None, wrong, wrong, None], "{dir:?}");
            // Both directions have other tokens: the recording lacks another handshake.
            let datagrams = [(dir, WRONG), (other, WRONG), (dir, WRONG), (other, WRONG)];
            assert_eq!(odd(&datagrams)[..3], [wrong, wrong, None], "{dir:?}");
        }
    }
}
