//! Answers to CONNECTs without a session, and the first packets of clients that received such an answer.
//!
//! Law: the answer is the same as the answer of a session, and no larger than the request. Its token depends only on
//! the address and the time, so no state is kept for it. The token is valid for 10 to 20 seconds, like a token of
//! 0.6.5.

use std::{collections::BTreeMap, time::Duration};

use teetap_wire::{Control, Dir, Flags, Header, Packet, Proto, Seq, Side, Token, control, write};

use super::{
    EventKind, Hub, Link, Notice, SessionId,
    admit::{Connect, Request},
    crowd::Cost,
    sessions::Slot,
    strangers::Kind,
};
use crate::session::{ClientAddr, Datagram, Origin, Time, outbox::Destination, tokens::Purpose};

/// Interval at which the token changes; the previous token stays valid.
const EPOCH: Duration = Duration::from_secs(10);

/// State of the answers without a session.
#[derive(Debug, Default)]
pub(super) struct Stateless {
    /// Time of the last answer in each protocol.
    last: BTreeMap<Proto, Time>,
    /// Time of the last notice about a rule that prevents such answers.
    named: Option<Time>,
}

impl Stateless {
    /// Returns true if a client may have received an answer in this protocol whose token is still valid.
    fn may_have_answered(&self, proto: Proto, now: Time) -> bool {
        self.last
            .get(&proto)
            .is_some_and(|last| now.since(*last) < EPOCH * 2)
    }
}

impl Hub {
    /// Returns the valid tokens of answers to an address, the newest first.
    fn stateless_tokens(&self, addr: ClientAddr) -> [Token; 2] {
        let epoch = self.env.now.since(Time::ZERO).as_secs() / EPOCH.as_secs();
        [epoch, epoch.saturating_sub(1)].map(|epoch| {
            let purpose = Purpose::Stateless(addr.listener.0, epoch);
            self.tokens.own.token(addr.addr, purpose)
        })
    }

    /// Returns the protocol and the token of an answer to a CONNECT without a session. `None` if the CONNECT
    /// needs a session: it is unknown how the server answers, a rule that needs a session can change the
    /// CONNECT or its answer, or the client already plays without a token or with this one.
    pub(super) fn stateless_answer(&self, addr: ClientAddr, connect: Connect) -> Option<(Proto, Token)> {
        let proto = self
            .admission
            .crowd
            .answer((addr.listener, connect.proto), self.env.now)
            .filter(|_| connect.proto != Proto::V7)?;
        if self.ruled_with_session(connect.proto, proto).is_some() {
            return None;
        }
        let [token, _] = self.stateless_tokens(addr);
        let current = self.sessions.slot(addr).current;
        let current = current.and_then(|id| self.sessions.links.get(&id));
        let is_distinct =
            |link: &Link| link.token() != token && link.proto() != Proto::V6 && proto != Proto::V6;
        current.is_none_or(is_distinct).then_some((proto, token))
    }

    /// Answers a CONNECT for which there is no room, in the protocol in which the server has answered other CONNECTs
    /// of the same kind.
    pub(super) fn answer_without_session(&mut self, addr: ClientAddr, connect: Connect, bytes: &[u8]) {
        let Some((proto, ours)) = self.stateless_answer(addr, connect) else {
            self.counters.stats.refused += 1;
            self.notice_dropped(addr);
            self.name_rule_with_session(addr, connect);
            return;
        };
        let mut payload = Vec::new();
        control::connect_accept(proto, ours, &mut payload);
        if !self.rules_pass_greeting((connect.proto, bytes), (proto, &payload)) {
            self.report_request(addr, connect.proto, bytes);
            return;
        }
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token: match proto {
                Proto::V6 => None,
                Proto::V65 => connect.client_token,
                Proto::Ddnet | Proto::V7 => Some(ours),
            },
        };
        self.admission.stateless.last.insert(proto, self.env.now);
        let mark = self.env.out.mark();
        self.transmit(Destination::Client(addr), |out| {
            write(proto, &header, &payload, None, out)
        });
        self.report_exchange(addr, proto, bytes, mark);
        let client = addr.addr;
        self.notice_stranger(Kind::AnsweredByProxy, None, || Notice::AnsweredByProxy {
            client,
            proto,
        });
    }

    /// Returns the name of a rule that can change the CONNECT or its answer and needs a session to do so.
    fn ruled_with_session(&self, requested: Proto, answered: Proto) -> Option<&str> {
        let program = self.env.program.as_ref()?;
        let rule = program.needs_session(requested, answered, &self.env.shared)?;
        Some(program.rule(rule).unwrap_or_default())
    }

    /// Emits a notice if a rule is the reason why a CONNECT was not answered; at most every 10 s.
    fn name_rule_with_session(&mut self, addr: ClientAddr, connect: Connect) {
        let now = self.env.now;
        let answer = self.admission.crowd.answer((addr.listener, connect.proto), now);
        let rule = answer.and_then(|proto| self.ruled_with_session(connect.proto, proto));
        let is_due = |last: Time| now.since(last) >= EPOCH;
        if let Some(rule) = rule.filter(|_| self.admission.stateless.named.is_none_or(is_due)) {
            let notice = Notice::RuleFailed {
                rule: rule.into(),
                why: "it can change CONNECT or its answer and needs a session for that: while there is no room \
                      for one, CONNECTs get no answer"
                    .into(),
            };
            self.admission.stateless.named = Some(now);
            self.env.out.event(now, None, EventKind::Notice(notice));
        }
    }

    /// Opens a session for the first packet of a client that was answered without one, or drops the packet if
    /// there is no room. Returns false if the datagram is not such a packet.
    pub(super) fn admit_first_packet(&mut self, addr: ClientAddr, slot: Slot, bytes: &[u8]) -> bool {
        let valid = self.stateless_tokens(addr);
        for proto in [Proto::V65, Proto::Ddnet] {
            let Some(token) = self.shown_first(addr, proto, &valid, bytes) else {
                continue;
            };
            self.open_first(addr, slot.current, (proto, Some(token)), Cost::Proved, bytes);
            return true;
        }
        let is_first = slot.current.is_none() && self.shown_first(addr, Proto::V6, &[], bytes).is_some();
        if is_first {
            self.open_first(addr, None, (Proto::V6, None), Cost::Tokenless, bytes);
        }
        is_first
    }

    /// Opens a session in place of `current`. If there is no room for it, `current` stays and the packet is dropped.
    pub(super) fn open_first(
        &mut self,
        addr: ClientAddr,
        current: Option<SessionId>,
        (proto, token): (Proto, Option<Token>),
        cost: Cost,
        bytes: &[u8],
    ) {
        if !self.make_room(addr, cost) {
            self.counters.stats.refused += 1;
            self.report_request(addr, proto, bytes);
            self.notice_dropped(addr);
            return;
        }
        if let Some(current) = current {
            self.with_link(current, |link, _, env| link.leave(env));
        }
        let request = Request {
            proto,
            client_token: None,
            token,
            standing: cost.standing(),
            beside: false,
            shares: None,
        };
        self.open(addr, request, |opened, env| {
            Link::open_answered(opened, bytes, env)
        });
    }

    /// Returns the token in a first packet, if it is in `valid`; [`Token::NONE`] in a protocol
    /// without tokens. `None` if the datagram is not a first packet.
    fn shown_first(
        &mut self,
        addr: ClientAddr,
        proto: Proto,
        valid: &[Token],
        bytes: &[u8],
    ) -> Option<Token> {
        let now = self.env.now;
        if !self.admission.stateless.may_have_answered(proto, now) {
            return None;
        }
        let is_compressed = bytes
            .first()
            .is_some_and(|flags| flags & proto.layout().compression != 0);
        let shown = match proto {
            Proto::V65 => bytes.get(3..7),
            Proto::Ddnet if !is_compressed => bytes.len().checked_sub(4).and_then(|at| bytes.get(at..)),
            _ => None,
        };
        if shown.is_some_and(|shown| valid.iter().all(|token| token.0 != shown)) {
            return None;
        }
        if is_compressed && !self.admission.crowd.spend(Cost::Inflating, now) {
            self.notice_dropped(addr);
            return None;
        }
        let packet = Packet::parse(proto, bytes, &mut self.scratch).ok()?;
        let token = match packet.header.token {
            Some(token) => valid.contains(&token).then_some(token)?,
            None if proto == Proto::V6 => Token::NONE,
            None => return None,
        };
        is_first(&packet).then_some(token)
    }

    /// Reports a request of an address without a session, and the answer sent since `mark`.
    pub(super) fn report_exchange(&mut self, addr: ClientAddr, proto: Proto, bytes: &[u8], mark: usize) {
        self.report_request(addr, proto, bytes);
        self.report_answer(addr, proto, mark);
    }

    /// Reports the datagrams sent since `mark` to an address without a session.
    pub(super) fn report_answer(&mut self, addr: ClientAddr, proto: Proto, mark: usize) {
        if self.env.out.is_watched_closely() {
            let sent = self.env.out.sent_since(mark);
            let answer = Datagram::new(Dir::S2c, proto, Origin::Proxy, &[], sent);
            self.report_alone(addr, answer);
        }
    }

    /// Reports a request of an address without a session.
    pub(super) fn report_request(&mut self, addr: ClientAddr, proto: Proto, bytes: &[u8]) {
        if self.env.out.is_watched_closely() {
            let requested = Datagram::new(Dir::C2s, proto, Origin::Peer, bytes, std::iter::empty());
            self.report_alone(addr, requested);
        }
    }

    fn report_alone(&mut self, addr: ClientAddr, mut event: Datagram) {
        event.leg = Some(Side::Client);
        event.ends.client = Some(addr.addr);
        self.env.out.event(self.env.now, None, EventKind::Datagram(event));
    }
}

/// Returns true for the first packet after the answer to CONNECT: ACCEPT, or the first vital message. Its ack
/// is 0, since the server has not sent any message by then.
fn is_first(packet: &Packet<'_>) -> bool {
    if packet.header.ack != Seq::ZERO {
        return false;
    }
    if packet.header.flags.contains(Flags::CONTROL) {
        return matches!(packet.control(), Some(Control::Accept));
    }
    packet
        .chunks()
        .any(|chunk| chunk.header.vital == Some(Seq::ZERO.next()))
}
