//! Findings that no single datagram shows: joins, notices, and oddities reported by other code.

use std::{borrow::Cow, time::Duration};

use teetap_proxy::session::{Event, Notice, OpensNothing, SessionId};
use teetap_wire::{
    Code, Severity, Side, printable,
    receiver::{Refusal, Rejection},
};

use super::{
    Judge,
    entries::Oddity,
    finding::Occurrence,
    finding_code::{FindingCode, PossibleCause, Role, Topic},
    peers::Culprit,
};
use crate::{
    Values,
    joins::{self, Join, JoinOutcome},
};

/// An oddity that no single datagram shows, or that code outside the judge found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The kind of oddity.
    pub topic: Topic,
    /// The session; `None` outside of sessions.
    pub session: Option<SessionId>,
    /// The side that caused the oddity.
    pub by: Culprit,
    /// The severity; `None` for the usual severity of the topic.
    pub severity: Option<Severity>,
    /// Explains the oddity and how the receiver reacts.
    pub text: Cow<'static, str>,
    /// The value received and the value expected instead; `None` if the oddity has no values.
    pub detail: Option<Values>,
    /// Where the oddity was seen. An ongoing state is reported repeatedly; the latest report is its end so far.
    pub place: Occurrence,
}

impl Judge {
    /// Records an oddity that is not a note of a decoded event.
    pub fn report(&mut self, report: Report) {
        self.add(report, None);
    }

    /// Records an oddity; increments the count if the same kind was recorded before. Datagrams of unknown senders are
    /// counted separately for each kind of stranger.
    fn add(&mut self, report: Report, stranger: Option<OpensNothing>) {
        let at = report.place.at;
        let key = (report.topic, report.by, stranger);
        if let Some(entry) = self.entries.known_of(report.session, key) {
            entry.again(at);
            entry.severity = entry.severity.max(report.severity);
            return;
        }
        let Report {
            topic,
            session,
            by,
            severity,
            text,
            detail,
            place,
        } = report;
        if let Some(session) = self.entries.room(session) {
            let mut entry = Oddity::new(topic, by, (text, detail), place);
            entry.severity = severity;
            entry.stranger = stranger;
            session.entries.push(entry);
        }
    }

    pub(super) fn joined(&mut self, join: &Join, other_map: Option<&Values>) {
        if join.outcome == JoinOutcome::Entered {
            self.mended(join);
        }
        let early = Topic::FindingCode(FindingCode::EarlyClose);
        if join.kept
            && let Some(entry) = self.entries.known(Some(join.session), early, Culprit::Client)
        {
            // The client gave up because of what the proxy did to the join.
            (entry.by, entry.role) = (Culprit::Proxy, Some(Role::Consequence));
            entry.led_by = PossibleCause::Proxy;
        }
        if let Some(found) = joins::Finding::of_join(join) {
            let rejection = join.rejection();
            let is_rejected = matches!(
                rejection,
                Some(Rejection::WrongVersion | Rejection::WrongPassword)
            );
            let blamed = if is_rejected {
                Some(Side::Client)
            } else {
                join.blamed
            };
            // If the receiver ignores the message, its sender is at fault even if nothing was acked.
            let acked = join.acked.filter(|_| join.misstep.is_none());
            let awaited = join.awaited.map(|(_, side)| cause(side, acked));
            let is_of_map = other_map.is_some();
            let silent = join.awaited.map(|(_, side)| side);
            let silent = silent.filter(|side| self.is_silent(join.session, *side));
            let awaited = match is_of_map {
                true => Some(Side::Server),
                false => blamed.or(awaited),
            };
            // A full server is no fault of a peer. A peer that has received nothing does not answer.
            let is_full = matches!(
                rejection,
                Some(Rejection::Refused(Refusal::Full | Refusal::PerAddress))
            );
            let is_unheard = join
                .awaited
                .is_some_and(|(_, side)| join.has_received_nothing(side));
            // If the last message was not acked, it was lost, or its receiver refuses it. Without a fault of its sender,
            // neither is proven.
            let is_unproven = join.acked == Some(false)
                && join.cause.is_none()
                && !awaited.is_some_and(|by| self.entries.has_fault(Some(join.session), by.into()));
            let is_unproven = is_unheard || is_unproven;
            if let Some(silent) = silent {
                self.forgive(join.session, silent.other());
            }
            let is_blamed = blamed.is_some() || is_of_map;
            let cause = match is_full || is_unproven && !is_blamed && join.misstep.is_none() {
                true => Some(Culprit::Nobody),
                false => awaited.map(Culprit::from),
            };
            let limit = Topic::FindingCode(FindingCode::HalfOpenLimit);
            let gave_way = self
                .entries
                .known(Some(join.session), limit, Culprit::Proxy)
                .is_some();
            let led_by = match join.note {
                _ if join.kept || gave_way => PossibleCause::Proxy,
                Some(code) => PossibleCause::Only(Topic::Note(code)),
                None => PossibleCause::Any,
            };
            self.joins(found, cause, other_map.cloned(), led_by);
        }
    }

    /// Blames no peer for the stalls of a join that went on when a message was sent again.
    fn mended(&mut self, join: &Join) {
        for by in [Culprit::Client, Culprit::Server, Culprit::Nobody] {
            let topic = Topic::FindingCode(FindingCode::LoginStalled);
            let Some(entry) = self.entries.known(Some(join.session), topic, by) else {
                continue;
            };
            if join.is_by_loss {
                entry.role = Some(Role::Network);
            } else if join.is_resent {
                entry.by = Culprit::Nobody;
            } else {
                // The peer was only slow.
                entry.severity = Some(Severity::Info);
            }
        }
    }

    /// Returns true if a peer has fallen silent, and has not sent again.
    fn is_silent(&mut self, session: SessionId, side: Side) -> bool {
        let silent = Topic::FindingCode(FindingCode::PeerSilent);
        let known = self.entries.known(Some(session), silent, side.into());
        known.is_some_and(|entry| entry.severity != Some(Severity::Info))
    }

    /// Blames no peer for a stall that was attributed to `side`, because the other peer has fallen silent: it may have
    /// ended, or the network has.
    fn forgive(&mut self, session: SessionId, side: Side) {
        let stalled = Topic::FindingCode(FindingCode::LoginStalled);
        if let Some(entry) = self.entries.known(Some(session), stalled, side.into()) {
            entry.by = Culprit::Nobody;
        }
    }

    /// Records a stalled or unfinished join. `cause` is the side that blocks it, unless the proxy held a message back.
    fn joins(
        &mut self,
        found: joins::Finding,
        cause: Option<Culprit>,
        detail: Option<Values>,
        led_by: PossibleCause,
    ) {
        let Some(finding_code) = FindingCode::named(found.code) else {
            return;
        };
        let by = match led_by {
            PossibleCause::Proxy => Culprit::Proxy,
            PossibleCause::Any if self.entries.has_only_losses(Some(found.session)) => Culprit::Nobody,
            PossibleCause::Any | PossibleCause::Only(_) => cause.unwrap_or(Culprit::Client),
        };
        let (topic, session) = (Topic::FindingCode(finding_code), Some(found.session));
        self.report(Report {
            topic,
            session,
            by,
            severity: Some(found.severity),
            text: Cow::Owned(found.sentence),
            detail,
            place: Occurrence::at(found.at),
        });
        if let Some(entry) = self.entries.known(session, topic, by) {
            entry.led_by = led_by;
        }
    }

    pub(super) fn notice(&mut self, event: &Event, notice: &Notice) {
        if let Some(finding_code) = FindingCode::from_notice(notice) {
            self.finding_code(event, notice, finding_code);
        }
        if matches!(notice, Notice::Hole) {
            // The acked chunks and the bases were sent, but not recorded.
            for code in [Code::AckAhead, Code::AckGap, Code::SnapNoBase] {
                self.entries.retract(event.session, Topic::Note(code));
            }
        }
        if let Notice::Suppressed { of, count } = notice {
            self.suppressed(event, of, *count);
        }
        if let (
            Some(found),
            Notice::LoginStalled {
                from,
                waits_for,
                acked,
                kept,
                in_vain,
                ..
            },
        ) = (joins::Finding::of_event(event), notice)
        {
            let led_by = if *kept {
                PossibleCause::Proxy
            } else {
                PossibleCause::Any
            };
            let acked = acked.filter(|_| !in_vain);
            let is_of_map = &**waits_for == "ready" && self.has_sent_wrong_map(event.session);
            let by = match is_of_map {
                true => Culprit::Server,
                false => Culprit::from(cause(*from, acked)),
            };
            self.joins(found, Some(by), None, led_by);
        }
    }

    /// Returns true if the server has sent a map that no client can load.
    fn has_sent_wrong_map(&mut self, session: Option<SessionId>) -> bool {
        [Code::MapPartWrong, Code::MapDiffers].into_iter().any(|code| {
            let known = self.entries.known(session, Topic::Note(code), Culprit::Server);
            known.is_some()
        })
    }

    /// Adds notices about limits of the proxy that were suppressed and reported only as a count. Only sessions with an
    /// earlier notice of that kind are counted.
    fn suppressed(&mut self, event: &Event, of: &str, count: u64) {
        let finding_code =
            FindingCode::named(&of.replace('_', "-")).filter(|finding_code| finding_code.is_limit());
        let Some(finding_code) = finding_code else { return };
        if let Some(entry) =
            self.entries
                .known(event.session, Topic::FindingCode(finding_code), Culprit::Proxy)
        {
            entry.again_times(event.at, count);
        }
    }

    /// Lowers the severity of an earlier silence of a peer that sends again.
    pub(super) fn is_back(&mut self, session: Option<SessionId>, by: Culprit) {
        let silent = Topic::FindingCode(FindingCode::PeerSilent);
        if let Some(entry) = self.entries.known(session, silent, by) {
            entry.severity = Some(Severity::Info);
        }
    }

    fn finding_code(&mut self, event: &Event, notice: &Notice, finding_code: FindingCode) {
        let (client, stranger) = match notice {
            Notice::UnknownSender { client, what, .. } => (Some(*client), Some(*what)),
            Notice::OtherProtocol { client, .. }
            | Notice::ProtocolRefused { client, .. }
            | Notice::AnsweredByProxy { client, .. }
            | Notice::DroppedByProxy { client }
            | Notice::RelayLimit { client } => (Some(*client), None),
            _ => (None, None),
        };
        let report = Report {
            topic: Topic::FindingCode(finding_code),
            session: event.session,
            by: match finding_code {
                FindingCode::PeerSilent => match notice {
                    Notice::PeerSilent { side, .. } => Culprit::from(*side),
                    _ => Culprit::Client,
                },
                FindingCode::UpstreamSilent | FindingCode::UpstreamUnreachable => Culprit::Server,
                FindingCode::Hole => Culprit::Proxy,
                _ if finding_code.is_limit() => Culprit::Proxy,
                _ => Culprit::Client,
            },
            // Bytes that resemble no packet of the game may be from another program than a client.
            severity: stranger
                .is_some_and(|what| finding_code == FindingCode::OpensNothing && !what.is_mistake())
                .then_some(Severity::Warning),
            text: Cow::Owned(printable(notice.to_string().as_bytes())),
            detail: match notice {
                Notice::PeerSilent { time, .. } => Some(silence(*time)),
                _ => None,
            },
            place: Occurrence {
                client,
                ..Occurrence::at(event.at)
            },
        };
        self.add(report, stranger);
    }
}

/// Returns the values of a silence, with the timeouts of the games (`CNetConnection::Update` in `network_conn.cpp`: 10
/// seconds in Teeworlds 0.6.5 and 0.7.5, and `conn_timeout` in DDNet).
fn silence(time: Duration) -> Values {
    Values::new(
        format_args!("nothing for {:.1} s", time.as_secs_f64()),
        Some("a keepalive after 1 s"),
    )
    .and("; Teeworlds closes the session after 10 s, DDNet after 100 s, with the reason \"Timeout\"")
}

/// Returns the side at fault for a stalled join that waits for `awaited`. If the last message was not acked, the other
/// side is at fault.
fn cause(awaited: Side, acked: Option<bool>) -> Side {
    if acked == Some(false) {
        awaited.other()
    } else {
        awaited
    }
}
