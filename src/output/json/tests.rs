//! Tests of the schema: names, types, and that lines are lines.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use teetap_proxy::session::{Origin, Placed, Remark, SessionId, State};
use teetap_tui::Form;
use teetap_wire::{
    Dir, Header, Proto, Seq, Side, Token, control,
    def::{Registry, Secrets},
    packet, write_chunk,
};

use super::*;
use crate::exit::Exit;

fn style(verbosity: Verbosity) -> Style {
    Style {
        json: true,
        quiet: false,
        verbosity,
        secrets: Secrets::Hide,
    }
}

fn lines(what: What, style: Style) -> Vec<Value> {
    let mut out = Vec::new();
    event(
        &Event {
            at: Time(12_418_001),
            session: Some(SessionId(2)),
            what,
        },
        style,
        &mut Decoder::new(Registry::builtin(), style.secrets, Form::Json),
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

fn datagram(flags: Flags, ack: u16, num_chunks: u8, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        flags,
        ack: Seq::new(ack),
        num_chunks,
        token: Some(Token(*b"tokn")),
    };
    let mut out = Vec::new();
    packet::write(Proto::V7, &header, payload, None, &mut out);
    out
}

fn chunk(seq: u16, ack: u16) -> Vec<u8> {
    let mut payload = Vec::new();
    write_chunk(Proto::V7, Some(Seq::new(seq)), true, b"\x02hi\0", &mut payload).unwrap();
    datagram(Flags::empty(), ack, 1, &payload)
}

fn traffic(came: Vec<u8>, left: &[&[u8]], change: impl FnOnce(&mut Datagram)) -> What {
    let came: &'static [u8] = came.leak();
    let mut datagram = Datagram::new(Dir::S2c, Proto::V7, Origin::Peer, came, left.iter().copied());
    datagram.ordinal = 31;
    change(&mut datagram);
    What::Datagram(datagram)
}

#[test]
fn a_message() {
    let (came, left) = (chunk(217, 12), chunk(218, 11));
    let what = traffic(came, &[&left], |datagram| {
        datagram.placed = [Placed {
            seq_out: Some(Seq::new(218)),
            action: Action::Edit,
        }]
        .into();
    });
    assert_eq!(
        lines(what, style(Verbosity::Messages)),
        [json!({
            "v": 1, "t": 12.418_001, "event": "message", "session": 2, "dir": "s2c", "proto": "0.7",
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
            "v": 1, "t": 12.418_001, "event": "datagram", "session": 2, "dir": "s2c", "proto": "0.7", "ordinal": 31,
            "size": 14, "sizes_out": [14], "flags": [], "ack": 12, "ack_out": 11, "chunks": 1, "token_ok": true,
            "notes": [], "error": null, "origin": "peer", "leg": null, "hex": hex(&came), "hex_out": [hex(&left)],
        })
    );
    assert_eq!(
        (&got[1]["event"], &got[1]["hex"]),
        (&json!("message"), &json!("02686900"))
    );
}

#[test]
fn a_close_has_its_reason_with_control_characters_escaped_and_the_notes_of_its_datagram() {
    let mut payload = Vec::new();
    control::close("bye \x1b[2J \u{9b}1m".as_bytes(), &mut payload);
    let what = traffic(datagram(Flags::CONTROL, 3, 0, &payload), &[], |datagram| {
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
        (
            &got["name"],
            &got["layer"],
            &got["leg"],
            &got["seq"],
            &got["fields"]["reason"]
        ),
        (
            &json!("close"),
            &json!("control"),
            &json!("server"),
            &json!(null),
            &json!("bye \u{1b}[2J \u{9b}1m")
        )
    );
    assert_eq!(
        (&got["notes"][0]["code"], &got["notes"][0]["at"]),
        (&json!("ack-ahead"), &json!(0))
    );
}

#[test]
fn sessions_logs_connless_and_gaps() {
    let change = SessionChange {
        server: None,
        state: State::Closed,
        proto: Proto::V65,
        client: "127.0.0.1:4".parse().unwrap(),
        upstream: Some("127.0.0.1:5".parse().unwrap()),
        by: Some(Side::Server),
        reason: Some(b"full"[..].into()),
    };
    assert_eq!(
        lines(What::Session(change), style(Verbosity::Messages)),
        [json!({
            "v": 1, "t": 12.418_001, "event": "session", "session": 2, "state": "closed", "proto": "0.6.5",
            "client": "127.0.0.1:4", "upstream": "127.0.0.1:5", "by": "server", "reason": "full", "name": null,
        })]
    );
    let got = lines(What::Remark(Remark::EarlyClose), style(Verbosity::Messages));
    assert_eq!(
        (&got[0]["event"], &got[0]["level"], &got[0]["session"]),
        (&json!("log"), &json!("warning"), &json!(2))
    );
    let connless = Connless {
        dir: Dir::C2s,
        client: "127.0.0.1:4".parse().unwrap(),
        bytes: b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01"[..].into(),
        forwarded: false,
    };
    let got = &lines(What::Connless(connless), style(Verbosity::Messages))[0];
    assert_eq!(
        (&got["layer"], &got["name"], &got["client"]),
        (&json!("connless"), &json!("request_info"), &json!("127.0.0.1:4"))
    );
    assert_eq!(got["actions"][0]["action"], json!("discard"));
    let mut out = Vec::new();
    gap(Time(20), 7, &mut out);
    assert_eq!(
        parse(&out),
        [json!({"v": 1, "t": 0.000_02, "event": "gap", "lost": 7})]
    );
}

#[test]
fn start_and_summary() {
    let mut out = Vec::new();
    start(
        &Start {
            seed: 42,
            target: "localhost:8303".to_owned(),
            server: "127.0.0.1:8303".parse().unwrap(),
            listen: "127.0.0.1:8304".parse().unwrap(),
            connect: "127.0.0.1:8304".parse().unwrap(),
            wall: UNIX_EPOCH + Duration::from_micros(1_709_210_096_000_007),
        },
        &mut out,
    );
    summary(
        &Summary {
            at: Time(1),
            ended: None,
            lost: 3,
            kernel_drops: 4,
            seed: 42,
            exit: Exit::Signal(2),
            cmd_exit: Some(7),
        },
        &mut out,
    );
    let got = parse(&out);
    assert_eq!(got[0]["wall_clock"], json!("2024-02-29T12:34:56.000007Z"));
    assert_eq!(
        (&got[0]["event"], &got[0]["listen"], &got[0]["seed"]),
        (&json!("start"), &json!("127.0.0.1:8304"), &json!(42))
    );
    assert_eq!(
        (
            &got[1]["event"],
            &got[1]["exit"],
            &got[1]["cmd_exit"],
            &got[1]["lost"],
            &got[1]["kernel_drops"],
            &got[1]["sessions"]
        ),
        (
            &json!("summary"),
            &json!(130),
            &json!(7),
            &json!(3),
            &json!(4),
            &json!(null)
        )
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
