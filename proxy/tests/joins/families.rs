//! Clients that speak a protocol that the server does not speak. They get no answer, as without the proxy,
//! and a notice says why. Whatever the probe has found, a client that can join directly can join through the
//! proxy.

use teetap_kit::{
    codec::{NO_TOKEN, Variant, control},
    link::{MS, SECOND},
    world::Place,
};
use teetap_proxy::session::{EventKind, Family, Input, Notice, SessionId, Speaks};

use crate::stage::{Pair, Stage, pair};

const SIX: [Variant; 3] = [Variant::V6, Variant::V65, Variant::Ddnet];
const SIX_ONLY: Speaks = Speaks {
    six: Some(true),
    seven: Some(false),
};
const SEVEN_ONLY: Speaks = Speaks {
    six: Some(false),
    seven: Some(true),
};

const BOTH: Speaks = Speaks {
    six: Some(true),
    seven: Some(true),
};

/// Returns a client that has just begun to join, whose first datagram is sent after the result of the probe.
fn probed(pair: Pair, speaks: Speaks) -> Stage {
    let mut stage = Stage::new(pair, 7);
    stage.world.input(Input::Probed(speaks));
    stage
}

/// Returns the notices about the client's protocol: session, protocol of the client and protocol of the
/// server.
fn mismatches(stage: &Stage) -> Vec<(Option<SessionId>, Family, Family)> {
    let events = stage.world.events.iter();
    let found = events.filter_map(|event| match event.what {
        EventKind::Notice(Notice::OtherProtocol {
            client_speaks,
            server_speaks,
            ..
        }) => Some((event.session, client_speaks, server_speaks)),
        _ => None,
    });
    found.collect()
}

fn sent(stage: &Stage, place: Place) -> usize {
    let sent = stage.world.network.sent.as_deref().unwrap_or_default();
    sent.iter().filter(|sent| sent.place == place).count()
}

/// A DDNet server ignores the token flag in a CONNECT of 0.6.5, so the CONNECT opens a session there.
#[test]
fn a_token_flag_in_connect_is_a_mistake_only_before_a_server_of_teeworlds() {
    let client = "10.7.0.1:7000".parse().unwrap();
    let mut connect = control::connect(Variant::V65, [1, 2, 3, 4], NO_TOKEN);
    connect[0] |= 0x08;
    for (speaks, opens) in [(SIX_ONLY, false), (BOTH, true)] {
        let mut stage = probed(Pair::ALL[0], speaks);
        stage.world.stranger_sends(client, &connect);
        let hub = stage.world.hub().unwrap();
        assert_eq!(hub.session_of(client).is_some(), opens, "{speaks:?}");
        let names = |notice: &Notice| matches!(notice, Notice::UnknownSender { .. });
        assert_eq!(stage.notices().iter().any(names), !opens, "{speaks:?}");
    }
}

#[test]
fn a_token_request_before_a_server_of_0_6_has_no_answer() {
    // A server of DDNet answers it.
    for server in [Variant::V6, Variant::V65] {
        let mut stage = probed(pair(Variant::V7, server), SIX_ONLY);
        stage.run(4 * SECOND);
        assert_eq!(sent(&stage, Place::ToClient), 0, "{server:?}");
        let found = mismatches(&stage);
        assert!(found.len() > 1, "{server:?}");
        assert!(
            found.iter().all(|one| *one == (None, Family::Seven, Family::Six)),
            "{server:?}: {found:?}"
        );
        // The server itself gets a request, once a second.
        assert!((3..=5).contains(&sent(&stage, Place::ToServer)), "{server:?}");
        assert_eq!(stage.world.hub().unwrap().sessions(), 0, "{server:?}");
        assert_eq!(stage.world.sockets.len(), 1, "{server:?}");
        stage.vanish();
        stage.run(12 * SECOND);
        stage.assert_clear("the socket for the question is open");
    }
}

#[test]
fn the_server_decides_where_the_probe_was_wrong() {
    for server in [Variant::V7, Variant::D7] {
        let mut stage = probed(pair(Variant::V7, server), SIX_ONLY);
        stage.run(2 * SECOND);
        stage.assert_plays();
        assert_eq!(mismatches(&stage).len(), 1, "{server:?}");
        // The server's answer has shown that it speaks 0.7.
        stage.world.input(Input::Probed(SIX_ONLY));
        stage.leave("bye");
        stage.run(SECOND);
        stage.restart();
        stage.run(2 * SECOND);
        stage.assert_plays();
        assert_eq!(mismatches(&stage).len(), 1, "{server:?}");
    }
}

#[test]
fn nothing_is_refused_before_the_probe_has_found_something() {
    for speaks in [
        None,
        Some(Speaks::default()),
        Some(Speaks {
            six: Some(true),
            seven: None,
        }),
        Some(Speaks {
            six: Some(false),
            seven: Some(false),
        }),
    ] {
        let mut stage = Stage::new(pair(Variant::V7, Variant::V65), 7);
        if let Some(speaks) = speaks {
            stage.world.input(Input::Probed(speaks));
        }
        stage.run(SECOND);
        assert_ne!(sent(&stage, Place::ToClient), 0, "{speaks:?}");
        assert_eq!(mismatches(&stage), [], "{speaks:?}");
        // The waiting session is reported as soon as the server's protocol is known, and nothing else
        // changes.
        stage.world.input(Input::Probed(SIX_ONLY));
        let id = stage.session();
        assert!(id.is_some());
        assert_eq!(
            mismatches(&stage),
            [(id, Family::Seven, Family::Six)],
            "{speaks:?}"
        );
    }
}

#[test]
fn a_client_of_0_6_before_a_server_of_0_7_is_told_apart() {
    for client in SIX {
        let mut stage = probed(pair(client, Variant::V7), SEVEN_ONLY);
        stage.run(3 * SECOND);
        let id = stage.session();
        assert_eq!(sent(&stage, Place::ToClient), 0, "{client:?}");
        assert_ne!(sent(&stage, Place::ToServer), 0, "{client:?}");
        assert_eq!(
            mismatches(&stage),
            [(id, Family::Six, Family::Seven)],
            "{client:?}"
        );
    }
}

#[test]
fn a_probe_that_was_wrong_keeps_no_client_of_0_6_out() {
    for speaks in [SIX_ONLY, SEVEN_ONLY] {
        for both in Pair::ALL {
            let mut stage = probed(both, speaks);
            stage.run(2 * SECOND + 500 * MS);
            stage.assert_plays();
        }
    }
}
