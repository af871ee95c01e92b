//! The reactions of all receivers to generated datagrams, and the tables about messages and joins: they must be the same
//! as before, see [`Groups`].

use super::*;
use crate::receiver::{
    Check, JoinKind, Rejection, Signs, Stage, checks_ranges, identify, in_window, message, messages,
    token_fits,
};
use teetap_repeatable::Groups;

use crate::testing::Dice;
use crate::{Dir, chunk::write_chunk};

/// Number of datagrams for each receiver.
const DATAGRAMS: usize = 900;

const STAGES: [Stage; 5] = [
    Stage::PreAuth,
    Stage::Auth,
    Stage::Connecting,
    Stage::Ready,
    Stage::Ingame,
];

fn leg(dice: &mut Dice, release: Release) -> Leg {
    let usual = proto(release);
    let proto = *dice.pick(&[
        usual,
        usual,
        usual,
        Proto::V6,
        Proto::V65,
        Proto::Ddnet,
        Proto::V7,
    ]);
    let phase = *dice.pick(&[&PHASES[..], &[Phase::Online; 6]].concat());
    let token = *dice.pick(&[Some(TOKEN), Some(TOKEN), Some(TOKEN), None, Some(OTHER)]);
    let sequence = *dice.pick(&[0, 5, 8, 1023]);
    Leg {
        ack: Seq::new(*dice.pick(&[0, 10, 10, 1022, 1023])),
        ack_unknown: dice.below(6) == 0,
        peer_ack: *dice.pick(&[0, 5, 8, 1020, 1030]),
        sequence: Seq::new(sequence),
        admission: *dice.pick(&[&ADMISSIONS[..], &[Admission::Open; 12]].concat()),
        challenges: dice.below(4) == 0,
        leftover: *dice.pick(&[None, Some(0), Some(1), Some(4), Some(99)]),
        token_out: *dice.pick(&[None, Some(OTHER)]),
        ..Leg::new(proto, phase, token)
    }
}

/// Returns the payload of a control message, complete or not.
fn control_payload(dice: &mut Dice) -> Vec<u8> {
    let mut out = vec![*dice.pick(&[0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 0xff])];
    match dice.below(8) {
        0 => {}
        1 => out.extend(TOKEN.0),
        2 => out.extend(b"TKEN"),
        3 => out.extend([&b"TKEN"[..], &OTHER.0].concat()),
        4 => out.extend([&OTHER.0[..], &[0; 508]].concat()),
        5 => out.extend([&[0xff; 4][..], &[0; 508]].concat()),
        6 => out.extend([&[0; 4][..], &TOKEN.0, &[0; 504]].concat()),
        _ => out.extend(b"a reason\0"),
    }
    if dice.below(6) == 0 {
        out.truncate(usize::try_from(dice.below(out.len() as u64)).unwrap());
    }
    out
}

/// Returns a payload of random chunks, and the number of chunks for its header. The sequence numbers are in order, repeated
/// or after a gap; the number of chunks may be wrong.
fn chunks(dice: &mut Dice, proto: Proto, ack: Seq) -> (Vec<u8>, u8) {
    let (mut out, mut next) = (Vec::new(), ack.next());
    let count = *dice.pick(&[0, 1, 1, 1, 2, 3]);
    for _ in 0..count {
        let seq = match dice.below(6) {
            0 => Some(ack),
            1 => Some(Seq::new(next.get().wrapping_add(7) % 1024)),
            2 => None,
            _ => Some(next),
        };
        next = seq.map_or(next, Seq::next);
        let data = vec![dice.byte(); *dice.pick(&[0, 1, 9, 40, 70])];
        write_chunk(proto, seq, dice.below(4) == 0, &data, &mut out).unwrap();
    }
    match dice.below(10) {
        0 => out.extend([0xee; 2]),
        1 => drop(out.pop()),
        _ => {}
    }
    (out, *dice.pick(&[count, count, count, count, count + 1, 0, 200]))
}

fn datagram(dice: &mut Dice, proto: Proto, leg: &Leg) -> Vec<u8> {
    let is_control = dice.below(3) == 0;
    let (payload, count) = match is_control {
        true => (control_payload(dice), *dice.pick(&[0, 0, 0, 1])),
        false => chunks(dice, proto, leg.ack),
    };
    let parts = Parts {
        control: is_control,
        resend: dice.below(5) == 0,
        compressed: dice.below(4) == 0,
        ack: *dice.pick(&[0, 5, 6, 8, 8, 9, 0xff]),
        count,
        token: *dice.pick(&[TOKEN, TOKEN, TOKEN, OTHER, Token::NONE]),
        payload: &payload,
    };
    let mut out = write(proto, parts);
    match dice.below(14) {
        0 => out[0] ^= 1 << dice.below(8),
        1 => out[0] = *dice.pick(&[0xff, 0x20, 0x21, 0x40, 0x04]),
        2 => out.truncate(usize::try_from(dice.below(12)).unwrap()),
        3 => out.resize(*dice.pick(&[1390, 1397, 1398, 1400, 1401, 1500]), 0),
        4 => {
            let at = usize::try_from(dice.below(out.len() as u64)).unwrap();
            out[at] = dice.byte();
        }
        5 => out.truncate(out.len().saturating_sub(1)),
        _ => {}
    }
    out
}

#[test]
fn receivers_react_as_before() {
    let mut groups = Groups::default();
    for receiver in receivers() {
        groups.group(format!("{:?} {:?}", receiver.release, receiver.side));
        let mut dice = Dice(0x5eed);
        for _ in 0..DATAGRAMS {
            let leg = leg(&mut dice, receiver.release);
            let usual = if leg.has_slot() {
                leg.proto
            } else {
                proto(receiver.release)
            };
            let proto = *dice.pick(&[
                usual,
                usual,
                usual,
                usual,
                usual,
                Proto::V6,
                Proto::V65,
                Proto::Ddnet,
                Proto::V7,
            ]);
            let datagram = datagram(&mut dice, proto, &leg);
            let (found, after) = judge(receiver, &leg, &datagram);
            for finding in found {
                groups.line(format_args!(
                    "{} {:?} {:?}",
                    finding.row.name, finding.verdict, finding.chunk
                ));
            }
            groups.line(format_args!("{after:?}"));
        }
    }
    insta::assert_snapshot!(groups.table("receivers"));
}

/// Adds the rows of each receiver and its treatment of each message.
fn rows_and_messages(groups: &mut Groups) {
    for receiver in receivers() {
        groups.group(format!("rows of {:?} {:?}", receiver.release, receiver.side));
        for row in receiver.rows() {
            let Check {
                name,
                text,
                source,
                verdict,
                stops,
                ..
            } = row;
            groups.line(format_args!(
                "{name} {text} {source} {verdict:?} {} {stops}",
                verdict.text()
            ));
        }
    }
    for release in Release::ALL {
        groups.group(format!("messages of {release:?}"));
        for (side, row) in messages().flat_map(|row| [(Side::Client, row), (Side::Server, row)]) {
            let Some(row) = message(*release, side, row.name) else {
                continue;
            };
            for stage in STAGES {
                let verdicts = [false, true].map(|vital| row.judge(stage, vital));
                groups.line(format_args!(
                    "{side:?} {} {stage:?} {verdicts:?} {row:?}",
                    row.name
                ));
            }
        }
    }
}

/// Adds the messages with checked ranges, and the steps of joins.
fn ranges_and_joins(groups: &mut Groups) {
    groups.group("ranges");
    for proto in Proto::ALL {
        for def in crate::def::Registry::builtin().defs(proto.into()) {
            groups.line(format_args!(
                "{proto} {} {}",
                def.name,
                checks_ranges(proto, &def.name)
            ));
        }
    }
    groups.group("joins");
    for kind in JoinKind::ALL {
        groups.line(format_args!(
            "{kind} {:?} {:?}",
            kind.server(),
            kind.first_stage()
        ));
        kind.steps()
            .for_each(|step| groups.line(format_args!("{step:?}")));
    }
    for proto in Proto::ALL {
        groups.line(format_args!(
            "{proto} {:?} {:?}",
            JoinKind::from_proto(proto, false),
            JoinKind::from_proto(proto, true)
        ));
    }
}

/// Adds the rejections that reasons of a CLOSE name.
fn reasons(groups: &mut Groups) {
    groups.group("reasons of a CLOSE");
    for reason in [
        "This server is full",
        "this server is full",
        "The server is full",
        "Only 4 players with the same IP are allowed",
        "Only 16 players with the same IP are allowed",
        "Only players with the same IP are allowed",
        "4 players with the same IP are allowed",
        "Too many connections in a short time",
        "You have been banned for 5 minutes (no reason given)",
        "You have been banned for life (spam)",
        "banned",
        "0.7 connections are not accepted at this time",
        "Wrong version. Server is running '0.6 626fce9a778df4d4' and client '0.7'",
        "Wrong version. Server is running '0.6",
        "Wrong version.",
        "Wrong password",
        "Wrong passwor",
        "Server shutdown",
        "Timeout",
        "",
    ] {
        let rejection = Rejection::from_reason(reason);
        groups.line(format_args!(
            "{reason}: {rejection:?} {:?}",
            rejection.map(Rejection::text)
        ));
    }
}

/// Adds the releases that signs of a peer reveal.
fn releases(groups: &mut Groups) {
    groups.group("releases by their signs");
    for proto in Proto::ALL {
        for client_version in [
            None,
            Some(-1),
            Some(0),
            Some(1),
            Some(16_040),
            Some(19_039),
            Some(19_040),
            Some(20_010),
        ] {
            for version in [
                None,
                Some("0.6.4"),
                Some(" 0.6.5 "),
                Some("0.7.5"),
                Some("0.6, 16.4"),
                Some("0.6.4, 15.9.1"),
                Some("0.6, 19.3.1"),
                Some("0.6, 19.4"),
                Some("0.6, 1000"),
                Some("0.6, 20.100"),
                Some("0.6, x"),
            ] {
                let signs = [false, true].map(|is_ddnet| Signs {
                    proto,
                    client_version,
                    version,
                    is_ddnet,
                });
                groups.line(format_args!("{signs:?} {:?}", signs.each_ref().map(identify)));
            }
        }
    }
}

/// Adds acks and tokens that are accepted or not.
fn windows(groups: &mut Groups) {
    groups.group("windows and tokens");
    for ack in [0, 1, 5, 8, 9, 1022, 1023, 1024] {
        for (peer_ack, last) in [(0, 0), (5, 8), (8, 5), (1020, 2), (1030, 8)] {
            groups.line(format_args!(
                "{ack} {peer_ack} {last} {}",
                in_window(ack, peer_ack, Seq::new(last))
            ));
        }
    }
    for tokens in [
        (None, None),
        (None, Some(TOKEN)),
        (Some(TOKEN), None),
        (Some(TOKEN), Some(OTHER)),
    ] {
        groups.line(format_args!("{tokens:?} {}", token_fits(tokens.0, tokens.1)));
    }
    groups.line(format_args!(
        "{:?}",
        [Dir::C2s, Dir::S2c].map(|dir| (dir.sender(), dir.receiver()))
    ));
}

#[test]
fn tables_of_receivers_are_as_before() {
    let mut groups = Groups::default();
    rows_and_messages(&mut groups);
    ranges_and_joins(&mut groups);
    reasons(&mut groups);
    releases(&mut groups);
    windows(&mut groups);
    insta::assert_snapshot!(groups.table("tables"));
}
