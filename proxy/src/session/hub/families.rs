//! Clients that speak what the server does not.
//!
//! Law: a request is left unanswered only where the server would not answer it. What the probe has found may be wrong, since
//! datagrams are lost and servers change, so that the server gets a request when a client of 0.7 comes, and its
//! answer leads to one for the client.

use std::{collections::BTreeMap, time::Duration};

use teetap_wire::{Proto, Token};

use super::{Hub, SessionId, strangers::Kind};
use crate::session::{ClientAddr, Family, ListenerId, Notice, Speaks, Time};

/// The interval of requests to the server, which may speak 0.7 after all.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// TOKEN requests that are kept until the server has answered; others have to be repeated.
const MAX_UNANSWERED: usize = 64;

/// The families that the server speaks.
#[derive(Debug, Default)]
pub(super) struct Families {
    speaks: Speaks,
    /// The earliest time of the next request.
    next_ask: Time,
    /// TOKEN requests since the last one to the server, by their senders: the token and the bytes of each. Some clients send
    /// only one.
    unanswered: BTreeMap<ClientAddr, (Token, usize)>,
}

impl Families {
    /// Takes note of an answer of the server behind a listen socket.
    pub(super) fn answered(&mut self, listener: ListenerId, proto: Proto) {
        if listener == ListenerId::FIRST {
            self.speaks.has_answered(Family::of(proto));
        }
    }

    /// Returns true if the server speaks both families: then it is one of DDNet's. Servers that redirects lead to are not
    /// known.
    pub(super) fn are_both(&self, listener: ListenerId) -> bool {
        listener == ListenerId::FIRST && self.speaks.are_both()
    }

    /// Returns true if the server is known to speak only this family.
    pub(super) fn is_only(&self, listener: ListenerId, family: Family) -> bool {
        listener == ListenerId::FIRST && self.speaks.only() == Some(family)
    }

    /// Returns true if the tokens of the server may be valid for ever, as those of DDNet's: it is not known to be one of
    /// Teeworlds.
    pub(super) fn keep_tokens(&self, listener: ListenerId) -> bool {
        !self.is_only(listener, Family::Seven)
    }

    /// Returns the only family that the server speaks, if the client speaks the other one. Servers that redirects lead to are
    /// not known.
    fn other_than(&self, listener: ListenerId, client: Family) -> Option<Family> {
        let only = self.speaks.only().filter(|_| listener == ListenerId::FIRST);
        only.filter(|server| *server != client)
    }
}

impl Hub {
    /// Takes the result of the probe. Clients that have come before it are reported now.
    pub(super) fn on_probed(&mut self, speaks: Speaks) {
        self.families.speaks.learn(speaks);
        let links = self.sessions.links.values();
        let waiting =
            links.filter(|link| link.is_half_open() && link.answer().is_none() && !link.is_candidate());
        let waiting: Vec<SessionId> = waiting.map(|link| link.id()).collect();
        waiting.into_iter().for_each(|id| self.report_family(id));
    }

    /// Reports a session whose server will not answer.
    pub(super) fn report_family(&mut self, id: SessionId) {
        if let Some(link) = self.sessions.links.get(&id) {
            let (client, speaks) = (link.client_addr(), Family::of(link.requested()));
            self.notice_family(client, speaks, Some(id));
        }
    }

    /// Reports a client if it speaks what the server does not. Returns true then.
    fn notice_family(&mut self, addr: ClientAddr, speaks: Family, session: Option<SessionId>) -> bool {
        let Some(server) = self.families.other_than(addr.listener, speaks) else {
            return false;
        };
        self.notice_stranger(Kind::OtherProtocol, session, || Notice::OtherProtocol {
            client: addr.addr,
            client_speaks: speaks,
            server_speaks: server,
        });
        true
    }

    /// Returns true for a TOKEN request that the server would not answer, since it speaks only 0.6. The server gets
    /// a request of the proxy instead: if it answers, the client gets its answer, too.
    pub(super) fn is_in_vain(&mut self, addr: ClientAddr, token: Token, bytes: &[u8]) -> bool {
        if !self.notice_family(addr, Family::Seven, None) {
            return false;
        }
        self.stats.refused += 1;
        self.report_request(addr, Proto::V7, bytes);
        if self.env.now >= self.families.next_ask {
            self.families.next_ask = self.env.now + ASK_EVERY;
            self.families.unanswered.clear();
            self.ask_for_token(addr, token);
        }
        let unanswered = &mut self.families.unanswered;
        if unanswered.len() < MAX_UNANSWERED {
            unanswered.insert(addr, (token, bytes.len()));
        }
        true
    }

    /// Answers the requests that were left, now that the server has answered one.
    pub(super) fn answer_unanswered(&mut self) {
        for (addr, (token, size)) in std::mem::take(&mut self.families.unanswered) {
            if self.sessions.at(addr.addr).next().is_some() {
                // It plays by now, maybe 0.6.
                continue;
            }
            let mark = self.env.out.mark();
            self.give_token(addr, token, size);
            self.report_answer(addr, Proto::V7, mark);
        }
    }
}
