//! Tests of the sessions and oddities that the judge keeps, and of the silences that it reports.

use std::time::Duration;

use teetap_proxy::session::{Datagram, Event, Notice, Origin, SessionId, State};
use teetap_wire::{Code, Dir, Flags, Note, Proto, Severity, Side, def::Registry};

use super::{
    entries::{Entries, Oddity, Session},
    finding::Occurrence,
    *,
};
use crate::{
    Decoder,
    testing::{chunks, packet, session},
};

const TOPIC: Topic = Topic::Note(Code::WrongToken);

fn id(number: usize) -> Option<SessionId> {
    Some(SessionId(u32::try_from(number).unwrap()))
}

fn add_finding(entries: &mut Entries, number: usize) -> bool {
    let entry = Oddity::new(
        TOPIC,
        Culprit::Client,
        ("for a test".into(), None),
        Occurrence::at(Time::ZERO),
    );
    let session = entries.room(id(number));
    session.map(|session| session.entries.push(entry)).is_some()
}

/// Of a full list, sessions without findings give way in their order. Sessions of the list need no room.
#[test]
fn only_sessions_without_findings_give_way_and_only_to_new_ones() {
    let mut entries = Entries::new();
    let clean = [7, 3000];
    for number in 0..SESSIONS - 2 {
        let is_kept = if clean.contains(&number) {
            entries.session(id(number)).is_some()
        } else {
            add_finding(&mut entries, number)
        };
        assert!(is_kept, "session {number}");
    }
    let is_online = |entries: &mut Entries, number| {
        let session = entries.session(id(number)).unwrap();
        let was_online = format!("{:?}", session.peers) != format!("{:?}", Session::default().peers);
        session.peers.online();
        was_online
    };
    assert!(clean.iter().all(|number| !is_online(&mut entries, *number)));
    // These sessions have no findings either.
    for number in [SESSIONS - 2, SESSIONS - 1, 0, 7, SESSIONS - 1] {
        assert!(entries.session(id(number)).is_some());
    }
    assert!(
        clean.iter().all(|number| is_online(&mut entries, *number)),
        "none has given way"
    );
    let with_findings = |entries: &mut Entries| {
        let is_known = |number: &usize| entries.known(id(*number), TOPIC, Culprit::Client).is_some();
        (0..SESSIONS + 9).filter(is_known).count()
    };
    assert_eq!(with_findings(&mut entries), SESSIONS - 4);
    // Four sessions give way to new ones, and then none.
    for (number, is_kept) in (SESSIONS..).zip([true, true, true, true, false]) {
        assert_eq!(add_finding(&mut entries, number), is_kept, "session {number}");
    }
    assert!(entries.session(id(SESSIONS + 5)).is_none());
    assert_eq!((with_findings(&mut entries), entries.unlisted()), (SESSIONS, 1));
}

/// Returns the findings of these events of a session of 0.7.
fn findings(events: Vec<(u64, EventKind)>) -> Vec<Finding> {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    let begin = (0, EventKind::Session(session(State::Online, Proto::V7)));
    for (ms, what) in std::iter::once(begin).chain(events) {
        let (at, session) = (Time(ms * 1000), Some(SessionId(1)));
        judge.event(&decoder.decode(Event { at, session, what }));
    }
    judge.findings().list
}

fn datagram(bytes: Vec<u8>, code: Option<Code>) -> EventKind {
    let bytes: &'static [u8] = bytes.leak();
    let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, bytes, [bytes].into_iter());
    if let Some(code) = code {
        datagram.notes.push(Note { code, at: 0, len: 2 });
    }
    EventKind::Datagram(datagram)
}

/// An empty datagram loses nothing, but one with bytes that are not read may.
#[test]
fn a_repeated_oddity_leads_once_one_of_them_does() {
    let of = |payload: &[u8]| datagram(packet(Flags::empty(), 0, 0, payload), None);
    let (empty, full) = (|| of(&[]), || of(&[1, 2, 3]));
    for (events, leads) in [
        (vec![empty(), empty()], false),
        (vec![full(), empty()], true),
        (vec![empty(), full()], true),
    ] {
        let found = findings((1..).zip(events).collect());
        let of_empty = found
            .iter()
            .filter(|one| one.topic == Topic::Note(Code::EmptyNoResend));
        let of_empty: Vec<_> = of_empty.map(|one| (one.count, one.leads)).collect();
        assert_eq!(of_empty, [(2, leads)]);
    }
}

/// A peer that sends again was only silent for a while.
#[test]
fn a_silence_is_an_error_until_the_peer_sends_again() {
    let silent = |side| {
        EventKind::Notice(Notice::PeerSilent {
            side,
            time: Duration::from_millis(3500),
            unacked: None,
        })
    };
    let back = || datagram(chunks(0, false, &[]), Some(Code::KeepaliveLate));
    let silence = Topic::FindingCode(FindingCode::PeerSilent);
    let usual = silence.severity_as(silence.role());
    assert!(usual > Severity::Info);
    for (events, severity) in [
        (vec![silent(Side::Client)], usual),
        (vec![silent(Side::Client), back()], Severity::Info),
        (
            vec![silent(Side::Client), back(), silent(Side::Client)],
            Severity::Info,
        ),
        (vec![silent(Side::Server), back()], usual),
    ] {
        let found = findings((1..).zip(events).collect());
        let of_silence = found.iter().filter(|one| one.topic == silence);
        let severities: Vec<_> = of_silence.map(|one| one.severity).collect();
        assert_eq!(severities, [severity]);
    }
}
