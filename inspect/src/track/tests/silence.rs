//! Peers that have stopped sending.

use std::time::Duration;

use teetap_proxy::session::{Event, EventKind, Notice, State, Time};
use teetap_wire::Side;

use super::*;

/// Returns the notices that are due before `before`, in milliseconds.
fn due(script: &mut Script, before: u64) -> Vec<(u64, Notice)> {
    let mut found = Vec::new();
    while let Some(decoded) = script.decoder.due(Time(before * 1000)) {
        let Event { at, what, .. } = decoded.event;
        if let EventKind::Notice(notice @ Notice::PeerSilent { .. }) = what {
            found.push((at.0 / 1000, notice));
        }
    }
    found
}

fn silent(unacked: Option<&str>) -> Notice {
    Notice::PeerSilent {
        side: Side::Client,
        time: Duration::from_millis(3500),
        unacked: unacked.map(Into::into),
    }
}

/// The server sends, and the client is silent from 1000 ms on. No datagram is sent after 3000 ms.
#[test]
fn the_clock_shows_a_silence_once() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::C2s, 0, 1);
        for number in 1..=4 {
            script.at += 500_000;
            script.vital(Dir::S2c, 0, number);
        }
        assert_eq!(due(&mut script, 4500), [], "{proto}");
        let expected = [(4500, silent(Some("1 to 4")))];
        assert_eq!(due(&mut script, 4501), expected, "{proto}");
        assert_eq!(due(&mut script, 60_000), []);
        // The client sends again, and falls silent again.
        script.at = 9_000_000;
        let back = script.keepalive(Dir::C2s, 4);
        assert_eq!(back[0].0, Code::KeepaliveLate);
        for _ in 0..3 {
            script.at += 500_000;
            script.keepalive(Dir::S2c, 0);
        }
        assert_eq!(due(&mut script, 60_000), [(12_500, silent(None))]);
    }
}

/// A pause of both peers, a session that is closing or not online, and a notice that is already in the recording.
#[test]
fn nobody_is_silent_whom_nobody_talks_to() {
    for case in ["both rest", "closing", "known", "hears two", "joins"] {
        let mut script = Script::new(Proto::V7);
        if case != "joins" {
            script.vital(Dir::C2s, 0, 1);
        }
        script.keepalive(Dir::C2s, 0);
        let others = match case {
            "both rest" => 0,
            "hears two" => 2,
            _ => 5,
        };
        for _ in 0..others {
            script.at += 100_000;
            script.keepalive(Dir::S2c, 0);
        }
        match case {
            "closing" => script.state(State::Closing),
            "known" => script.notice(silent(None)),
            _ => {}
        }
        assert_eq!(due(&mut script, 60_000), [], "{case}");
    }
}
