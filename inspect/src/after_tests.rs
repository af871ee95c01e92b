use std::time::Duration;

use teetap_proxy::session::{
    Action, Datagram, Event, EventKind, MadeAt, MadeHow, Origin, Placed, SentAt, SessionId, Time, Transit,
};
use teetap_rules::RuleId;
use teetap_wire::{Dir, Packet, Proto, Scratch, def::Registry};

use super::*;
use crate::{DecodedEvent, Decoder, Message, Style, Verbosity, jsonl, row, testing};

/// Returns a 0.7 `cl_say` to all players.
fn say(text: &str) -> Vec<u8> {
    [b"\x30\x01\x40", text.as_bytes(), b"\0"].concat()
}

/// Returns a 0.7 `rcon_auth`.
fn auth(password: &str) -> Vec<u8> {
    [b"\x2d", password.as_bytes(), b"\0"].concat()
}

const AT: SentAt = SentAt {
    datagram: 0,
    at: 3,
    len: 0,
};

fn sent_at(data: &[u8]) -> Option<SentAt> {
    let len = u16::try_from(data.len()).unwrap();
    Some(SentAt { len, ..AT })
}

/// Decodes a datagram with one message, which a rule named `chat4` has handled.
fn decoded(came: &[u8], left: Option<&[u8]>, placed: Placed, link: &[Transit]) -> DecodedEvent {
    let bytes = |data| testing::chunks(1, false, &[(Some(7), data)]);
    let (came, left) = (bytes(came), left.map(bytes));
    let sent = left.iter().map(Vec::as_slice);
    let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, &came, sent);
    datagram.ordinal = 1;
    datagram.placed = [Placed {
        rules: [RuleId(0)].into(),
        ..placed
    }]
    .into();
    datagram.link = link.into();
    decode(datagram)
}

fn decode(datagram: Datagram) -> DecodedEvent {
    let mut decoder = Decoder::new(Registry::builtin());
    decoder.set_rules(&["chat4".into()]);
    decoder.decode(Event {
        at: Time(1_000_000),
        session: Some(SessionId(1)),
        what: EventKind::Datagram(datagram),
    })
}

fn line(decoded: &DecodedEvent) -> String {
    let rows = row::rows(decoded, Style::default());
    assert_eq!(row::comment(decoded), rows[0].text());
    rows[0].text().to_owned()
}

fn json(decoded: &DecodedEvent, verbosity: Verbosity) -> serde_json::Value {
    let (mut out, json) = (Vec::new(), true);
    let style = Style {
        json,
        verbosity,
        ..Style::default()
    };
    jsonl::event(decoded, style, &mut out);
    let lines = String::from_utf8(out).unwrap();
    let mut lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .find(|line: &serde_json::Value| line["event"] == "message")
        .unwrap()
}

/// Returns the only message on the leg of the receiver.
fn on_leg(decoded: &DecodedEvent) -> Vec<u8> {
    let EventKind::Datagram(datagram) = &decoded.event.what else {
        panic!("{decoded:?}")
    };
    let mut scratch = Scratch::new();
    let mut bytes = datagram.sent().next().unwrap().to_vec();
    datagram
        .link
        .iter()
        .for_each(|transit| transit.damage(&mut bytes));
    let packet = Packet::parse(Proto::V7, &bytes, &mut scratch).unwrap();
    packet.chunks().next().unwrap().data.to_vec()
}

#[test]
fn an_edit_shows_the_old_and_the_new_message() {
    let (came, left) = (say("hello"), say("good\x1bbye"));
    let placed = Placed {
        sent: sent_at(&left),
        ..Placed::new(Some(teetap_wire::Seq::new(7)), Action::Edit)
    };
    let decoded = decoded(&came, Some(&left), placed, &[]);
    let line = line(&decoded);
    assert!(
        line.ends_with("edit (chat4) all: hello → \"good\u{fffd}bye\" as sent !text-cleaned"),
        "{line}"
    );
    let sent = &json(&decoded, Verbosity::Bytes)["sent"];
    assert_eq!(sent["name"], "cl_say");
    assert_eq!(sent["fields"]["message"], "good\u{1b}bye");
    assert_eq!(sent["hex"], row::hex(&on_leg(&decoded)));
    assert_eq!(sent["size"], left.len());
}

#[test]
fn corrupted_bits_are_listed_for_rules_and_for_the_link() {
    let (came, mut left) = (say("hello"), say("hello"));
    left[4] ^= 0b101;
    let placed = |action, data| Placed {
        sent: sent_at(data),
        ..Placed::new(Some(teetap_wire::Seq::new(7)), action)
    };
    let by_rule = decoded(&came, Some(&left), placed(Action::Corrupt, &left), &[]);
    let line_of_rule = line(&by_rule);
    assert!(
        line_of_rule.ends_with("corrupt (chat4): bits 32, 34 all: hello → h`llo"),
        "{line_of_rule}"
    );
    let bits = &json(&by_rule, Verbosity::default())["sent"]["bits"];
    assert_eq!(*bits, serde_json::json!([32, 34]));
    // The header has 7 bytes, and the chunk header 3.
    let transit = Transit {
        corrupted: [8 * (7 + 3 + 4), 8 * (7 + 3 + 4) + 2].into(),
        ..Transit::default()
    };
    let by_link = decoded(&came, Some(&came), placed(Action::Pass, &came), &[transit]);
    let after = by_link.reading.as_ref().unwrap().messages[0]
        .after
        .clone()
        .unwrap();
    assert_eq!((&after.data, after.is_by_link), (&on_leg(&by_link), true));
    let line_of_link = line(&by_link);
    assert!(
        line_of_link.contains("pass (chat4) corrupt: bits 32, 34 all: hello → h`llo"),
        "{line_of_link}"
    );
    assert!(
        line_of_link.ends_with("link: delayed 0.0 ms, corrupt: bits 112, 114"),
        "{line_of_link}"
    );
}

#[test]
fn delays_and_messages_of_the_proxy_have_their_rule_and_time() {
    let placed = Placed {
        delay: Some(Duration::from_millis(93)),
        ..Placed::new(None, Action::Hold)
    };
    let delayed = decoded(&say("hello"), None, placed, &[]);
    let line_of_delay = line(&delayed);
    assert!(
        line_of_delay.ends_with("delay 93 ms (chat4) all: hello"),
        "{line_of_delay}"
    );
    assert_eq!(json(&delayed, Verbosity::default())["delay_s"], 0.093);
    for (how, waited, words, action) in [
        (
            MadeHow::Release,
            2000,
            "released after 2.000 s (slowready)",
            "release",
        ),
        (MadeHow::Inject, 0, "inject (slowready)", "inject"),
        (MadeHow::Copy, 50, "copy after 0.050 s (slowready)", "copy"),
    ] {
        let data = say("hello");
        let bytes = testing::chunks(1, false, &[(Some(7), &data)]);
        let sent = [&*bytes];
        let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Rule, b"", sent.into_iter());
        datagram.made = [MadeAt {
            sent: sent_at(&data).unwrap(),
            how,
            rule: Some("slowready".into()),
            held: None,
            waited: Duration::from_millis(waited),
            corrupted: false,
        }]
        .into();
        let decoded = decode(datagram);
        let line = line(&decoded);
        assert!(line.ends_with(&format!("{words} all: hello")), "{line}");
        let json = json(&decoded, Verbosity::default());
        assert_eq!(json["actions"][0]["rule"], "slowready");
        assert_eq!(json["actions"][0]["action"], action);
    }
}

/// A corrupted login may show the password in a field that is not secret.
#[test]
fn a_secret_stays_hidden_in_the_changed_message() {
    let secret = "hunter2 is the password";
    let came = auth(secret);
    for (action, left) in [
        // The id is that of `rcon_cmd`, whose command is not secret.
        (Action::Corrupt, [b"\x2b", &came[1..]].concat()),
        (Action::Edit, say(secret)),
        (Action::Edit, auth("another hunter2")),
    ] {
        let placed = Placed {
            sent: sent_at(&left),
            ..Placed::new(Some(teetap_wire::Seq::new(7)), action)
        };
        let decoded = decoded(&came, Some(&left), placed, &[]);
        let (line, json) = (line(&decoded), json(&decoded, Verbosity::default()).to_string());
        assert!(
            !line.contains("hunter2") && !json.contains("hunter2"),
            "{line} {json}"
        );
    }
}

#[test]
fn flipped_bits_are_counted_from_the_lowest_bit_of_the_first_byte() {
    assert_eq!(flipped(&[0, 0, 0xff], &[1, 0, 0x7f]), [0, 23]);
    assert_eq!(flipped(&[0], &[0, 0]), [0; 0]);
    assert_eq!(bits_text(&[17, 300]).as_deref(), Some("bits 17, 300"));
    assert_eq!(bits_text(&[4]).as_deref(), Some("bit 4"));
    assert_eq!(bits_text::<u32>(&[]), None);
    let many: Vec<u32> = (0..10).collect();
    assert_eq!(
        bits_text(&many).as_deref(),
        Some("bits 0, 1, 2, 3, 4, 5, 6, 7 and 2 more")
    );
}

#[test]
fn a_changed_summary_leaves_out_the_beginning_that_both_have() {
    for (before, after, part) in [
        ("all: hello", "all: goodbye", "goodbye"),
        ("all: hello you", "all: hello me", "hello me"),
        ("team: hello", "all: hello", "all: hello"),
        ("hello you", "hello me", "hello me"),
        ("", "x y", "x y"),
    ] {
        assert_eq!(changed_part(before, after), part);
    }
}

/// Returns true if a filter shows the message of a datagram.
fn is_shown(datagram: &Datagram, text: &str) -> bool {
    let registry = Registry::builtin();
    let mut decoder = Decoder::new(registry);
    decoder.set_rules(&["chat4".into(), "slow".into()]);
    decoder.show_only(teetap_rules::Filter::parse(text, registry).unwrap().0);
    let decoded = decoder.decode(Event {
        at: Time(1_000_000),
        session: Some(SessionId(1)),
        what: EventKind::Datagram(datagram.clone()),
    });
    decoded.matches > 0
}

#[test]
fn filters_know_what_was_done_to_a_message() {
    let data = say("hello");
    let bytes = testing::chunks(1, false, &[(Some(7), &data)]);
    let whole =
        |sent: &[&[u8]]| Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, &bytes, sent.iter().copied());
    let mut dropped = whole(&[]);
    dropped.placed = [Placed {
        rules: [RuleId(0), RuleId(1)].into(),
        marks: ["odd".into()].into(),
        ..Placed::new(None, Action::Drop)
    }]
    .into();
    let mut late = whole(&[&bytes]);
    late.link = [Transit {
        delay: Duration::from_millis(60),
        ..Transit::default()
    }]
    .into();
    let mut lost = whole(&[&bytes]);
    lost.link = [Transit {
        lost: Some(teetap_rules::impair::Lost::Loss),
        ..Transit::default()
    }]
    .into();
    let plain = whole(&[&bytes]);
    let made = Datagram::new(Dir::C2s, Proto::V7, Origin::Rule, b"", std::iter::once(&*bytes));
    let all = [&dropped, &late, &lost, &plain, &made];
    for (filter, shown) in [
        ("touched", [true, true, true, false, true]),
        ("not touched", [false, false, false, true, false]),
        ("action == drop", [true, false, false, false, false]),
        ("action in {drop lose}", [true, false, false, false, false]),
        ("action == pass", [false, true, true, true, true]),
        ("rule == \"slow\"", [true, false, false, false, false]),
        ("rule == \"slo\"", [false; 5]),
        ("rule contains \"slo\"", [true, false, false, false, false]),
        ("rule matches /^chat[0-9]$/", [true, false, false, false, false]),
        ("rule in {\"chat4\" \"x\"}", [true, false, false, false, false]),
        ("rule != \"slow\"", [false; 5]),
        ("rule != \"x\"", [true, false, false, false, false]),
        ("mark", [true, false, false, false, false]),
        ("mark.odd", [true, false, false, false, false]),
        ("mark.even", [false; 5]),
        ("link.lost", [false, false, true, false, false]),
        ("link.delay > 50ms", [false, true, false, false, false]),
        ("link.delay > 70ms or link.corrupted", [false; 5]),
        ("origin == rule", [false, false, false, false, true]),
        ("origin == peer", [true, true, true, true, false]),
    ] {
        assert_eq!(all.map(|datagram| is_shown(datagram, filter)), shown, "{filter}");
    }
}

#[test]
fn rules_do_not_know_what_is_done_to_a_message() {
    let registry = Registry::builtin();
    for condition in [
        "touched",
        "action == drop",
        "rule == \"slow\"",
        "mark.odd",
        "mark",
        "link.lost",
        "link.delay > 50ms",
        "origin == rule",
    ] {
        let text = format!("drop when {condition}");
        let errors = teetap_rules::Program::compile(&text, registry)
            .map(|_| ())
            .unwrap_err();
        assert!(
            errors[0].message.ends_with("is not known to rules"),
            "{condition}: {errors:?}"
        );
    }
}

/// Of messages without a number, the copies follow the edited message in the same datagram.
#[test]
fn copies_of_a_message_without_a_number_have_their_own_lines() {
    let (came, edited) = (say("hello"), say("goodbye"));
    for (left, action) in [(&came, Action::Pass), (&edited, Action::Edit)] {
        let received = testing::chunks(1, false, &[(None, &came)]);
        let sent = testing::chunks(1, false, &[(None, left), (None, left)]);
        let mut datagram = Datagram::new(
            Dir::C2s,
            Proto::V7,
            Origin::Peer,
            &received,
            std::iter::once(&*sent),
        );
        let place = |at| SentAt {
            at,
            ..sent_at(left).unwrap()
        };
        datagram.placed = [Placed {
            rules: [RuleId(0)].into(),
            sent: Some(place(2)),
            ..Placed::new(None, action)
        }]
        .into();
        datagram.made = [MadeAt {
            sent: place(u16::try_from(left.len()).unwrap() + 4),
            how: MadeHow::Copy,
            rule: Some("twice".into()),
            held: None,
            waited: Duration::ZERO,
            corrupted: false,
        }]
        .into();
        let decoded = decode(datagram);
        let reading = decoded.reading.as_ref().unwrap();
        let outcomes: Vec<_> = reading.messages.iter().map(Message::outcome).collect();
        let copy = &reading.messages[1];
        assert_eq!(outcomes[1].as_deref(), Some("copy (twice)"), "{outcomes:?}");
        assert_eq!(reading.data(copy), left.as_slice());
    }
}

/// Returns the decoded events of a message that is held with number 1, and of its release with other bytes.
fn held_and_released(came: &[u8], left: &[u8], corrupted: bool) -> DecodedEvent {
    let held = teetap_proxy::session::HeldId(std::num::NonZeroU32::MIN);
    let bytes = |data| testing::chunks(1, false, &[(Some(7), data)]);
    let (came, sent) = (bytes(came), bytes(left));
    let mut whole = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, &came, std::iter::empty());
    whole.placed = [Placed {
        held: Some(held),
        ..Placed::new(None, Action::Hold)
    }]
    .into();
    let mut released = Datagram::new(Dir::C2s, Proto::V7, Origin::Rule, b"", std::iter::once(&*sent));
    released.made = [MadeAt {
        sent: sent_at(left).unwrap(),
        how: MadeHow::Release,
        rule: Some("slowready".into()),
        held: Some(held),
        waited: Duration::from_secs(2),
        corrupted,
    }]
    .into();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut decode = |datagram| {
        decoder.decode(Event {
            at: Time(1_000_000),
            session: Some(SessionId(1)),
            what: EventKind::Datagram(datagram),
        })
    };
    decode(whole);
    decode(released)
}

#[test]
fn a_message_that_was_edited_while_it_was_held_shows_both_at_its_release() {
    let (came, left) = (say("hello"), say("goodbye"));
    let decoded = held_and_released(&came, &left, false);
    let text = line(&decoded);
    assert!(
        text.ends_with("released after 2.000 s (slowready) all: hello → goodbye"),
        "{text}"
    );
    let json = json(&decoded, Verbosity::Bytes);
    assert_eq!(json["fields"]["message"], "hello");
    assert_eq!(json["sent"]["fields"]["message"], "goodbye");
    assert_eq!(json["sent"]["hex"], row::hex(&on_leg(&decoded)));
    // The same bytes are shown once.
    let same = held_and_released(&came, &came, false);
    assert!(line(&same).ends_with("released after 2.000 s (slowready) all: hello"));
    // A secret stays hidden in another field.
    let hidden = held_and_released(&auth("hunter2"), &say("hunter2"), false);
    assert!(!line(&hidden).contains("hunter2"), "{}", line(&hidden));
}

#[test]
fn a_corrupted_message_has_its_bits_when_it_is_released_or_sent_again() {
    let (came, left) = (say("hello"), say("iello"));
    let text = line(&held_and_released(&came, &left, true));
    assert!(
        text.ends_with("released after 2.000 s (slowready): bit 24 all: hello → iello"),
        "{text}"
    );
    let placed = Placed {
        sent: sent_at(&left),
        corrupted: true,
        ..Placed::new(Some(teetap_wire::Seq::new(7)), Action::Repeat)
    };
    let again = decoded(&came, Some(&left), placed, &[]);
    let text = line(&again);
    assert!(
        text.ends_with("repeat (chat4): bit 24 all: hello → iello"),
        "{text}"
    );
    assert_eq!(json(&again, Verbosity::default())["sent"]["bits"][0], 24);
}

#[test]
fn an_edit_outside_a_connection_shows_both() {
    let info = |name: &str| {
        let text = ["7", "0.6.4", name, "dm1", "DM", "0", "0", "8", "0", "8"].join("\0");
        [
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffinf3",
            text.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let (came, left) = (info("red"), info("blue"));
    let decode = |connless| {
        Decoder::new(Registry::builtin()).decode(Event {
            at: Time(1_000_000),
            session: None,
            what: EventKind::Connless(connless),
        })
    };
    let decoded = decode(testing::connless(Dir::S2c, &came, Some(&left)));
    let text = line(&decoded);
    assert!(
        text.contains(" edit ") && text.contains("red") && text.contains("blue"),
        "{text}"
    );
    let json = json(&decoded, Verbosity::Bytes);
    assert_eq!(json["actions"][0]["action"], "edit");
    assert_eq!(json["fields"]["name"], "red");
    assert_eq!(json["sent"]["fields"]["name"], "blue");
    let plain = decode(testing::connless(Dir::S2c, &came, Some(&came)));
    assert!(!line(&plain).contains(" edit "), "{}", line(&plain));
    let transit = Transit {
        corrupted: [8 * 14].into(),
        ..Transit::default()
    };
    let damaged = decode(teetap_proxy::session::Connless {
        link: [transit].into(),
        ..testing::connless(Dir::S2c, &came, Some(&came))
    });
    assert!(line(&damaged).contains(" corrupt: bit "), "{}", line(&damaged));
}

#[test]
fn rules_outside_a_connection_are_named() {
    let ask = |token: u8| {
        [
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3".as_slice(),
            &[token],
        ]
        .concat()
    };
    let (came, left) = (ask(1), ask(3));
    let made = |how, millis, corrupted| {
        Some(Box::new(MadeAt {
            sent: AT,
            how,
            rule: Some("late".into()),
            held: None,
            waited: Duration::from_millis(millis),
            corrupted,
        }))
    };
    let placed = |action, delay: Option<u64>| {
        Some(Box::new(Placed {
            rules: [RuleId(0)].into(),
            delay: delay.map(Duration::from_millis),
            ..Placed::new(None, action)
        }))
    };
    for (sent, placed, made, words, action) in [
        (
            Some(&left),
            placed(Action::Edit, None),
            None,
            "edit (chat4) ",
            "edit",
        ),
        (
            Some(&left),
            placed(Action::Corrupt, None),
            None,
            "corrupt (chat4): bit 65 ",
            "corrupt",
        ),
        (None, placed(Action::Drop, None), None, "drop (chat4) ", "drop"),
        (
            None,
            placed(Action::Hold, Some(40)),
            None,
            "delay 40 ms (chat4) ",
            "hold",
        ),
        (
            Some(&left),
            None,
            made(MadeHow::Release, 40, true),
            "released after 0.040 s (late): bit 65 ",
            "release",
        ),
        (
            Some(&came),
            None,
            made(MadeHow::Copy, 0, false),
            "copy (late) ",
            "copy",
        ),
    ] {
        let mut decoder = Decoder::new(Registry::builtin());
        decoder.set_rules(&["chat4".into()]);
        let decoded = decoder.decode(Event {
            at: Time(1_000_000),
            session: None,
            what: EventKind::Connless(teetap_proxy::session::Connless {
                placed,
                made,
                ..testing::connless(Dir::C2s, &came, sent.map(Vec::as_slice))
            }),
        });
        let text = line(&decoded);
        assert!(text.contains(words), "{words}: {text}");
        let json = json(&decoded, Verbosity::default());
        assert_eq!(json["actions"][0]["action"], action);
        assert!(json["actions"][0]["rule"].is_string(), "{json}");
    }
}
