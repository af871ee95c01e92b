//! Generated programs on a fixed traffic of two sessions: verdicts, effects, counts and recorded decisions.

use super::*;
use crate::items::snapshot;
use crate::random::{ACTIONS, CONDITIONS, MODIFIERS, NAMES, SETS};
use crate::stage::{OPENING, message, say};
use teetap_rules::{Decide, Message, Opening, PacketFacts, PacketKind, Program, RuleId, Shared};
use teetap_wire::def::{Datum, Registry};
use teetap_wire::{Code, Dir, Flags, Note, Proto, Seq, Side, identify};

/// Number of programs.
const PROGRAMS: u64 = 140;
/// Number of messages that a program sees.
const MESSAGES: u64 = 60;

/// Actions that need snapshots, control messages, variables or other sessions.
const MORE_ACTIONS: &[&str] = &[
    "set snap.character[3].x = snap.character.x + 64",
    "set snap.character.y = snap.tick, mark moved",
    "set snap.player_info[3].score = n",
    "set seq = 5",
    "log \"{sess.name} {sess.client} {sess.proto} {pkt.size} {n} {t}\"",
    "log \"{snap.tick} {snap.character[3].x} {sess.rtt}\"",
    "var $seen = $seen + 1",
    "var $seen = n",
    "stall 1s",
    "pause",
    "hold until seen(enter_game) max 2s unordered",
    "close both \"full\"",
    "lose 2 times",
    "dup 3 gap 1ms",
    "corrupt 1 bits",
    "expect sv_motd within 500ms",
    "inject c2s cl_say{message: \"{{n}}\"} every 2",
    "inject s2c sv_broadcast{message: last(cl_say).message}",
];

const MORE_CONDITIONS: &[&str] = &[
    "any_snap",
    "any_snap and snap.character[3].x > 250",
    "connect",
    "ctrl.close and .reason contains \"x\"",
    "control",
    "connless",
    "resend",
    "lint",
    "malformed",
    "unknown",
    "sess.name == \"tee\"",
    "sess.rtt > 20ms",
    "sess.state == online and cl_say",
    "since(cl_say) < 1s and s2c",
    "last(cl_say).message == \"a\" and sv_chat",
    "pkt.chunks > 1 or pkt.seq > 5",
    "c2s",
    "s2c and not any_snap",
    "n == 2 and cl_say",
    "$said == \"a\"",
    "enter_game or con_ready or cl_start_info",
    "cl_say in last(sv_chat).message",
];

/// Conditions about handshakes and the browser.
const CONTROLS: &[&str] = &[
    "control",
    "connect",
    "connect_accept",
    "ctrl.accept",
    "ctrl.keep_alive",
    "ctrl.close",
    "ctrl.close.reason contains \"x\"",
    "connless",
    "c2s and control",
    "s2c",
    "not vital",
    "count(connect) > 1 or n == 2",
];

/// Actions on messages of handshakes and of the browser.
const ON_CONTROLS: &[&str] = &[
    "drop",
    "lose",
    "lose 2 times",
    "lose 3 times, mark again",
    "delay 80ms",
    "dup 2 gap 15ms",
    "swap",
    "reorder 2",
    "corrupt 3 bits",
    "hold until connect_accept max 1s",
    "log",
    "mark",
    "pass",
    "fail \"x\"",
    "expect ctrl.close within 1s",
    "set .reason = \"y\"",
];

/// A message before it is sent.
struct Sent {
    dir: Dir,
    form: PacketKind,
    data: Vec<u8>,
    /// The protocol; `None` for any.
    proto: Option<Proto>,
}

/// Returns messages of handshakes and of the browser.
fn controls() -> Vec<Sent> {
    let all = [
        (
            Dir::C2s,
            PacketKind::Control(Side::Client),
            &b"\x01TKEN\xff\xff\xff\xff"[..],
        ),
        (Dir::S2c, PacketKind::Control(Side::Client), b"\x02TKEN"),
        (Dir::S2c, PacketKind::Control(Side::Server), b"\x02TKEN"),
        (Dir::C2s, PacketKind::Control(Side::Server), b"\x03"),
        (Dir::C2s, PacketKind::Control(Side::Client), b"\x00"),
        (Dir::S2c, PacketKind::Control(Side::Client), b"\x04x\0"),
        (Dir::C2s, PacketKind::Connless, b"\xff\xff\xff\xffgie3\x05"),
    ];
    let sent = |(dir, form, data): (Dir, PacketKind, &[u8])| Sent {
        dir,
        form,
        data: data.to_vec(),
        proto: None,
    };
    all.map(sent).into()
}

fn traffic() -> Vec<Sent> {
    let chunk = |(dir, data): (Dir, Vec<u8>)| Sent {
        dir,
        form: PacketKind::Chunk,
        data,
        proto: None,
    };
    let chat = |id: i64, text: &str| {
        let fields = [("client_id", Datum::Int(id)), ("message", text.into())];
        chunk((Dir::S2c, message("sv_chat", &fields)))
    };
    let info = [
        ("name", "tee".into()),
        ("clan", "x".into()),
        ("country", Datum::Int(5)),
    ];
    let mut all: Vec<Sent> = [
        say("a"),
        say("b"),
        say("a long text, with a and b in it"),
        (Dir::C2s, message("cl_start_info", &info)),
        (Dir::C2s, message("enter_game", &[])),
        (Dir::S2c, message("con_ready", &[])),
        (Dir::S2c, message("sv_motd", &[])),
        (Dir::C2s, message("input", &[("ack_snapshot", Datum::Int(50))])),
        (Dir::C2s, vec![0x7f, 0x01, 0xff]),
        (Dir::C2s, vec![]),
        (Dir::C2s, say("cut").1[..3].to_vec()),
    ]
    .into_iter()
    .map(chunk)
    .collect();
    all.extend([chat(1, "a"), chat(3, ""), chat(-1, "b")]);
    all.extend(snapshot(50, 0).into_iter().chain(snapshot(52, 120)).map(chunk));
    for (dir, name, fields) in [
        (
            Dir::S2c,
            "sv_client_info",
            &[
                ("client_id", Datum::Int(4)),
                ("local", Datum::Int(1)),
                ("name", "own".into()),
            ][..],
        ),
        (
            Dir::S2c,
            "sv_client_info",
            &[("client_id", Datum::Int(5)), ("name", "other".into())],
        ),
        (Dir::S2c, "sv_client_drop", &[("client_id", Datum::Int(4))]),
        (Dir::S2c, "map_change", &[("name", "dm2".into())]),
        (Dir::C2s, "cl_say", &[("message", "b".into())]),
    ] {
        let mut named = Registry::builtin().named(Proto::V7, None, name);
        let (fields, mut data) = (Datum::group(fields.iter().cloned()), Vec::new());
        named.next().unwrap().encode(&fields, &mut data).unwrap();
        all.push(Sent {
            proto: Some(Proto::V7),
            ..chunk((dir, data))
        });
    }
    all.extend(controls());
    all
}

/// A rule about handshakes and the browser if `is_control`, or else about any message.
fn rule(dice: &mut Random, is_control: bool) -> String {
    if is_control {
        let (action, when) = (*dice.pick(ON_CONTROLS), *dice.pick(CONTROLS));
        return format!("{action} when {when} {}", dice.pick(MODIFIERS));
    }
    if dice.below(12) == 0 {
        return String::from("log \"{sess.name} {sess.rtt}\" when sess.name contains \"o\" or s2c");
    }
    let actions: Vec<_> = (0..=dice.below(2))
        .map(|_| of_two(dice, ACTIONS, MORE_ACTIONS))
        .collect();
    let when = of_two(dice, CONDITIONS, MORE_CONDITIONS);
    let modifier = *dice.pick(MODIFIERS);
    let name = if dice.below(3) == 0 { "named: " } else { "" };
    format!("{name}{} when {when} {modifier}", actions.join(", "))
}

/// Returns rules that are right together.
fn source(dice: &mut Random, is_control: bool) -> String {
    let mut source = format!("{NAMES}{SETS}");
    if !is_control && dice.below(2) == 0 {
        source.push_str("var $seen = n when c2s\n");
    }
    if dice.below(4) == 0 {
        source.push_str("seed 9\n");
    }
    let is_right = |source: &str| Program::compile(source, Registry::builtin()).is_ok();
    for _ in 0..6 {
        let longer = format!("{source}{}\n", rule(dice, is_control));
        if is_right(&longer) {
            source = longer;
        }
    }
    if dice.below(4) == 0 {
        let timed = *dice.pick(&[
            "inject s2c sv_chat{client_id: -1, message: \"{{n}}\"} every 700ms",
            "stall 300ms every 2s",
            "exit 13 every 20s",
            "close client every 9s",
        ]);
        source.push_str(timed);
    }
    source
}

/// The state of a program in two sessions.
struct Run {
    program: Program,
    shared: Shared,
    sessions: [Box<dyn Decide>; 2],
}

impl Run {
    fn new(program: Program) -> Self {
        let mut shared = program.share(Shared::default());
        shared.record();
        let open = |number| {
            let session = OPENING.session + number;
            let is_new = number == 0;
            program.open(
                Opening {
                    session,
                    is_new,
                    ..OPENING
                },
                None,
            )
        };
        Self {
            sessions: [open(0), open(1)],
            shared,
            program,
        }
    }

    fn effects(&mut self, groups: &mut Groups, number: usize) {
        let session = &mut self.sessions[number];
        groups.line(format_args!("{:?} {:?}", session.effects(), session.deadline()));
    }

    /// Runs the timers that are due before a time.
    fn time(&mut self, groups: &mut Groups, at: u64) {
        for number in 0..2 {
            for _ in 0..8 {
                let session = &mut self.sessions[number];
                let Some(due) = session.deadline().filter(|due| *due <= at) else {
                    break;
                };
                let made = session.on_time(due, &mut self.shared);
                groups.line(format_args!("{number} at {due}: {made:?}"));
                self.effects(groups, number);
            }
        }
    }

    fn message(&mut self, groups: &mut Groups, dice: &mut Random, sent: &Sent, at: u64) {
        let number = usize::from(dice.below(4) == 0);
        let session = OPENING.session + u32::try_from(number).unwrap();
        let proto = *dice.pick(&[Proto::Ddnet, Proto::Ddnet, Proto::Ddnet, Proto::V6, Proto::V7]);
        let proto = sent.proto.unwrap_or(proto);
        let is_chunk = sent.form == PacketKind::Chunk;
        let seq = Some(Seq::new(u16::try_from(dice.below(1024)).unwrap()))
            .filter(|_| is_chunk && dice.below(4) > 0);
        let note = Note {
            code: *dice.pick(&[Code::WrongToken, Code::OverlongInt]),
            at: 0,
            len: 1,
        };
        let notes: &[Note] = if dice.below(6) == 0 { &[note] } else { &[] };
        let packet = PacketFacts {
            chunks: u8::from(is_chunk) + u8::from(dice.below(5) == 0),
            flags: if is_chunk { Flags::empty() } else { Flags::CONTROL },
            notes,
            ..PacketFacts::without_chunks(sent.data.len() + 7, Seq::new(3))
        };
        let alone = Message::unnumbered((session, sent.dir, proto), sent.form, &sent.data, packet, at);
        let message = Message {
            vital: seq.is_some(),
            seq,
            resend: dice.below(8) == 0,
            id: identify(&sent.data).map(|(id, _)| id).filter(|_| is_chunk),
            ..alone
        };
        let Self { sessions, shared, .. } = self;
        let session = &mut sessions[number];
        if let (Some(id), true) = (message.id, is_chunk) {
            let ignores = session.ignores((proto, sent.dir), id, shared);
            groups.line(format_args!("{ignores}"));
        }
        let verdict = match dice.below(8) {
            0 => session.observe(&message, shared),
            1 => session.repeat(&message, shared),
            _ => session.decide(&message, shared),
        };
        groups.line(format_args!("{number} {at} {verdict:?}"));
        if dice.below(4) == 0 {
            let seq = seq.unwrap_or(Seq::new(5));
            session.on_sent(at, seq, dice.below(3) == 0);
            session.on_ack(at + 30_000, seq);
        }
        groups.line(format_args!("{:?}", session.open_lines()));
        self.effects(groups, number);
    }

    /// Disables a rule, or opens the sessions again under the same program, as after a reload of the rules.
    fn reload(&mut self, groups: &mut Groups, number: u64) {
        let rule = RuleId(u16::try_from(number % 5).unwrap());
        if number.is_multiple_of(2) {
            groups.line(format_args!("{}", self.shared.enable(rule, false)));
            return;
        }
        let shared = std::mem::take(&mut self.shared);
        self.shared = self
            .program
            .share(if number % 4 == 1 { shared } else { shared.cleared() });
        for (number, session) in (0..).zip(&mut self.sessions) {
            let opening = Opening {
                session: OPENING.session + number,
                is_new: false,
                ..OPENING
            };
            let before = std::mem::replace(session, self.program.open(opening, None));
            *session = self.program.open(opening, Some(before));
        }
    }

    fn end(&mut self, groups: &mut Groups) {
        for number in 0..2 {
            self.sessions[number].on_end();
            self.effects(groups, number);
        }
        let report = self.program.report(&self.shared);
        groups.line(format_args!("{} {report:?}", report.has_any()));
        groups.line(format_args!("{:?}", self.shared.entries()));
    }
}

#[test]
fn programs_decide_as_before() {
    let (mut groups, mut dice, traffic) = (Groups::default(), Random::new(41), traffic());
    let first = traffic.iter().position(|sent| sent.form != PacketKind::Chunk);
    let controls = &traffic[first.unwrap()..];
    for number in 0..PROGRAMS {
        if number % 20 == 0 {
            groups.group(format!("programs {number} to {}", number + 19));
        }
        let is_control = number % 3 == 2;
        let source = source(&mut dice, is_control);
        let (program, warnings) = Program::compile(&source, Registry::builtin()).unwrap();
        groups.line(format_args!("{source}"));
        diagnostics(&mut groups, &source, &warnings);
        let mut run = Run::new(program.clone());
        let mut at = OPENING.at;
        for step in 0..MESSAGES {
            at += *dice.pick(&[0, 1, 500_000, 500_000, 1_000_000, 2_000_000]);
            run.time(&mut groups, at);
            let sent = match is_control {
                true => dice.pick(controls),
                false => dice.pick(&traffic),
            };
            run.message(&mut groups, &mut dice, sent, at);
            if step == MESSAGES / 2 {
                run.reload(&mut groups, number);
            }
        }
        run.end(&mut groups);
        let decisions = run.shared.decisions();
        groups.line(format_args!("{decisions:?}"));
        let repeated = program
            .repeating(&decisions)
            .map(|repeated| repeated.faults().map(<[_]>::len));
        groups.line(format_args!("{repeated:?}"));
    }
    insta::assert_snapshot!(groups.table("programs"));
}
