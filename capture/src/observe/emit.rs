//! Emits the events of flows that have been classified.

use std::net::SocketAddr;

use teetap_inspect::track::recorded::{DatagramRole, RecordedDatagram};
use teetap_wire::{
    Code, Connless as Wire, Dir, First, MAX_DATAGRAM, Note, Proto, Side, connless, is_connless, written_form,
};

use super::{
    Observer, PendingItem, PendingKind, Seen, filled_up,
    flow::{Certainty, Emitted, Peers, Verdict, kind_of},
    flows::{AddressPair, FlowId},
};
use teetap_proxy::session::{
    Connless, Datagram, Ends, Event, EventKind, Notice, OpensNothing, SessionChange, SessionId, State, Time,
};

/// A datagram to emit.
struct Emission<'a> {
    seen: Seen<'a>,
    pair: AddressPair,
    peers: Peers,
}

impl Emission<'_> {
    /// Returns the note about bytes that the recording truncated; `None` if the datagram is complete.
    fn missing(&self) -> Option<Note> {
        let at = self.seen.bytes.len();
        let len = self.seen.len.saturating_sub(at);
        let code = if at < MAX_DATAGRAM {
            Code::CutByCapture
        } else {
            Code::Oversized
        };
        (len > 0).then_some(Note { code, at, len })
    }
}

impl Observer {
    /// Emits the first waiting datagram or end of a flow. Requires that its flow is classified or that it needs no
    /// verdict.
    pub(super) fn emit_first(&mut self) {
        let Some(PendingItem {
            at, flow: id, what, ..
        }) = self.waiting.pop_front()
        else {
            return;
        };
        let Some((_, flow)) = self.flows.get_mut(id) else {
            return;
        };
        flow.waiting -= 1;
        let is_last = flow.is_over && flow.waiting == 0;
        match what {
            PendingKind::Datagram {
                frame,
                from_low,
                bytes,
                len,
            } => {
                let seen = Seen {
                    at,
                    frame,
                    from_low,
                    bytes: &bytes,
                    len,
                };
                self.emit(id, seen);
            }
            PendingKind::Restart => {
                let session = self.emitted(id).and_then(|emitted| emitted.session);
                if session.is_some() {
                    self.event(at, session, EventKind::Notice(Notice::Restart));
                    self.emit_end(at, id);
                }
            }
            PendingKind::Idle => self.emit_end(at, id),
        }
        if is_last {
            self.flows.remove(id);
        }
    }

    /// Emits a datagram. Requires that its flow is classified or that it needs no verdict.
    pub(super) fn emit(&mut self, id: FlowId, seen: Seen<'_>) {
        if is_connless(seen.bytes) {
            return self.emit_connless(id, seen);
        }
        let Some((pair, flow)) = self.flows.get(id) else {
            return;
        };
        let Verdict::Peers(peers) = flow.verdict else {
            return self.emit_foreign(id, seen);
        };
        let emission = Emission {
            seen,
            pair: *pair,
            peers,
        };
        self.emit_datagram(id, &emission);
    }

    fn emitted(&mut self, id: FlowId) -> Option<&mut Emitted> {
        self.flows.get_mut(id).map(|(_, flow)| &mut flow.emitted)
    }

    fn event(&mut self, at: Time, session: Option<SessionId>, what: EventKind) {
        self.events.push_back(Event { at, session, what });
    }

    /// Counts a datagram of another protocol, and emits a notice about it once per flow.
    fn emit_foreign(&mut self, id: FlowId, seen: Seen<'_>) {
        self.tally.foreign += 1;
        if self.emit_malformed(id, seen) {
            return;
        }
        let Some((pair, flow)) = self.flows.get_mut(id) else {
            return;
        };
        let (from, to) = pair.ends(seen.from_low);
        if !std::mem::replace(&mut flow.emitted.is_foreign, true) {
            let len = seen.len;
            self.event(
                seen.at,
                None,
                EventKind::Notice(Notice::Foreign { from, to, len }),
            );
        }
    }

    /// Emits a notice about a malformed handshake, once per flow, because no session reports it. Returns false if the
    /// datagram is not a malformed handshake.
    fn emit_malformed(&mut self, id: FlowId, seen: Seen<'_>) -> bool {
        let what = OpensNothing::classify(seen.bytes);
        let is_whole = seen.len == seen.bytes.len();
        if !what.is_malformed() || !is_whole {
            return false;
        }
        let Some((pair, flow)) = self.flows.get_mut(id) else {
            return false;
        };
        let (client, _) = pair.ends(seen.from_low);
        if !std::mem::replace(&mut flow.emitted.is_foreign, true) {
            let notice = Notice::unknown_sender(client, seen.bytes, what);
            self.event(seen.at, None, EventKind::Notice(notice));
        }
        true
    }

    fn emit_connless(&mut self, id: FlowId, seen: Seen<'_>) {
        let Seen {
            at,
            frame,
            from_low,
            bytes,
            len,
        } = seen;
        let Some((pair, flow)) = self.flows.get(id) else {
            return;
        };
        let message = Wire::parse(bytes);
        let named = message.and_then(|message| connless::name(message.data()));
        let dir = match (flow.verdict, named) {
            (Verdict::Peers(peers), _) => Dir::from_sender(peers.sender(from_low)),
            (_, Some(name)) if is_request(name) => Dir::C2s,
            (_, Some(_)) => Dir::S2c,
            // The datagram belongs neither to a player nor to the server browser.
            (Verdict::Open | Verdict::Foreign, None) => {
                return self.emit_foreign(id, seen);
            }
        };
        let (from, to) = pair.ends(from_low);
        let event = Connless {
            dir,
            client: if dir == Dir::C2s { from } else { to },
            bytes: bytes.into(),
            cut: len.saturating_sub(bytes.len()),
            forwarded: true,
            sent: Some(bytes.into()),
            link: Box::default(),
            ends: Ends {
                frame: Some(frame),
                ..Ends::default()
            },
            placed: None,
            made: None,
        };
        self.tally.traffic[dir].count(len);
        self.event(at, None, EventKind::Connless(event));
    }

    fn emit_datagram(&mut self, id: FlowId, emission: &Emission<'_>) {
        let Emission { seen, peers, .. } = *emission;
        let Seen { at, bytes, .. } = seen;
        let sender = peers.sender(seen.from_low);
        let dir = Dir::from_sender(sender);
        self.tally.traffic[dir].count(seen.len);
        let variant = self.variant(emission, sender);
        let missing = emission.missing();
        let known = self
            .emitted(id)
            .and_then(|emitted| emitted.tracker.known_token(dir));
        let proto = if missing.is_some() {
            variant
        } else {
            written_form(variant, bytes, known)
        };
        let role = DatagramRole::parse(proto, bytes, missing.is_some(), &mut self.scratch);
        let clear = role
            .inflated
            .map(|inflated| (self.scratch.inflated(&inflated), inflated));
        let mut event = Datagram::passed(dir, proto, bytes, clear);
        event.ends.frame = Some(seen.frame);
        if let Some(note) = missing {
            event.notes.push(note);
        }
        let session = self.open(id, emission, &role);
        // A reply to a recorded token request is not a request.
        let is_reply = sender == Side::Server
            && self
                .emitted(id)
                .is_some_and(|emitted| emitted.tracker.known_token(dir).is_some());
        let is_request = role.is_token && session.is_none() && !is_reply;
        if is_request || role.requests.is_some() {
            self.emit_malformed(id, seen);
        }
        let Some(emitted) = self.emitted(id) else { return };
        let judged = emitted.tracker.record(RecordedDatagram {
            at,
            dir,
            variant,
            proto,
            role: &role,
            is_cut: missing.is_some(),
            has_session: session.is_some(),
            is_opening: matches!(emitted.state, None | Some(State::Opening)),
        });
        let ordinal = &mut emitted.ordinals[dir];
        *ordinal += 1;
        event.ordinal = *ordinal;
        let state = emitted.state;
        if let Some(code) = judged.token {
            let len = bytes.len();
            event.notes.push(Note { code, at: 0, len });
        }
        if let Some(code) = judged.ack {
            event.notes.push(Note { code, at: 0, len: 2 });
        }
        if judged.is_restart {
            self.event(at, session, EventKind::Notice(Notice::Restart));
        }
        if judged.is_hole {
            self.event(at, session, EventKind::Notice(Notice::Hole));
        }
        self.event(at, session, EventKind::Datagram(event));
        if judged.token.is_some() || session.is_none() {
            return;
        }
        // The receiver ignores a CLOSE with an invalid ack.
        let closes = role.closes.clone().filter(|_| judged.ack.is_none());
        self.emit_change(id, emission, (sender, state), DatagramRole { closes, ..role });
    }

    /// Returns the variant in which a datagram is parsed.
    fn variant(&mut self, emission: &Emission<'_>, sender: Side) -> Proto {
        let Seen { bytes, len, .. } = emission.seen;
        match kind_of(filled_up(&mut self.filled, bytes, len)) {
            // The server may choose another protocol, but the client has written its CONNECT in this one.
            First::Connect { proto, .. } if sender == Side::Client => proto,
            // Senders of 0.6 never set the flag of these packets, so a session of 0.7 may begin here.
            First::TokenRequest { .. } | First::Connect7 { .. } => Proto::V7,
            _ => emission.peers.proto,
        }
    }

    /// Emits the state change of the session that a datagram from `sender` causes, if any.
    fn emit_change(
        &mut self,
        id: FlowId,
        emission: &Emission<'_>,
        (sender, state): (Side, Option<State>),
        role: DatagramRole,
    ) {
        // A reply to a token request does not come from a slot: it may be a late duplicate.
        let is_of_slot = sender == Side::Server && role.closes.is_none() && !role.is_token;
        if state == Some(State::Opening) && (role.accepts || is_of_slot) {
            self.emit_state(emission, id, State::Online, None, None);
        }
        if let Some(reason) = role.closes
            && state != Some(State::Closed)
        {
            self.emit_state(emission, id, State::Closed, Some(sender), reason);
        }
    }

    /// Returns the session of a datagram, and opens the session for its first datagram. Returns `None` for a datagram
    /// that precedes the session.
    fn open(&mut self, id: FlowId, emission: &Emission<'_>, role: &DatagramRole) -> Option<SessionId> {
        let known = self.emitted(id)?.session;
        if known.is_some() || role.is_token {
            return known;
        }
        let session = self.next_session();
        self.emitted(id)?.session = Some(session);
        let peers = emission.peers;
        if role.requests.is_some() || role.accepts {
            if let Some(emitted) = self.emitted(id) {
                emitted.tracker.begin();
            }
            self.emit_state(emission, id, State::Opening, None, None);
            return Some(session);
        }
        let (client, server) = emission.pair.ends(peers.low_is_client);
        let guess = Notice::Guessed {
            proto: peers.proto,
            client,
            server,
            sides_clear: peers.found != Certainty::Likely,
        };
        if peers.found != Certainty::Handshake {
            self.event(emission.seen.at, Some(session), EventKind::Notice(guess));
        }
        self.emit_state(emission, id, State::Online, None, None);
        Some(session)
    }

    fn emit_state(
        &mut self,
        emission: &Emission<'_>,
        id: FlowId,
        state: State,
        by: Option<Side>,
        reason: Option<Box<[u8]>>,
    ) {
        let (client, _) = emission.pair.ends(emission.peers.low_is_client);
        let Some(emitted) = self.emitted(id) else { return };
        emitted.state = Some(state);
        let session = emitted.session;
        let change = change(state, emission.peers.proto, client, by, reason);
        self.event(emission.seen.at, session, EventKind::Session(change));
    }

    /// Emits the end of a flow's session that was not ended by a CLOSE.
    fn emit_end(&mut self, at: Time, id: FlowId) {
        let Some((pair, flow)) = self.flows.get_mut(id) else {
            return;
        };
        let (Verdict::Peers(peers), Some(session)) = (flow.verdict, flow.emitted.session) else {
            return;
        };
        if flow.emitted.state.replace(State::Closed) == Some(State::Closed) {
            return;
        }
        let (client, _) = pair.ends(peers.low_is_client);
        let change = change(State::Closed, peers.proto, client, None, None);
        self.event(at, Some(session), EventKind::Session(change));
    }
}

fn change(
    state: State,
    proto: Proto,
    client: SocketAddr,
    by: Option<Side>,
    reason: Option<Box<[u8]>>,
) -> SessionChange {
    SessionChange {
        state,
        proto,
        client,
        server: None,
        upstream: None,
        by,
        reason,
    }
}

/// Returns true for a request from a server browser, or a message from a server to the master server.
fn is_request(name: &str) -> bool {
    name.starts_with("request_") || name.starts_with("heartbeat") || name == "forward_response"
}
