//! Tests of facts about sessions.

use std::{fs::File, io::BufReader};

use teetap_capture::{Item, Playback};
use teetap_proxy::session::{Action, Datagram, Event, Origin, Placed};
use teetap_wire::{Dir, Proto, Side, def::Registry};

use super::*;
use crate::{Decoder, testing};

/// 0.7's ready.
const READY: &[u8] = b"\x25";

struct Feed {
    decoder: Decoder,
    follow: Follow,
    ms: u64,
}

impl Feed {
    fn new() -> Self {
        Self {
            decoder: Decoder::new(Registry::builtin()),
            follow: Follow::default(),
            ms: 0,
        }
    }

    fn push(&mut self, session: u32, what: What) -> Ties {
        self.ms += 10;
        let event = Event {
            at: Time(self.ms * 1000),
            session: Some(SessionId(session)),
            what,
        };
        self.follow.event(&self.decoder.decode(event))
    }

    /// A datagram with one vital message to the server, which leaves as it came or not at all.
    fn vital(&mut self, seq: u16, resend: bool, action: Action) -> Ties {
        let bytes = testing::chunks(0, resend, &[(Some(seq), READY)]);
        let left = action == Action::Pass;
        let mut datagram = if left {
            Datagram::passed(Dir::C2s, Proto::V7, &bytes, None)
        } else {
            Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, &bytes, std::iter::empty())
        };
        datagram.placed = [Placed::new(left.then_some(Seq::new(seq)), action)].into();
        self.push(1, What::Datagram(datagram))
    }

    fn ack(&mut self, ack: u16) {
        let bytes = testing::chunks(ack, false, &[]);
        self.push(
            1,
            What::Datagram(Datagram::passed(Dir::S2c, Proto::V7, &bytes, None)),
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
    // 2 never came: the client's leg lost it. 3 was kept back by the proxy.
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
    // It passed before, so it was lost after the proxy.
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
    let change = |state| What::Session(testing::session(state, Proto::V7));
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
    let mut follow = Follow::default();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            follow.event(&decoder.decode(event));
        }
    }
    let (_, session) = follow.sessions().next().unwrap();
    let [client, server] = [Side::Client, Side::Server].map(|side| session.leg(side));
    assert!(client.rtt().is_some() && server.rtt().is_some());
    assert!(session.player.is_some());
    assert_eq!((client.lost, server.lost), (0, 0));
    // 25 or 50 snapshots in a second.
    let interval = session.intervals.mean().unwrap();
    assert!((15.0..60.0).contains(&interval), "{interval}");
    assert!(session.snapshots.mean().unwrap() > 1.0);
    assert!(session.margins.last().is_some());
    let packed = session.counts.packed(Dir::S2c);
    assert!(
        packed.ratio().is_some_and(|ratio| ratio > 0.2 && ratio < 1.0),
        "{packed:?}"
    );
    let inputs = session
        .counts
        .messages()
        .find(|(_, name, _)| *name == "input")
        .unwrap();
    assert!(inputs.2.messages > 100 && inputs.2.bytes > inputs.2.messages);
    let (_, characters) = session
        .counts
        .items()
        .find(|(name, _)| *name == "character")
        .unwrap();
    assert!(characters.items > 10 && characters.bytes > 5 * characters.items);
}
