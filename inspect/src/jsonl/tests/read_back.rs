//! Reading lines back: all events, frame numbers, and lines that are refused.

use super::*;

/// Returns events of every kind that JSON lines contain; the first one has three packets.
fn events() -> Vec<EventKind> {
    let placed = |datagram: &mut Datagram| {
        datagram.placed = [
            Placed::new(Some(Seq::new(218)), Action::Edit),
            Placed {
                rules: [RuleId(0), RuleId(3)].into(),
                held: NonZeroU32::new(7).map(HeldId),
                ..Placed::new(None, Action::Hold)
            },
            Placed {
                sent: Some(SentAt {
                    datagram: 1,
                    at: 3,
                    len: 4,
                }),
                ..Placed::new(None, Action::Pass)
            },
        ]
        .into();
    };
    let (came, left) = (chunk(217, 12), chunk(218, 11));
    let mut odd = came.clone();
    odd.push(7);
    let change = SessionChange {
        state: State::Closing,
        proto: Proto::Ddnet,
        client: "[::1]:4000".parse().unwrap(),
        server: Some("[::1]:8305".parse().unwrap()),
        upstream: None,
        by: Some(Side::Client),
        reason: Some(b"\x1bbye"[..].into()),
    };
    let connless = |sent: Option<&[u8]>| {
        let lost = |_| Transit {
            lost: Some(Lost::Loss),
            ..Transit::default()
        };
        EventKind::Connless(Connless {
            link: sent.into_iter().map(lost).collect(),
            ..connless(Dir::S2c, b"\xff\xff\xff\xff\xff\xffanything", sent)
        })
    };
    vec![
        traffic(came.clone(), &[&left, &came], placed),
        traffic(odd, &[], |datagram| {
            datagram.leg = Some(Side::Client);
            datagram.notes.push(Note {
                code: teetap_wire::Code::WrongToken,
                at: 0,
                len: 7,
            });
        }),
        traffic(Vec::new(), &[&left], |datagram| {
            datagram.origin = Origin::Proxy;
            datagram.ordinal = 0;
        }),
        traffic(vec![1, 2], &[], |_| {}),
        EventKind::Session(change),
        connless(Some(b"other")),
        connless(None),
        EventKind::Notice(Notice::Candidate),
        EventKind::Notice(Notice::HalfOpenLimit),
        answer(Ok(())),
        answer(Err("the message is not held".into())),
    ]
}

#[test]
fn lines_with_bytes_are_read_back() {
    let lines = recorded(&events());
    let mut reader = Lines::new(lines.as_slice());
    let mut again = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        let Item::Event(event) = item else {
            panic!("{item:?}")
        };
        put(&event, style(Verbosity::Bytes), &mut decoder(), &mut again);
    }
    assert_eq!(String::from_utf8(again), String::from_utf8(lines.clone()));
    assert_eq!(reader.tally().packets, 3 + 1 + 1 + 1 + 2 + 1);
    // The text is cut at many places: complete lines are read, and the rest is reported as cut.
    for cut in (1..lines.len()).step_by(97) {
        let mut reader = Lines::new(&lines[..lines.len() - cut]);
        let error = loop {
            match reader.read() {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        // If only the newline of the last line is missing, nothing is reported.
        let is_whole = lines[lines.len() - cut - 1..=lines.len() - cut].contains(&b'\n');
        assert_eq!(error.is_some(), !is_whole, "{error:?}");
    }
}

#[test]
fn the_numbers_of_datagrams_in_a_capture_are_read_back() {
    let style = Style {
        frames: true,
        ..style(Verbosity::Bytes)
    };
    let mut datagram = traffic(chunk(1, 2), &[], |_| {});
    let mut outside = EventKind::Connless(connless(
        Dir::C2s,
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3",
        None,
    ));
    for (frame, what) in (7..).zip([&mut datagram, &mut outside]) {
        match what {
            EventKind::Datagram(datagram) => datagram.ends.frame = Some(frame),
            EventKind::Connless(connless) => connless.ends.frame = Some(frame),
            _ => unreachable!(),
        }
    }
    let mut lines = Vec::new();
    for what in [datagram, outside] {
        let (at, session) = (Time(1), None);
        put(&Event { at, session, what }, style, &mut decoder(), &mut lines);
    }
    let mut reader = Lines::new(lines.as_slice());
    let mut frames = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        let Item::Event(mut event) = item else {
            panic!("{item:?}")
        };
        frames.push(event.ends_mut().unwrap().frame);
    }
    assert_eq!(frames, [Some(7), Some(8)]);
}

#[test]
fn lines_without_bytes_or_of_others_are_refused() {
    let mut out = Vec::new();
    let what = traffic(chunk(1, 2), &[], |_| {});
    put(
        &Event {
            at: Time(1),
            session: None,
            what,
        },
        style(Verbosity::Messages),
        &mut decoder(),
        &mut out,
    );
    for (text, fragment) in [
        (&out[..], "no bytes"),
        (b"{}\n", "damaged at byte 0"),
        (b"{\"v\":3,\"t\":0,\"event\":\"start\"}\n", "version 3"),
        (
            b"{\"v\":1,\"t\":0,\"event\":\"later\"}\nx\n",
            "damaged at byte 30",
        ),
        (b"{\"v\":1,\"t\":0,\"event\":\"datagram\"}\n", "no bytes"),
        (
            b"\xef\xbb\xbf\n{\"v\":1,\"t\":0,\"event\":\"datagram\",\"hex\":\"0\"}\n",
            "line 2: expected an even number of hex digits",
        ),
    ] {
        let error = Lines::new(text).read().unwrap_err().to_string();
        assert!(error.contains(fragment), "{error}");
    }
}
