//! How a session ended after its client had entered the game. Other sessions end with a finding about their join.

use std::borrow::Cow;

use teetap_proxy::session::{SessionChange, SessionId, State, Time};
use teetap_wire::{
    Code, Side, printable,
    receiver::{Refusal, Rejection},
};

use super::{
    Judge, Report,
    entries::Oddity,
    finding::Occurrence,
    finding_code::{FindingCode, Role, Topic},
    peers::Culprit,
};
use crate::{
    DecodedEvent, Decoder, Values,
    joins::{Join, JoinOutcome, TIMEOUT},
    track::{OpenAtEnd, Unanswered},
};

/// Prefixes of the CLOSE reasons that a peer sends when it gives up on a connection (`CNetConnection::Update` and
/// `QueueChunkEx` in `network_conn.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet).
const LIMITS: [&str; 2] = [TIMEOUT, "Too weak connection"];

/// Prefix of the CLOSE reasons of a server that removes a player (`CServer::Kick` and its callers in `server.cpp` of
/// Teeworlds 0.6.5 and 0.7.5, and of DDNet).
const KICKS: &str = "Kicked";

/// The text for a session whose peers sent no CLOSE.
const NEVER_CLOSED: &str = "never closed: neither peer has sent a CLOSE";

impl Judge {
    /// Records how a session ended, once. The limit of a peer is attributed to the other peer.
    pub(super) fn ended(&mut self, decoded: &DecodedEvent, change: &SessionChange) {
        let event = &decoded.event;
        if !matches!(change.state, State::Closing | State::Closed) {
            return;
        }
        self.unanswered(event.session, &decoded.unanswered);
        // A join that failed has a finding of its own.
        let has_failed = |join: &Join| join.outcome != JoinOutcome::Entered;
        let is_in_game =
            self.entries.is_online(event.session) && !decoded.joined.as_deref().is_some_and(has_failed);
        let reason = change.reason.as_deref().map(printable).unwrap_or_default();
        let end = End::new(change.by, change.reason.is_some(), &reason);
        if !is_in_game && end.code != FindingCode::TimedOut {
            return;
        }
        let mut text = end.text;
        if !reason.is_empty() {
            text = format!("{text}: \"{reason}\"").into();
        }
        let open = decoded.open_at_end.as_deref();
        // A peer whose datagrams were recorded until the end did not fall silent: they were lost, or the other peer is
        // wrong.
        let is_heard = |side| open.is_some_and(|open| open.is_heard(side));
        let is_timeout = end.code == FindingCode::TimedOut;
        let is_silence = reason.starts_with(TIMEOUT);
        if is_timeout && self.is_false_limit((event.session, event.at), (end.by, is_silence), &text, open) {
            return;
        }
        // A peer does not ack messages that follow a number that the other peer has never sent.
        let has_gap = |side: Side| {
            let topic = Topic::Note(Code::SeqGap);
            self.entries.known(event.session, topic, side.into()).is_some()
        };
        let is_own_gap = is_timeout && !is_silence && change.by.is_some_and(has_gap);
        let is_refuted = is_timeout && is_silence;
        let by = match end.by.side().filter(|side| is_refuted && is_heard(*side)) {
            Some(_) => Culprit::Nobody,
            None if is_own_gap => end.by.side().map_or(end.by, |side| side.other().into()),
            None => end.by,
        };
        let detail = open.and_then(|open| match (end.code, end.by.side()) {
            (FindingCode::TimedOut, Some(side)) => Some(open.of(side).into()),
            (_, None) if end.by == Culprit::Nobody => open.silences().map(Values::from),
            _ => None,
        });
        self.end(event.session, (end.code, by), (text, detail), event.at);
    }

    /// Records a limit that its reason falsely names: `limited` is the side that is said to have been silent (`is_silence`)
    /// or not to have acked. Returns true if such an end is recorded.
    fn is_false_limit(
        &mut self,
        (session, at): (Option<SessionId>, Time),
        (limited, is_silence): (Culprit, bool),
        text: &str,
        open: Option<&OpenAtEnd>,
    ) -> bool {
        let Some(limited) = limited.side() else {
            return false;
        };
        let (code, closer) = (FindingCode::TimedOut, Culprit::from(limited.other()));
        let topic = Topic::FindingCode(code);
        let refuted = open.and_then(|open| open.refutes(limited, is_silence));
        if let Some(refuted) = refuted.filter(|_| self.entries.is_online(session)) {
            self.end(
                session,
                (code, closer),
                (text.to_owned().into(), Some(refuted)),
                at,
            );
            if let Some(entry) = self.entries.known(session, topic, closer) {
                entry.role = Some(Role::Fault);
            }
        }
        let known = self.entries.known(session, topic, closer);
        known.is_some_and(|entry| entry.role == Some(Role::Fault))
    }

    /// Records the sessions that are still online at the end of the recording.
    pub(super) fn never_closed(&mut self, decoder: &mut Decoder) {
        for session in self.entries.online() {
            let unanswered = decoder.unanswered(session, self.last);
            self.unanswered(Some(session), &unanswered);
            let open = decoder.open_at_end(session, self.last);
            let detail = open.and_then(|open| open.silences()).map(Values::from);
            let by = (FindingCode::SessionEnd, Culprit::Nobody);
            self.end(Some(session), by, (NEVER_CLOSED.into(), detail), self.last);
        }
    }

    /// Records what the peers of a session have never answered, once.
    fn unanswered(&mut self, session: Option<SessionId>, list: &[Unanswered]) {
        for one in list {
            let (topic, by) = (Topic::FindingCode(FindingCode::Unanswered), one.side.into());
            let name = one.name().map(Cow::Borrowed);
            if self.entries.has_place(session, topic, by, name.as_deref()) {
                continue;
            }
            let place = Occurrence {
                dir: Some(one.place.dir),
                datagram: Some(one.place.datagram).filter(|ordinal| *ordinal > 0),
                frame: one.place.frame,
                message: name,
                ..Occurrence::at(one.place.at)
            };
            let oddity = Oddity::new(topic, by, (one.text().into(), Some(one.values())), place);
            if let Some(session) = self.entries.room(session) {
                session.entries.push(oddity);
            }
        }
    }

    fn end(
        &mut self,
        session: Option<SessionId>,
        (code, by): (FindingCode, Culprit),
        (text, detail): (Cow<'static, str>, Option<Values>),
        at: Time,
    ) {
        let topic = Topic::FindingCode(code);
        if self.entries.known(session, topic, by).is_none() {
            self.report(Report {
                topic,
                session,
                by,
                severity: None,
                text,
                detail,
                place: Occurrence::at(at),
            });
        }
    }
}

/// The kind of an end, the side that is responsible for it, and a sentence without the reason.
struct End {
    code: FindingCode,
    by: Culprit,
    text: Cow<'static, str>,
}

impl End {
    /// Classifies the end of a session that `by` closed; `None` if neither peer closed it. `has_reason` is true if the
    /// CLOSE or the proxy gave a reason.
    fn new(by: Option<Side>, has_reason: bool, reason: &str) -> Self {
        let Some(side) = by else {
            return match has_reason {
                true => Self {
                    code: FindingCode::SessionEnd,
                    by: Culprit::Proxy,
                    text: "teetap closed the session".into(),
                },
                false => Self {
                    code: FindingCode::SessionEnd,
                    by: Culprit::Nobody,
                    text: NEVER_CLOSED.into(),
                },
            };
        };
        let closed = format!("the {side} closed the session").into();
        let (code, by, text) = match side {
            _ if LIMITS.iter().any(|limit| reason.starts_with(limit)) => {
                (FindingCode::TimedOut, side.other(), closed)
            }
            Side::Server if is_ban(reason) => {
                (FindingCode::Kicked, side, "the server banned the client".into())
            }
            Side::Server if reason.starts_with(KICKS) => {
                (FindingCode::Kicked, side, "the server kicked the client".into())
            }
            Side::Client | Side::Server => (FindingCode::SessionEnd, side, closed),
        };
        let by = by.into();
        Self { code, by, text }
    }
}

/// Returns true if the reason of a CLOSE names a ban.
fn is_ban(reason: &str) -> bool {
    Rejection::from_reason(reason) == Some(Rejection::Refused(Refusal::Banned))
}
