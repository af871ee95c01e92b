//! Sequence numbers, acks, resends, timers and limits of one peer.

use super::*;

const TENTH: u64 = 100 * MS;

/// Advances in steps of 10 ms until the peer sends a datagram. Returns the time.
fn wait(peer: &mut Peer, from: u64) -> u64 {
    let mut now = from;
    while peer.outgoing.is_empty() && now < from + 200 * SECOND && !peer.is_over() {
        now += 10 * MS;
        peer.update(now);
    }
    now
}

#[test]
fn the_window_and_the_backroom_are_cyclic() {
    assert!(in_backroom(5, 5) && in_backroom(0, 5) && in_backroom(1000, 5));
    assert!(in_backroom(517, 5) && !in_backroom(516, 5) && !in_backroom(6, 5));
    assert!(
        in_backroom(1023, 1023) && in_backroom(511, 1023) && !in_backroom(510, 1023) && !in_backroom(0, 1023)
    );
    assert!(in_window(0, 1022, 1) && in_window(1022, 1022, 1) && in_window(1, 1022, 1));
    assert!(!in_window(2, 1022, 1) && !in_window(1021, 1022, 1));
    assert!(in_window(3, 3, 3) && !in_window(4, 3, 3) && !in_window(2, 3, 3));
}

#[test]
fn numbers_wrap_through_zero() {
    for variant in Variant::ALL {
        let (mut a, mut b) = (online(variant, 1021), online(variant, 1021));
        for number in [1022, 1023, 0, 1] {
            assert!(a.send_vital(b"x", 0));
            a.flush(0);
            let packet = sent(&mut a).remove(0);
            assert_eq!(packet.chunks[0].seq, Some(number));
            let bytes = data(&b, 1021, &[(Some(number), "x")]);
            assert_eq!(b.receive(&bytes, 0).delivered, 1);
            assert_eq!(b.numbers().1, number);
            b.send_nonvital(b"", 0);
            b.flush(0);
            assert_eq!(sent(&mut b)[0].head.ack, number);
        }
        assert_eq!(a.unacked(), 4);
        assert_eq!(a.receive(&data(&a, 0, &[(None, "")]), 0).dropped, None);
        assert_eq!((a.unacked(), a.numbers().2), (1, 0));
    }
}

#[test]
fn half_a_circle_decides_between_old_and_early() {
    let mut peer = online(Variant::V7, 2);
    peer.receive(&data(&peer, 2, &[(Some(514), "old")]), 0);
    assert_eq!((peer.counters.duplicates, peer.counters.gaps), (1, 0));
    peer.flush(0);
    assert!(peer.outgoing.is_empty());
    let events = peer.receive(
        &data(
            &peer,
            2,
            &[(Some(513), "early"), (None, "snap"), (Some(3), "next")],
        ),
        0,
    );
    assert_eq!((events.delivered, peer.counters.gaps), (2, 1));
    assert_eq!(texts(&peer), ["snap", "next"]);
    let time = wait(&mut peer, 0);
    assert_eq!(time, 510 * MS);
    assert_eq!(peer.outgoing, [[0x08, 3, 0, 5, 6, 7, 8]]);
}

#[test]
fn a_resend_request_repeats_even_what_it_acks() {
    for variant in Variant::ALL {
        let mut peer = online(variant, 0);
        for text in ["1", "2", "3", "4"] {
            peer.send_vital(text.as_bytes(), 0);
        }
        peer.flush(0);
        peer.receive(&data(&peer, 1, &[(None, "")]), TENTH);
        assert_eq!(peer.unacked(), 3);
        peer.send_vital(b"5", TENTH);
        sent(&mut peer);
        peer.receive(&asking(&peer, 3), TENTH);
        assert_eq!(peer.unacked(), 2);
        peer.flush(TENTH);
        let chunks = &sent(&mut peer)[0].chunks;
        let seen: Vec<_> = chunks
            .iter()
            .map(|chunk| (chunk.seq.unwrap(), chunk.resend))
            .collect();
        assert_eq!(
            seen,
            [(5, false), (2, true), (3, true), (4, true), (5, true)],
            "new ones go first"
        );
    }
}

#[test]
fn only_the_oldest_chunk_is_repeated_each_second() {
    let mut peer = online(Variant::V7, 0);
    peer.send_vital(b"1", 0);
    peer.send_vital(b"2", 0);
    peer.flush(0);
    assert_eq!(sent(&mut peer)[0].chunks.len(), 2);
    let time = wait(&mut peer, 0);
    assert_eq!(time, 1010 * MS, "just after a second");
    let packet = sent(&mut peer).remove(0);
    assert_eq!(
        packet.chunks,
        [Chunk {
            seq: Some(1),
            resend: true,
            data: b"1".to_vec()
        }]
    );
    assert_eq!(wait(&mut peer, time), 2020 * MS);
    assert_eq!(sent(&mut peer)[0].chunks.len(), 1);
}

#[test]
fn an_idle_peer_sends_keepalives_each_second() {
    for variant in Variant::ALL {
        let mut peer = online(variant, 9);
        assert_eq!(wait(&mut peer, 0), 1010 * MS);
        let packet = sent(&mut peer).remove(0);
        assert!(packet.head.flags.control);
        assert_eq!(
            (packet.head.ack, &packet.payload[..]),
            (9, &[control::KEEPALIVE][..])
        );
        assert_eq!(wait(&mut peer, 1010 * MS), 2020 * MS);
    }
}

#[test]
fn wrong_acks_void_the_datagram_and_its_close() {
    for variant in Variant::ALL {
        let mut peer = online(variant, 10);
        peer.send_vital(b"x", 0);
        let early = data(&peer, 12, &[(Some(11), "y")]);
        assert_eq!(peer.receive(&early, 0).dropped, Some(Drop::Ahead));
        assert_eq!(
            peer.receive(&data(&peer, 11, &[(Some(11), "y")]), 0).dropped,
            None
        );
        assert_eq!(
            peer.receive(&data(&peer, 10, &[(None, "z")]), 0).dropped,
            Some(Drop::Behind)
        );
        let token = (variant != Variant::V6).then_some([1, 2, 3, 4]);
        peer.receive(&control::close(variant, 10, token, "no"), 0);
        assert!(peer.is_online());
        let events = peer.receive(&control::close(variant, 11, token, "bye"), 0);
        assert!(events.closed);
        assert_eq!(
            *peer.state(),
            State::Closed {
                reason: "bye".to_owned(),
                by_peer: true
            }
        );
        assert_eq!(
            (texts(&peer), peer.counters.ahead, peer.counters.behind),
            (vec!["y"], 1, 2)
        );
        assert_eq!(peer.receive(&early, 0).dropped, Some(Drop::Stray));
    }
}

#[test]
fn wrong_tokens_void_the_datagram_but_move_the_window_of_07() {
    for variant in [Variant::V65, Variant::Ddnet, Variant::V7, Variant::D7] {
        let mut peer = online(variant, 0);
        peer.send_vital(b"x", 0);
        let mut spoofed = Datagram::of_chunks(variant, 1, Some([9; 4]), Vec::new());
        spoofed.chunks.push(Chunk::new(Some(1), vec![1]));
        spoofed.head.num_chunks = 1;
        assert_eq!(peer.receive(&spoofed.build(), 0).dropped, Some(Drop::WrongToken));
        assert_eq!(peer.numbers(), (1, 0, u16::from(variant == Variant::V7)));
        assert!(peer.delivered.is_empty());
    }
    let mut peer = online(Variant::V65, 0);
    let bare = Datagram::of_chunks(Variant::V65, 0, None, vec![Chunk::new(None, vec![1])]);
    assert_eq!(peer.receive(&bare.build(), 0).dropped, Some(Drop::WrongToken));
}

#[test]
fn ddnet_drops_malformed_packets_and_vanilla_does_not() {
    for variant in Variant::ALL {
        let token = (variant != Variant::V6).then_some([1, 2, 3, 4]);
        let empty = Datagram::of_chunks(variant, 0, token, Vec::new());
        let mut counted = codec::Head::new(variant, 0, token);
        counted.flags.control = true;
        counted.num_chunks = 1;
        let counted = codec::seal(&counted, &[control::KEEPALIVE], Packing::Clear);
        for bytes in [empty.build(), counted] {
            let mut peer = online(variant, 0);
            let expected = variant.is_ddnet().then_some(Drop::Malformed);
            assert_eq!(peer.receive(&bytes, 0).dropped, expected, "{variant:?}");
            peer.options.strict = false;
            assert_eq!(peer.receive(&bytes, 0).dropped, None);
        }
    }
}

#[test]
fn silence_ends_the_session() {
    for variant in Variant::ALL {
        let mut peer = online(variant, 0);
        let limit = if variant.is_ddnet() {
            100 * SECOND
        } else {
            10 * SECOND
        };
        let mut last = Vec::new();
        let mut now = 0;
        while !peer.is_over() {
            now += 10 * MS;
            peer.update(now);
            last.extend(sent(&mut peer));
        }
        assert_eq!(now, limit + 10 * MS);
        assert_eq!(*peer.state(), State::Dead("Timeout".to_owned()));
        let closing = last.pop().unwrap().payload;
        if variant.is_ddnet() {
            assert_eq!(closing, [control::KEEPALIVE]);
        } else {
            assert_eq!(closing, b"\x04Timeout\0");
        }
    }
}

#[test]
fn an_unacked_message_ends_the_session() {
    let mut peer = online(Variant::V65, 0);
    peer.send_vital(b"x", 0);
    let mut now = 0;
    while !peer.is_over() {
        now += 10 * MS;
        peer.receive(&data(&peer, 0, &[(None, "")]), now);
        peer.update(now);
    }
    assert_eq!(now, 10 * SECOND + 10 * MS);
    assert_eq!(
        *peer.state(),
        State::Dead("Too weak connection (not acked for 10 seconds)".to_owned())
    );
    let mut patient = Peer {
        options: patient(),
        ..online(Variant::V65, 0)
    };
    patient.send_vital(b"x", 0);
    patient.update(1000 * SECOND);
    assert!(patient.is_online());
}

/// The capacities were measured with the reference's buffer.
#[test]
fn the_buffer_of_unacked_chunks_is_full_when_the_references_is() {
    for (length, most) in [
        (8, 455),
        (9, 341),
        (32, 341),
        (50, 273),
        (100, 195),
        (256, 97),
        (512, 56),
        (1023, 29),
    ] {
        let mut peer = online(Variant::V7, 0);
        let message = vec![1; length];
        while peer.has_room(length) {
            assert!(peer.send_vital(&message, 0));
        }
        assert_eq!(peer.unacked(), most, "{length}");
        assert!(!peer.send_vital(&message, 0));
        assert_eq!(
            *peer.state(),
            State::Dead("too weak connection (out of buffer)".to_owned())
        );
        let mut ddnet = online(Variant::Ddnet, 0);
        for _ in 0..=most {
            assert!(ddnet.send_vital(&message, 0));
        }
        assert_eq!((ddnet.unacked(), ddnet.counters.unsaved), (most, 1));
    }
}

#[test]
fn packets_are_flushed_before_they_grow_too_long() {
    for variant in Variant::ALL {
        let mut peer = online(variant, 0);
        for _ in 0..300 {
            peer.send_vital(&[7; 8], 0);
        }
        for _ in 0..600 {
            peer.send_nonvital(&[7], 0);
        }
        peer.flush(0);
        assert!(
            peer.outgoing
                .iter()
                .all(|bytes| bytes.len() <= codec::MAX_DATAGRAM)
        );
        let packets = sent(&mut peer);
        assert_eq!(
            packets.iter().map(|packet| packet.chunks.len()).sum::<usize>(),
            900
        );
        assert!(packets.iter().any(|packet| packet.chunks.len() == 255));
        assert!(packets.iter().any(|packet| packet.payload.len() > 1300));
    }
}

#[test]
fn a_token_message_in_a_session_of_07_changes_the_written_token() {
    let mut peer = online(Variant::V7, 0);
    peer.receive(
        &control::control(
            Variant::V7,
            0,
            Some([1, 2, 3, 4]),
            control::TOKEN,
            &[&[9, 8, 7, 6]],
        ),
        0,
    );
    assert_eq!(peer.tokens(), ([1, 2, 3, 4], [9, 8, 7, 6]));
    peer.receive(
        &control::control(Variant::V7, 0, Some([1, 2, 3, 4]), control::TOKEN, &[&[9]]),
        0,
    );
    assert_eq!(peer.tokens().1, NO_TOKEN);
    assert_eq!(peer.counters.rekeyed, 2);
}

#[test]
fn ddnet_20_answers_so_many_resend_requests_in_a_second() {
    let mut peer = online(Variant::Ddnet, 0);
    peer.options.resends_per_second = Some(2);
    peer.send_vital(b"x", 0);
    for _ in 0..5 {
        peer.receive(&asking(&peer, 0), TENTH);
    }
    assert_eq!(
        (peer.counters.resend_requests, peer.counters.resent_chunks),
        (5, 2)
    );
    peer.update(9 * TENTH);
    assert_eq!(peer.counters.resent_chunks, 2);
    peer.update(10 * TENTH);
    peer.update(11 * TENTH);
    assert_eq!(peer.counters.resent_chunks, 3, "one request was kept");
}
