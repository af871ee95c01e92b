//! The cells: joins with one mistake each.

use std::time::Duration;

use teetap_kit::codec::{Datagram, NO_TOKEN, Variant};
use teetap_kit::script::{Edit, Message, Script, Step};

use super::firsts;
use super::habits;
use super::mistakes;
use super::more;
use super::pauses;
use super::rejoins;
use super::special;
use super::target::{LASTS, Target, steps};

/// A script with its name and its target.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) target: Target,
    pub(crate) script: Script,
}

impl Cell {
    pub(crate) fn new(target: Target, name: &str, steps: Vec<Step>) -> Self {
        Self {
            name: format!("{}: {name}", target.name()),
            target,
            script: Script {
                variant: target.variant(),
                steps,
                lasts: LASTS,
            },
        }
    }

    pub(crate) fn lasting(mut self, seconds: u64) -> Self {
        self.script.lasts = Duration::from_secs(seconds);
        self
    }
}

/// Returns all cells.
pub(crate) fn all() -> Vec<Cell> {
    let of = |target: Target| {
        let mut cells = vec![Cell::new(target, "join", target.join())];
        for (message, _) in target.handshake() {
            cells.extend(orders(target, message));
            cells.extend(edits(target, message));
        }
        cells.extend(special::cells(target));
        cells.extend(rejoins::cells(target));
        cells.extend(mistakes::cells(target));
        cells.extend(firsts::cells(target));
        cells.extend(habits::cells(target));
        cells.extend(pauses::cells(target));
        cells.extend(more::cells(target));
        cells
    };
    Target::ALL.into_iter().flat_map(of).collect()
}

/// Returns cells in which the message is missing, duplicated, early, late, or sent from another port.
fn orders(target: Target, message: Message) -> Vec<Cell> {
    let messages: Vec<_> = target.handshake().into_iter().chain(target.rest()).collect();
    let at = messages
        .iter()
        .position(|(other, _)| *other == message)
        .unwrap_or(0);
    let got = messages[at].1;
    let with = |name: &str, replaced: Vec<Step>| {
        let before = messages[..at]
            .iter()
            .flat_map(|(message, got)| steps(*message, *got));
        let after = messages[at + 1..]
            .iter()
            .flat_map(|(message, got)| steps(*message, *got));
        let steps = before.chain(replaced).chain(after).collect();
        Cell::new(target, &format!("{message:?} {name}"), steps)
    };
    let (send, again) = (Step::Send(message), Step::Again(message));
    let wait = got.map(Step::Await);
    let then = |steps: &[Step]| steps.iter().copied().chain(wait).collect::<Vec<_>>();
    let mut cells = vec![
        with("missing", Vec::new()),
        with("doubled", then(&[send, again])),
        with("again after its answer", [then(&[send]), vec![again]].concat()),
        with(
            "again 0.7 s after its answer",
            [then(&[send]), vec![Step::Pause(700), again, Step::Pause(450)]].concat(),
        ),
        with("late", then(&[Step::Pause(1600), send])),
        with("from another port", then(&[Step::Port(1), send, Step::Port(0)])),
        without_a_wait(with("without a wait for its answer", vec![send])),
    ];
    if at > 0 {
        let (previous, _) = messages[at - 1];
        let mut early = messages.clone();
        early.swap(at - 1, at);
        early[at - 1].1 = None;
        let all = early
            .iter()
            .flat_map(|(message, got)| steps(*message, *got))
            .collect();
        let name = format!("{message:?} before {previous:?}");
        cells.push(Cell::new(target, &name, all));
    }
    cells
}

/// Adds a pause: a client that waits for no answer still has to know the number of the challenge before it sends the
/// number back in its input.
fn without_a_wait(mut cell: Cell) -> Cell {
    let steps = &mut cell.script.steps;
    let input = steps
        .iter()
        .position(|step| matches!(step, Step::Send(Message::Input)));
    if let Some(at) = input.filter(|_| cell.target.is_challenged()) {
        steps.insert(at, Step::Pause(50));
    }
    cell
}

/// A change of a datagram.
struct Change {
    name: &'static str,
    /// True for control packets, false for data; `None` for both.
    control: Option<bool>,
    edit: Edit,
}

const fn parts(name: &'static str, control: Option<bool>, edit: fn(&mut Datagram)) -> Change {
    Change {
        name,
        control,
        edit: Edit::Parts(edit),
    }
}

const CHANGES: &[Change] = &[
    parts("with ack 1", None, |datagram| datagram.head.ack = 1),
    parts("with ack 5", None, |datagram| datagram.head.ack = 5),
    parts("with ack 1023", None, |datagram| datagram.head.ack = 1023),
    parts("with the resend flag", None, |datagram| {
        datagram.head.flags.resend = true
    }),
    parts("compressed", None, |datagram| {
        datagram.head.flags.compressed = true
    }),
    parts("with a spare bit", None, |datagram| {
        datagram.head.spare = match datagram.head.variant {
            Variant::V7 | Variant::D7 => 0x40,
            Variant::V65 => 0x04,
            Variant::V6 | Variant::Ddnet => 0x08,
        };
    }),
    parts("with a count of 1", Some(true), |datagram| {
        datagram.head.num_chunks = 1
    }),
    parts("with a count of 0", Some(false), |datagram| {
        datagram.head.num_chunks = 0
    }),
    parts("with a count of 2", Some(false), |datagram| {
        datagram.head.num_chunks = 2
    }),
    parts("longer by 4 bytes", Some(true), |datagram| {
        datagram.payload.extend([0; 4])
    }),
    parts("longer by 4 bytes", Some(false), |datagram| {
        datagram.trailing.extend([0; 4])
    }),
    parts("longer by 600 bytes", Some(true), |datagram| {
        datagram.payload.extend([0; 600])
    }),
    parts("shorter by a byte", Some(true), |datagram| {
        datagram.payload.pop().filter(|_| datagram.payload.len() > 1);
    }),
    parts("shorter by a byte", Some(false), |datagram| {
        if let Some(chunk) = datagram.chunks.first_mut() {
            chunk.data.pop();
        }
    }),
    parts("with number 0", Some(false), |datagram| {
        set_number(datagram, Some(0))
    }),
    parts("with number 2", Some(false), |datagram| {
        set_number(datagram, Some(2))
    }),
    parts("not vital", Some(false), |datagram| set_number(datagram, None)),
    parts("marked as resent", Some(false), |datagram| {
        datagram.chunks.iter_mut().for_each(|chunk| chunk.resend = true);
    }),
];

const OF_TOKENS: &[Change] = &[
    parts("with a wrong token", None, |datagram| {
        datagram.head.token = datagram.head.token.map(|token| token.map(|byte| !byte));
    }),
    parts("with token ffffffff", None, |datagram| {
        datagram.head.token = Some(NO_TOKEN)
    }),
    parts("with token 00000000", None, |datagram| {
        datagram.head.token = Some([0; 4])
    }),
];

fn set_number(datagram: &mut Datagram, seq: Option<u16>) {
    datagram.chunks.iter_mut().for_each(|chunk| chunk.seq = seq);
}

fn marked_six(bytes: &mut [u8]) {
    if let Some(first) = bytes.first_mut() {
        *first |= 0x80;
    }
}

fn marked_seven(bytes: &mut [u8]) {
    if let Some(first) = bytes.first_mut() {
        *first |= 0x10;
    }
}

/// Returns cells with a changed message.
fn edits(target: Target, message: Message) -> Vec<Cell> {
    let is_control = message != Message::Info;
    let variant = target.variant();
    let has_token = match variant {
        Variant::V6 => false,
        Variant::V65 => message != Message::Connect,
        _ => true,
    };
    // A tokenless datagram of 0.6 has twelve bits for the ack and no spare bits.
    let fits = |change: &&Change| {
        change.control.is_none_or(|control| control == is_control)
            && (change.name != "with a spare bit" || variant != Variant::V6)
    };
    let changes = CHANGES.iter().filter(fits);
    let of_tokens = OF_TOKENS.iter().filter(|_| has_token);
    let marked = Change {
        name: "marked as compressed",
        control: None,
        edit: Edit::Bytes(if variant.is_seven() {
            |bytes| marked_seven(bytes)
        } else {
            |bytes| marked_six(bytes)
        }),
    };
    let all = changes.chain(of_tokens).chain(std::iter::once(&marked));
    all.map(|change| {
        let replace = |step: Step| match step {
            Step::Send(other) if other == message => Step::Edited(message, change.edit),
            other => other,
        };
        let steps = target.join().into_iter().map(replace).collect();
        Cell::new(target, &format!("{message:?} {}", change.name), steps)
    })
    .collect()
}

/// Parts of the names of cells that the short form runs for every kind of client.
const ALWAYS: &[&str] = &[
    ": join",
    "Accept missing",
    "Keepalive instead of Accept",
    "Info before Accept",
    "Accept without token",
    "Connect with ack 5",
    "Connect without a wait for its answer",
    "one Connect, then waiting",
    "Connect compressed",
    "Accept each second",
    "rejoin after Info without Close",
    "rejoin after EnterGame without Close",
    "another response token",
    "Connect again 0.7 s after its answer",
    "of a wrong version",
];

/// Returns true if the short form runs the cell. It runs the cells of [`ALWAYS`] and a part of the others, which takes
/// 15 s on a quiet machine.
pub(crate) fn is_short(cell: &Cell) -> bool {
    let sum = cell
        .name
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let is_quick = cell.script.lasts <= Duration::from_secs(5);
    is_quick && (ALWAYS.iter().any(|part| cell.name.contains(part)) || sum % 14 == 0)
}
