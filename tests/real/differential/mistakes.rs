//! Mistakes of authors of clients after the handshake: in the messages of the join, and in the game.

use teetap_kit::codec::{Chunk, Datagram, Variant};
use teetap_kit::peer::game::{int, put_int};
use teetap_kit::script::{Edit, Message, Step};

use super::cells::Cell;
use super::target::Target;

use Message::{EnterGame, Info, Input, Ready, StartInfo};

/// A mistake: its name, the message, the change.
type Row = (&'static str, Message, fn(&mut Datagram));

const ROWS: &[Row] = &[
    ("Info without class bit", Info, |datagram| {
        with_id(datagram, |id| id >> 1)
    }),
    ("Info with the class of the game", Info, |datagram| {
        with_id(datagram, |id| id & !1)
    }),
    ("Ready without class bit", Ready, |datagram| {
        with_id(datagram, |id| id >> 1)
    }),
    ("Ready with the class of the game", Ready, |datagram| {
        with_id(datagram, |id| id & !1)
    }),
    ("StartInfo with the class of the engine", StartInfo, |datagram| {
        with_id(datagram, |id| id | 1)
    }),
    ("EnterGame without class bit", EnterGame, |datagram| {
        with_id(datagram, |id| id >> 1)
    }),
    ("Ready with the id of the other version", Ready, |datagram| {
        with_id(
            datagram,
            |id| if id >> 1 == 18 { 14 << 1 | 1 } else { 18 << 1 | 1 },
        )
    }),
    (
        "StartInfo with the id of the other version",
        StartInfo,
        |datagram| with_id(datagram, |id| if id >> 1 == 27 { 20 << 1 } else { 27 << 1 }),
    ),
    (
        "EnterGame with the id of the other version",
        EnterGame,
        |datagram| {
            with_id(
                datagram,
                |id| if id >> 1 == 19 { 15 << 1 | 1 } else { 19 << 1 | 1 },
            )
        },
    ),
    ("Input with the id of the other version", Input, |datagram| {
        with_id(
            datagram,
            |id| if id >> 1 == 20 { 16 << 1 | 1 } else { 20 << 1 | 1 },
        )
    }),
    (
        "Info with the chunk header of the other version",
        Info,
        |datagram| other_chunks(datagram),
    ),
    (
        "Ready with the chunk header of the other version",
        Ready,
        |datagram| other_chunks(datagram),
    ),
    (
        "StartInfo with the chunk header of the other version",
        StartInfo,
        |datagram| other_chunks(datagram),
    ),
    ("Info without password", Info, |datagram| drop_last_text(datagram)),
    ("Info without NUL", Info, |datagram| {
        data(datagram, |data| data.retain(|byte| *byte != 0))
    }),
    ("StartInfo without NUL", StartInfo, |datagram| {
        data(datagram, |data| data.retain(|byte| *byte != 0))
    }),
    ("StartInfo cut behind the name", StartInfo, |datagram| {
        data(datagram, |data| data.truncate(11))
    }),
    ("StartInfo without its last byte", StartInfo, |datagram| {
        data(datagram, |data| {
            data.pop();
        })
    }),
    ("Ready not vital", Ready, |datagram| seq(datagram, |_| None)),
    ("StartInfo not vital", StartInfo, |datagram| {
        seq(datagram, |_| None)
    }),
    ("EnterGame not vital", EnterGame, |datagram| {
        seq(datagram, |_| None)
    }),
    ("Ready with the number of Info", Ready, |datagram| {
        seq(datagram, |seq| seq.map(|seq| seq - 1))
    }),
    ("Ready skips a number", Ready, |datagram| {
        seq(datagram, |seq| seq.map(|seq| seq + 1))
    }),
    ("StartInfo with the number of Ready", StartInfo, |datagram| {
        seq(datagram, |seq| seq.map(|seq| seq - 1))
    }),
    ("EnterGame with number 0", EnterGame, |datagram| {
        seq(datagram, |_| Some(0))
    }),
    ("Ready acks too much", Ready, |datagram| datagram.head.ack += 9),
    ("StartInfo acks too much", StartInfo, |datagram| {
        datagram.head.ack += 40
    }),
    ("EnterGame acks too little", EnterGame, |datagram| {
        datagram.head.ack = 0
    }),
    ("Ready with a count of 0", Ready, |datagram| {
        datagram.head.num_chunks = 0
    }),
    ("StartInfo with a count of 9", StartInfo, |datagram| {
        datagram.head.num_chunks = 9
    }),
    ("EnterGame with the control flag", EnterGame, |datagram| {
        datagram.head.flags.control = true
    }),
    ("Ready compressed", Ready, |datagram| {
        datagram.head.flags.compressed = true
    }),
    ("Ready with trailing bytes", Ready, |datagram| {
        datagram.trailing.extend([0xaa; 7])
    }),
    ("StartInfo with a wrong token", StartInfo, |datagram| {
        datagram.head.token = datagram.head.token.map(|token| token.map(|byte| !byte))
    }),
    ("Ready without token", Ready, |datagram| without_token(datagram)),
    ("Input vital", Input, |datagram| seq(datagram, |_| Some(9))),
    ("Input acks no snapshot", Input, |datagram| input(datagram, 0, -1)),
    ("Input acks a tick of the future", Input, |datagram| {
        input(datagram, 0, 90_000_000)
    }),
    ("Input for tick 0", Input, |datagram| input(datagram, 1, 0)),
    ("Input of size 10", Input, |datagram| input(datagram, 2, 10)),
    ("Input of size 0", Input, |datagram| input(datagram, 2, 0)),
    ("Input cut", Input, |datagram| {
        data(datagram, |data| data.truncate(6))
    }),
    ("Input without class bit", Input, |datagram| {
        with_id(datagram, |id| id >> 1)
    }),
    ("Input acks vital 0", Input, |datagram| datagram.head.ack = 0),
    ("Input acks too much", Input, |datagram| datagram.head.ack += 33),
    ("Input with a wrong token", Input, |datagram| {
        datagram.head.token = datagram.head.token.map(|token| token.map(|byte| !byte))
    }),
    ("Input with a count of 2", Input, |datagram| {
        datagram.head.num_chunks = 2
    }),
    ("Input with the resend flag", Input, |datagram| {
        datagram.head.flags.resend = true
    }),
    ("Input as 32-bit integers", Input, |datagram| {
        data(datagram, |data| *data = wide(data))
    }),
];

pub(crate) fn data(datagram: &mut Datagram, change: impl Fn(&mut Vec<u8>)) {
    datagram
        .chunks
        .iter_mut()
        .for_each(|chunk| change(&mut chunk.data));
}

fn seq(datagram: &mut Datagram, change: fn(Option<u16>) -> Option<u16>) {
    datagram
        .chunks
        .iter_mut()
        .for_each(|chunk| chunk.seq = change(chunk.seq));
}

/// Replaces the id at the start of the message, including the bit of its class.
pub(crate) fn with_id(datagram: &mut Datagram, change: fn(i32) -> i32) {
    data(datagram, |data| {
        let Some((id, rest)) = int(data).map(|(id, rest)| (id, rest.to_vec())) else {
            return;
        };
        data.clear();
        put_int(data, change(id));
        data.extend(rest);
    });
}

/// Replaces an int of an input; place 0 is its ack.
fn input(datagram: &mut Datagram, place: usize, value: i32) {
    input_with(datagram, place, |_| value);
}

/// Replaces an int of an input, where place 0 is its ack. `value` receives all ints, starting with the id.
pub(crate) fn input_with(datagram: &mut Datagram, place: usize, value: impl Fn(&[i32]) -> i32) {
    data(datagram, |data| {
        let mut ints = ints(data);
        let value = value(&ints);
        if let Some(int) = ints.get_mut(place + 1) {
            *int = value;
        }
        data.clear();
        ints.iter().for_each(|int| put_int(data, *int));
    });
}

fn ints(mut bytes: &[u8]) -> Vec<i32> {
    let mut ints = Vec::new();
    while let Some((value, rest)) = int(bytes) {
        ints.push(value);
        bytes = rest;
    }
    ints
}

fn wide(bytes: &[u8]) -> Vec<u8> {
    let ints = ints(bytes);
    let rest = ints.iter().skip(1).flat_map(|int| int.to_le_bytes());
    bytes.first().copied().into_iter().chain(rest).collect()
}

fn drop_last_text(datagram: &mut Datagram) {
    data(datagram, |data| {
        let end = data
            .iter()
            .position(|byte| *byte == 0)
            .map_or(data.len(), |end| end + 1);
        data.truncate(end);
    });
}

/// Writes the chunks as the other version does; the result differs for sizes from 16 or 64 on.
fn other_chunks(datagram: &mut Datagram) {
    let other = if datagram.head.variant.is_seven() {
        Variant::V6
    } else {
        Variant::V7
    };
    for Chunk { seq, resend, data } in std::mem::take(&mut datagram.chunks) {
        teetap_kit::codec::put_chunk(&mut datagram.trailing, other, seq, resend, &data);
    }
}

fn without_token(datagram: &mut Datagram) {
    if datagram.head.variant.is_seven() || datagram.head.variant == Variant::V6 {
        return;
    }
    datagram.head.token = None;
    datagram.head.variant = Variant::V6;
}

/// Returns the cells of a kind of client.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    if target.is_challenged() {
        return Vec::new();
    }
    let of = |(name, message, edit): &Row| {
        let replace = |step| match step {
            Step::Send(other) if other == *message => Step::Edited(other, Edit::Parts(*edit)),
            other => other,
        };
        let play = [Step::Send(Input), Step::Pause(80)].repeat(if *message == Input { 40 } else { 10 });
        let steps = target.join().into_iter().chain(play).map(replace).collect();
        let lasts = if *message == Input { 5 } else { 4 };
        Cell::new(target, name, steps).lasting(lasts)
    };
    let has_effect = |row: &&Row| target.has_token() || !row.0.contains("token");
    ROWS.iter().filter(has_effect).map(of).collect()
}
