//! The messages of a join in 0.6 and 0.7.
//!
//! Sources: `protocol.h` and `client.cpp` of Teeworlds 0.6.5 and 0.7.5.

use crate::{
    codec::Variant,
    peer::game::{int, map_change, put_int, snap_empty},
};

/// A message of the client, in the order of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The version and the password.
    Info,
    /// The client has loaded the map.
    Ready,
    /// Name and looks.
    StartInfo,
    /// The client enters the game.
    EnterGame,
    /// The input of the player.
    Input,
    /// A line of chat.
    Say,
}

/// The reaction of the client to a message of the server.
pub(super) enum Answer {
    Step(Step),
    /// The tick of a complete snapshot.
    Tick(i32),
    /// A part of a snapshot.
    Part(Part),
}

/// A part of a snapshot of several parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) tick: i32,
    pub(super) parts: i32,
    pub(super) number: i32,
}

/// Returns the number of a message in 0.6 or 0.7, with the bit that marks messages of the engine.
fn id(variant: Variant, six: i32, seven: i32, is_system: bool) -> i32 {
    let number = if variant.is_seven() { seven } else { six };
    number << 1 | i32::from(is_system)
}

/// Returns the id of a message as written on the wire.
pub(super) fn id_of(variant: Variant, step: Step) -> i32 {
    match step {
        Step::Info => id(variant, 1, 1, true),
        Step::Ready => id(variant, 14, 18, true),
        Step::StartInfo => id(variant, 20, 27, false),
        Step::EnterGame => id(variant, 15, 19, true),
        Step::Input => id(variant, 16, 20, true),
        Step::Say => id(variant, 17, 24, false),
    }
}

/// Returns a command of the remote console.
pub(super) fn rcon_command(variant: Variant) -> Vec<u8> {
    let mut out = Vec::new();
    put_int(&mut out, id(variant, 17, 21, true));
    out.extend(b"status\0");
    out
}

/// Returns the version of the network code that the server has and expects of its clients.
fn version(variant: Variant) -> &'static str {
    if variant.is_seven() {
        "0.7 802f1be60a05665f"
    } else {
        "0.6 626fce9a778df4d4"
    }
}

/// Returns the reason why the server closes the connection of a client with this info; `None` if it accepts the
/// client.
pub(super) fn wrong_version(variant: Variant, info: &[u8]) -> Option<String> {
    let (_, rest) = int(info)?;
    // A text without an end is empty.
    let client = text(rest).map_or(&[][..], |(text, _)| text);
    let client = String::from_utf8_lossy(client);
    let own = version(variant);
    (client != own).then(|| format!("Wrong version. Server is running '{own}' and client '{client}'"))
}

/// Returns true if a server can read all fields of a start info. A server drops a start info that it cannot read.
pub(super) fn is_readable_start_info(variant: Variant, data: &[u8]) -> bool {
    let skip_text = |rest| text(rest).map(|(_, rest)| rest);
    let skip_int = |rest| int(rest).map(|(_, rest)| rest);
    let skip_bool = |rest| {
        int(rest)
            .filter(|(value, _)| matches!(value, 0 | 1))
            .map(|(_, rest)| rest)
    };
    // In 0.7 each of six parts of the skin has a name, a choice and a color. In 0.6 body and feet share a choice.
    let (texts, bools, colors) = if variant.is_seven() { (6, 6, 6) } else { (1, 1, 2) };
    let names = skip_int(data).and_then(skip_text).and_then(skip_text);
    let skin = (0..texts).fold(names.and_then(skip_int), |rest, _| rest.and_then(skip_text));
    let choices = (0..bools).fold(skin, |rest, _| rest.and_then(skip_bool));
    let all = (0..colors).fold(choices, |rest, _| rest.and_then(skip_int));
    all.is_some()
}

/// Splits off a text at the start; `None` if the text has no end.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

/// Returns a message of the client; an input acks `tick`.
#[must_use]
pub fn message(variant: Variant, step: Step, tick: i32) -> Vec<u8> {
    let mut out = Vec::new();
    put_int(&mut out, id_of(variant, step));
    let seven = variant.is_seven();
    match step {
        Step::Info => {
            out.extend(version(variant).as_bytes());
            out.extend([0, 0]);
            if seven {
                put_int(&mut out, 0x705);
            }
        }
        Step::Ready | Step::EnterGame => {}
        Step::StartInfo => {
            out.extend(b"scripted\0\0");
            put_int(&mut out, -1);
            if seven {
                for part in ["standard", "", "", "standard", "standard", "standard"] {
                    out.extend(part.as_bytes());
                    out.push(0);
                }
                (0..12).for_each(|_| put_int(&mut out, 0));
            } else {
                out.extend(b"default\0");
                [0, 65_408, 65_408]
                    .iter()
                    .for_each(|value| put_int(&mut out, *value));
            }
        }
        Step::Input => {
            let ints = [tick, tick + 7, 40, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0];
            ints.iter().for_each(|value| put_int(&mut out, *value));
            if seven {
                put_int(&mut out, 0);
            }
        }
        Step::Say => {
            if seven {
                [1, -1].iter().for_each(|value| put_int(&mut out, *value));
            } else {
                put_int(&mut out, 0);
            }
            out.extend(b"hello\0");
        }
    }
    out
}

/// Returns the reaction of a client to a message of the server.
pub(super) fn answer_to(variant: Variant, message: &[u8]) -> Option<Answer> {
    let (got, rest) = int(message)?;
    let is = |six, seven, is_system| got == id(variant, six, seven, is_system);
    if is(2, 2, true) {
        Some(Answer::Step(Step::Ready))
    } else if is(4, 5, true) {
        Some(Answer::Step(Step::StartInfo))
    } else if is(8, 8, false) {
        Some(Answer::Step(Step::EnterGame))
    } else if is(6, 7, true) || is(7, 8, true) {
        Some(Answer::Tick(int(rest)?.0))
    } else if is(5, 6, true) {
        let ([tick, _, parts, number], _) = ints(rest)?;
        Some(Answer::Part(Part { tick, parts, number }))
    } else {
        None
    }
}

/// Splits off the ints at the start of a message.
pub(super) fn ints<const COUNT: usize>(data: &[u8]) -> Option<([i32; COUNT], &[u8])> {
    let (mut ints, mut rest) = ([0; COUNT], data);
    for value in &mut ints {
        (*value, rest) = int(rest)?;
    }
    Some((ints, rest))
}

/// Returns the messages with which a server answers a message of a join.
pub(super) fn answers(variant: Variant, step: Step) -> Vec<Vec<u8>> {
    let empty = |six, seven, is_system| {
        let mut out = Vec::new();
        put_int(&mut out, id(variant, six, seven, is_system));
        out
    };
    match step {
        Step::Info => {
            let mut change = map_change("dm1", 0x1234, 6793);
            if variant.is_seven() {
                [8, 1384].iter().for_each(|value| put_int(&mut change, *value));
                change.extend([7; 32]);
            }
            vec![change]
        }
        Step::Ready => vec![empty(4, 5, true)],
        Step::StartInfo => vec![empty(8, 8, false)],
        Step::EnterGame | Step::Input | Step::Say => Vec::new(),
    }
}

/// Returns a line of the server's chat with a number. Some lines are long enough to be compressed.
pub(super) fn chat(variant: Variant, number: i32) -> Vec<u8> {
    let mut out = Vec::new();
    put_int(&mut out, id(variant, 3, 3, false));
    let fields: &[i32] = if variant.is_seven() {
        &[1, -1, -1]
    } else {
        &[0, -1]
    };
    fields.iter().for_each(|value| put_int(&mut out, *value));
    let marks = if number % 3 == 0 { 120 } else { 0 };
    out.extend(format!("the score is {number}{}\0", "(".repeat(marks)).as_bytes());
    out
}

/// Returns an empty snapshot.
pub(super) fn snapshot(variant: Variant, tick: i32) -> Vec<u8> {
    if !variant.is_seven() {
        return snap_empty(tick, tick + 1);
    }
    let mut out = Vec::new();
    for value in [7 << 1 | 1, tick, tick + 1] {
        put_int(&mut out, value);
    }
    out
}
