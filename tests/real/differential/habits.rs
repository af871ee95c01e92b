//! Mistakes of client authors that only a state, a loss or the game reveals: in acks, numbers, resends, tokens,
//! packing, inputs and chat.

use teetap_kit::codec::{Datagram, Packing, Variant, seal};
use teetap_kit::huffman::Ending;
use teetap_kit::script::{Edit, Got, Habit, Message, Step};

use super::cells::Cell;
use super::mistakes::{data, input_with, with_id};
use super::target::{Target, steps};

use Message::{Connect, EnterGame, Info, Input, Ready, Say, StartInfo};
use Step::{Begin, Lose, Lost, Pause, Resend, Send};

/// Seconds until Teeworlds gives up a client that acks nothing and has sent its CLOSE.
const NOT_ACKED: u64 = 14;

/// Returns the cells of a kind of client.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    if target.is_challenged() {
        return Vec::new();
    }
    let mut cells = lifelong(target);
    cells.extend(under_loss(target));
    cells.extend(for_ever(target));
    cells.extend(late_in_the_game(target));
    cells.extend(wrong_fields(target));
    cells.extend(packings(target));
    cells
}

/// Returns steps for some seconds of the game.
fn play(times: usize) -> Vec<Step> {
    [Send(Input), Pause(80)].repeat(times)
}

/// Returns cells with a habit that starts after the answer to CONNECT.
fn lifelong(target: Target) -> Vec<Cell> {
    let of = |name: &str, habit: Habit, times: usize| {
        let start = target.up_to(Connect);
        let rest = target.join().split_off(start.len());
        let game = [play(5), vec![Send(Say)], play(times)].concat();
        let steps = [start, vec![Begin(habit)], rest, game].concat();
        Cell::new(target, &format!("client {name}"), steps)
    };
    let long = |name: &str, habit: Habit| of(name, habit, 80).lasting(9);
    let short = |name: &str, habit: Habit| of(name, habit, 8);
    let mut cells = vec![
        long("acks nothing", Habit::AcksNothing),
        short("acks the highest number", Habit::AcksHighest),
        short("acks 20 too much", Habit::AcksAhead),
        short("acks all messages, vital or not", Habit::AcksAll),
        long("does not inflate", Habit::NoInflate),
        short("gives each message number 1", Habit::SameNumber),
        short("counts from 0", Habit::FromZero),
        short("numbers all messages, vital or not", Habit::NumbersAll),
    ];
    if target.has_token() {
        cells.push(short("shows its own token", Habit::OwnToken));
        cells.push(short("shows the token in reverse", Habit::ReversedToken));
    }
    cells
}

/// Returns cells in which datagrams of the client or to it are lost, so that the client makes a mistake.
fn under_loss(target: Target) -> Vec<Cell> {
    let with = |name: &str, parts: &[&[Step]]| Cell::new(target, name, parts.concat()).lasting(7);
    let informed = target.up_to(Info);
    // Long enough to show that a lost message is not retransmitted.
    let entered = [steps(EnterGame, Some(Got::Snapshot)), play(55)].concat();
    let after_info = [
        steps(Ready, Some(Got::ConReady)),
        steps(StartInfo, Some(Got::MayEnter)),
        entered.clone(),
    ]
    .concat();
    let blind = [Pause(150), Send(StartInfo), Pause(150)];
    let acked_late = |habit: Habit| {
        let first = [Begin(habit), Lose(1), Send(Ready)];
        [&first[..], &blind, &entered].concat()
    };
    vec![
        with(
            "Info lost and never sent again",
            &[
                &target.up_to(Connect),
                &accept(target),
                &[Lost(Info)],
                &after_info,
            ],
        ),
        with(
            "Ready lost and never sent again",
            &[&informed, &[Lost(Ready), Pause(100), Send(StartInfo)], &entered],
        ),
        with(
            "Ready lost and sent again after 1 s",
            &[
                &informed,
                &[
                    Lost(Ready),
                    Pause(1000),
                    Resend(Ready),
                    Step::Await(Got::ConReady),
                ],
                &steps(StartInfo, Some(Got::MayEnter)),
                &entered,
            ],
        ),
        with(
            "StartInfo lost and never sent again",
            &[
                &informed,
                &steps(Ready, Some(Got::ConReady)),
                &[Lost(StartInfo)],
                &entered,
            ],
        ),
        with(
            "the map is lost",
            &[
                &target.up_to(Connect),
                &accept(target),
                &[Lose(1)],
                &steps(Info, None),
                &[Pause(1300)],
                &after_info,
            ],
        ),
        with(
            "ConReady lost, the client acks the highest number",
            &[&informed, &acked_late(Habit::AcksHighest)],
        ),
        with(
            "ConReady lost, the client acks nothing",
            &[&informed, &acked_late(Habit::AcksNothing)],
        ),
    ]
}

/// Returns cells of a client that sends the same messages repeatedly.
fn for_ever(target: Target) -> Vec<Cell> {
    let with = |name: &str, parts: &[&[Step]]| Cell::new(target, name, parts.concat());
    let all_again = [
        Resend(Info),
        Resend(Ready),
        Resend(StartInfo),
        Send(Input),
        Pause(250),
    ];
    vec![
        with(
            "repeats everything for ever",
            &[&target.join(), &all_again.repeat(8)],
        ),
        with(
            "repeats Info for ever",
            &[&target.join(), &[Resend(Info), Send(Input), Pause(250)].repeat(8)],
        ),
    ]
}

/// Returns the rest of a handshake after CONNECT.
fn accept(target: Target) -> Vec<Step> {
    let has_accept = target
        .handshake()
        .iter()
        .any(|(message, _)| *message == Message::Accept);
    has_accept.then_some(Send(Message::Accept)).into_iter().collect()
}

/// Returns cells with mistakes that have a late effect, or that are made after the join.
fn late_in_the_game(target: Target) -> Vec<Cell> {
    let with = |name: &str, parts: &[&[Step]]| Cell::new(target, name, parts.concat());
    let joined = target.join();
    let edited = |message: Message, edit: fn(&mut Datagram)| Step::Edited(message, Edit::Parts(edit));
    let after = |step: Step| [&joined[..], &play(4), &[step], &play(8)].concat();
    let late: fn(&mut Datagram) = |datagram| input_with(datagram, 1, |ints| ints[1] - 20);
    vec![
        with(
            "StartInfo right after Info",
            &[
                &target.up_to(Info),
                &steps(StartInfo, None),
                &steps(Ready, Some(Got::ConReady)),
                &steps(EnterGame, Some(Got::Snapshot)),
            ],
        ),
        with("EnterGame missing", &[&target.up_to(StartInfo), &play(20)]),
        with("Say in the game", &[&after(Send(Say))]),
        with(
            "Say not vital",
            &[&after(edited(Say, |datagram| {
                datagram.chunks.iter_mut().for_each(|chunk| chunk.seq = None)
            }))],
        ),
        with(
            if target.variant().is_seven() {
                "Say with the fields of 0.6"
            } else {
                "Say with the fields of 0.7"
            },
            &[&after(edited(Say, other_chat))],
        ),
        with(
            "Say with the id of the other version",
            &[&after(edited(Say, |datagram| {
                with_id(datagram, |id| if id >> 1 == 17 { 24 << 1 } else { 17 << 1 })
            }))],
        ),
        with(
            "Say before the game",
            &[
                &target.up_to(Info),
                &[Send(Say)],
                &joined[target.up_to(Info).len()..],
            ],
        ),
        with(
            "Say without NUL",
            &[&after(edited(Say, |datagram| {
                data(datagram, |data| {
                    data.pop();
                })
            }))],
        ),
        with(
            "Input 20 ticks late",
            &[&joined, &[edited(Input, late), Pause(80)].repeat(40)],
        )
        .lasting(5),
        with(
            "acks nothing in the game",
            &[&joined, &[Begin(Habit::AcksNothing)], &play(120)],
        )
        .lasting(NOT_ACKED),
        with("falls silent in the game", &[&joined, &play(4)]).lasting(NOT_ACKED),
    ]
}

/// Returns cells with mistakes in the fields of the player's info.
fn wrong_fields(target: Target) -> Vec<Cell> {
    let with = |name: &str, parts: &[&[Step]]| Cell::new(target, name, parts.concat());
    let mut cells = vec![
        with(
            "StartInfo as 32-bit integers",
            &[&replaced(target, StartInfo, |datagram| {
                data(datagram, wide_country)
            })],
        ),
        with(
            "StartInfo with a wrong coding of -1",
            &[&replaced(target, StartInfo, |datagram| {
                data(datagram, |data| {
                    // The country, after name and clan.
                    if let Some(country) = data.get_mut(11) {
                        *country = 0x41;
                    }
                })
            })],
        ),
    ];
    if target.variant().is_seven() {
        cells.push(with(
            "StartInfo with five of six parts of the skin",
            &[&replaced(target, StartInfo, |datagram| {
                data(datagram, |data| {
                    if let Some(at) = data.windows(8).rposition(|word| word == b"standard") {
                        data.drain(at..at + 9);
                    }
                })
            })],
        ));
    }
    cells
}

/// Writes the country as four bytes.
fn wide_country(data: &mut Vec<u8>) {
    if data.len() > 11 {
        data.splice(11..12, (-1_i32).to_le_bytes());
    }
}

/// Writes the fields before the text as the other version does: one in 0.6, two in 0.7.
fn other_chat(datagram: &mut Datagram) {
    let is_seven = datagram.head.variant.is_seven();
    data(datagram, |data| {
        let at = data.len() - b"hello\0".len();
        if is_seven {
            data.remove(at - 1);
        } else {
            data.insert(at, 0x40);
        }
    });
}

fn replaced(target: Target, message: Message, edit: fn(&mut Datagram)) -> Vec<Step> {
    let replace = |step| match step {
        Send(other) if other == message => Step::Edited(other, Edit::Parts(edit)),
        other => other,
    };
    target.join().into_iter().chain(play(8)).map(replace).collect()
}

/// Returns cells with compression and tokens at wrong places.
fn packings(target: Target) -> Vec<Cell> {
    let of = |message: Message, name: &str, pack: fn(&Datagram) -> Vec<u8>| {
        let replace = |step| match step {
            Send(other) if other == message => Step::Edited(other, Edit::Packed(pack)),
            other => other,
        };
        let steps = target.join().into_iter().map(replace).collect();
        Cell::new(target, &format!("{message:?} {name}"), steps)
    };
    let mut cells: Vec<Cell> = [Info, Ready, StartInfo]
        .into_iter()
        .flat_map(|message| {
            [
                of(message, "compressed without the flag", without_flag),
                of(message, "compressed though longer", |datagram| {
                    datagram.pack(COMPRESSED)
                }),
                of(message, "compressed without an end", |datagram| {
                    let mut bytes = datagram.pack(COMPRESSED);
                    bytes.truncate(bytes.len().saturating_sub(2));
                    bytes
                }),
            ]
        })
        .collect();
    if target == Target::Ddnet {
        for message in [Info, Ready] {
            cells.push(of(message, "with the token in front", |datagram| {
                let mut bytes = datagram.build();
                let tail = bytes.split_off(bytes.len() - 4);
                bytes.splice(3..3, tail);
                bytes
            }));
            cells.push(of(message, "with the token behind the compression", |datagram| {
                let mut plain = datagram.clone();
                (plain.head.variant, plain.head.token) = (Variant::V6, None);
                let mut bytes = plain.pack(COMPRESSED);
                bytes.extend(datagram.head.token.unwrap_or_default());
                bytes
            }));
            cells.push(of(message, "with the token twice", |datagram| {
                let mut bytes = datagram.build();
                bytes.extend(datagram.head.token.unwrap_or_default());
                bytes
            }));
        }
    }
    if target.has_token() {
        cells.push(of(Info, "as an empty control packet", |datagram| {
            let mut head = datagram.head;
            (head.flags.control, head.num_chunks) = (true, 0);
            seal(&head, &[], Packing::Clear)
        }));
    }
    cells
}

const COMPRESSED: Packing = Packing::Always(Ending::Padded);

fn without_flag(datagram: &Datagram) -> Vec<u8> {
    let mut bytes = datagram.pack(COMPRESSED);
    if let Some(first) = bytes.first_mut() {
        *first &= if datagram.head.variant.is_seven() {
            !0x10
        } else {
            !0x80
        };
    }
    bytes
}
