//! Handshakes with special mistakes.

use teetap_kit::codec::{Datagram, NO_TOKEN, Variant};
use teetap_kit::script::{Edit, Got, Message, Step};

use super::cells::Cell;
use super::target::{Target, steps};

use Message::{Accept, Close, Connect, EnterGame, Info, Input, Keepalive, Ready, StartInfo, Token};

/// Returns the cells of a kind of client.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    let mut cells = general(target);
    match target.variant() {
        Variant::V7 | Variant::D7 => cells.extend(of_seven(target)),
        Variant::V65 => cells.extend(of_header(target)),
        Variant::Ddnet => cells.extend(of_ddnet(target)),
        Variant::V6 => {}
    }
    cells
}

fn edited(message: Message, edit: fn(&mut Datagram)) -> Step {
    Step::Edited(message, Edit::Parts(edit))
}

/// Replaces the step that sends a message by other steps.
fn replacing(target: Target, message: Message, by: &[Step]) -> Vec<Step> {
    let join = target.join().into_iter();
    join.flat_map(|step| match step {
        Step::Send(other) if other == message => by.to_vec(),
        other => vec![other],
    })
    .collect()
}

/// Returns cells with mistakes that a client of every version can make.
fn general(target: Target) -> Vec<Cell> {
    let connected = target.up_to(Connect);
    let with = |name: &str, steps: &[&[Step]]| Cell::new(target, name, steps.concat());
    let every = |message, times, wait| {
        std::iter::repeat_n([Step::Send(message), Step::Pause(wait)], times)
            .flatten()
            .collect::<Vec<_>>()
    };
    let info_only = [Step::Send(Info)];
    let rest = target.rest().into_iter();
    let rest: Vec<Step> = rest.flat_map(|(message, got)| steps(message, got)).collect();
    let mut cells = vec![
        with("one Connect, then waiting", &[&connected]),
        with(
            "Connect each 0.5 s",
            &[&target.up_to(Connect), &every(Connect, 7, 500)],
        ),
        with("Connect five times at once", &[&connected, &every(Connect, 5, 0)]),
        with(
            "Info at once after Connect",
            &[&target.up_to(Connect), &info_only, &rest],
        ),
        with(
            "Keepalive instead of Info",
            &[&connected, &every(Keepalive, 3, 600)],
        ),
        with(
            "waits 1.5 s after Info",
            &[&target.up_to(Info), &[Step::Pause(1500)], &rest],
        ),
        with(
            "Ready before the map",
            &[
                &target.up_to(Connect),
                &[Step::Send(Ready), Step::Send(Info)],
                &rest,
            ],
        ),
        with(
            "EnterGame too early",
            &[&target.up_to(Info), &[Step::Send(EnterGame)], &rest],
        ),
        with(
            "StartInfo missing",
            &[&target.up_to(Ready), &steps(EnterGame, Some(Got::Snapshot))],
        ),
        with(
            "Ready missing",
            &[&target.up_to(Info), &steps(StartInfo, Some(Got::MayEnter))],
        ),
        with(
            "Input before the game",
            &[&target.up_to(Info), &[Step::Send(Input)], &rest],
        ),
        with(
            "of a wrong version",
            &[&replacing(target, Info, &[edited(Info, wrong_version)])],
        ),
        with("Keepalive first", &[&[Step::Send(Keepalive)], &target.join()]),
        with("Close first", &[&[Step::Send(Close)], &target.join()]),
        with("Info first", &[&[Step::Send(Info)], &target.join()]),
        with("Info alone", &[&every(Info, 3, 500)]),
    ];
    cells.extend(closes(target));
    cells
}

/// Returns cells with a CLOSE that is too early or wrong.
fn closes(target: Target) -> Vec<Cell> {
    let connected = target.up_to(Connect);
    let with = |name: &str, steps: &[&[Step]]| Cell::new(target, name, steps.concat());
    let rest = target.rest().into_iter();
    let rest: Vec<Step> = rest.flat_map(|(message, got)| steps(message, got)).collect();
    let mut cells = vec![
        with("Close after Connect", &[&connected, &[Step::Send(Close)]]),
        with("Close after Info", &[&target.up_to(Info), &[Step::Send(Close)]]),
        with(
            "Close with ack 77 after Info",
            &[
                &target.up_to(Info),
                &[edited(Close, |datagram| datagram.head.ack = 77)],
                &rest,
            ],
        ),
        with(
            "Close, and then the join goes on",
            &[&target.up_to(Info), &[Step::Send(Close), Step::Pause(200)], &rest],
        ),
    ];
    if target.has_token() {
        cells.push(with(
            "Close with a wrong token after Info",
            &[
                &target.up_to(Info),
                &[edited(Close, |datagram| {
                    datagram.head.token = datagram.head.token.map(|token| token.map(|byte| !byte));
                })],
                &rest,
            ],
        ));
    }
    cells
}

fn wrong_version(datagram: &mut Datagram) {
    let chunk = datagram.chunks.first_mut();
    if let Some(place) = chunk.and_then(|chunk| chunk.data.get_mut(4)) {
        *place = b'X';
    }
}

fn of_ddnet(target: Target) -> Vec<Cell> {
    let connected = target.up_to(Connect);
    let with = |name: &str, steps: &[&[Step]]| Cell::new(target, name, steps.concat());
    let rest = target.rest().into_iter();
    let rest: Vec<Step> = rest.flat_map(|(message, got)| steps(message, got)).collect();
    let info = steps(Info, Some(Got::Map));
    // With a pause of 1 s, a retransmission of the server would be due at the same time.
    let each_second = [Step::Send(Accept), Step::Pause(900)].repeat(3);
    vec![
        with(
            "Keepalive instead of Accept",
            &[&replacing(target, Accept, &[Step::Send(Keepalive)])],
        ),
        with(
            "Info before Accept, then Info",
            &[&connected, &[Step::Send(Info), Step::Send(Accept)], &info, &rest],
        ),
        with(
            "Accept without token",
            &[&replacing(
                target,
                Accept,
                &[edited(Accept, |datagram| {
                    // The layout without the token at the end.
                    datagram.head.variant = Variant::V6;
                    datagram.head.token = None;
                })],
            )],
        ),
        with("Accept each second", &[&connected, &each_second]),
        with(
            "Accept each second in a join",
            &[
                &connected,
                &[Step::Send(Accept)],
                &info,
                &[Step::Pause(1000), Step::Send(Accept), Step::Pause(600)],
                &rest,
            ],
        ),
        with(
            "Connect with tken",
            &[&replacing(
                target,
                Connect,
                &[edited(Connect, |datagram| {
                    datagram.payload = b"\x01tken".to_vec();
                })],
            )],
        ),
        with(
            "Connect without the tail",
            &[&replacing(
                target,
                Connect,
                &[edited(Connect, |datagram| {
                    datagram.head.variant = Variant::V6;
                    datagram.head.token = None;
                })],
            )],
        ),
        with(
            "Connect with another tail",
            &[&replacing(
                target,
                Connect,
                &[edited(Connect, |datagram| {
                    datagram.head.token = Some([1, 2, 3, 4]);
                })],
            )],
        ),
        with(
            "TKEN as the token",
            &[&replacing(
                target,
                Accept,
                &[edited(Accept, |datagram| {
                    datagram.head.token = Some(*b"TKEN");
                })],
            )],
        ),
    ]
}

fn of_header(target: Target) -> Vec<Cell> {
    let cut = |name: &str, edit: fn(&mut Vec<u8>)| {
        let steps = replacing(target, Connect, &[Step::Edited(Connect, Edit::Bytes(edit))]);
        Cell::new(target, name, steps)
    };
    vec![
        cut("Connect of 515 bytes", |bytes| bytes.truncate(515)),
        cut("Connect of 512 bytes", |bytes| bytes.truncate(512)),
        cut("Connect of 12 bytes", |bytes| bytes.truncate(12)),
        cut("Connect of 1400 bytes", |bytes| bytes.resize(1394, 0)),
        cut("Connect with token 0", |bytes| {
            bytes.iter_mut().skip(8).take(4).for_each(|byte| *byte = 0);
        }),
        Cell::new(
            target,
            "Accept as 0.6.4 does",
            [
                target.up_to(Connect),
                vec![Step::Send(Accept)],
                target.join().split_off(2),
            ]
            .concat(),
        ),
    ]
}

fn of_seven(target: Target) -> Vec<Cell> {
    let with = |name: &str, steps: Vec<Step>| Cell::new(target, name, steps);
    let token =
        |name: &str, edit: fn(&mut Datagram)| with(name, replacing(target, Token, &[edited(Token, edit)]));
    let connect = |name: &str, edit: fn(&mut Datagram)| {
        with(name, replacing(target, Connect, &[edited(Connect, edit)]))
    };
    fn response(datagram: &mut Datagram, token: [u8; 4]) {
        for (place, byte) in datagram.payload.iter_mut().skip(1).zip(token) {
            *place = byte;
        }
    }
    vec![
        token("Token without padding", |datagram| datagram.payload.truncate(5)),
        token("Token of 518 bytes", |datagram| datagram.payload.truncate(511)),
        token("Token of 519 bytes", |datagram| datagram.payload.truncate(512)),
        token("Token with response token ffffffff", |datagram| {
            response(datagram, NO_TOKEN)
        }),
        token("Token with response token 00000000", |datagram| {
            response(datagram, [0; 4])
        }),
        connect("Connect without padding", |datagram| datagram.payload.truncate(5)),
        connect("Connect without response token", |datagram| {
            datagram.payload.truncate(1)
        }),
        connect("Connect with another response token", |datagram| {
            response(datagram, *b"abcd")
        }),
        connect("Connect with response token ffffffff", |datagram| {
            response(datagram, NO_TOKEN)
        }),
        connect("Connect with response token 00000000", |datagram| {
            response(datagram, [0; 4])
        }),
        with(
            "Token each 0.5 s",
            [
                target.up_to(Token),
                [Step::Send(Token), Step::Pause(500)].repeat(4),
                target.join().split_off(2),
            ]
            .concat(),
        ),
        with(
            "Token in the session",
            [
                target.up_to(Info),
                steps(Token, None),
                vec![Step::Pause(300)],
                target.join().split_off(6),
            ]
            .concat(),
        ),
    ]
}
