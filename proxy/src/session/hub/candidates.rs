//! Candidates: sessions that connect beside the current session of their client, and replace it when the
//! client proves its address.

use teetap_wire::Proto;

use super::{Env, Hub, Link, SessionId, sessions::Slot};
use crate::session::{ClientAddr, link::Standing};

impl Hub {
    /// Handles a datagram of the server on the socket of a session. It may belong to the candidate that
    /// shares the socket, or answer a TOKEN request of the client.
    pub(super) fn session_datagram(&mut self, id: SessionId, bytes: &[u8]) {
        let Some(link) = self.sessions.links.get_mut(&id) else {
            return;
        };
        let client = link.client_addr();
        if let Some((named, size)) = link.take_answered_request(bytes, &mut self.scratch) {
            self.with_link(id, |link, _, env| {
                link.report_token(bytes, env);
            });
            let mark = self.env.out.mark();
            self.give_token(client, named, size);
            self.report_answer(client, Proto::V7, mark);
            return;
        }
        if !link.shares_socket() {
            let may_take_over = link.is_candidate() && self.may_take_over(id);
            return self.server_datagram(id, may_take_over, bytes);
        }
        let candidate = self.sessions.slot(client).candidate;
        let claims = |candidate: &SessionId| {
            let candidate = self.sessions.links.get(candidate);
            candidate.is_some_and(|link| link.shares_socket() && link.claims(bytes))
        };
        let id = candidate.filter(claims).unwrap_or(id);
        self.server_datagram(id, self.may_take_over(id), bytes);
    }

    fn server_datagram(&mut self, id: SessionId, may_take_over: bool, bytes: &[u8]) {
        let answered = self.with_link(id, |link, scratch, env| {
            let was_answered = link.answer().is_some();
            link.on_server(bytes, may_take_over, scratch, env);
            let proto = link.answer().filter(|_| !was_answered)?;
            Some((link.client_addr(), link.requested(), proto, link.take_connect()))
        });
        let Some((client, requested, proto, candidate_for)) = answered.flatten() else {
            return;
        };
        let group = (client.listener, requested);
        self.admission.crowd.server_answered(group, proto, self.env.now);
        self.admission.families.answered(client.listener, proto);
        let Some(connect) = candidate_for.filter(|_| proto == Proto::V6) else {
            return;
        };
        let slot = self.sessions.slot(client);
        let Some(current) = slot.current else { return };
        if slot.candidate == Some(id) {
            // The candidate becomes current. The other session waits until its token is received.
            let slot = Slot {
                current: Some(id),
                candidate: Some(current),
            };
            self.sessions.slots.insert(client, slot);
            self.announce(id, Link::take_over);
        } else {
            // The candidate has ended. If the current session has no tokens either, it forwards the
            // candidate's CONNECT on its own socket.
            self.with_link(current, |link, _, env| {
                link.answers_without_tokens(requested, &connect, env)
            });
        }
    }

    /// Returns true if a candidate may replace the current session without a token: the current session has
    /// tokens, or may still get some, and its client has not proved itself.
    fn may_take_over(&self, id: SessionId) -> bool {
        let link = self.sessions.links.get(&id).filter(|link| link.is_candidate());
        let current = link.and_then(|link| self.sessions.slot(link.client_addr()).current);
        let current = current.and_then(|id| self.sessions.links.get(&id));
        let is_unproved = |link: &Link| link.is_half_open() && link.standing() == Standing::Unproved;
        current.is_some_and(|link| is_unproved(link) && link.answer() != Some(Proto::V6))
    }

    /// Makes a candidate a session of its own by calling `announce`, and counts it. Does nothing for other
    /// sessions.
    pub(super) fn announce(&mut self, id: SessionId, announce: impl FnOnce(&mut Link, &mut Env)) {
        let is_new = self.sessions.links.get(&id).is_some_and(Link::is_candidate);
        if is_new {
            self.counters.stats.opened += 1;
            self.with_link(id, |link, _, env| announce(link, env));
        }
    }

    /// Promotes a candidate whose client has sent its token: the client restarted.
    pub(super) fn promote(&mut self, addr: ClientAddr, current: SessionId, candidate: SessionId) {
        self.sessions.slots.insert(
            addr,
            Slot {
                current: Some(candidate),
                candidate: None,
            },
        );
        let shares = self
            .sessions
            .links
            .get(&candidate)
            .is_some_and(Link::shares_socket);
        let former = self.sessions.links.get(&current).and_then(Link::server_token);
        self.announce(candidate, Link::promote);
        if shares {
            self.with_link(candidate, |link, _, env| link.replaces(former, env.now));
        }
        self.with_link(current, |link, _, env| match shares {
            true => link.hand_over(env),
            false => link.leave(env),
        });
    }
}
