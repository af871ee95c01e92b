//! Tests of the limits of contexts.

#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

use teetap_wire::{
    Dir, Proto, Seq,
    def::{Class, Datum, Decoded, Registry},
    snap::{ItemKey, Sizes, Snapshot},
};

use super::*;
use crate::eval::Identity;

fn client() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 52000).into()
}

/// Returns a message in which the client gives its name as "me".
fn start_info(session: u32) -> MessageView<'static> {
    let data = b"\x36me\0";
    let found = Registry::builtin().message(Proto::V7, Dir::C2s, data);
    MessageView {
        at: 5,
        session: Some(session),
        proto: Proto::V7,
        dir: Dir::C2s,
        class: Some(Class::Game),
        id: Identity::Number(27),
        def: found.map(|found| found.def),
        body: found.map_or(0, |found| found.body),
        data,
        seq: None,
        seq_out: None,
        resend: false,
        delivered: true,
        first: false,
        again: false,
        leg: None,
        client: None,
        packet: PacketView::default(),
        done: None,
    }
}

fn take(contexts: &mut Contexts, view: &MessageView<'_>) {
    let fields = Lazy::new(view.def, view.data, view.body, Decoded::new());
    contexts.observe(view, &fields);
    contexts.learn(view, &fields);
}

fn name(contexts: &Contexts, session: u32) -> Option<&[u8]> {
    contexts.get(session)?.known().players.own_name()
}

#[test]
fn the_session_that_was_silent_longest_gives_way() {
    let mut contexts = Contexts::new(Registry::builtin());
    for session in 0..5_000 {
        take(&mut contexts, &start_info(session));
        // Session 7 is never silent.
        take(&mut contexts, &start_info(7));
    }
    assert_eq!(contexts.len(), SESSIONS);
    assert_eq!(
        [0, 7, 4_999].map(|id| name(&contexts, id).is_some()),
        [false, true, true]
    );
}

#[test]
fn a_session_that_ends_or_opens_is_forgotten() {
    let mut contexts = Contexts::new(Registry::builtin());
    take(&mut contexts, &start_info(1));
    assert_eq!(name(&contexts, 1), Some(&b"me"[..]));
    contexts.on_session(6, 1, SessionState::Online, client());
    assert_eq!(contexts.of_session(Some(1)).known().state, SessionState::Online);
    assert!(name(&contexts, 1).is_some());
    contexts.on_session(7, 1, SessionState::Closing, client());
    contexts.on_session(7, 1, SessionState::Closed, client());
    assert!(contexts.is_empty());
    take(&mut contexts, &start_info(1));
    contexts.on_session(8, 1, SessionState::Opening, client());
    assert_eq!(name(&contexts, 1), None);
    assert_eq!(contexts.of_session(Some(1)).known().since, 8);
}

/// A recording may contain datagrams after CLOSE: a session that was online is known until later sessions have been
/// closed.
#[test]
fn a_session_that_was_online_survives_its_close() {
    let mut contexts = Contexts::new(Registry::builtin());
    let close = |contexts: &mut Contexts, session| {
        contexts.on_session(5, session, SessionState::Opening, client());
        contexts.on_session(6, session, SessionState::Online, client());
        take(contexts, &start_info(session));
        contexts.on_session(7, session, SessionState::Closed, client());
    };
    close(&mut contexts, 1);
    assert_eq!(name(&contexts, 1), Some(&b"me"[..]));
    assert_eq!(contexts.of_session(Some(1)).known().state, SessionState::Closed);
    (2..=256).for_each(|session| close(&mut contexts, session));
    assert!(name(&contexts, 1).is_some());
    close(&mut contexts, 257);
    assert_eq!((name(&contexts, 1), contexts.len()), (None, 256));
    // Another session has the same number.
    contexts.on_session(8, 2, SessionState::Opening, client());
    close(&mut contexts, 258);
    assert_eq!(name(&contexts, 2), None);
    assert_eq!(contexts.of_session(Some(2)).known().state, SessionState::Opening);
}

#[test]
fn names_that_nobody_needs_are_not_learned() {
    let mut contexts = Contexts::new(Registry::builtin());
    contexts.set_needs(Needs::NOTHING);
    take(&mut contexts, &start_info(1));
    assert_eq!(name(&contexts, 1), None);
    contexts.set_needs(Needs {
        names: Names::Own,
        ..Needs::NOTHING
    });
    let refused = MessageView {
        delivered: false,
        ..start_info(1)
    };
    take(&mut contexts, &refused);
    assert_eq!(name(&contexts, 1), None);
    take(&mut contexts, &start_info(1));
    assert_eq!(name(&contexts, 1), Some(&b"me"[..]));
}

/// Returns a message of DDNet's server with these values.
fn from_server(name: &str, values: &[(&str, Datum)]) -> Vec<u8> {
    let mut named = Registry::builtin().named(Proto::Ddnet, Some(Class::System), name);
    let mut data = Vec::new();
    let values = values.iter().map(|(name, value)| (*name, value.clone()));
    named
        .next()
        .unwrap()
        .encode(&Datum::group(values), &mut data)
        .unwrap();
    data
}

fn view_of_server(session: u32, data: &[u8]) -> MessageView<'_> {
    let found = Registry::builtin().message(Proto::Ddnet, Dir::S2c, data);
    MessageView {
        proto: Proto::Ddnet,
        dir: Dir::S2c,
        class: Some(Class::System),
        id: Identity::Other,
        def: found.map(|found| found.def),
        body: found.map_or(0, |found| found.body),
        data,
        ..start_info(session)
    }
}

/// Returns a complete snapshot of tees.
fn snapshot(tick: i32, tees: u16) -> Vec<u8> {
    let (mut world, mut data) = (Snapshot::new(), Vec::new());
    for id in 0..tees {
        world.insert(ItemKey { kind: 9, id }, &[tick; 22]).unwrap();
    }
    let sizes = Sizes::new(Registry::builtin(), Proto::Ddnet);
    world.delta(&Snapshot::new(), &sizes, &mut data).unwrap();
    from_server(
        "snap_single",
        &[
            ("tick", i64::from(tick).into()),
            ("delta_tick", i64::from(tick + 1).into()),
            ("crc", i64::from(world.crc()).into()),
            ("data", Datum::Bytes(data)),
        ],
    )
}

/// The snapshots of all sessions share one memory limit, and silent sessions are dropped first.
#[test]
fn snapshots_of_silent_sessions_give_way() {
    let mut contexts = Contexts::new(Registry::builtin()).with_limit(200 << 10);
    let mut most = 0;
    for session in 1..=64 {
        contexts.on_session(1, session, SessionState::Opening, client());
        for tick in 100..140 {
            take(&mut contexts, &view_of_server(session, &snapshot(tick, 10)));
            most = most.max(contexts.held());
        }
        let newest = contexts.get(session).unwrap().store().unwrap().newest();
        assert_eq!(newest.map(|(tick, _)| tick), Some(139));
    }
    assert!((100 << 10..=200 << 10).contains(&most), "{most}");
    // The other facts about the first session remain.
    assert_eq!(contexts.len(), 64);
    assert!(contexts.get(1).unwrap().store().is_none());
    // The first session sends again, and its snapshots are known to be incomplete.
    let difference = from_server("snap_empty", &[("tick", 150.into()), ("delta_tick", 5.into())]);
    take(&mut contexts, &view_of_server(1, &difference));
    let store = contexts.get(1).unwrap().store().unwrap();
    assert!(!store.whole() && store.is_empty() && store.notes().is_empty());
}

#[test]
fn a_repeat_is_not_followed_and_the_end_of_a_session_frees_its_snapshots() {
    let mut contexts = Contexts::new(Registry::builtin());
    let map = from_server("map_change", &[("name", "dm1".into())]);
    let change = |resend| MessageView {
        seq: Some(Seq::new(7)),
        resend,
        ..view_of_server(1, &map)
    };
    contexts.on_session(1, 1, SessionState::Opening, client());
    take(&mut contexts, &change(false));
    take(&mut contexts, &view_of_server(1, &snapshot(100, 4)));
    take(&mut contexts, &change(true));
    let kept = |contexts: &Contexts| contexts.get(1).unwrap().store().unwrap().len();
    assert_eq!(kept(&contexts), 1);
    take(&mut contexts, &change(false));
    assert_eq!(kept(&contexts), 0);
    take(&mut contexts, &view_of_server(1, &snapshot(100, 4)));
    assert!(contexts.held() > 0);
    contexts.on_session(2, 1, SessionState::Closed, client());
    assert_eq!(contexts.held(), 0);
}

/// A session that holds more than the limit alone keeps its snapshots.
#[test]
fn a_session_that_sends_does_not_give_way() {
    let mut contexts = Contexts::new(Registry::builtin()).with_limit(1);
    for session in [1, 2] {
        contexts.on_session(1, session, SessionState::Opening, client());
        for tick in 100..110 {
            take(&mut contexts, &view_of_server(session, &snapshot(tick, 10)));
        }
    }
    let newest = |session| contexts.get(session)?.store()?.newest().map(|(tick, _)| tick);
    assert_eq!(
        [newest(1), newest(2)],
        [None, Some(109)],
        "newest tick of a silent session, and of one that sends"
    );
}
