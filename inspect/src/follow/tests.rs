//! Tests of session statistics.

use std::{fs::File, io::BufReader};

use teetap_capture::{Item, Playback};
use teetap_proxy::session::{Action, Datagram, Event, Origin, Placed};
use teetap_wire::{Dir, Proto, Side, def::Registry};

use super::*;
use crate::{Decoder, testing};

/// The 0.7 `ready` message.
const READY: &[u8] = b"\x25";

struct Feed {
    decoder: Decoder,
    follow: Statistics,
    ms: u64,
}

impl Feed {
    fn new() -> Self {
        Self {
            decoder: Decoder::new(Registry::builtin()),
            follow: Statistics::default(),
            ms: 0,
        }
    }

    fn push(&mut self, session: u32, what: EventKind) -> Ties {
        self.ms += 10;
        let event = Event {
            at: Time(self.ms * 1000),
            session: Some(SessionId(session)),
            what,
        };
        self.follow.event(&self.decoder.decode(event))
    }

    /// Plays a datagram with one vital message to the server. Depending on `action`, it is forwarded unchanged or not
    /// sent.
    fn vital(&mut self, seq: u16, resend: bool, action: Action) -> Ties {
        let bytes = testing::chunks(0, resend, &[(Some(seq), READY)]);
        let left = action == Action::Pass;
        let mut datagram = if left {
            Datagram::passed(Dir::C2s, Proto::V7, &bytes, None)
        } else {
            Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, &bytes, std::iter::empty())
        };
        datagram.placed = [Placed::new(left.then_some(Seq::new(seq)), action)].into();
        self.push(1, EventKind::Datagram(datagram))
    }

    fn ack(&mut self, ack: u16) {
        let bytes = testing::chunks(ack, false, &[]);
        self.push(
            1,
            EventKind::Datagram(Datagram::passed(Dir::S2c, Proto::V7, &bytes, None)),
        );
    }

    fn leg(&self, side: Side) -> &Leg {
        self.follow.session(SessionId(1)).unwrap().leg(side)
    }
}

#[test]
fn a_resend_shows_the_leg_that_lost_the_original() {
    let mut feed = Feed::new();
    feed.vital(1, false, Action::Pass);
    let ties = feed.vital(3, false, Action::Gap);
    let first = Seq::new(2);
    assert_eq!(ties.missing, Some(Missing { first, count: 1 }));
    // Message 2 was lost on the client leg. Message 3 was kept back by the proxy.
    let ties = feed.vital(2, true, Action::Pass);
    assert_eq!(
        ties.resends,
        [Resend {
            seq: first,
            first: None
        }]
    );
    feed.vital(3, true, Action::Pass);
    assert_eq!((feed.leg(Side::Client).lost, feed.leg(Side::Server).lost), (1, 0));
    // The message was forwarded before, so it was lost on the server leg.
    let ties = feed.vital(2, true, Action::Pass);
    assert_eq!(ties.resends[0].first, Some(Time(30_000)));
    assert_eq!((feed.leg(Side::Client).lost, feed.leg(Side::Server).lost), (1, 1));
    assert_eq!(
        (feed.leg(Side::Client).resends, feed.leg(Side::Server).resends),
        (3, 3)
    );
    feed.follow.gap();
    assert_eq!(feed.vital(9, false, Action::Pass).missing, None);
}

#[test]
fn an_ack_of_the_server_ends_the_trip_on_its_leg() {
    let mut feed = Feed::new();
    feed.vital(1, false, Action::Pass);
    feed.ack(0);
    feed.ack(1);
    assert_eq!(feed.leg(Side::Server).rtt(), Some(20.0));
    assert_eq!(feed.leg(Side::Client).rtt(), None);
    let session = feed.follow.session(SessionId(1)).unwrap();
    let tracks: Vec<_> = session.way(Dir::C2s).points().map(|point| point.track).collect();
    assert_eq!(
        tracks,
        [
            Track::SeqIn,
            Track::SeqOut,
            Track::AckIn,
            Track::AckOut,
            Track::AckIn,
            Track::AckOut
        ]
    );
}

#[test]
fn sessions_are_bounded_and_one_that_opens_again_is_new() {
    let mut feed = Feed::new();
    let change = |state| EventKind::Session(testing::session(state, Proto::V7));
    for id in 0..300 {
        feed.push(id, change(State::Opening));
        if id == 7 {
            feed.push(id, change(State::Closed));
        }
    }
    let ids: Vec<_> = feed.follow.sessions().map(|(SessionId(id), _)| id).collect();
    assert_eq!(ids.len(), SESSIONS);
    assert!(!ids.contains(&7) && !ids.contains(&0) && ids.contains(&299));
    feed.push(299, change(State::Closed));
    feed.push(299, change(State::Opening));
    let session = feed.follow.session(SessionId(299)).unwrap();
    assert_eq!(session.state, State::Opening);
}

#[test]
fn a_recorded_game_has_all_values() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/rich-tw07.pcap");
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    decoder.measure_items();
    let mut follow = Statistics::default();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            follow.event(&decoder.decode(event));
        }
    }
    let (_, session) = follow.sessions().next().unwrap();
    let [client, server] = [Side::Client, Side::Server].map(|side| session.leg(side));
    let is_near =
        |value: Option<f64>, expected: f64| value.is_some_and(|value| (value - expected).abs() < 0.01);
    assert!(is_near(client.rtt(), 6.084) && is_near(server.rtt(), 10.182));
    assert_eq!(session.player.as_deref(), Some("alice"));
    assert_eq!((client.lost, server.lost), (0, 0));
    // The server sends 25 snapshots per second.
    assert!(is_near(session.intervals.mean(), 40.009));
    assert!(is_near(session.intervals.spread(), 2.327));
    assert!(is_near(session.snapshots.mean(), 5.783));
    assert!(is_near(session.margins.mean(), 11.342));
    assert_eq!(session.margins.last(), Some(11.0));
    assert!(is_near(session.counts.packed(Dir::S2c).ratio(), 0.619));
    let mut messages = session.counts.messages();
    let (_, _, inputs) = messages.find(|(_, name, _)| *name == "input").unwrap();
    assert_eq!((inputs.messages, inputs.bytes), (528, 9504));
    let mut items = session.counts.items();
    let (_, characters) = items.find(|(name, _)| *name == "character").unwrap();
    assert_eq!((characters.items, characters.bytes), (65, 1647));
}
