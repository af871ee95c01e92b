//! Further mistakes of authors of clients: in the packing of chunks, in values, and messages that are sent twice or
//! together.

use teetap_kit::codec::{Chunk, Datagram, Variant, control};
use teetap_kit::script::{Edit, Got, Message, Step};

use super::cells::Cell;
use super::mistakes::{data, input_with};
use super::target::{Target, steps};

use Message::{Accept, Close, EnterGame, Info, Input, Ready, Say, StartInfo};
use Step::{Await, Lost, Pause, Send};

/// Returns the cells of a kind of client.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    if target.is_challenged() {
        return Vec::new();
    }
    let mut cells = in_messages(target);
    cells.extend(in_chat(target));
    cells.extend(together(target));
    if target == Target::Ddnet {
        let answer: fn(&mut Datagram) = |datagram| datagram.payload[0] = control::CONNECT_ACCEPT;
        cells.push(edited(
            target,
            "Accept as ConnectAccept",
            Accept,
            Edit::Parts(answer),
        ));
    }
    cells
}

fn play(times: usize) -> Vec<Step> {
    [Send(Input), Pause(80)].repeat(times)
}

/// Returns a join and some seconds of the game, in which each message of a kind is changed.
fn edited(target: Target, name: &str, message: Message, edit: Edit) -> Cell {
    let replace = |step| match step {
        Send(other) if other == message => Step::Edited(other, edit),
        other => other,
    };
    let game = [play(20), vec![Send(Say)], play(20)].concat();
    let steps = target.join().into_iter().chain(game).map(replace).collect();
    Cell::new(target, name, steps).lasting(5)
}

fn in_messages(target: Target) -> Vec<Cell> {
    let parts =
        |name: &str, message, edit: fn(&mut Datagram)| edited(target, name, message, Edit::Parts(edit));
    vec![
        parts("StartInfo with a name of 60 letters", StartInfo, |datagram| {
            data(datagram, |data| {
                data.splice(1..1, [b'n'; 60]);
            })
        }),
        parts("StartInfo with a name in UTF-16", StartInfo, |datagram| {
            data(datagram, |data| {
                let end = data.iter().position(|byte| *byte == 0).unwrap_or(1);
                let wide = data[1..end]
                    .iter()
                    .flat_map(|byte| [*byte, 0])
                    .collect::<Vec<_>>();
                data.splice(1..end, wide);
            })
        }),
        parts("Input of size -4", Input, |datagram| {
            input_with(datagram, 2, |_| -4)
        }),
        parts("Input of size 4000", Input, |datagram| {
            input_with(datagram, 2, |_| 4000)
        }),
        parts("Input acks one less", Input, |datagram| {
            datagram.head.ack = datagram.head.ack.saturating_sub(1)
        }),
        parts("Input with a count of 0", Input, |datagram| {
            datagram.head.num_chunks = 0
        }),
        parts("Input as an empty data packet", Input, |datagram| {
            datagram.chunks.clear();
            datagram.head.num_chunks = 0;
        }),
        parts("Input with a number though not vital", Input, |datagram| {
            data(datagram, |data| data.insert(0, 9))
        }),
        parts("Ready with nothing in its chunk", Ready, |datagram| {
            data(datagram, Vec::clear)
        }),
        parts("Ready padded with 500 zeros", Ready, |datagram| {
            datagram.trailing.extend([0; 500])
        }),
        edited(
            target,
            "StartInfo with a size that is 1 too high",
            StartInfo,
            Edit::Packed(|datagram| {
                let mut bytes = datagram.build();
                let at = match datagram.head.variant {
                    Variant::V7 | Variant::D7 | Variant::V65 => 7,
                    Variant::V6 | Variant::Ddnet => 3,
                };
                bytes[at + 1] += 1;
                bytes
            }),
        ),
        edited(
            target,
            "Input with the ack in the wrong order of bits",
            Input,
            Edit::Bytes(|bytes| {
                let ack = u16::from(bytes[0] & 3) << 8 | u16::from(bytes[1]);
                bytes[0] = bytes[0] & !3 | u8::try_from(ack & 3).unwrap();
                bytes[1] = u8::try_from(ack >> 2 & 0xff).unwrap();
            }),
        ),
    ]
}

fn in_chat(target: Target) -> Vec<Cell> {
    let parts = |name: &str, edit: fn(&mut Datagram)| edited(target, name, Say, Edit::Parts(edit));
    vec![
        parts("Say in Latin-1", |datagram| {
            data(datagram, |data| {
                let at = data.len() - 2;
                data[at] = 0xe9;
            })
        }),
        parts("Say of nothing", |datagram| {
            data(datagram, |data| {
                let end = data.len() - 1;
                data.drain(end - 5..end);
            })
        }),
        parts("Say to team 9", |datagram| data(datagram, |data| data[1] = 9)),
    ]
}

/// Returns cells with messages that are sent twice, together, or in the wrong order in one datagram.
fn together(target: Target) -> Vec<Cell> {
    let with = |name: &str, parts: &[&[Step]]| {
        Cell::new(target, name, [&parts.concat()[..], &play(40)].concat()).lasting(5)
    };
    let info = target.up_to(Info);
    let before_info = &info[..info.len() - 2];
    let rest = [
        steps(StartInfo, Some(Got::MayEnter)),
        steps(EnterGame, Some(Got::Snapshot)),
    ]
    .concat();
    let close: fn(&mut Datagram) = |datagram| datagram.payload.extend(b"bye");
    vec![
        with(
            "Ready again with another number",
            &[&target.up_to(Ready), &[Send(Ready), Pause(100)], &rest],
        ),
        with(
            "EnterGame again with another number",
            &[&target.join(), &play(4), &[Send(EnterGame), Pause(100)]],
        ),
        with(
            "StartInfo again in the game",
            &[&target.join(), &play(4), &[Send(StartInfo), Pause(100)]],
        ),
        with(
            "Info and Ready in one datagram",
            &[
                before_info,
                &[
                    Step::Edited(Info, Edit::Parts(with_ready)),
                    Await(Got::Map),
                    Lost(Ready),
                    Pause(300),
                ],
                &rest,
            ],
        ),
        with(
            "StartInfo before Ready in one datagram",
            &[
                &info,
                &[
                    Lost(Ready),
                    Step::Edited(StartInfo, Edit::Parts(with_ready)),
                    Pause(300),
                ],
                &steps(EnterGame, Some(Got::Snapshot)),
            ],
        ),
        with(
            "Close without NUL in the game",
            &[
                &target.join(),
                &play(4),
                &[Step::Edited(Close, Edit::Parts(close)), Pause(200)],
            ],
        ),
    ]
}

/// Appends READY to the chunks of a datagram: after the version with the next number, otherwise with the previous
/// number.
fn with_ready(datagram: &mut Datagram) {
    let id = if datagram.head.variant.is_seven() {
        18 << 1 | 1
    } else {
        14 << 1 | 1
    };
    let seq = datagram.chunks.first().and_then(|chunk| chunk.seq).unwrap_or(1);
    let seq = if seq == 1 { 2 } else { seq - 1 };
    datagram.chunks.push(Chunk::new(Some(seq), vec![id]));
    datagram.head.num_chunks += 1;
}
