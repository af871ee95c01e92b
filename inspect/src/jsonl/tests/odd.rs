//! Lines that were cut, filtered or mixed with others.

use super::*;

/// Returns six datagrams, each as its own line followed by the line of its message.
fn six() -> Vec<Vec<u8>> {
    let traffic = |seq| traffic(chunk(seq, 12), &[], |datagram| datagram.ordinal = seq.into());
    let whats: Vec<EventKind> = (1..7).map(traffic).collect();
    let mut out = Vec::new();
    for what in whats {
        let event = Event {
            at: Time(7),
            session: Some(SessionId(1)),
            what,
        };
        put(&event, style(Verbosity::Bytes), &mut decoder(), &mut out);
    }
    out.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// Returns the events and the sizes of gaps, the report at the end, and the number of missing events.
fn read(lines: &[Vec<u8>]) -> (String, String, u64) {
    let whole = lines.concat();
    let mut reader = Lines::new(whole.as_slice());
    let mut seen = String::new();
    loop {
        let text = match reader.read() {
            Ok(Some(Item::Event(_))) => "e".to_owned(),
            Ok(Some(Item::Gap { lost, .. })) => lost.to_string(),
            Ok(None) => return (seen, String::new(), reader.tally().lost),
            Err(error) => return (seen, error.to_string(), reader.tally().lost),
            other => panic!("{other:?}"),
        };
        seen.push_str(&text);
    }
}

#[test]
fn the_end_of_the_last_line_and_empty_lines_are_not_missed() {
    let mut lines = six();
    lines[11].pop();
    lines.insert(4, b"\n".to_vec());
    lines.insert(5, b" \r\n".to_vec());
    assert_eq!(read(&lines), ("eeeeee".to_owned(), String::new(), 0));
}

#[test]
fn a_part_may_begin_at_any_line() {
    for start in 0..11 {
        let lines = six().split_off(start);
        assert_eq!(read(&lines), ("e".repeat((12 - start) / 2), String::new(), 0));
    }
}

#[test]
fn lines_that_cannot_be_read_are_passed_over_and_reported_without_their_text() {
    let mut lines = six();
    let offset = lines[..4].concat().len();
    lines[4] = b"{\"v\":1,\"t\":\"geheim\",\"event\":\"datagram\"}\n".to_vec();
    // The line of that datagram's message is cut.
    lines[5].truncate(20);
    lines[6].insert(0, b'\n');
    let report = format!(
        "the recording is damaged at byte {offset}: line 5: expected f64 at column 19; this line and 1 more were skipped"
    );
    assert_eq!(read(&lines), ("ee2eee".to_owned(), report, 2));
}

#[test]
fn messages_alone_cannot_be_shown() {
    let messages: Vec<_> = six().into_iter().skip(1).step_by(2).collect();
    let (seen, report, _) = read(&messages);
    assert!(seen.is_empty() && report.contains("no bytes"), "{report}");
}

#[test]
fn a_message_tells_of_a_datagram_that_is_missing() {
    let mut lines = six();
    lines.remove(4);
    let offset = lines[..4].concat().len();
    let report = format!(
        "the recording is damaged at byte {offset}: line 5: the datagram of this message is missing; this line was skipped"
    );
    assert_eq!(read(&lines), ("ee1eee".to_owned(), report, 1));
}

#[test]
fn damage_is_reported_where_the_recording_breaks_off_too() {
    let mut lines = six();
    lines[4] = b"{\"v\":1,\n".to_vec();
    lines[11].truncate(30);
    let (seen, report, lost) = read(&lines);
    assert_eq!((seen.as_str(), lost), ("ee1eee", 1));
    assert!(
        report.contains("at column 7; this line was skipped; the recording is truncated: the item at byte"),
        "{report}"
    );
}

#[test]
fn damage_at_the_end_is_counted() {
    let mut lines = six();
    lines[10] = b"nothing\n".to_vec();
    let (seen, report, lost) = read(&lines[..11]);
    assert_eq!((seen.as_str(), lost), ("eeeee", 1));
    assert!(report.contains("this line was skipped"), "{report}");
}

#[test]
fn a_line_of_any_length_is_passed_over() {
    let mut lines = six();
    lines.insert(4, [&vec![b'x'; 17 << 20][..], b"\n"].concat());
    let (seen, report, _) = read(&lines);
    assert_eq!(seen, "ee1eeee");
    assert!(
        report.contains("longer than any; this line was skipped"),
        "{report}"
    );
}

#[test]
fn what_was_recorded_of_others_is_read_again() {
    let start = b"{\"v\":1,\"t\":0.0,\"event\":\"start\",\"version\":\"0.1.0\",\"seed\":null,\"target\":null,\"server\":null,\"listen\":null,\"wall_clock\":\"2026-11-20T07:25:16.961976Z\",\"file\":\"a.pcap\"}\n";
    let sent = traffic(chunk(1, 12), &[&chunk(1, 12)], |_| {});
    let lines = [start.to_vec(), recorded(&[sent])].concat();
    let mut reader = Lines::new(lines.as_slice());
    assert!(matches!(
        reader.read(),
        Ok(Some(Item::Start {
            wall: 1_795_159_516_961_976_000,
            run: None
        }))
    ));
    assert!(matches!(reader.read(), Ok(Some(Item::Event(_)))));
    assert!(matches!(reader.read(), Ok(None)));
    assert_eq!(reader.tally().packets, 1);
}
