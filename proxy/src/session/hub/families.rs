//! Clients that speak a protocol that the server does not speak.
//!
//! Law: a request is left unanswered only if the server would not answer it. The result of the probe may be
//! wrong, since datagrams are lost and servers change. So when the proxy leaves a TOKEN request unanswered,
//! it sends a TOKEN request of its own to the server. If the server answers, the proxy answers the client.

use std::{collections::BTreeMap, time::Duration};

use teetap_wire::{Proto, Token};

use super::{Hub, SessionId, strangers::Kind};
use crate::session::{ClientAddr, Family, ListenerId, Notice, Speaks, Time};

/// Interval of requests to a server that may speak 0.7 after all.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Maximum number of TOKEN requests that are kept until the server has answered; clients have to repeat
/// further requests.
const MAX_UNANSWERED: usize = 64;

/// The families that the server speaks.
#[derive(Debug, Default)]
pub(super) struct Families {
    speaks: Speaks,
    /// Time before which no further request is sent to the server.
    next_ask: Time,
    /// TOKEN requests since the last request to the server, by client address: the token and the size in
    /// bytes of each. They are kept because some clients send only one.
    unanswered: BTreeMap<ClientAddr, (Token, usize)>,
}

impl Families {
    /// Records an answer of the server behind a listen socket.
    pub(super) fn answered(&mut self, listener: ListenerId, proto: Proto) {
        if listener == ListenerId::FIRST {
            self.speaks.has_answered(Family::from_proto(proto));
        }
    }

    /// Returns true if the server speaks both families, as only DDNet servers do. The families of servers to
    /// which redirects lead are unknown.
    pub(super) fn are_both(&self, listener: ListenerId) -> bool {
        listener == ListenerId::FIRST && self.speaks.are_both()
    }

    /// Returns true if the server is known to speak only this family.
    pub(super) fn is_only(&self, listener: ListenerId, family: Family) -> bool {
        listener == ListenerId::FIRST && self.speaks.only() == Some(family)
    }

    /// Returns true if tokens of the server may stay valid forever, as tokens of DDNet servers do. False if
    /// the server is known to speak only 0.7, as Teeworlds servers do.
    pub(super) fn keep_tokens(&self, listener: ListenerId) -> bool {
        !self.is_only(listener, Family::Seven)
    }

    /// Returns the only family that the server speaks, if the client speaks the other one. The families of
    /// servers to which redirects lead are unknown.
    fn other_than(&self, listener: ListenerId, client: Family) -> Option<Family> {
        let only = self.speaks.only().filter(|_| listener == ListenerId::FIRST);
        only.filter(|server| *server != client)
    }
}

impl Hub {
    /// Records the result of the probe. Reports each waiting client that the server will not answer.
    pub(super) fn on_probed(&mut self, speaks: Speaks) {
        self.admission.families.speaks.learn(speaks);
        let links = self.sessions.links.values();
        let waiting =
            links.filter(|link| link.is_half_open() && link.answer().is_none() && !link.is_candidate());
        let waiting: Vec<SessionId> = waiting.map(|link| link.id()).collect();
        waiting.into_iter().for_each(|id| self.report_family(id));
    }

    /// Reports a session if the server will not answer its client.
    pub(super) fn report_family(&mut self, id: SessionId) {
        if let Some(link) = self.sessions.links.get(&id) {
            let (client, speaks) = (link.client_addr(), Family::from_proto(link.requested()));
            self.notice_family(client, speaks, Some(id));
        }
    }

    /// Reports a client and returns true if the server does not speak the client's family.
    fn notice_family(&mut self, addr: ClientAddr, speaks: Family, session: Option<SessionId>) -> bool {
        let Some(server) = self.admission.families.other_than(addr.listener, speaks) else {
            return false;
        };
        self.notice_stranger(Kind::OtherProtocol, session, || Notice::OtherProtocol {
            client: addr.addr,
            client_speaks: speaks,
            server_speaks: server,
        });
        true
    }

    /// Returns true for a TOKEN request that the server would not answer, since it speaks only 0.6. The proxy
    /// sends a request of its own to the server instead: if the server answers, the client gets its answer,
    /// too.
    pub(super) fn is_in_vain(&mut self, addr: ClientAddr, token: Token, bytes: &[u8]) -> bool {
        if !self.notice_family(addr, Family::Seven, None) {
            return false;
        }
        self.counters.stats.refused += 1;
        self.report_request(addr, Proto::V7, bytes);
        if self.env.now >= self.admission.families.next_ask {
            self.admission.families.next_ask = self.env.now + ASK_EVERY;
            self.admission.families.unanswered.clear();
            self.ask_for_token(addr, token);
        }
        let unanswered = &mut self.admission.families.unanswered;
        if unanswered.len() < MAX_UNANSWERED {
            unanswered.insert(addr, (token, bytes.len()));
        }
        true
    }

    /// Answers the TOKEN requests that were left unanswered, since the server has now answered one.
    pub(super) fn answer_unanswered(&mut self) {
        for (addr, (token, size)) in std::mem::take(&mut self.admission.families.unanswered) {
            if self.sessions.at(addr.addr).next().is_some() {
                // The client has a session by now, maybe in 0.6.
                continue;
            }
            let mark = self.env.out.mark();
            self.give_token(addr, token, size);
            self.report_answer(addr, Proto::V7, mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: the families that the server of the first listen socket speaks, and what is known about it:
    /// both, only 0.6, only 0.7, keeps tokens, the only family for a client of 0.6 and for one of 0.7.
    #[test]
    fn only_the_families_of_the_first_server_are_known() {
        let (yes, no) = (Some(true), Some(false));
        let (six, seven) = (Some(Family::Six), Some(Family::Seven));
        for (speaks, expected) in [
            ((None, None), (false, false, false, true, None, None)),
            ((yes, None), (false, false, false, true, None, None)),
            ((None, yes), (false, false, false, true, None, None)),
            ((no, no), (false, false, false, true, None, None)),
            ((yes, yes), (true, false, false, true, None, None)),
            ((yes, no), (false, true, false, true, None, six)),
            ((no, yes), (false, false, true, false, seven, None)),
        ] {
            let mut families = Families::default();
            let (six, seven) = speaks;
            families.speaks.learn(Speaks { six, seven });
            let known = |listener| {
                (
                    families.are_both(listener),
                    families.is_only(listener, Family::Six),
                    families.is_only(listener, Family::Seven),
                    families.keep_tokens(listener),
                    families.other_than(listener, Family::Six),
                    families.other_than(listener, Family::Seven),
                )
            };
            assert_eq!(known(ListenerId::FIRST), expected, "{speaks:?}");
            let unknown = (false, false, false, true, None, None);
            assert_eq!(known(ListenerId(1)), unknown, "{speaks:?} behind a redirect");
        }
    }

    /// Answers of servers to which redirects lead say nothing about the first server.
    #[test]
    fn only_answers_of_the_first_server_are_recorded() {
        for (listener, is_recorded) in [(ListenerId::FIRST, true), (ListenerId(1), false)] {
            for (proto, family) in [
                (Proto::V6, Family::Six),
                (Proto::V65, Family::Six),
                (Proto::Ddnet, Family::Six),
                (Proto::V7, Family::Seven),
            ] {
                let mut families = Families::default();
                families.speaks.learn(Speaks {
                    six: Some(false),
                    seven: Some(false),
                });
                families.answered(listener, proto);
                let is_only = families.is_only(ListenerId::FIRST, family);
                assert_eq!(is_only, is_recorded, "{listener:?} {proto:?}");
            }
        }
    }
}
