//! Tests of the schema: names, types, and that each event is one line.

mod odd;
mod read_back;

use std::num::NonZeroU32;

use serde_json::{Value, json};
use teetap_proxy::session::{
    Action, Answer, CommandId, Event, HeldId, Notice, Origin, Placed, SentAt, SessionChange, SessionId,
    State, Transit,
};
use teetap_rules::{RuleId, impair::Lost};
use teetap_wire::{Dir, Proto, Seq, Side, control, def::Registry};

use super::*;
use crate::{
    Decoder,
    recording::Item,
    testing::{chunks, connless, packet, session},
};

fn style(verbosity: Verbosity) -> Style {
    Style {
        json: true,
        verbosity,
        items: verbosity >= Verbosity::Datagrams,
        ..Style::default()
    }
}

fn decoder() -> Decoder {
    Decoder::new(Registry::builtin())
}

/// Appends the lines of an event.
fn put(event: &Event, style: Style, decoder: &mut Decoder, out: &mut Vec<u8>) {
    super::event(&decoder.decode(event.clone()), style, out);
}

fn lines(what: EventKind, style: Style) -> Vec<Value> {
    let mut out = Vec::new();
    put(
        &Event {
            at: Time(12_418_001),
            session: Some(SessionId(2)),
            what,
        },
        style,
        &mut decoder(),
        &mut out,
    );
    parse(&out)
}

fn parse(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    assert!(!text.replace('\n', "").chars().any(char::is_control));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn chunk(seq: u16, ack: u16) -> Vec<u8> {
    chunks(ack, true, &[(Some(seq), b"\x02hi\0")])
}

/// Returns the values of the named fields.
fn pick<const N: usize>(line: &Value, fields: [&str; N]) -> Value {
    fields.map(|field| line[field].clone()).to_vec().into()
}

fn traffic(came: Vec<u8>, left: &[&[u8]], change: impl FnOnce(&mut Datagram)) -> EventKind {
    let came: &'static [u8] = came.leak();
    let mut datagram = Datagram::new(Dir::S2c, Proto::V7, Origin::Peer, came, left.iter().copied());
    datagram.ordinal = 31;
    change(&mut datagram);
    EventKind::Datagram(datagram)
}

#[test]
fn a_message() {
    let (came, left) = (chunk(217, 12), chunk(218, 11));
    let what = traffic(came, &[&left], |datagram| {
        datagram.placed = [Placed::new(Some(Seq::new(218)), Action::Edit)].into();
    });
    assert_eq!(
        lines(what, style(Verbosity::Messages)),
        [json!({
            "v": 2, "t": 12.418_001, "event": "message", "session": 2, "dir": "s2c", "proto": "0.7",
            "layer": "game", "id": 1, "uuid": null, "name": "sv_motd", "vital": true, "resend": true,
            "seq": 217, "seq_out": 218, "datagram": 31, "size": 4, "fields": {"message": "hi"}, "notes": [],
            "actions": [{"rule": null, "action": "edit"}], "origin": "peer", "leg": null,
        })]
    );
}

#[test]
fn a_datagram_with_its_bytes() {
    let (came, left) = (chunk(217, 12), chunk(217, 11));
    let got = lines(traffic(came.clone(), &[&left], |_| {}), style(Verbosity::Bytes));
    assert_eq!(
        got[0],
        json!({
            "v": 2, "t": 12.418_001, "event": "datagram", "session": 2, "dir": "s2c", "proto": "0.7", "ordinal": 31,
            "size": 14, "sizes_out": [14], "flags": [], "ack": 12, "ack_out": 11, "chunks": 1, "token_ok": true,
            "notes": [], "error": null, "origin": "peer", "leg": null, "hex": hex(&came), "hex_out": [hex(&left)],
        })
    );
    assert_eq!(pick(&got[1], ["event", "hex"]), json!(["message", "02686900"]));
}

#[test]
fn scaled_fields_have_their_scales() {
    // The tuning parameters of 0.7.
    let tunings = [&[12][..], &[1; 32]].concat();
    let datagram = crate::testing::chunks(0, false, &[(None, &tunings)]);
    let got = &lines(traffic(datagram, &[], |_| {}), style(Verbosity::Messages))[0];
    assert_eq!(
        (&got["fields"]["gravity"], &got["scale"]["gravity"]),
        (&json!(1), &json!(100))
    );
    assert_eq!(got["scale"].as_object().unwrap().len(), 32);
    let plain = &lines(traffic(chunk(217, 12), &[], |_| {}), style(Verbosity::Messages))[0];
    assert!(plain.get("scale").is_none(), "{plain}");
}

#[test]
fn a_close_has_its_reason_with_control_characters_escaped_and_the_notes_of_its_datagram() {
    let mut payload = Vec::new();
    control::close("bye \x1b[2J \u{9b}1m".as_bytes(), &mut payload);
    let what = traffic(packet(Flags::CONTROL, 3, 0, &payload), &[], |datagram| {
        datagram.leg = Some(Side::Server);
        datagram.notes.push(Note {
            code: teetap_wire::Code::AckAhead,
            at: 0,
            len: 2,
        });
    });
    let quiet = Style {
        quiet: true,
        ..style(Verbosity::Messages)
    };
    let got = &lines(what, quiet)[0];
    assert_eq!(
        pick(got, ["name", "layer", "leg", "seq", "fields"]),
        json!(["close", "control", "server", null, {"reason": "bye \u{1b}[2J \u{9b}1m"}])
    );
    assert_eq!(pick(&got["notes"][0], ["code", "at"]), json!(["ack-ahead", 0]));
}

/// Returns the notes on a message of the client, of 0.7.
fn notes_on(message: &[u8], secrets: Secrets) -> Value {
    let came: &'static [u8] = chunks(0, false, &[(Some(1), message)]).leak();
    let datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, came, [came].into_iter());
    let style = Style {
        secrets,
        ..style(Verbosity::Messages)
    };
    lines(EventKind::Datagram(datagram), style)[0]["notes"].clone()
}

#[test]
fn notes_have_the_received_and_the_expected_value_with_secrets_hidden_and_hostile_text_escaped() {
    // A password that is too long, with a change of direction and the words of a sentence.
    let message = "\x2dp\u{202e}, expected 7; got 8, got nothing else\0".as_bytes();
    let note = |got: &str| {
        json!([{
            "code": "text-too-long",
            "at": 1,
            "len": 41,
            "severity": "info",
            "place": "message",
            "text": "text longer than the receiver keeps",
            "detail": format!("password: got {got}, expected at most 32 bytes"),
            "got": got,
            "expected": "at most 32 bytes",
        }])
    };
    assert_eq!(notes_on(message, Secrets::Hide), note("•••"));
    let shown = notes_on(message, Secrets::Show);
    let got = shown[0]["got"].as_str().unwrap();
    assert!(
        got.contains(", expected 7; got 8, got nothing else") && !got.contains('\u{202e}'),
        "{got}"
    );
    assert_eq!(shown, note(got));
    // A command of the console without a login, whose text is not shown.
    let without_login = notes_on(b"\x2bshutdown\0", Secrets::Hide);
    assert_eq!(without_login, json!([]));
}

#[test]
fn sessions_logs_connless_and_gaps() {
    let change = SessionChange {
        upstream: Some("127.0.0.1:5".parse().unwrap()),
        by: Some(Side::Server),
        reason: Some(b"full"[..].into()),
        ..session(State::Closed, Proto::V65)
    };
    assert_eq!(
        lines(EventKind::Session(change), style(Verbosity::Messages)),
        [json!({
            "v": 2, "t": 12.418_001, "event": "session", "session": 2, "state": "closed", "proto": "0.6.5",
            "client": "127.0.0.1:4", "upstream": "127.0.0.1:5", "by": "server", "reason": "full", "name": null,
        })]
    );
    let got = lines(EventKind::Notice(Notice::EarlyClose), style(Verbosity::Messages));
    assert_eq!(
        got,
        [json!({
            "v": 2, "t": 12.418_001, "event": "notice", "session": 2, "kind": "early_close", "level": "warning",
            "text": "CLOSE within 1 s of CONNECT: 0.6.4 and 0.7 servers ban the address for that (not localhost)",
        })]
    );
    let request = connless(
        Dir::C2s,
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01",
        None,
    );
    let got = &lines(EventKind::Connless(request), style(Verbosity::Messages))[0];
    assert_eq!(
        pick(got, ["layer", "name", "client"]),
        json!(["connless", "request_info", "127.0.0.1:4"])
    );
    assert_eq!(got["actions"][0]["action"], json!("discard"));
    let mut out = Vec::new();
    gap(Time(20), 7, &mut out);
    assert_eq!(
        parse(&out),
        [json!({"v": 2, "t": 0.000_02, "event": "gap", "lost": 7})]
    );
}

#[test]
fn a_session_has_the_name_of_its_player_once_that_is_known() {
    let (mut decoder, mut out) = (decoder(), Vec::new());
    // The 0.7 `cl_start_info`, up to the name.
    let named = chunks(0, false, &[(Some(1), b"\x36\x1b tee\0")]);
    let state = |state| EventKind::Session(session(state, Proto::V7));
    let whats = [
        state(State::Online),
        traffic(named.clone(), &[&named], |datagram| datagram.dir = Dir::C2s),
        state(State::Closing),
        state(State::Closed),
        state(State::Opening),
    ];
    for what in whats {
        let event = Event {
            at: Time(1),
            session: Some(SessionId(2)),
            what,
        };
        put(&event, style(Verbosity::Messages), &mut decoder, &mut out);
    }
    let lines = parse(&out);
    let names = lines.iter().filter(|line| line["event"] == "session");
    let names: Vec<_> = names.map(|line| line["name"].clone()).collect();
    assert_eq!(
        names,
        [
            json!(null),
            json!("\u{fffd} tee"),
            json!("\u{fffd} tee"),
            json!(null)
        ]
    );
}

#[test]
fn start_and_summary() {
    let mut out = Vec::new();
    start(
        &Run {
            version: "0.1.0".to_owned(),
            wall: 1_709_210_096_000_007_000,
            seed: 42,
            target: "localhost:8303".to_owned(),
            server: "127.0.0.1:8303".parse().unwrap(),
            listen: "127.0.0.1:8304".parse().unwrap(),
        },
        &mut out,
    );
    summary(
        Time(1),
        SummaryBody {
            sessions: None,
            never_online: None,
            datagrams: None,
            bytes: None,
            refused: None,
            unsent: None,
            network_errors: None,
            lost: 3,
            kernel_drops: 4,
            seed: 42,
            repeat: None,
            rules_changed: false,
            rules: Vec::new(),
            links: Vec::new(),
            joins: Vec::new(),
            joins_left_out: 0,
            exit: 130,
            ended_by: Some(EndedByBody::Signal { signal: 2 }),
            cmd_exit: Some(7),
            cmd_stopped: Some(false),
            recording: None,
            findings: None,
        },
        &mut out,
    );
    let got = parse(&out);
    assert_eq!(got[0]["wall_clock"], json!("2024-02-29T12:34:56.000007Z"));
    assert_eq!(
        pick(&got[0], ["event", "listen", "seed"]),
        json!(["start", "127.0.0.1:8304", 42])
    );
    assert_eq!(
        pick(
            &got[1],
            ["event", "exit", "cmd_exit", "lost", "kernel_drops", "sessions"]
        ),
        json!(["summary", 130, 7, 3, 4, null])
    );
}

#[test]
fn times_have_at_most_six_places() {
    for micros in
        (0..2_000_000_000_u64)
            .step_by(1_234_567)
            .chain([1, 10, 999_999, u64::from(u32::MAX) * 1000 + 1])
    {
        let text = serde_json::to_string(&seconds(Time(micros))).unwrap();
        let places = text.split_once('.').map_or(0, |(_, places)| places.len());
        assert!(places <= 6 || text.contains('e'), "{micros}: {text}");
    }
}

/// Returns the lines that `--json -vv` prints for these events.
fn recorded(whats: &[EventKind]) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, what) in (1_u32..).zip(whats) {
        let event = Event {
            at: Time(12_418_001 * u64::from(at)),
            session: Some(SessionId(at)),
            what: what.clone(),
        };
        put(&event, style(Verbosity::Bytes), &mut decoder(), &mut out);
    }
    out
}

fn answer(result: Result<(), Cow<'static, str>>) -> EventKind {
    EventKind::Answer(Answer {
        id: CommandId(u64::MAX),
        result,
        held: None,
    })
}

#[test]
fn answers_are_for_scripts_only() {
    let json = style(Verbosity::Messages);
    assert_eq!(
        lines(answer(Err("the message is not held".into())), json),
        [json!({
            "v": 2, "t": 12.418_001, "event": "answer", "session": 2, "id": u64::MAX, "done": false,
            "why": "the message is not held",
        })]
    );
    let quiet = Style { quiet: true, ..json };
    assert!(lines(answer(Ok(())), quiet).is_empty());
    let event = Event {
        at: Time(7),
        session: None,
        what: answer(Ok(())),
    };
    let text = crate::row::rows(&decoder().decode(event), Style::default());
    assert_eq!(text, []);
}
