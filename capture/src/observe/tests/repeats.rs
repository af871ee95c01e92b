//! Tests of handshakes whose copies arrive late: a client repeats CONNECT and a server repeats its reply until each has
//! an answer, and a network with jitter delivers the copies after later datagrams.

use super::*;

/// Sessions of every variant.
const SESSIONS: [&str; 6] = [
    "dd16-to-tw06",
    "tw06-session",
    "dd-session",
    "tw07-session",
    "sixup-session",
    "tw06c-to-dd20-antispoof",
];

/// Time between two datagrams of the client, in microseconds.
const STEP: u64 = 20_000;

fn is_connect(bytes: &[u8]) -> bool {
    matches!(bytes, [0x10, 0, 0, 1, ..] | [0x04, _, _, _, _, _, _, 1, ..])
}

fn is_token_request(bytes: &[u8]) -> bool {
    matches!(bytes, [0x04, 0, 0, 0xff, 0xff, 0xff, 0xff, 5, ..])
}

fn is_accept(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x10, 0, 0, 2, ..] | [0x18, 0, 0, _, _, _, _, 2, ..] | [0x04, _, _, _, _, _, _, 2, ..]
    )
}

/// Returns the sessions and the number of noted datagrams of a session whose datagrams are 20 ms apart.
fn observed(datagrams: &[(bool, Vec<u8>)]) -> (u64, usize) {
    let spread = script(datagrams, 0, 0).into_iter().zip(0..);
    let (events, tally) = observe(spread.map(|(sighting, index)| Sighting {
        at: Time(index * STEP),
        ..sighting
    }));
    let is_odd =
        |event: &&Event| matches!(&event.what, EventKind::Datagram(datagram) if !datagram.notes.is_empty());
    (tally.sessions, events.iter().filter(is_odd).count())
}

#[test]
fn late_copies_of_a_handshake_begin_no_session() {
    for name in SESSIONS {
        let whole = only_session(name);
        let find = |is: fn(&[u8]) -> bool| whole.iter().position(|(_, bytes)| is(bytes));
        let accept = find(is_accept).unwrap();
        let firsts = [find(is_token_request), find(is_connect)];
        for first in firsts.into_iter().flatten() {
            for late in 1..12 {
                let mut datagrams = whole.clone();
                let place = accept + late;
                // The copy of the reply is later than that of the request, or earlier.
                for order in [[first, accept], [accept, first]] {
                    datagrams.splice(place..place, order.map(|index| whole[index].clone()));
                    assert_eq!(observed(&datagrams), (1, 0), "{name} {late} {order:?}");
                }
            }
        }
    }
}

/// A client that restarts without a CLOSE, with another token or after the time in which copies arrive, begins a
/// session.
#[test]
fn a_restart_soon_after_a_handshake_begins_a_session() {
    for (name, has_token) in [
        ("tw06-session", true),
        ("tw07-session", true),
        ("dd-session", false),
    ] {
        let whole = only_session(name);
        let accept = whole.iter().position(|(_, bytes)| is_accept(bytes)).unwrap();
        for (len, is_new) in [(accept + 8, has_token), (accept + 120, true)] {
            let mut again = whole.clone();
            if has_token {
                let connect = again.iter().position(|(_, bytes)| is_connect(bytes)).unwrap();
                again[connect].1[8] ^= 1;
            }
            let datagrams = [whole[..len].to_vec(), again].concat();
            let sessions = observed(&datagrams).0;
            assert_eq!(sessions, if is_new { 2 } else { 1 }, "{name} {len}");
        }
    }
}
