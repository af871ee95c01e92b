//! Bounds of the evidence about messages that a peer does not retransmit or cannot inflate.

use teetap_proxy::session::Time;
use teetap_wire::Seq;

use crate::track::{acks::Acks, inflate::Inflation, own::SentMessages};

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

/// Returns the time in milliseconds at which a receiver is reported that does not ack a message sent each second, and
/// whether it is proven that the receiver gets later datagrams. The receiver sends a datagram each 100 ms; up to
/// `returns`, in milliseconds, it returns the newest tick that was sent to it.
fn stuck_after(returns: u64) -> Option<(u64, bool)> {
    let mut acks = Acks::default();
    (0..100).map(|step| step * 100).find_map(|at| {
        acks.tick_sent(i32::try_from(at).unwrap());
        if at % 1000 == 0 {
            acks.sent(Seq::new(1), ms(at), true, false);
        }
        if at % 1000 > 0 && at < returns {
            acks.tick_returned(i32::try_from(at).unwrap());
        }
        let stuck = acks.acked(Seq::ZERO, ms(at + 50), false)?;
        Some((at, stuck.is_proven))
    })
}

/// In an outage of one direction the receiver cannot ack anything. It is reported early only if it returns ticks that
/// were sent after copies of the message; a tick from before the first copy, or after only two copies, is no proof.
#[test]
fn a_receiver_that_shows_nothing_of_later_datagrams_may_be_cut_off() {
    assert_eq!(
        [0, 1500, 3900, 10_000].map(stuck_after),
        [
            Some((7000, false)),
            Some((7000, false)),
            Some((4000, true)),
            Some((4000, true))
        ]
    );
}

/// Ticks that were never sent, or that were sent before the message, prove nothing.
#[test]
fn a_tick_from_before_the_message_or_from_the_future_is_no_proof() {
    for tick in [-1, 5, 7] {
        let mut acks = Acks::default();
        acks.tick_sent(5);
        let stuck = (0..10).find_map(|second| {
            acks.sent(Seq::new(1), ms(second * 1000), true, false);
            acks.tick_sent(6);
            acks.tick_returned(tick);
            acks.acked(Seq::ZERO, ms(second * 1000 + 50), false)
        });
        assert!(stuck.is_some_and(|stuck| !stuck.is_proven), "{tick}: {stuck:?}");
    }
}

/// An ack that some receivers drop may have been received.
#[test]
fn a_message_with_a_doubtful_ack_need_not_be_retransmitted() {
    for (ack, expected) in [(0, Some(4000)), (1, None)] {
        let mut sent = SentMessages::from_the_start();
        assert_eq!(sent.sent(Seq::new(1), None, ms(0)), None);
        sent.on_doubtful_ack(Seq::new(ack), ms(10));
        let mut datagrams = (1..=10).map(|second| ms(second * 1000));
        let reported = datagrams.find(|at| sent.on_received(*at, std::iter::empty()).is_some());
        assert_eq!(reported, expected.map(ms), "ack {ack}");
    }
}
