//! Bounds of the evidence about messages that a peer does not retransmit or cannot inflate.

use teetap_proxy::session::Time;
use teetap_wire::Seq;

use crate::track::{inflate::Inflation, own::SentMessages};

fn ms(ms: u64) -> Time {
    Time(ms * 1000)
}

/// Returns the time in milliseconds at which a peer is reported that has sent two messages, retransmits only the second
/// message `rounds` times, and then sends a datagram each second.
fn reported_after(rounds: u64) -> Option<u64> {
    let mut sent = SentMessages::from_the_start();
    let [first, second] = [1, 2].map(Seq::new);
    for seq in [first, second] {
        assert_eq!(sent.sent(seq, None, ms(0)), None);
    }
    let resends = (1..=rounds).map(|round| (round * 150, Some((second, true))));
    let others = (1..=10).map(|second| (second * 1000, None));
    let mut datagrams = resends.chain(others);
    datagrams.find_map(|(at, number)| {
        let unrepeated = sent.on_received(ms(at), number.into_iter())?;
        assert_eq!((unrepeated.seq, unrepeated.for_), (first, ms(at).since(ms(0))));
        Some(at)
    })
}

/// One to three retransmissions without the oldest message may have been lost in part; four are a proof.
#[test]
fn a_few_retransmissions_without_the_oldest_message_are_no_proof() {
    assert_eq!(
        [0, 1, 3, 4, 5].map(reported_after),
        [Some(4000), None, None, Some(4000), Some(4000)]
    );
}

/// Returns the time in milliseconds at which a receiver is reported that acks the first, uncompressed message, but not
/// the second message, which is sent compressed every 500 ms.
fn not_inflating_after(copies: u64) -> Option<u64> {
    let mut inflation = Inflation::default();
    inflation.sent(Seq::new(1), ms(0), false, true);
    assert_eq!(inflation.acked(Seq::new(1), false, ms(0)), None);
    (0..20).map(|step| step * 500).find(|at| {
        if at / 500 < copies {
            inflation.sent(Seq::new(2), ms(*at), true, true);
        }
        inflation.acked(Seq::new(1), false, ms(*at + 1)).is_some()
    })
}

/// The message has to be sent four times and to stay unacked for four seconds.
#[test]
fn a_receiver_that_does_not_inflate_is_reported_after_four_copies_and_four_seconds() {
    assert_eq!(
        [3, 4, 20].map(not_inflating_after),
        [None, Some(4000), Some(4000)]
    );
}
