//! The comparison of two sides.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use teetap_proxy::session::Time;
use teetap_wire::{Dir, PerDir};

use super::{
    align::{AlignKey, Aligned, align},
    difference::{DiffSettings, Difference, FieldDifference, How, both_rules, differing},
    entry::{ComparedMessage, Field},
    legs::align_legs,
    lineage::Lineage,
    side::{Noise, Side, SideDirection},
    stats::{Statistic, counts, statistics},
    ticks,
};
use crate::Layer;

/// Maximum number of listed differences; further differences are only counted.
const DIFFERENCES: usize = 100_000;

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The messages of both directions, in the order of the first side.
    pub messages: Vec<Found>,
    /// Messages that are sent all the time, by direction.
    pub noise: Vec<Found>,
    /// Inputs and snapshots, by tick.
    pub ticks: Vec<Found>,
    /// The side that stops sending messages in each direction, while the other side goes on; `None` if neither does.
    pub stops: PerDir<Option<Stop>>,
    /// True if both sides saw the same game, so that ticks are compared; `None` if neither snapshots nor inputs are on
    /// both sides.
    pub same_game: Option<bool>,
    /// Statistics of both games, which are not differences. Only counts if both sides saw the same game.
    pub statistics: Vec<Statistic>,
    /// The counts of the comparison.
    pub totals: Totals,
}

/// A part of the result.
#[derive(Clone, Debug)]
pub enum Found {
    /// A run of equal messages.
    Alike(Run),
    /// A difference.
    Different(Difference),
}

/// The end of the messages of one side in a direction, while the other side goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Index of the side that stops: 0 for the first, 1 for the second.
    pub side: usize,
    /// Name of its last message, and the time of that message; `None` if it has no message.
    pub after: Option<(Box<str>, Time)>,
    /// Names of messages that are sent continuously and that it still sends: inputs, snapshots, pings.
    pub still: Vec<Box<str>>,
    /// Number of further messages of the other side, at least 2.
    pub more: usize,
}

/// Consecutive messages that are equal on both sides.
#[derive(Clone, Debug)]
pub struct Run {
    /// The direction.
    pub dir: Dir,
    /// The names in order, with repetitions.
    pub names: Vec<Box<str>>,
}

/// The counts of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of equal messages.
    pub alike: u64,
    /// Number of equal inputs and snapshots.
    pub ticks_alike: u64,
    /// Number of differences in fields.
    pub changed: u64,
    /// Number of messages, inputs and objects that only the first side has.
    pub only_a: u64,
    /// Number of messages, inputs and objects that only the second side has.
    pub only_b: u64,
    /// Number of messages in a different order.
    pub moved: u64,
    /// Number of differences that are counted but not listed.
    pub unlisted: u64,
}

impl Totals {
    /// Returns the number of differences.
    #[must_use]
    pub const fn differences(&self) -> u64 {
        self.changed + self.only_a + self.only_b + self.moved
    }
}

impl Comparison {
    /// Returns true if there is no difference.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        self.totals.differences() == 0
    }

    /// Returns all listed differences in order.
    pub fn differences(&self) -> impl Iterator<Item = &Difference> {
        let all = self.messages.iter().chain(&self.noise).chain(&self.ticks);
        all.filter_map(|found| match found {
            Found::Different(difference) => Some(difference),
            Found::Alike(_) => None,
        })
    }

    /// Counts a difference. Returns true if there is room to list it.
    fn count(&mut self, difference: &Difference) -> bool {
        let totals = &mut self.totals;
        let listed = totals.differences() - totals.unlisted;
        let number = match difference.how {
            How::Changed => &mut totals.changed,
            How::OnlyA => &mut totals.only_a,
            How::OnlyB => &mut totals.only_b,
            How::Moved => &mut totals.moved,
        };
        *number += 1;
        let has_room = usize::try_from(listed).is_ok_and(|listed| listed < DIFFERENCES);
        totals.unlisted += u64::from(!has_room);
        has_room
    }

    fn push(&mut self, list: fn(&mut Self) -> &mut Vec<Found>, difference: Difference) {
        if self.count(&difference) {
            list(self).push(Found::Different(difference));
        }
    }
}

/// Compares two sides.
#[must_use]
pub fn compare(a: &Side, b: &Side, settings: &DiffSettings) -> Comparison {
    let mut result = Comparison::default();
    for dir in [Dir::C2s, Dir::S2c] {
        messages(
            &mut result,
            dir,
            [&a.ways[dir], &b.ways[dir]],
            settings.is_one_session,
        );
        noise(&mut result, dir, [a, b]);
    }
    let found = match settings.join_only {
        true => ticks::ByTick::default(),
        false => ticks::compare(a, b, settings),
    };
    result.same_game = found.same_game;
    result.totals.ticks_alike = found.alike;
    if found.same_game != Some(true) {
        result.statistics = statistics(&a.statistics, &b.statistics);
    }
    if !settings.is_one_session {
        result.statistics.extend(counts(&a.statistics, &b.statistics));
    }
    for difference in found.differences {
        result.push(|result| &mut result.ticks, difference);
    }
    result
}

/// Compares the messages of one direction.
fn messages(result: &mut Comparison, dir: Dir, ways: [&SideDirection; 2], is_one_session: bool) {
    let [a, b] = ways.map(|way| &*way.messages);
    let (mut names, mut wholes) = (Numbers::default(), Numbers::default());
    let mut keys = |side| keys(side, &mut names, &mut wholes);
    let (keys_a, keys_b) = (keys(a), keys(b));
    let steps = match is_one_session {
        true => align_legs(&with_lineage(keys_a, a), &with_lineage(keys_b, b)),
        false => align(&keys_a, &keys_b),
    };
    // On the legs of a session a rule has dropped or made the last messages.
    result.stops[dir] = stop(&steps, ways).filter(|_| !is_one_session);
    let mut alike: Vec<Box<str>> = Vec::new();
    for step in steps {
        let difference = match step {
            Aligned::Alike(at, _) => {
                alike.extend(a.get(at).map(|entry| entry.name.clone()));
                continue;
            }
            Aligned::Changed(at, other) => difference(dir, How::Changed, a.get(at), b.get(other)),
            Aligned::Moved(at, other, _) => difference(dir, How::Moved, a.get(at), b.get(other)),
            Aligned::OnlyA(at) => difference(dir, How::OnlyA, a.get(at), None),
            Aligned::OnlyB(at) => difference(dir, How::OnlyB, None, b.get(at)),
        };
        end_run(result, dir, &mut alike);
        if let Some(difference) = difference {
            result.push(|result| &mut result.messages, difference);
        }
    }
    end_run(result, dir, &mut alike);
}

fn with_lineage(keys: Vec<AlignKey>, side: &[ComparedMessage]) -> Vec<(AlignKey, &Lineage)> {
    keys.into_iter()
        .zip(side.iter().map(|entry| &entry.lineage))
        .collect()
}

/// Returns the side that has no message in the last steps; `None` if both sides end together.
fn stop(steps: &[Aligned], ways: [&SideDirection; 2]) -> Option<Stop> {
    let is_only_a = |step: &Aligned| matches!(step, Aligned::OnlyA(_));
    let is_only_b = |step: &Aligned| matches!(step, Aligned::OnlyB(_));
    let tail =
        |is_only: &dyn Fn(&Aligned) -> bool| steps.iter().rev().take_while(|step| is_only(step)).count();
    let (side, more) = match (tail(&is_only_b), tail(&is_only_a)) {
        (more, _) if more > 1 => (0, more),
        (_, more) if more > 1 => (1, more),
        _ => return None,
    };
    let way = ways.get(side)?;
    let last = way.messages.last();
    let end = last.map_or(Time::ZERO, |last| last.at);
    let still = way.noise.iter().filter(|(_, noise)| noise.last > end);
    Some(Stop {
        side,
        after: last.map(|last| (last.name.clone(), last.at)),
        still: still.map(|(name, _)| name.clone()).collect(),
        more,
    })
}

fn end_run(result: &mut Comparison, dir: Dir, names: &mut Vec<Box<str>>) {
    if !names.is_empty() {
        result.totals.alike += names.len() as u64;
        let names = std::mem::take(names);
        result.messages.push(Found::Alike(Run { dir, names }));
    }
}

/// Assigns numbers to values; equal values have the same number.
struct Numbers<T>(HashMap<T, u32>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbers<T> {
    fn number_of(&mut self, value: T) -> u32 {
        // A side has fewer messages than that.
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(value).or_insert(next)
    }
}

type Name<'e> = (&'static str, &'e str);
type Whole<'e> = (Name<'e>, bool, &'e [Field]);

fn keys<'e>(
    side: &'e [ComparedMessage],
    names: &mut Numbers<Name<'e>>,
    wholes: &mut Numbers<Whole<'e>>,
) -> Vec<AlignKey> {
    let keys = side.iter().map(|entry| {
        let name = (layer_name(entry.layer), &*entry.name);
        AlignKey {
            name: names.number_of(name),
            whole: wholes.number_of((name, entry.vital, &*entry.fields)),
        }
    });
    keys.collect()
}

/// Returns the name of a layer.
const fn layer_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Control => "control",
        Layer::System => "system",
        Layer::Game => "game",
        Layer::Connless => "connless",
        Layer::Unreadable => "unreadable",
    }
}

fn difference(
    dir: Dir,
    how: How,
    a: Option<&ComparedMessage>,
    b: Option<&ComparedMessage>,
) -> Option<Difference> {
    let entry = a.or(b)?;
    let mut fields = differing(
        a.map_or(&[][..], |entry| &*entry.fields),
        b.map_or(&[][..], |entry| &*entry.fields),
    );
    if let (Some(a), Some(b)) = (a, b)
        && a.vital != b.vital
    {
        fields.push(vitality(a.vital, b.vital));
    }
    Some(Difference {
        how,
        dir,
        layer: Some(entry.layer),
        name: entry.name.clone(),
        at: [a, b].map(|entry| Some(entry?.at)),
        frame: [a, b].map(|entry| entry?.frame),
        tick: None,
        id: None,
        count: 1,
        fields,
        rules: both_rules([a, b].map(|entry| Some(&entry?.lineage.rules))),
    })
}

fn vitality(a: bool, b: bool) -> FieldDifference {
    let word = |vital| Some(if vital { "yes" } else { "no" }.into());
    FieldDifference {
        path: "(vital)".into(),
        values: [word(a), word(b)],
    }
}

/// Compares messages that are sent continuously: reports messages that only one side has, or that are vital on only one
/// side.
fn noise(result: &mut Comparison, dir: Dir, [a, b]: [&Side; 2]) {
    let (of_a, of_b) = (&a.ways[dir].noise, &b.ways[dir].noise);
    let names: BTreeSet<&str> = of_a.keys().chain(of_b.keys()).map(|name| &**name).collect();
    for name in names {
        let found = [of_a.get(name).copied(), of_b.get(name).copied()];
        let how = match found {
            [Some(a), Some(b)] if a.vital != b.vital => How::Changed,
            // A keepalive only shows that nothing else was sent for a second.
            _ if name == "keepalive" => continue,
            [Some(_), None] => How::OnlyA,
            [None, Some(_)] => How::OnlyB,
            _ => continue,
        };
        let difference = of_noise(how, dir, name, found);
        result.push(|result| &mut result.noise, difference);
    }
}

fn of_noise(how: How, dir: Dir, name: &str, found: [Option<Noise>; 2]) -> Difference {
    let fields = match found {
        [Some(a), Some(b)] => vec![vitality(a.vital, b.vital)],
        _ => Vec::new(),
    };
    Difference {
        how,
        dir,
        layer: Some(Layer::System),
        name: name.into(),
        at: found.map(|noise| Some(noise?.first)),
        frame: found.map(|noise| noise?.frame),
        tick: None,
        id: None,
        count: found.iter().flatten().map(|noise| noise.count).max().unwrap_or(0),
        fields,
        rules: Vec::new(),
    }
}
