use proptest::prelude::*;

use super::*;
use crate::receiver::{Verdict, in_window, token_fits};

fn legs() -> impl Strategy<Value = Leg> {
    let first = (
        prop::sample::select(Proto::ALL.to_vec()),
        prop::sample::select(PHASES.to_vec()),
        prop::sample::select(ADMISSIONS.to_vec()),
        any::<bool>(),
    );
    let second = (
        any::<bool>(),
        0u16..1024,
        0u16..1024,
        0u16..1024,
        any::<bool>(),
        any::<Option<u8>>(),
    );
    (first, second).prop_map(|(first, second)| {
        let (proto, phase, admission, has_token) = first;
        let (ack_unknown, ack, peer_ack, sequence, challenges, leftover) = second;
        Leg {
            ack: Seq::new(ack),
            ack_unknown,
            peer_ack,
            sequence: Seq::new(sequence),
            admission,
            challenges,
            leftover,
            ..Leg::new(proto, phase, has_token.then_some(TOKEN))
        }
    })
}

/// Generates bytes that begin like a packet of the leg more often than by chance.
fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let tail = prop::collection::vec(any::<u8>(), 0..1500);
    (any::<u8>(), any::<[u8; 2]>(), any::<bool>(), any::<bool>(), tail).prop_map(
        |(first, [ack, count], token, end, tail)| {
            let mut out = vec![first, ack, count % 4];
            if token {
                out.extend(TOKEN.0);
            }
            out.extend(tail);
            if end {
                out.extend(TOKEN.0);
            }
            out
        },
    )
}

proptest! {
    #[test]
    fn any_datagram_has_a_verdict(leg in legs(), datagram in datagrams(), cut in 0usize..1600) {
        let datagram = datagram.get(..cut).unwrap_or(&datagram);
        for receiver in receivers() {
            let (found, _) = judge(receiver, &leg, datagram);
            prop_assert!(!found.is_empty(), "{receiver:?}");
            prop_assert!(found.iter().all(|finding| receiver.rows().any(|row| std::ptr::eq(row, finding.row))));
            // A finding that ends the handling of the datagram is the last finding.
            let stop = found.iter().position(|finding| finding.row.stops);
            prop_assert!(stop.is_none_or(|stop| stop + 1 == found.len()), "{found:?}");
        }
    }

    #[test]
    fn a_dropped_datagram_leaves_the_numbers(leg in legs(), datagram in datagrams()) {
        for receiver in receivers() {
            let (found, after) = judge(receiver, &leg, &datagram);
            if matches!(found[..], [Finding { verdict: Verdict::Drops, .. }]) {
                prop_assert_eq!(after, leg);
            }
        }
    }

    #[test]
    fn the_window_is_that_of_the_numbers(ack in 0u16..1024, lo in 0u16..1024, hi in 0u16..1024) {
        let expected = Seq::new(ack).is_within(Seq::new(lo), Seq::new(hi));
        prop_assert_eq!(in_window(ack, lo, Seq::new(hi)), expected);
    }
}

#[test]
fn acks_above_1023_are_taken_after_a_wrap_only() {
    assert!(!in_window(1030, 5, Seq::new(8)));
    assert!(in_window(1030, 1020, Seq::new(8)));
}

#[test]
fn a_token_fits_where_none_is_wanted() {
    assert!(token_fits(None, Some(OTHER)) && token_fits(None, None));
    assert!(token_fits(Some(TOKEN), Some(TOKEN)));
    assert!(!token_fits(Some(TOKEN), Some(OTHER)) && !token_fits(Some(TOKEN), None));
}
