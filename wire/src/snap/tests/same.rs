//! Snapshots of generated sessions: what a store, the doctor and a recoder return must be the same as before, see
//! [`Groups`].

use std::collections::BTreeMap;

use super::doctor::{Fault, ITEMS, VALUES, diagnoses};
use super::recode::{Server, edits};
use super::*;
use crate::note::Note;
use teetap_repeatable::Groups;

use crate::testing::Dice;

/// Number of sessions of each protocol.
const SEEDS: u64 = 8;
/// Number of snapshots that the server of a session sends.
const STEPS: i32 = 70;
/// Number of worlds for each fault that the doctor examines.
const WORLDS: u64 = 6;

fn noted(notes: &Notes) -> Vec<(&'static str, usize, usize)> {
    notes
        .iter()
        .map(|Note { code, at, len }| (code.name(), at, len))
        .collect()
}

fn completed(groups: &mut Groups, done: &Completed<'_>) {
    let Completed {
        tick,
        base,
        parts,
        crc,
        fate,
        counts,
        data_at,
        since,
        ..
    } = *done;
    groups.line(format_args!(
        "{done} | {tick} {base:?} {parts} {crc:?} {fate:?} {counts:?} {data_at:?} {since:?}"
    ));
    groups.line(format_args!(
        "{:?} {:?} {:?}",
        noted(done.notes),
        noted(done.data_notes),
        done.reused
    ));
    let (mut now, mut then) = (Decoded::new(), Decoded::new());
    for item in done.items().filter(|item| item.change != Change::Same) {
        let fields = |def: Option<&crate::def::Def>, decoded: &Decoded| def.map(|_| decoded.records().len());
        let (of_now, of_then) = (item.read(&mut now), item.read_before(&mut then));
        let changed = now.records().iter().filter_map(|record| item.before(record));
        groups.line(format_args!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            item.key,
            item.name(),
            item.change,
            fields(of_now, &now),
            fields(of_then, &then),
            changed.collect::<Vec<_>>()
        ));
        groups.line(format_args!("{:?}", item.differences().collect::<Vec<_>>()));
    }
}

/// A session: the server, the store that follows it, and its messages that are still on their way.
struct Game {
    server: Server,
    session: Session,
    doctor: ChecksumCauses,
    before: Option<Retained<'static>>,
    late: Vec<Vec<u8>>,
    habit: Habit,
}

/// The acks of a client, and the ticks for which it sends inputs.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// Any, each time anew.
    Any,
    /// Acks each snapshot, with inputs for later ticks.
    Right,
    /// Acks no snapshot.
    AcksNone,
    /// Acks ticks that were not sent.
    AcksOthers,
    /// Sends inputs for ticks of the past.
    Late,
}

const HABITS: [Habit; 5] = [
    Habit::Any,
    Habit::Right,
    Habit::AcksNone,
    Habit::AcksOthers,
    Habit::Late,
];

impl Game {
    fn new(proto: Proto, seed: u64) -> Self {
        let server = Server {
            proto,
            sizes: sizes(proto),
            worlds: BTreeMap::new(),
            dice: Dice((seed * 7919) | 1),
        };
        let mut session = Session::new(proto);
        if seed % 3 == 1 {
            session.store = Store::new(registry(), proto).with_limit(6000);
        }
        Self {
            server,
            session,
            doctor: ChecksumCauses::default(),
            before: None,
            late: Vec::new(),
            habit: HABITS[usize::try_from(seed).unwrap() % HABITS.len()],
        }
    }

    fn receive(&mut self, groups: &mut Groups, dir: Dir, message: &[u8]) {
        let done = self.session.receive(dir, message).is_some();
        let store = &self.session.store;
        if let Some(done) = store.completed() {
            completed(groups, &done);
        }
        let newest = store
            .newest()
            .map(|(tick, world)| (tick, world.len(), world.crc()));
        groups.line(format_args!(
            "{dir} {done} {:?} {} {:?} {:?} {newest:?} {}",
            noted(store.notes()),
            store.whole(),
            store.receiving(),
            store.acked(),
            store.len()
        ));
        if let Some(diagnosis) = store.diagnose(&mut self.doctor, message) {
            groups.line(format_args!("{diagnosis:?}"));
        }
        if let Some(now) = store.retained() {
            if let Some(before) = self.before.take() {
                let compared = now.compared_with(&before);
                groups.line(format_args!("{} {:?}", compared.view(), compared.fate()));
                let counts = compared.without_items();
                groups.line(format_args!("{} {}", counts.view(), counts.tick()));
            }
            self.before = Some(now);
        }
    }

    /// Sends a message of the client, or lets the session end or lose messages.
    fn client(&mut self, groups: &mut Groups, tick: i32) {
        let dice = &mut self.server.dice;
        let back = i32::try_from(dice.below(6)).unwrap() * 2;
        let any = *dice.pick(&[tick, tick - back, tick - back, tick + 2, -1]);
        let (ahead, late) = (dice.int() % 40, dice.int() % 500);
        let (acked, intended, left) = match self.habit {
            Habit::Any => (any, tick + ahead, late),
            Habit::Right => (tick, tick + 5, 60),
            Habit::AcksNone => (-1, tick + 5, 60),
            Habit::AcksOthers => (tick + 1, tick + 5, 60),
            Habit::Late => (tick, tick - 20, -400),
        };
        let choice = dice.below(if self.habit == Habit::Any { 50 } else { 500 });
        let name = *dice.pick(&["map_change", "enter_game", "con_ready"]);
        let input = [("ack_snapshot", acked), ("intended_tick", intended)];
        let message = self.session.message("input", &input, &[]);
        self.receive(groups, Dir::C2s, &message);
        let timing = [("input_pred_tick", intended), ("time_left", left)];
        let timing = self.session.message("input_timing", &timing, &[]);
        self.receive(groups, Dir::S2c, &timing);
        match choice {
            0 => self.session.store.gap(),
            1 => {
                let dir = if name == "enter_game" { Dir::C2s } else { Dir::S2c };
                let message = self.session.message(name, &[], &[]);
                self.receive(groups, dir, &message);
            }
            _ => {}
        }
    }

    /// Returns messages of the server that the network has changed: lost, late, doubled, in another order or damaged.
    fn disturbed(&mut self, mut messages: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let dice = &mut self.server.dice;
        if self.habit != Habit::Any && dice.below(4) > 0 {
            return messages;
        }
        let any = usize::try_from(dice.below(messages.len() as u64)).unwrap();
        match dice.below(16) {
            0 => drop(messages.remove(any)),
            1 => messages.push(messages[any].clone()),
            2 => messages.reverse(),
            3 => std::mem::swap(&mut messages, &mut self.late),
            4 => messages.append(&mut self.late),
            5 | 6 => {
                let message = &mut messages[any];
                let at = usize::try_from(dice.below(message.len() as u64)).unwrap();
                message[at] ^= 1 << dice.below(8);
            }
            7 => {
                let message = &mut messages[any];
                message.truncate(message.len().saturating_sub(2));
            }
            _ => {}
        }
        messages
    }
}

#[test]
fn stores_decode_as_before() {
    let mut groups = Groups::default();
    for proto in [Proto::V6, Proto::V65, Proto::Ddnet, Proto::V7] {
        for seed in 0..SEEDS {
            groups.group(format!("{proto} {seed}"));
            let (mut game, mut world) = (Game::new(proto, seed + 1), Snapshot::new());
            let (mut tick, mut sent) = (10, vec![-1]);
            for step in 0..STEPS {
                tick += *game.server.dice.pick(&[2, 2, 2, 2, 1, 0, 4, 60]);
                if step % 7 != 0 {
                    world = game.server.next_world(&world, step % 11 < 3);
                }
                game.server.worlds.insert(tick, world.clone());
                let back = usize::try_from(game.server.dice.below(5)).unwrap();
                let base = if step % 16 == 0 || game.habit == Habit::AcksNone {
                    -1
                } else {
                    sent[sent.len().saturating_sub(1 + back)]
                };
                let messages = game.server.messages(tick, if base == tick { -1 } else { base });
                sent.push(tick);
                for message in game.disturbed(messages) {
                    game.receive(&mut groups, Dir::S2c, &message);
                }
                game.client(&mut groups, tick);
            }
        }
    }
    insta::assert_snapshot!(groups.table("stores"));
}

#[test]
fn faults_of_a_sender_are_explained_as_before() {
    let mut groups = Groups::default();
    for fault in ITEMS.into_iter().chain(VALUES.into_iter().map(Fault::Field)) {
        groups.group(format!("{fault:?}"));
        for seed in 0..WORLDS {
            let (found, right) = diagnoses(fault, seed);
            groups.line(format_args!("{seed} {right:?}"));
            for diagnosis in found {
                groups.line(format_args!("{diagnosis:?}"));
            }
        }
    }
    insta::assert_snapshot!(groups.table("doctor"));
}

/// A sum that is wrong by the sum of one of many items that are alike.
#[test]
fn many_causes_are_explained_as_before() {
    let mut groups = Groups::default();
    for proto in [Proto::Ddnet, Proto::V7] {
        groups.group(format!("{proto}"));
        for items in [1, 2, 7, 63, 64, 65, 100, 127, 128, 130] {
            for (ints, off) in [([3, 0, 7], 10), ([3, 0, 7], -10), ([5, -5, 1], 1), ([0; 3], 4)] {
                let mut session = Session::new(proto);
                let mut world = Snapshot::new();
                for id in 0..items {
                    world.insert(key(25, id), &ints).unwrap();
                }
                session.complete(10, &world);
                let mut later = world.clone();
                later.get_mut(key(25, 0)).unwrap()[0] += 1;
                let mut data = Vec::new();
                later.delta(&world, &sizes(proto), &mut data).unwrap();
                let size = i32::try_from(data.len()).unwrap();
                let fields = [
                    ("tick", 12),
                    ("delta_tick", 2),
                    ("crc", later.crc().wrapping_add(off)),
                    ("part_size", size),
                ];
                session.send(Dir::S2c, "snap_single", &fields, &data);
                let mut doctor = ChecksumCauses::default();
                let diagnosis = session.store.diagnose(&mut doctor, &session.data);
                groups.line(format_args!("{items} {ints:?} {off} {diagnosis:?}"));
            }
        }
    }
    groups.group("messages that a store follows");
    for proto in Proto::ALL {
        let store = Store::new(registry(), proto);
        for def in registry().defs(proto.into()) {
            let follows = [Dir::C2s, Dir::S2c].map(|dir| store.follows(dir, def));
            groups.line(format_args!("{proto} {} {follows:?}", def.name));
        }
    }
    insta::assert_snapshot!(groups.table("alike"));
}

#[test]
fn snapshots_are_changed_as_before() {
    let mut groups = Groups::default();
    for proto in [Proto::V65, Proto::Ddnet, Proto::V7] {
        for seed in 0..SEEDS {
            groups.group(format!("{proto} {seed}"));
            let (mut game, mut world) = (Game::new(proto, seed + 100), Snapshot::new());
            let mut recoder = Recoder::new(registry(), proto);
            let mut sent = vec![-1];
            for step in 0..STEPS {
                let tick = 10 + 2 * step;
                world = game.server.next_world(&world, step % 11 < 3);
                game.server.worlds.insert(tick, world.clone());
                let back = usize::try_from(game.server.dice.below(4)).unwrap();
                let base = sent[sent.len().saturating_sub(1 + back)];
                let messages = game.server.messages(tick, base);
                sent.push(tick);
                let (items, _) = match game.server.dice.below(3) {
                    0 => edits(&mut game.server.dice, &world),
                    _ => (Vec::new(), Snapshot::new()),
                };
                for message in game.disturbed(messages) {
                    let dice = &mut game.server.dice;
                    let changes = Changes {
                        items: &items,
                        bytes: Some(&b"other"[..]).filter(|_| dice.below(20) == 0),
                        is_dropped: dice.below(20) == 0,
                        may_follow: step < 50 && dice.below(9) > 0,
                    };
                    let (recoded, why) = recoder.on_message(&message, changes);
                    let why = why.map(|why| why.to_string());
                    groups.line(format_args!(
                        "{recoded:?} {why:?} {} {}",
                        recoder.len(),
                        recoder.is_idle()
                    ));
                }
            }
        }
    }
    insta::assert_snapshot!(groups.table("recoder"));
}
